// One view of one store: draws when the browser draws, at most as often as it can afford. Never scrolls the page.

import { blockFor } from "./blocks.js";
import { grow } from "./grow.js";
import { stop } from "./stop.js";
import { clean, duration, element } from "./text.js";

const SHARE = 4; // times a drawing's own time that the page is left alone after it: at most a fifth goes into drawing
const QUIET = 1000; // milliseconds between two announcements to a screen reader
const WORDS = {
  waiting: "Waiting for the model",
  completed: "Done",
  error: "Failed",
  interrupted: "Stopped",
  gone: "The kernel ended or restarted: what had come is kept",
};
const BAD = ["failed", "error", "cut_off", "gone"];

export class View {
  constructor(store, model, root) {
    Object.assign(this, { store, model, root, blocks: new Map(), frame: 0, timer: 0, spoken: [], lastSpoken: 0 });
    this.stopping = this.said = false; // said: how it stands with the stop, in place of the state
    this.options = { remoteImages: model.get("allow_remote_images"), onBlock: (words) => this.announce(words) };
    this.build();
    this.schedule = () => this.ask();
    store.listeners.add(this.schedule);
    this.clock = setInterval(() => this.tick(), 1000);
    this.draw();
  }

  build() {
    this.items = element("div", "nbr-items");
    this.words = element("span", "nbr-words");
    this.facts = element("span", "nbr-dim nbr-facts");
    this.button = element("button", "nbr-stop", "Stop");
    this.button.type = "button";
    this.button.onclick = () => this.stop();
    this.spoke = element("div", "nbr-spoken");
    this.spoke.setAttribute("aria-live", "polite");
    const line = element("div", "nbr-status", element("span", "nbr-dot"), this.words, this.facts, this.button);
    this.box = element("div", "nbr", this.items, line, this.spoke);
    this.box.tabIndex = -1;
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", "Streaming answer");
    this.root.replaceChildren(this.box);
  }

  /** Draw with the next frame, or later where the last drawing took long. */
  ask() {
    if (this.frame || this.timer) return;
    const wait = (this.rest ?? 0) - performance.now();
    if (wait > 0) this.timer = setTimeout(() => ((this.timer = 0), this.ask()), wait);
    else this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    const begun = performance.now();
    for (const [key, item] of this.store.items) {
      const kind = item.facts.kind;
      let block = this.blocks.get(key);
      if (block && block.kind !== kind) {
        this.remove(key);
        block = null;
      }
      if (!block) {
        block = Object.assign(blockFor(kind, this.options), { kind });
        this.blocks.set(key, block);
        this.place(item, block);
      }
      block.update(item);
    }
    for (const key of this.blocks.keys()) if (!this.store.items.has(key)) this.remove(key);
    this.drawState();
    this.box.dataset.drawn = this.store.number;
    const end = performance.now();
    this.rest = end + SHARE * (end - begun);
  }

  /** Items stand in the order of the output, not of arrival. */
  place(item, block) {
    const order = item.facts.order ?? this.store.items.size;
    block.node.dataset.order = order;
    const next = [...this.items.children].find((node) => Number(node.dataset.order) > order);
    this.items.insertBefore(block.node, next ?? null);
  }

  remove(key) {
    const block = this.blocks.get(key);
    block.dispose?.();
    block.node.remove();
    this.blocks.delete(key);
  }

  drawState() {
    const { state } = this.store;
    if (state.ended && !this.ended) this.announce(`The answer has ended: ${this.phase(state)}.`);
    this.ended = state.ended;
    this.box.classList.toggle("nbr-busy", !state.ended);
    this.box.dataset.state = BAD.includes(state.state) ? "bad" : state.state;
    if (!this.said || state.ended) this.words.textContent = this.phase(state);
    if (state.ended && document.activeElement === this.button) this.box.focus({ preventScroll: true });
    this.button.hidden = Boolean(state.ended);
    this.tick();
  }

  phase({ state }) {
    const words = WORDS[state] ?? clean(state ?? "").replace(/_/g, " ");
    return words.charAt(0).toUpperCase() + words.slice(1);
  }

  /** The clock and the facts of the status line. */
  tick() {
    const { state } = this.store;
    const facts = [state.model, duration(this.store.elapsed()), ...(state.rest ?? [])];
    grow(this.facts, clean(facts.filter(Boolean).join(" · ")));
    if (!state.ended) for (const block of this.blocks.values()) block.tick?.();
  }

  stop() {
    if (this.stopping) return;
    this.said = true;
    this.waitForStop(true); // not `disabled`, which takes the focus away
    this.words.textContent = "Stopping…";
    stop(this.model, {
      answered: () => this.store.stopped || this.store.state.ended,
      say: (words) => {
        this.words.textContent = words;
        this.waitForStop(false);
      },
    });
  }

  waitForStop(waiting) {
    this.stopping = waiting;
    this.button.ariaDisabled = waiting;
  }

  /** Tell a screen reader what has become whole: blocks and endings, never pieces. */
  announce(words) {
    this.spoken.push(words.trim());
    if (this.speaking) return;
    this.speaking = setTimeout(() => {
      this.speaking = 0;
      this.spoke.textContent = this.spoken.filter(Boolean).join(" ").slice(-2000);
      this.spoken = [];
    }, QUIET);
  }

  dispose() {
    this.store.listeners.delete(this.schedule);
    clearInterval(this.clock);
    clearTimeout(this.timer);
    clearTimeout(this.speaking);
    cancelAnimationFrame(this.frame);
    for (const block of this.blocks.values()) block.dispose?.();
  }
}
