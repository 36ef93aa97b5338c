// The lane board: a card for each lane, the lineage as a picture, and what can be done to them. Texts belong to responses;
// a lane shows that of its latest one. Draws when the browser draws, what is on the screen first.

import { GONE, Kernel } from "./asking.js";
import { Card, stateWords } from "./card.js";
import { grow } from "./grow.js";
import { button, nameField, promptField } from "./prompt.js";
import { Tail } from "./tail.js";
import { duration, element } from "./text.js";
import { tree } from "./tree.js";

const [IN_FLIGHT, NAMES] = [16, 32]; // of one connection
const SHARE = 2; // times a drawing's own time that the page is left alone after it
const CONTINUED = ["completed", "steered"];
const BUSY = "The kernel has not answered yet. It does this when the cell that runs has ended.";

class Board {
  constructor() {
    this.number = 0;
    this.reset();
    this.views = new Set();
  }

  reset() {
    this.gone = false;
    this.texts = new Map();
    this.rows = new Map();
    this.meters = {};
    this.tree = [];
  }

  /** Take a message. False where one before it is missing. */
  receive(message) {
    const { snapshot } = message;
    if (snapshot) {
      if (snapshot.n < this.number) return true;
      this.reset();
    } else if (this.gone || message.n !== this.number + 1) return message.n <= this.number;
    const news = snapshot ?? message;
    this.number = news.n;
    this.clock = performance.now() / 1000 - news.now;
    for (const [what, id, text] of news.texts ?? []) {
      this.texts.set(id, what === "add" ? (this.texts.get(id) ?? "") + text : text);
    }
    for (const [key, fields] of Object.entries(news.rows ?? {})) {
      this.rows.set(key, { ...this.rows.get(key), ...fields });
    }
    this.meters = news.meters ?? this.meters;
    this.tree = news.tree ?? this.tree;
    for (const view of this.views) view.ask(Boolean(news.tree));
    return true;
  }

  /** The kernel is gone: what had come stays, nothing goes on. */
  lose() {
    if (this.gone) return;
    const ended = this.now();
    const over = (each) => (/running|in flight/.test(each.state) ? { ...each, state: "gone", activity: "", ended } : each);
    for (const [key, row] of this.rows) this.rows.set(key, { ...over(row), queued: 0 });
    this.tree = this.tree.map(over);
    this.gone = true;
    for (const view of this.views) view.ask(true);
  }

  now() {
    return performance.now() / 1000 - this.clock;
  }

  /** A name that no lane has: the given one with the first number that is free. */
  freeName(start, number) {
    const taken = new Set([...this.rows.values()].map((row) => row.name));
    for (;;) {
      if (!taken.has(`${start}-${number}`)) return `${start}-${number}`;
      number += 1;
    }
  }
}

class View {
  constructor(board, model, root) {
    Object.assign(this, { board, kernel: new Kernel(model, () => board.lose()), cards: new Map(), frame: 0, timer: 0, selected: null });
    this.seeing = new IntersectionObserver((entries) => this.see(entries), { rootMargin: "100px" });
    this.meters = element("div", "nbb-meters");
    this.grid = element("div", "nbb-grid");
    this.picture = element("div", "nbb-tree");
    const more = button("New lane", () => this.open(this.beginning.hidden));
    this.more = more;
    const box = element("div", "nbb", element("div", "nbb-top", this.meters, more), this.begin(), this.grid, this.picture, this.detail());
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Lane board");
    box.dataset.lmSuppressShortcuts = "true"; // else the notebook takes Enter, the arrows and the letters
    root.replaceChildren(box);
    board.views.add(this);
    this.redrawTree = true;
    this.clock = setInterval(() => this.tick(), 500);
    this.draw();
  }

  // ── what can be done ──

  /** What became of a request: { problem, failed, text }. */
  async act(op, fields) {
    const answer = await this.kernel.ask(op, fields);
    const problem = answer ? (answer.failed ?? "") : this.board.gone ? GONE : BUSY;
    return { problem, failed: Boolean(answer?.failed) || this.board.gone, text: answer?.text };
  }

  begin() {
    this.hint = element("div", "nbb-dim", "No lane yet. Lanes that code uses show here; or begin one:");
    const go = () => this.beginLane();
    this.lane = nameField("Name of the lane", go);
    this.first = promptField("Its first prompt", go);
    this.beginNote = note();
    const line = element("div", "nbb-line", this.lane, this.first, button("Begin", go));
    this.beginning = element("div", "nbb-begin", this.hint, line, this.beginNote);
    this.beginning.hidden = true;
    this.beginning.addEventListener("keydown", (key) => {
      if (key.key === "Escape" && this.board.rows.size) this.open(false);
    });
    return this.beginning;
  }

