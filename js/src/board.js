// The lane board: a card for each lane, the lineage as a picture, and what can be done to them. Every text that a model
// or a server wrote is put in as text. Texts belong to responses; a lane shows that of its latest one.

import { grow } from "./grow.js";
import { duration, element } from "./text.js";
import { tree } from "./tree.js";

const TAIL = 1200; // characters of an answer that a card shows at least; the selected response shows all

class Board {
  constructor() {
    this.number = 0;
    this.reset();
    this.views = new Set();
  }

  reset() {
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
    } else if (message.n !== this.number + 1) return message.n <= this.number;
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
    this.redrawTree ||= Boolean(news.tree);
    for (const view of this.views) view.ask();
    return true;
  }

  now() {
    return performance.now() / 1000 - this.clock;
  }
}

const button = (words, act) => {
  const made = element("button", "", words);
  made.type = "button";
  made.onclick = act;
  return made;
};

const field = (hint) => {
  const made = element("input");
  made.type = "text";
  made.placeholder = hint;
  made.setAttribute("aria-label", hint);
  return made;
};

/** One lane: its name and state, its latest text, and a line to go on with. */
class Card {
  constructor(view, row) {
    this.view = view;
    this.name = element("span", "nbb-name");
    this.state = element("span", "nbb-state");
    this.facts = element("span", "nbb-dim");
    this.asked = element("div", "nbb-asked nbb-dim");
    this.said = element("div");
    this.text = element("div", "nbb-text", this.said); // the style keeps its end in sight: asking where the reader is
    this.text.tabIndex = 0; // would lay out every card by itself, those out of sight too
    this.prompt = field("Continue this lane");
    this.send = button("Send", () => this.ask());
    this.steer = button("Steer", () => this.ask("steer"));
    this.fork = button("Fork", () => view.select(this.row.latest));
    this.stop = button("Stop", () => view.act({ op: "stop", lane: this.row.lane }));
    this.prompt.onkeydown = (key) => key.key === "Enter" && !key.isComposing && this.ask();
    const line = element("div", "nbb-line", this.prompt, this.send, this.steer, this.fork, this.stop);
    const head = element("div", "nbb-head", this.name, this.state, this.facts);
    this.node = element("section", "nbb-card", head, this.asked, this.text, line);
    this.node.setAttribute("aria-label", row.name);
  }

  ask(op = "ask") {
    const text = this.prompt.value.trim();
    if (!text) return;
    this.view.act({ op, lane: this.row.lane, text });
    this.prompt.value = "";
  }

  update(row, board) {
    this.row = row;
    grow(this.name, row.name);
    grow(this.state, row.activity || row.state);
    this.node.dataset.state = row.state;
    grow(this.asked, row.asked ?? "");
    const whole = board.texts.get(row.response) ?? "";
    const from = Math.floor(Math.max(0, whole.length - TAIL) / 600) * 600; // moves seldom, so that most pieces append
    grow(this.said, whole.slice(from));
    const running = row.state === "in flight";
    this.steer.hidden = !running;
    this.stop.hidden = !running && !row.queued;
    this.fork.disabled = !row.latest;
    this.tick(board);
  }

  tick(board) {
    const { begun, ended, tokens, queued, state } = this.row;
    const seconds = begun === undefined || begun === null ? null : (ended ?? board.now()) - begun;
    const facts = [seconds === null || (!ended && state !== "in flight") ? "" : duration(Math.max(0, seconds))];
    if (tokens) facts.push(`${tokens} tokens`);
    if (queued) facts.push(`${queued} waiting`);
    grow(this.facts, facts.filter(Boolean).join(" · "));
  }
}

class View {
  constructor(board, model, root) {
    Object.assign(this, { board, model, cards: new Map(), frame: 0, selected: null });
    this.meters = element("div", "nbb-meters");
    this.note = element("div", "nbb-note");
    this.note.setAttribute("role", "status");
    this.picture = element("div", "nbb-tree");
    this.detail = element("div", "nbb-detail");
    this.detail.hidden = true;
    this.grid = element("div", "nbb-grid");
    const box = element("div", "nbb", this.meters, this.grid, this.picture, this.detail, this.note);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Lane board");
    box.dataset.lmSuppressShortcuts = "true"; // else the notebook takes Enter, the arrows and the letters
    root.replaceChildren(box);
    this.buildDetail();
    board.views.add(this);
    board.redrawTree = true;
    this.clock = setInterval(() => this.tick(), 500);
    this.draw();
  }

