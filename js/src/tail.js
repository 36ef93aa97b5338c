// The end of a text that grows, rendered as Markdown where a reader sees it. Nothing but its end is kept in the page, so
// that many long texts stay cheap.

import { grow } from "./grow.js";
import { LiveMarkdown } from "./markdown.js";
import { element } from "./text.js";

const LONGEST = 2400; // characters of a card's text that are rendered
const KEPT = 1200; // of them, when the beginning moves on
const UNSEEN = 600; // characters of a text that is not on the screen
const END = 1e9; // further down than any text: asking for the height first would lay out every text on its own
const FENCE = /^ {0,3}(```|~~~)/gm;

export class Tail {
  /** `longest`: characters that are rendered at most. */
  constructor(className, longest = LONGEST) {
    this.longest = longest;
    this.rendered = element("div", "nbb-rendered");
    this.rough = element("div", "nbb-rough");
    this.node = element("div", className, this.rendered);
    this.node.tabIndex = 0;
    this.node.onscroll = () => this.scrolled();
    this.markdown = new LiveMarkdown(this.rendered);
    this.version = 0;
    this.from = 0;
    this.atEnd = true; // until a reader scrolls
  }

  /** Draw a text, named by `key`; `closed` where nothing will be added; its end as it was written where it is not `seen`. */
  update(key, text, closed, seen = true) {
    const before = this.drawn;
    const same = before && before.key === key; // a lane that waits for its first answer has no key
    if (same && before.text === text && before.closed === closed && before.seen === seen) return;
    if (!same || !text.startsWith(before.text)) {
      this.version += 1;
      this.from = 0;
    }
    this.drawn = { key, text, closed, seen };
    this.moved = true;
    const shown = seen ? this.rendered : this.rough;
    if (this.node.firstChild !== shown) this.node.replaceChildren(shown);
    if (seen) this.render(text, closed);
    else grow(this.rough, text.slice(Math.floor(Math.max(0, text.length - UNSEEN) / UNSEEN) * UNSEEN));
  }

  /** A reader who is at the end stays there. After all texts are drawn, so that the page is laid out once; asked of a
   *  text that is out of sight, it would be laid out by itself. */
  follow() {
    if (this.moved && this.atEnd) this.node.scrollTop = END;
    this.moved = false;
  }

  render(text, closed) {
    const long = text.length - this.from > this.longest && (this.atEnd || closed); // who reads further up goes on there
    const from = long ? beginning(text) : this.from;
    if (from !== this.from) this.version += 1;
    this.from = from;
    const open = from && (text.slice(0, from).match(FENCE)?.length ?? 0) % 2; // it begins in the middle of code
    this.markdown.update({ text: (open ? "```\n" : "") + text.slice(from), version: this.version }, closed);
  }

  scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.node;
    this.atEnd = scrollTop + clientHeight > scrollHeight - 8;
    this.node.classList.toggle("nbb-more", scrollTop > 4);
  }
}

/** Where a long text is shown from: a blank line, the end of a line or of a word. Moves seldom, so that pieces append. */
function beginning(text) {
  const wanted = text.length - KEPT;
  for (const end of ["\n\n", "\n", " "]) {
    const at = text.indexOf(end, wanted);
    if (at >= 0 && at < text.length - KEPT / 2) return at + end.length;
  }
  return wanted;
}