  open(open) {
    this.beginning.hidden = !open;
    this.more.setAttribute("aria-expanded", String(open));
    if (open) this.lane.value ||= this.board.freeName("lane", 1);
    (open ? this.first : this.more).focus({ preventScroll: true });
  }

  async beginLane() {
    const [lane, text] = [this.lane.value.trim(), this.first.value.trim()];
    if (!lane || !text) return grow(this.beginNote, "A lane needs a name and a prompt.");
    if ([...this.board.rows.values()].some((row) => row.name === lane)) {
      return grow(this.beginNote, `There is a lane “${lane}” already: go on in its card.`);
    }
    grow(this.beginNote, "");
    const { problem, failed } = await this.act("ask", { lane, text });
    grow(this.beginNote, problem);
    if (failed) return undefined;
    this.lane.value = this.first.value = "";
    if (!problem) this.open(false);
    return undefined;
  }

  detail() {
    this.title = element("div", "nbb-head");
    this.whole = new Tail("nbb-text nbb-whole", Infinity);
    const go = () => this.fork();
    this.newName = nameField("Name of the new lane", go);
    this.newPrompt = promptField("Prompt for the new lane", go);
    this.forkNote = note();
    this.forking = element("div", "nbb-line", this.newName, this.newPrompt, button("Fork from here", go));
    this.shown = element("section", "nbb-detail", this.title, this.whole.node, this.forking, this.forkNote);
    this.shown.setAttribute("aria-label", "The selected response");
    this.shown.hidden = true;
    this.shown.addEventListener("keydown", (key) => {
      if (key.key === "Escape") this.select(null);
    });
    return this.shown;
  }

  async fork() {
    const [lane, text, at] = [this.newName.value.trim(), this.newPrompt.value.trim(), this.selected];
    if (!lane || !text) return grow(this.forkNote, "A fork needs a name for the new lane and a prompt.");
    grow(this.forkNote, "");
    const { problem } = await this.act("fork", { at, lane, text });
    if (at !== this.selected) return undefined;
    if (problem) return grow(this.forkNote, problem);
    return this.select(null);
  }

  /** Show a response as a whole, to read it and to fork from it. */
  select(id) {
    this.selected = id;
    this.redrawTree = true;
    this.shown.hidden = !id;
    const node = this.board.tree.find((each) => each.id === id);
    if (node) {
      const name = element("span", "nbb-name", node.lane);
      const facts = element("span", "nbb-state", `${stateWords(node.state)} · ${id}`);
      const close = button("Close", () => this.select(null));
      this.title.replaceChildren(name, facts, element("span", "nbb-gap"), close);
      this.forking.hidden = !CONTINUED.includes(node.state);
      this.newName.value = this.board.freeName(node.lane.replace(/[()]/g, ""), 2);
      this.newPrompt.value = "";
      grow(this.forkNote, this.forking.hidden ? "Only a completed response can be continued." : "");
      this.fillPrompt(id);
      this.whole.atEnd = node.state === "running"; // one that is over is read from its beginning
      this.whole.node.scrollTop = 0;
    }
    this.draw();
    if (!node) return;
    this.shown.scrollIntoView({ block: "nearest" });
    (this.forking.hidden ? this.whole.node : this.newName).focus({ preventScroll: true });
  }

  /** The prompt that the response answers, to be edited. */
  async fillPrompt(at) {
    const { text } = await this.act("prompt", { at });
    if (text && at === this.selected && !this.newPrompt.value) this.newPrompt.value = text;
  }

