// The event inspector: a long list of which only what is visible is asked for and drawn, one event in full, a scrubber
// that shows the response as it was, and a timeline of the items. All that comes from a capture is put in as text.

import { grow } from "./grow.js";
import { element } from "./text.js";

const ROW = 22; // pixels
const PAGE = 100; // rows asked for at once
const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];
const BEAT = 100; // milliseconds between two steps while playing
const COLORS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#9c755f", "#edc948"];

const time = (seconds) => `${seconds.toFixed(3)} s`;
const gap = (seconds) => (seconds < 0.0005 ? "" : seconds < 1 ? `+${Math.round(seconds * 1000)} ms` : `+${seconds.toFixed(1)} s`);

class View {
  constructor(model, root) {
    Object.assign(this, { model, pages: new Map(), asked: new Set(), row: -1, playing: 0 });
    this.build(root);
    this.load(model.get("overview"));
  }

  build(root) {
    this.counts = element("div", "nbi-counts");
    this.type = this.choice("Type", () => this.filter());
    this.lane = this.choice("Lane", () => this.filter());
    this.words = element("input");
    this.words.type = "search";
    this.words.placeholder = "Text in the event";
    this.words.setAttribute("aria-label", "Text in the event");
    this.words.oninput = () => (clearTimeout(this.typing), (this.typing = setTimeout(() => this.filter(), 250)));
    this.spacer = element("div", "nbi-spacer");
    this.list = element("div", "nbi-list", this.spacer);
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Events");
    this.list.onscroll = () => (this.frame ||= requestAnimationFrame(() => this.draw()));
    this.list.onkeydown = (key) => this.key(key);
    this.list.onclick = (click) => {
      const line = click.target.closest(".nbi-row");
      if (line) this.select(Number(line.dataset.row), Number(line.dataset.place));
    };
    this.raw = element("pre", "nbi-raw");
    this.text = element("pre", "nbi-text");
    this.tabs = element("div", "nbi-tabs");
    const head = element("div", "nbi-bar", this.type.parentNode, this.lane.parentNode, this.words, this.counts);
    const detail = element("div", "nbi-detail", this.tabs, this.raw);
    const answer = element("div", "nbi-detail", element("div", "nbi-tabs", "The response at this event"), this.text);
    this.timeline = element("div", "nbi-timeline");
    root.replaceChildren(
      element("div", "nbi", head, this.list, this.player(), this.timeline, element("div", "nbi-both", detail, answer)),
    );
    for (const [name, words] of [["raw", "Raw JSON"], ["decoded", "Decoded event"]]) {
      const tab = element("button", "", words);
      tab.type = "button";
      tab.onclick = () => this.show(name);
      tab.dataset.tab = name;
      this.tabs.append(tab);
    }
    this.shown = "raw";
  }

  player() {
    this.play = element("button", "nbi-play", "Play");
    this.play.type = "button";
    this.play.onclick = () => (this.playing ? this.pause() : this.start());
    this.range = element("input", "nbi-range");
    Object.assign(this.range, { type: "range", min: 0, step: "any", value: 0 });
    this.range.setAttribute("aria-label", "Time");
    this.range.oninput = () => (this.pause(), this.seek(Number(this.range.value)));
    this.speed = element("select");
    this.speed.setAttribute("aria-label", "Speed");
    for (const speed of SPEEDS) this.speed.append(new Option(`${speed}×`, speed, speed === 1, speed === 1));
    this.at = element("span", "nbi-at");
    return element("div", "nbi-bar", this.play, this.speed, this.range, this.at);
  }

  choice(words, act) {
    const made = element("select");
    made.onchange = act;
    element("label", "", `${words} `, made);
    return made;
  }

  // ── what comes ──

  load(overview) {
    this.overview = overview;
    this.type.replaceChildren(new Option("all", ""), ...(overview.types ?? []).map(([t, n]) => new Option(`${t} (${n})`, t)));
    this.lane.replaceChildren(new Option("all", ""), ...(overview.lanes ?? []).map((lane) => new Option(lane, lane)));
    this.lane.parentNode.hidden = !overview.lanes?.length;
    this.list.classList.toggle("nbi-laned", Boolean(overview.lanes?.length));
    this.range.max = overview.duration ?? 0;
    this.drawTimeline(overview);
    this.receive({ shown: overview.shown ?? 0, first: 0, rows: overview.rows ?? [] });
  }

  receive(message) {
    if ("shown" in message) {
      this.total = message.shown;
      this.pages.clear();
      this.asked.clear();
      this.spacer.style.height = `${this.total * ROW}px`;
      grow(this.counts, `${this.total.toLocaleString()} of ${this.overview.total.toLocaleString()} events`);
    }
    if (message.rows) {
      message.rows.forEach((row, at) => this.pages.set(message.first + at, row));
      this.draw();
    }
    if (message.event?.row === this.row) {
      this.event = message.event;
      this.show(this.shown);
    }
    if (message.snapshot) this.arrive(message.snapshot);
  }