  buildDetail() {
    this.title = element("div", "nbb-head");
    this.whole = element("div", "nbb-text nbb-whole");
    this.whole.tabIndex = 0;
    this.newName = field("Name of the new lane");
    this.newPrompt = field("Prompt for the new lane");
    const go = () => this.fork();
    this.newPrompt.onkeydown = (key) => key.key === "Enter" && !key.isComposing && go();
    const close = button("Close", () => this.select(null));
    const line = element("div", "nbb-line", this.newName, this.newPrompt, button("Fork from here", go), close);
    this.detail.append(this.title, this.whole, line);
  }

  act(message) {
    this.note.textContent = "";
    this.model.send(message);
  }

  fork() {
    const [lane, text] = [this.newName.value.trim(), this.newPrompt.value.trim()];
    if (!lane || !text) {
      this.note.textContent = "A fork needs a name for the new lane and a prompt.";
      return;
    }
    this.act({ op: "fork", at: this.selected, lane, text });
    this.select(null);
  }

  /** Show a response as a whole, to read it and to fork from it. */
  select(id) {
    this.selected = id;
    this.board.redrawTree = true;
    this.detail.hidden = !id;
    if (id) {
      const node = this.board.tree.find((each) => each.id === id);
      const taken = new Set([...this.board.rows.values()].map((row) => row.name));
      let number = 2;
      while (taken.has(`${node?.lane}-${number}`)) number += 1;
      this.newName.value = `${(node?.lane ?? "lane").replace(/[()]/g, "")}-${number}`;
      this.newPrompt.value = [...this.board.rows.values()].find((row) => row.latest === id)?.asked ?? "";
      grow(this.title, `${node?.lane ?? ""} · ${node?.state ?? ""} · ${id}`);
    }
    this.draw();
    if (id) this.newName.focus({ preventScroll: true });
  }

  ask() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    for (const [key, row] of this.board.rows) {
      if (!this.cards.has(key)) {
        this.cards.set(key, new Card(this, row));
        this.grid.append(this.cards.get(key).node);
      }
      this.cards.get(key).update(row, this.board);
    }
    for (const [key, card] of this.cards) {
      if (this.board.rows.has(key)) continue;
      card.node.remove();
      this.cards.delete(key);
    }
    if (this.selected) grow(this.whole, this.board.texts.get(this.selected) ?? "");
    if (this.board.redrawTree) {
      this.board.redrawTree = false;
      this.picture.replaceChildren(tree(this.board.tree, this.selected, (id) => this.select(id)));
    }
    this.tick();
  }

  tick() {
    const { transport, in_flight, names, connections, since, max_age } = this.board.meters;
    const age = since === null || since === undefined ? null : this.board.now() - since;
    const facts = [
      transport,
      `${in_flight ?? 0} of 16 in flight`,
      `${names ?? 0} of 32 names`,
      age === null ? "not connected" : `${duration(Math.max(0, age))} of ${max_age / 60} min`,
      connections > 1 ? `${connections} connections` : "",
    ];
    grow(this.meters, facts.filter(Boolean).join(" · "));
    for (const card of this.cards.values()) card.tick(this.board);
  }

  fail(words) {
    this.note.textContent = words;
  }

  dispose() {
    this.board.views.delete(this);
    clearInterval(this.clock);
    cancelAnimationFrame(this.frame);
  }
}

export default () => {
  const board = new Board();
  return {
    initialize({ model }) {
      const load = () => model.get("snapshot")?.n >= 0 && board.receive({ snapshot: model.get("snapshot") });
      let asked = -Infinity;
      const receive = (message) => {
        if (message.failed) board.views.forEach((view) => view.fail(message.failed));
        else if (!board.receive(message) && performance.now() - asked > 1000) {
          asked = performance.now();
          model.send({ op: "snapshot" });
        }
      };
      load();
      model.on("msg:custom", receive);
      return () => model.off("msg:custom", receive);
    },
    render({ model, el }) {
      const view = new View(board, model, el);
      return () => view.dispose();
    },
  };
};
