// The event inspector: the messages of a capture as a long list, one of them in full, and the response as it was at any
// of them, by hand or played. All that comes from a capture is put in as text, but for the snapshot (see there).

import { GONE, Kernel } from "./asking.js";
import { grow } from "./grow.js";
import { Rows } from "./rows.js";
import { Snapshot } from "./snapshot.js";
import { element } from "./text.js";
import { Timeline } from "./timeline.js";

const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];
const BEAT = 80; // milliseconds between two steps while playing, or longer where an answer takes longer
const MANY = 5000; // messages above which the response is at first shown by its end
const COLORS = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#9c755f", "#edc948"];

const gap = (seconds) =>
  seconds === null || seconds < 0.0005 ? "" : seconds < 1 ? `+${Math.round(seconds * 1000)} ms` : `+${seconds.toFixed(2)} s`;

const button = (words, label, act) => {
  const made = element("button", "", words);
  made.type = "button";
  made.title = label;
  made.setAttribute("aria-label", label);
  made.onclick = act;
  return made;
};

class View {
  constructor(model, root) {
    Object.assign(this, { model, kernel: new Kernel(model, () => this.lose()), row: -1, playing: false, colors: new Map() });
    this.rows = new Rows({
      label: "Messages",
      fetch: (first, count) => this.kernel.ask("rows", { first, count, only: this.only() }),
      fill: (line, row) => this.fill(line, row),
      choose: (place, row) => (this.pause(), this.select(row[0])),
    });
    this.timeline = new Timeline({
      seek: (at, rough) => (this.pause(), this.seek({ at }, rough)),
      step: (count) => this.step(count),
      color: (kind) => this.color(kind),
    });
    this.snapshot = new Snapshot();
    this.build(root);
    this.load(model.get("overview"));
  }

  build(root) {
    this.type = this.choice("Type");
    this.lane = this.choice("Lane");
    this.words = element("input");
    Object.assign(this.words, { type: "search", placeholder: "Text in the message" });
    this.words.setAttribute("aria-label", "Text in the message");
    this.words.oninput = () => (clearTimeout(this.typing), (this.typing = setTimeout(() => this.filter(), 250)));
    this.counts = element("span", "nbi-counts");
    this.counts.setAttribute("role", "status");
    const names = ["#", "time", "gap", "type", "item", "lane", "content"];
    this.head = element("div", "nbi-head", ...names.map((name) => element("span", "", name)));
    this.head.setAttribute("aria-hidden", "true");
    this.box = element(
      "div",
      "nbi",
      element("div", "nbi-bar", this.type, this.lane, this.words, this.counts),
      element("div", "nbi-table", this.head, this.rows.node),
      this.player(),
      this.timeline.node,
      element("div", "nbi-both", this.detail(), this.answer()),
    );
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", "Event inspector");
    this.box.dataset.lmSuppressShortcuts = "true"; // else the notebook takes the arrow keys
    root.replaceChildren(this.box);
  }

  choice(label) {
    const made = element("select");
    made.setAttribute("aria-label", label);
    made.onchange = () => this.filter();
    return made;
  }

  player() {
    this.play = button("▶", "Play", () => (this.playing ? this.pause() : this.run()));
    this.play.classList.add("nbi-play");
    this.speed = element("select");
    this.speed.setAttribute("aria-label", "Speed");
    for (const speed of SPEEDS) this.speed.append(new Option(`${speed}×`, speed, speed === 1, speed === 1));
    this.where = element("span", "nbi-at");
    const back = button("‹", "One message back", () => this.step(-1));
    const on = button("›", "One message on", () => this.step(1));
    return element("div", "nbi-bar", back, this.play, on, this.speed, this.where);
  }