  // ── drawing ──

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      const card = [...this.cards.values()].find((each) => each.node === target);
      if (card) card.seen = isIntersecting;
    }
    this.ask();
  }

  /** Draw with the next frame, or later where the last drawing took long. */
  ask(redrawTree = false) {
    this.redrawTree ||= redrawTree;
    if (this.frame || this.timer) return;
    const wait = (this.rest ?? 0) - performance.now();
    if (wait > 0) this.timer = setTimeout(() => ((this.timer = 0), this.ask()), wait);
    else this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    const begun = performance.now();
    for (const [key, card] of this.cards) if (!this.board.rows.has(key)) this.remove(key, card);
    for (const [key, row] of this.board.rows) this.card(key, row);
    const many = this.cards.size;
    const size = many < 3 ? "few" : many < 7 ? "some" : "many"; // how high their texts are
    const other = this.grid.dataset.size !== size;
    this.grid.dataset.size = size;
    for (const [key, card] of this.cards) {
      card.update(this.board.rows.get(key), this.board);
      card.text.moved ||= other;
    }
    this.hint.hidden = many > 0;
    this.more.hidden = many === 0;
    if (!many) this.beginning.hidden = false;
    this.drawTree();
    this.drawWhole();
    this.tick();
    for (const card of this.cards.values()) if (card.seen) card.text.follow();
    const end = performance.now();
    this.rest = end + SHARE * (end - begun);
  }

  card(key, row) {
    if (this.cards.has(key)) return;
    const made = new Card(this, row);
    this.cards.set(key, made);
    this.grid.append(made.node);
    this.seeing.observe(made.node);
  }

  remove(key, card) {
    this.seeing.unobserve(card.node);
    card.node.remove();
    this.cards.delete(key);
  }

  drawTree() {
    if (!this.redrawTree) return;
    this.redrawTree = false;
    const focused = this.picture.contains(document.activeElement) && document.activeElement.dataset.id;
    this.picture.replaceChildren(tree(this.board.tree, this.selected, (id) => this.select(id)));
    const again = focused && [...this.picture.querySelectorAll("[data-id]")].find((node) => node.dataset.id === focused);
    if (again) again.focus({ preventScroll: true });
  }

  drawWhole() {
    if (!this.selected) return;
    const running = this.board.tree.find((each) => each.id === this.selected)?.state === "running";
    this.whole.update(this.selected, this.board.texts.get(this.selected) ?? "", !running);
    this.whole.follow();
  }

  tick() {
    const { transport, in_flight: running, names, connections, since, max_age: limit, failures } = this.board.meters;
    const age = since === null || since === undefined ? null : Math.max(0, this.board.now() - since);
    const sockets = Math.max(1, connections ?? 1);
    const shown = this.board.gone ? [[GONE]] : [
      [transport ?? "not connected"],
      [`${running ?? 0} of ${IN_FLIGHT * sockets} in flight`, (running ?? 0) / (IN_FLIGHT * sockets)],
      [`${names ?? 0} of ${NAMES * sockets} names`, (names ?? 0) / (NAMES * sockets)],
      age === null ? null : [`${duration(age)} of ${limit / 60} min`, age / limit],
      sockets > 1 ? [`${sockets} connections`] : null,
      failures && age === null ? [`${failures} attempts to connect failed`] : null,
    ].filter(Boolean);
    while (this.meters.childNodes.length > shown.length) this.meters.lastChild.remove();
    shown.forEach(([words, part], at) => {
      const meter = this.meters.childNodes[at] ?? this.meters.appendChild(element("span", "nbb-meter"));
      grow(meter, words);
      meter.style.setProperty("--nbb-part", `${Math.round(100 * Math.min(1, part ?? 0))}%`);
      meter.classList.toggle("nbb-bar", part !== undefined);
    });
    for (const card of this.cards.values()) card.tick(this.board);
  }

  dispose() {
    this.board.views.delete(this);
    this.seeing.disconnect();
    this.kernel.dispose();
    clearInterval(this.clock);
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }
}

function note() {
  const made = element("div", "nbb-problem");
  made.setAttribute("role", "alert");
  return made;
}

export default () => {
  const board = new Board();
  return {
    initialize({ model }) {
      const load = () => model.get("snapshot")?.n >= 0 && board.receive({ snapshot: model.get("snapshot") });
      let asked = -Infinity;
      const receive = (message) => {
        if ("re" in message) board.views.forEach((view) => view.kernel.take(message));
        else if (!board.receive(message) && performance.now() - asked > 1000) {
          asked = performance.now();
          model.send({ op: "snapshot" });
        }
      };
      load();
      const lose = () => board.lose(); // "comm_live_update" is JupyterLab's word for a kernel that restarts
      model.on("msg:custom", receive);
      model.on("comm_live_update", lose);
      return () => {
        model.off("msg:custom", receive);
        model.off("comm_live_update", lose);
      };
    },
    render({ model, el }) {
      const view = new View(board, model, el);
      return () => view.dispose();
    },
  };
};
