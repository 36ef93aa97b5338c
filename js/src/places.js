// Where a view stands. The cell's output is text, which a saved file keeps, with an empty element in it: the mark. The view
// stands beside the output and covers it for as long as the mark is in it. The settled output has no mark.

import { element } from "./text.js";

export class Places {
  /** `open` draws a view in an element, and returns what ends it. */
  constructor(mark, open) {
    Object.assign(this, { mark, open, covers: new Map() });
  }

  /** Open a view wherever the mark is and no view yet: outputs come late, and are shown again elsewhere. */
  look() {
    for (const mark of document.getElementsByClassName(this.mark)) {
      const output = mark.parentElement;
      if (!this.covers.has(output)) this.covers.set(output, this.cover(output));
    }
  }

  /** Whether the mark is anywhere on the page. */
  marked() {
    return document.getElementsByClassName(this.mark).length > 0;
  }

  cover(output) {
    const place = element("div", "nbr-place jp-OutputArea-output");
    output.after(place);
    output.classList.add("nbr-covered");
    const close = this.open(place);
    const uncover = () => {
      observer.disconnect();
      this.covers.delete(output);
      output.classList.remove("nbr-covered");
      if (place.contains(document.activeElement)) output.closest("[tabindex]")?.focus({ preventScroll: true });
      close();
      place.remove();
    };
    const observer = new MutationObserver(() => {
      if (!output.getElementsByClassName(this.mark).length) uncover(); // before the page is painted
    });
    observer.observe(output, { childList: true });
    return uncover;
  }

  clear() {
    for (const uncover of this.covers.values()) uncover();
  }
}
