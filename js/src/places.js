// Where a view stands. The cell's output is text, which a saved file keeps, with an empty element in it: the mark. The view
// stands beside the output and covers it for as long as the mark is in it. The settled output has no mark.

import { element } from "./text.js";

export class Places {
  /** `open` draws a view in an element, and returns what ends it. */
  constructor(mark, open) {
    Object.assign(this, { mark, open, closers: new Map() });
  }

  /** Open a view wherever the mark is and no view yet: outputs come late, and are shown again elsewhere. */
  look() {
    for (const mark of document.getElementsByClassName(this.mark)) {
      const output = mark.parentElement;
      if (!this.closers.has(output)) this.closers.set(output, this.cover(output));
    }
  }

  cover(output) {
    const place = element("div", "nbr-place jp-OutputArea-output");
    output.after(place);
    const close = this.open(place);
    const turn = () => {
      const covered = Boolean(output.getElementsByClassName(this.mark).length);
      output.classList.toggle("nbr-covered", covered);
      if (!covered && place.contains(document.activeElement)) output.closest("[tabindex]")?.focus({ preventScroll: true });
      place.hidden = !covered;
    };
    const observer = new MutationObserver(turn); // runs before the page is painted
    observer.observe(output, { childList: true });
    turn();
    return () => {
      observer.disconnect();
      output.classList.remove("nbr-covered");
      close();
      place.remove();
    };
  }

  clear() {
    for (const close of this.closers.values()) close();
    this.closers.clear();
  }
}
