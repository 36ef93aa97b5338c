// Time from left to right: how many messages came when, the items as bars below, and a mark that a reader moves over
// both. Drawn by elements, which follow the theme; names are text.

import { duration, element } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 34; // of the density, in its own units

export class Timeline {
  /** `seek(seconds, rough)` while and when the mark is moved; `step(count)` by messages. */
  constructor({ seek, step, color }) {
    Object.assign(this, { seek, step, color, begun: 0, ended: 0, at: 0 });
    this.bars = document.createElementNS(SVG, "path");
    this.density = document.createElementNS(SVG, "svg");
    this.density.append(this.bars);
    for (const [name, value] of [["class", "nbi-density"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) {
      this.density.setAttribute(name, value);
    }
    this.mark = element("div", "nbi-mark");
    this.slider = element("div", "nbi-slider", this.density);
    this.slider.tabIndex = 0;
    for (const [name, value] of [["role", "slider"], ["aria-label", "Time"]]) this.slider.setAttribute(name, value);
    this.labels = element("div", "nbi-labels");
    this.tracks = element("div", "nbi-tracks");
    this.note = element("div", "nbi-dim");
    const marks = element("div", "nbi-over", this.mark);
    const scroller = element("div", "nbi-items", this.labels, this.tracks);
    this.node = element("div", "nbi-time", element("div", "nbi-axis"), this.slider, scroller, marks, this.note);
    this.slider.onpointerdown = (event) => this.drag(event);
    this.slider.onkeydown = (event) => this.key(event);
  }

  load({ begun, ended, density, items, more_items: more, lanes }) {
    Object.assign(this, { begun, ended });
    this.node.firstChild.textContent = `${duration(this.span)}`;
    const named = lanes.length > 1;
    const rows = items.map(([kind, lane, from, to, events]) => {
      const bar = element("div", "nbi-item");
      bar.style.left = `${100 * this.part(from)}%`;
      bar.style.width = `${100 * (this.part(to) - this.part(from))}%`;
      bar.style.background = this.color(kind);
      const name = named ? `${lanes[lane]} · ${kind}` : kind;
      const said = `${name}: ${events} events, ${(from - begun).toFixed(3)} to ${(to - begun).toFixed(3)} s`;
      bar.title = said;
      const label = element("div", "nbi-label", name);
      label.title = said;
      return [label, element("div", "nbi-track", bar)];
    });
    this.labels.replaceChildren(...rows.map(([label]) => label));
    this.tracks.replaceChildren(...rows.map(([, track]) => track));
    this.note.textContent = more ? `${more.toLocaleString()} more items` : "";
    this.slider.setAttribute("aria-valuemin", 0);
    this.slider.setAttribute("aria-valuemax", this.span.toFixed(3));
    this.paint(density);
    this.show(this.at);
  }

  get span() {
    return this.ended - this.begun;
  }

  /** 0 … 1 */
  part(at) {
    return this.span > 0 ? Math.min(1, Math.max(0, (at - this.begun) / this.span)) : 0;
  }

  show(at) {
    this.at = at;
    this.mark.style.left = `${100 * this.part(at)}%`;
    this.slider.setAttribute("aria-valuenow", (at - this.begun).toFixed(3));
    this.slider.setAttribute("aria-valuetext", `${(at - this.begun).toFixed(3)} seconds`);
  }

  paint(counts) {
    const most = Math.sqrt(Math.max(1, ...counts)); // a root, so that single messages are seen beside bursts
    const bar = (count, at) => {
      const height = Math.max(2, (Math.sqrt(count) / most) * (HEIGHT - 4));
      return `M${at} ${HEIGHT}v${-height.toFixed(1)}h0.85V${HEIGHT}z`;
    };
    this.density.setAttribute("viewBox", `0 0 ${counts.length} ${HEIGHT}`);
    this.bars.setAttribute("d", counts.map((count, at) => (count ? bar(count, at) : "")).join(""));
  }

  drag(down) {
    if (down.button) return;
    const { left, width } = this.slider.getBoundingClientRect();
    const to = (event, rough) => {
      const at = this.begun + this.span * Math.min(1, Math.max(0, (event.clientX - left) / width));
      this.show(at);
      this.seek(at, rough);
    };
    this.slider.setPointerCapture(down.pointerId);
    to(down, true);
    this.slider.onpointermove = (event) => to(event, true);
    this.slider.onpointerup = this.slider.onpointercancel = (event) => {
      this.slider.onpointermove = this.slider.onpointerup = this.slider.onpointercancel = null;
      to(event, false);
    };
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
    const leaps = { PageUp: this.span / 20, PageDown: -this.span / 20, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.step(steps[event.key]);
    else if (event.key in leaps) this.seek(Math.min(this.ended, Math.max(this.begun, this.at + leaps[event.key])), false);
    else return;
    event.preventDefault();
  }
}