  arrive({ row, at, text, place }) {
    this.waiting = false;
    grow(this.text, text);
    grow(this.at, time(at));
    if (!this.playing && document.activeElement !== this.range) this.range.value = at;
    this.mark.style.left = `${(100 * at) / (this.overview.duration || 1)}%`;
    if (row === this.row) return;
    this.row = row;
    this.place = place;
    this.model.send({ op: "event", row });
    this.reveal(place);
    this.draw();
  }

  // ── the list ──

  draw() {
    this.frame = 0;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 5);
    const last = Math.min(this.total, first + Math.ceil(this.list.clientHeight / ROW) + 10);
    const lines = [];
    for (let place = first; place < last; place += 1) {
      const row = this.pages.get(place);
      if (row) lines.push(this.line(place, row));
      else this.want(place);
    }
    this.spacer.replaceChildren(...lines);
  }

  line(place, [row, direction, number, at, since, type, item, lane]) {
    const cells = [number ?? "", time(at), gap(since), direction === "in" ? type : `${direction} ${type}`];
    cells.push(item === null ? "" : `item ${item}`, lane);
    const made = element("div", "nbi-row", ...cells.map((cell) => element("span", "", String(cell))));
    made.style.top = `${place * ROW}px`;
    made.dataset.row = row;
    made.dataset.place = place;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(row === this.row));
    return made;
  }

  want(place) {
    const page = Math.floor(place / PAGE);
    if (this.asked.has(page)) return;
    this.asked.add(page);
    this.model.send({ op: "rows", first: page * PAGE, count: PAGE });
  }

  reveal(place) {
    const [top, height] = [place * ROW, this.list.clientHeight];
    if (top < this.list.scrollTop || top + ROW > this.list.scrollTop + height) this.list.scrollTop = top - height / 2;
  }

  select(row, place) {
    this.pause();
    Object.assign(this, { row, place });
    this.model.send({ op: "event", row });
    this.model.send({ op: "snapshot", row });
    this.reveal(place);
    this.draw();
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (!step || !this.total) return;
    event.preventDefault();
    event.stopPropagation();
    const place = Math.min(this.total - 1, Math.max(0, (this.place ?? -1) + step));
    const row = this.pages.get(place);
    if (row) this.select(row[0], place);
    else this.reveal(place);
  }

  filter() {
    const types = this.type.value ? [this.type.value] : [];
    this.list.scrollTop = 0;
    this.model.send({ op: "filter", types, lane: this.lane.value || null, text: this.words.value });
  }

  show(name) {
    this.shown = name;
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.tab === name));
    grow(this.raw, this.event?.[name] ?? "");
  }

  // ── time ──

  seek(at) {
    this.waiting = true;
    this.model.send({ op: "seek", at });
  }

  start() {
    if (Number(this.range.value) >= this.overview.duration) this.range.value = 0;
    grow(this.play, "Pause");
    this.playing = setInterval(() => {
      const at = Number(this.range.value) + (BEAT / 1000) * Number(this.speed.value);
      this.range.value = at;
      if (!this.waiting) this.seek(at);
      if (at >= this.overview.duration) this.pause();
    }, BEAT);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    grow(this.play, "Play");
  }

  drawTimeline({ timeline = [], duration }) {
    this.mark = element("div", "nbi-mark");
    const kinds = [...new Set(timeline.map(([, , type]) => type))];
    const bars = timeline.map(([lane, item, type, begun, ended]) => {
      const bar = element("div", "nbi-item");
      bar.style.left = `${(100 * begun) / (duration || 1)}%`;
      bar.style.width = `${(100 * (ended - begun)) / (duration || 1)}%`;
      bar.style.background = COLORS[kinds.indexOf(type) % COLORS.length];
      bar.title = `${lane ? `${lane}: ` : ""}item ${item}, ${type}: ${time(begun)} to ${time(ended)}`;
      const label = element("span", "", `${lane ? `${lane} · ` : ""}${type}`);
      return element("div", "nbi-track", bar, label);
    });
    this.timeline.replaceChildren(...bars, this.mark);
    this.timeline.onclick = (click) => {
      const { left, width } = this.timeline.getBoundingClientRect();
      this.pause();
      this.seek(((click.clientX - left) / width) * duration);
    };
  }

  dispose() {
    this.pause();
    clearTimeout(this.typing);
    cancelAnimationFrame(this.frame);
  }
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    const receive = (message) => view.receive(message);
    const load = () => view.load(model.get("overview"));
    model.on("msg:custom", receive);
    model.on("change:overview", load);
    requestAnimationFrame(() => view.draw()); // now it has a height
    return () => {
      model.off("msg:custom", receive);
      model.off("change:overview", load);
      view.dispose();
    };
  },
};
