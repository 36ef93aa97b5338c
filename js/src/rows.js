// A list of any length of which only the rows on the screen are drawn, and only their neighbourhood is asked for.
// Knows places (0 … total - 1) and what the caller draws in a row; not what a row means.

import { element } from "./text.js";

const ROW = 22; // pixels
const PAGE = 100; // rows asked for at once
const PAGES = 100; // kept
const CALM = 40; // milliseconds without scrolling before rows are asked for: who drags past them doesn't need them
const TALLEST = 20_000_000; // pixels that browsers can scroll

export class Rows {
  /** `fetch(first, count)` → a promise of rows or null; `fill(node, row)` draws one; `choose(place, row)` on a click. */
  constructor({ label, fetch, fill, choose }) {
    Object.assign(this, { fetch, fill, choose, total: 0, chosen: -1, pages: new Map(), lines: [], edition: 0 });
    this.name = `nbi-${Math.random().toString(36).slice(2)}`;
    this.spacer = element("div", "nbi-spacer");
    this.node = element("div", "nbi-list", this.spacer);
    this.node.tabIndex = 0;
    this.node.setAttribute("role", "listbox");
    this.node.setAttribute("aria-label", label);
    this.node.onscroll = () => this.ask();
    this.node.onkeydown = (event) => this.key(event);
    this.node.onclick = ({ target }) => this.pick(Number(target.closest?.(".nbi-row")?.dataset.place ?? -1));
    this.size = new ResizeObserver(() => this.ask());
    this.size.observe(this.node);
  }

  /** Other rows: all that was kept is forgotten. */
  reset(total, first, rows) {
    this.edition += 1;
    this.pages.clear();
    this.node.scrollTop = 0;
    this.grow(total);
    this.keep(first, rows);
  }

  /** More rows at the end. The last page that was kept may have been cut short. */
  grow(total) {
    this.pages.delete(Math.floor(this.total / PAGE));
    this.total = total;
    this.spacer.style.height = `${Math.min(total * ROW, TALLEST)}px`;
    this.ask();
  }

  keep(first, rows) {
    for (let at = 0; at < rows.length; at += PAGE) this.pages.set((first + at) / PAGE, rows.slice(at, at + PAGE));
    for (const page of [...this.pages.keys()].slice(0, Math.max(0, this.pages.size - PAGES))) this.pages.delete(page);
    this.ask();
  }

  row(place) {
    return this.pages.get(Math.floor(place / PAGE))?.[place % PAGE];
  }

  ask() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  /** Pixels of the list → place of its first row; the same where it is longer than a browser can scroll. */
  get stretch() {
    const room = Math.max(1, Math.min(this.total * ROW, TALLEST) - this.node.clientHeight);
    return Math.max(1, this.total * ROW - this.node.clientHeight) / room;
  }

  draw() {
    this.frame = 0;
    const { scrollTop, clientHeight } = this.node;
    const top = scrollTop * this.stretch;
    const first = Math.max(0, Math.floor(top / ROW) - 4);
    const last = Math.min(this.total, Math.ceil((top + clientHeight) / ROW) + 4);
    const missing = new Set();
    for (let at = 0; at < Math.max(last - first, this.lines.length); at += 1) {
      const place = first + at;
      const line = (this.lines[at] ??= this.line());
      line.hidden = place >= last;
      if (line.hidden) continue;
      const row = this.row(place);
      if (!row) missing.add(Math.floor(place / PAGE));
      if (line.row !== row || line.place !== place) {
        Object.assign(line, { row, place });
        line.dataset.place = place;
        line.id = `${this.name}-${place}`;
        line.setAttribute("aria-posinset", place + 1);
        this.fill(line, row);
      }
      line.style.transform = `translateY(${place * ROW - top + scrollTop}px)`;
      line.setAttribute("aria-setsize", this.total);
      line.setAttribute("aria-selected", String(place === this.chosen));
    }
    if (this.chosen >= first && this.chosen < last) {
      this.node.setAttribute("aria-activedescendant", `${this.name}-${this.chosen}`);
    } else this.node.removeAttribute("aria-activedescendant");
    if (missing.size) {
      clearTimeout(this.calm);
      this.calm = setTimeout(() => this.load([...missing]), CALM);
    }
  }

  line() {
    const made = element("div", "nbi-row");
    made.setAttribute("role", "option");
    this.spacer.append(made);
    return made;
  }

  async load(pages) {
    const { edition } = this;
    for (const page of pages) {
      if (this.loading === page) continue;
      this.loading = page;
      const answer = await this.fetch(page * PAGE, PAGE);
      this.loading = null;
      if (edition !== this.edition || !answer) return;
      this.keep(page * PAGE, answer.rows);
    }
  }

  /** Choose a row that a reader pointed at. */
  async pick(place) {
    if (place < 0 || place >= this.total) return;
    this.mark(place);
    const { edition } = this;
    const row = this.row(place) ?? (await this.fetch(place, 1))?.rows[0];
    if (row && edition === this.edition && place === this.chosen) this.choose(place, row);
  }

  /** Show a row as the chosen one. */
  mark(place) {
    this.chosen = place;
    const [top, height] = [this.node.scrollTop * this.stretch, this.node.clientHeight];
    if (place * ROW < top || (place + 1) * ROW > top + height) {
      this.node.scrollTop = (place * ROW - height / 2) / this.stretch;
    }
    this.ask();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey || !this.total) return;
    event.preventDefault();
    this.pick(Math.min(this.total - 1, Math.max(0, this.chosen + steps[event.key])));
  }

  dispose() {
    this.size.disconnect();
    clearTimeout(this.calm);
    cancelAnimationFrame(this.frame);
  }
}
