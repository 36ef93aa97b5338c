// One lane on the board: its name and state, its latest text, why it failed, and a line to go on with. What a model or a
// server wrote is put in as text, but for the answer's Markdown (see `markdown.js`).

import { grow } from "./grow.js";
import { button, promptField } from "./prompt.js";
import { Tail } from "./tail.js";
import { duration, element } from "./text.js";

const WORDS = { interrupted: "stopped", error: "failed", idle: "no answer yet", gone: "kernel ended" };

export const stateWords = (state) => WORDS[state] ?? String(state ?? "").replace(/_/g, " ");

export class Card {
  constructor(view, row) {
    this.view = view;
    this.seen = true; // until the browser says otherwise
    this.name = element("span", "nbb-name");
    this.state = element("span", "nbb-state");
    this.asked = element("span", "nbb-asked");
    this.facts = element("span", "nbb-facts");
    this.text = new Tail("nbb-text");
    this.why = element("div", "nbb-why");
    this.problem = element("div", "nbb-problem");
    this.problem.setAttribute("role", "alert");
    this.prompt = promptField("Continue this lane", () => this.ask("ask"));
    this.prompt.oninput = () => this.say("");
    this.stop = button("Stop", () => this.do("stop"), "Stop what runs and waits here; what came is kept");
    this.fork = button("Fork", () => view.select(this.row.latest), "Continue its latest response in a new lane");
    this.steer = button("Steer", () => this.ask("steer"), "Send this to what runs now");
    this.send = button("Send", () => this.ask("ask"));
    const head = element("div", "nbb-head", this.name, this.state, element("span", "nbb-gap"), this.stop, this.fork);
    const about = element("div", "nbb-about nbb-dim", this.asked, this.facts);
    const line = element("div", "nbb-line", this.prompt, this.steer, this.send);
    this.node = element("section", "nbb-card", head, about, this.why, this.text.node, this.problem, line);
    this.node.setAttribute("aria-label", row.name);
  }

  /** Send what is in the prompt; a request that cannot be made gives it back. */
  async ask(op) {
    const text = this.prompt.value.trim();
    if (!text) return this.prompt.focus();
    this.prompt.value = "";
    const problem = await this.do(op, { text });
    if (problem && !this.prompt.value) this.prompt.value = text;
    return undefined;
  }

  async do(op, fields = {}) {
    this.say("");
    const { problem, failed } = await this.view.act(op, { lane: this.row.lane, ...fields });
    this.say(problem);
    return failed;
  }

  say(words) {
    grow(this.problem, words);
  }

  update(row, board) {
    this.row = row;
    grow(this.name, row.name);
    this.name.title = row.name;
    grow(this.state, row.activity || stateWords(row.state));
    this.node.dataset.state = row.state;
    grow(this.asked, row.asked ?? "");
    this.asked.title = row.asked ?? "";
    grow(this.why, row.why ?? "");
    const running = row.state === "in flight";
    this.text.update(row.response, board.texts.get(row.response) ?? "", !running, this.seen);
    this.steer.hidden = !running;
    this.stop.hidden = !running && !row.queued;
    this.fork.hidden = !row.latest;
    this.send.title = running || row.queued ? "It is sent when what runs and waits here has ended" : "";
    this.tick(board);
  }

  tick(board) {
    const { begun, ended, tokens, queued, state } = this.row;
    const over = ended !== undefined && ended !== null;
    const timed = begun !== undefined && begun !== null && (over || state === "in flight");
    const facts = [timed ? duration(Math.max(0, (over ? ended : board.now()) - begun)) : ""];
    if (tokens) facts.push(`${tokens.toLocaleString()} tokens`);
    if (queued) facts.push(`${queued} waiting`);
    grow(this.facts, facts.filter(Boolean).join(" · "));
  }
}