  detail() {
    this.raw = element("pre", "nbi-raw");
    this.fields = element("dl", "nbi-fields");
    this.tabs = element("div", "nbi-tabs");
    for (const [name, words] of [["fields", "Decoded event"], ["raw", "Raw JSON"]]) {
      const tab = button(words, words, () => this.show(name));
      tab.dataset.tab = name;
      this.tabs.append(tab);
      this[name].tabIndex = 0;
    }
    this.kind = element("span", "nbi-kind nbi-dim");
    this.tabs.append(this.kind);
    this.show("fields");
    return element("section", "nbi-detail", this.tabs, this.fields, this.raw);
  }

  answer() {
    return element("section", "nbi-detail", element("div", "nbi-tabs", "Response at this event"), this.snapshot.node);
  }

  show(name) {
    for (const tab of this.tabs.querySelectorAll("button")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.tab === name));
      this[tab.dataset.tab].hidden = tab.dataset.tab !== name;
    }
  }

  // ── what comes ──

  load(overview) {
    if (!overview?.density) return;
    this.known = overview;
    const options = (first, rest) => [new Option(first, ""), ...rest.map(([words, value]) => new Option(words, value))];
    const { types, lanes } = overview;
    this.renew(this.type, options("All types", types.map(([words, type, count]) => [`${words} (${count})`, type])));
    this.renew(this.lane, options("All lanes", lanes.map((lane, at) => [lane, at])));
    this.lane.hidden = lanes.length < 2;
    this.box.classList.toggle("nbi-laned", lanes.length > 1);
    this.timeline.load(overview);
    if (overview.rows) this.rows.reset(overview.total, 0, overview.rows);
    else if (this.filtered()) this.rows.fetch(0, 0).then((answer) => answer && this.rows.grow(answer.shown));
    else this.rows.grow(overview.total);
    this.count();
    if (this.row < 0 && overview.total) this.seek({ row: overview.total - 1 }, overview.total > MANY);
  }

  renew(select, options) {
    const { value } = select;
    if (document.activeElement === select) return; // a list that a reader has open stays as it is
    select.replaceChildren(...options);
    if (options.some((option) => option.value === value)) select.value = value;
  }

  only() {
    return { type: this.type.value, lane: this.lane.value === "" ? -1 : Number(this.lane.value), text: this.words.value };
  }

  filtered() {
    return this.type.value || this.lane.value || this.words.value;
  }

  async filter() {
    const only = JSON.stringify(this.only());
    const answer = await this.rows.fetch(0, 100);
    if (!answer || only !== JSON.stringify(this.only())) return; // another one was chosen meanwhile
    this.rows.chosen = -1;
    this.rows.reset(answer.shown, 0, answer.rows);
    this.count();
    if (this.row >= 0 && !this.playing) this.seek({ row: this.row }, false);
  }

  count() {
    const [shown, total] = [this.rows.total.toLocaleString(), this.known.total.toLocaleString()];
    grow(this.counts, this.filtered() ? `${shown} of ${total} messages` : `${total} messages`);
  }

  receive(message) {
    if (message.overview) this.load(message.overview);
    else if ("seek" in message) this.pause(), this.select(message.seek);
    else this.kernel.take(message);
  }

  /** The kernel is gone: what is on the page stays. */
  lose() {
    this.pause();
    grow(this.counts, GONE);
  }

  fill(line, row) {
    const [, number, at, since, type, item, lane, words] = row ?? [];
    const cells = row
      ? [number ?? "", (at - this.known.begun).toFixed(3), gap(since), type.replace(/^response\./, ""), item, this.known.lanes[lane] ?? "", words]
      : ["", "", "", "…", "", "", ""];
    while (line.childNodes.length < cells.length) line.append(element("span"));
    cells.forEach((cell, place) => grow(line.childNodes[place], String(cell)));
    line.childNodes[3].title = row ? type : "";
    line.childNodes[4].style.setProperty("--nbi-item", item ? this.color(item) : "transparent");
    line.classList.toggle("nbi-note", /^[→·]/.test(type ?? ""));
    line.classList.toggle("nbi-bad", /error|failed|invalid|too_large|remainder/.test(type ?? ""));
  }

  color(kind) {
    if (!this.colors.has(kind)) this.colors.set(kind, COLORS[this.colors.size % COLORS.length]);
    return this.colors.get(kind);
  }

  // ── where the reader is ──

  select(row) {
    return this.seek({ row }, false);
  }

  step(count) {
    this.pause();
    return this.select(Math.min(this.known.total - 1, Math.max(0, this.row + count)));
  }

  /** Go to a row or a time. While one question is out, only the latest wish is kept. */
  async seek(wish, rough) {
    this.wish = { ...wish, rough };
    if (this.seeking) return;
    this.seeking = true;
    while (this.wish) {
      const next = this.wish;
      this.wish = null;
      const answer = await this.kernel.ask("seek", { ...next, only: this.only() });
      if (answer) this.arrive(answer, next);
    }
    this.seeking = false;
  }

  arrive(answer, { at, rough }) {
    this.snapshot.show(answer);
    this.rows.mark(answer.place);
    if (!(rough && at !== undefined)) this.timeline.show(at ?? answer.at);
    const seconds = (answer.at - this.known.begun).toFixed(3);
    grow(this.where, `${seconds} s · message ${(answer.row + 1).toLocaleString()} of ${this.known.total.toLocaleString()}`);
    this.box.dataset.row = answer.row;
    if (answer.row !== this.row) {
      this.row = answer.row;
      this.read();
    }
  }

  /** The chosen message in full; while time moves, that of the moment when the question before was answered. */
  async read() {
    if (this.reading) return;
    this.reading = true;
    while (this.shown !== this.row) {
      const { row } = this;
      const message = await this.kernel.ask("event", { row });
      this.shown = row;
      if (message) this.tell(message);
    }
    this.reading = false;
  }

  tell({ class: name, fields, raw }) {
    grow(this.kind, name);
    grow(this.raw, raw);
    this.fields.replaceChildren(
      ...fields.flatMap(([key, value]) => [element("dt", "", key), element("dd", "", value)]),
    );
  }

  async run() {
    this.playing = true;
    this.playLabel();
    const run = (this.running = {});
    let { at } = this.timeline;
    if (at >= this.timeline.ended) at = this.timeline.begun;
    let before = performance.now();
    while (this.running === run && at < this.timeline.ended) {
      await new Promise((done) => setTimeout(done, BEAT));
      const now = performance.now();
      at = Math.min(this.timeline.ended, at + ((now - before) / 1000) * Number(this.speed.value));
      before = now;
      if (this.running !== run) return;
      this.timeline.show(at);
      if (!this.seeking) this.seek({ at }, at < this.timeline.ended);
    }
    if (this.running === run) this.pause();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.running = null;
    this.playLabel();
    this.seek({ at: this.timeline.at }, false);
  }

  playLabel() {
    grow(this.play, this.playing ? "❚❚" : "▶");
    const words = this.playing ? "Pause" : "Play";
    this.play.title = words;
    this.play.setAttribute("aria-label", words);
    this.box.classList.toggle("nbi-playing", this.playing);
  }

  dispose() {
    this.running = null;
    clearTimeout(this.typing);
    this.kernel.dispose();
    this.rows.dispose();
  }
}

export default () => {
  let latest = null; // a view that is made later begins with what the capture has become
  return {
    initialize({ model }) {
      const keep = (message) => (latest = message.overview ?? latest);
      model.on("msg:custom", keep);
      return () => model.off("msg:custom", keep);
    },
    render({ model, el }) {
      const view = new View(model, el);
      if (latest) view.load(latest);
      const receive = (message) => view.receive(message);
      const lose = () => view.lose(); // "comm_live_update" is JupyterLab's word for a kernel that restarts
      model.on("msg:custom", receive);
      model.on("comm_live_update", lose);
      return () => {
        model.off("msg:custom", receive);
        model.off("comm_live_update", lose);
        view.dispose();
      };
    },
  };
};
