// How each kind of output item looks: a class per kind, made once and then updated in place. Never reads a message.

import { grow } from "./grow.js";
import { codeBox, LiveMarkdown } from "./markdown.js";
import { clean, duration, element, link } from "./text.js";

const LABELS = {
  arguments: "Arguments",
  code: "Code",
  diff: "Patch",
  error: "Error",
  hit: "Found",
  json: "JSON",
  logs: "Output",
  query: "Query",
  result: "Result",
  shell_command: "Command",
  shell_output: "Output",
  tools: "Tools",
};

/** An answer's text, and under it what it cites. */
class Message {
  constructor(options) {
    this.node = element("div", "nbr-message");
    this.text = new LiveMarkdown(this.node, options);
    this.cites = element("ol", "nbr-cites");
    this.node.append(this.cites);
  }

  update({ parts, notes, facts }) {
    this.node.classList.toggle("nbr-aside", facts.phase === "commentary");
    if (parts.has("text")) this.text.update(parts.get("text"), facts.done);
    listLinks(this, this.cites, notes);
  }
}

/** What the model said when it refused. */
class Refusal extends Message {
  constructor(options) {
    super(options);
    this.node.classList.add("nbr-refusal");
    this.node.prepend(element("div", "nbr-label", "The model refused"));
  }
}

/** Why the response is not whole. Text only. */
class Alert {
  constructor() {
    this.title = element("strong");
    this.text = element("div");
    this.node = element("div", "nbr-alert", this.title, this.text);
    this.node.setAttribute("role", "alert");
  }

  update({ facts, parts }) {
    this.node.classList.toggle("nbr-bad", Boolean(facts.bad));
    grow(this.title, clean(facts.title ?? ""));
    grow(this.text, clean(parts.get("text")?.text ?? ""));
  }
}

function listLinks(block, list, notes) {
  if (block.notes === notes) return;
  block.notes = notes;
  list.replaceChildren(...notes.map(({ words, url }) => element("li", "", link(clean(words), url))));
}

/** Reasoning, folded: its head shows the last line while it runs, and how long it took. */
class Reasoning {
  constructor(options) {
    this.title = element("span", "nbr-title", "Reasoning");
    this.last = element("span", "nbr-last nbr-dim");
    this.time = element("span", "nbr-time nbr-dim");
    this.body = element("div", "nbr-think-body");
    this.node = element("details", "nbr-think", element("summary", "", this.title, this.last, this.time), this.body);
    this.node.ontoggle = () => this.item && this.draw();
    this.options = { ...options, onBlock: () => {} };
    this.parts = new Map();
  }

  update(item) {
    this.item = item;
    const { facts } = item;
    this.node.classList.toggle("nbr-busy", !facts.done);
    grow(this.last, facts.done ? "" : lastLine(item.parts));
    this.tick();
    if (this.node.open) this.draw();
  }

  /** The clock goes on where nothing arrives. */
  tick() {
    const { facts, born } = this.item;
    const seconds = facts.done ? facts.seconds : (facts.elapsed ?? 0) + (performance.now() - born) / 1000;
    grow(this.time, duration(seconds));
  }

  draw() {
    for (const [name, part] of this.item.parts) {
      if (!this.parts.has(name)) this.parts.set(name, new LiveMarkdown(this.body, this.options));
      this.parts.get(name).update(part, this.item.facts.done);
    }
  }
}

function lastLine(parts) {
  const text = [...parts.values()].at(-1)?.text ?? "";
  const lines = text.slice(-2000).split("\n");
  const line = lines.findLast((each) => each.trim()) ?? "";
  return clean(line).replace(/\*\*|__|^#+\s|`/g, "").slice(-300);
}

/** A tool call, or any other item: its name, its state, and its texts as they come. */
class Card {
  constructor() {
    this.title = element("span", "nbr-title");
    this.label = element("span", "nbr-dim nbr-label");
    this.status = element("span", "nbr-badge");
    this.links = element("ul", "nbr-links");
    this.node = element("section", "nbr-card", element("div", "nbr-head", this.title, this.label, this.status), this.links);
    this.sections = new Map();
    this.pictures = new Map();
  }

  update({ facts, parts, notes, images }) {
    grow(this.title, clean(facts.title ?? ""));
    grow(this.label, clean(facts.label ?? ""));
    grow(this.status, clean(facts.status ?? ""));
    this.node.classList.toggle("nbr-busy", !facts.done);
    this.node.classList.toggle("nbr-bad", Boolean(facts.bad));
    for (const [name, part] of parts) this.section(name, part);
    listLinks(this, this.links, notes);
    for (const [slot, image] of images) {
      if (!this.pictures.has(slot)) {
        this.pictures.set(slot, new Picture());
        this.node.append(this.pictures.get(slot).node);
      }
      this.pictures.get(slot).update({ images: new Map([[0, image]]), facts: { ...facts, final: true } });
    }
  }

  /** What has a number stands by it: an output below its command, whenever it came. */
  section(name, part) {
    if (!this.sections.has(name)) {
      const [kind, number = 0] = name.split(":");
      const place = Number(number);
      const code = element("code");
      const box = codeBox(element("pre", "", code), "");
      box.querySelector("span").textContent = LABELS[kind] ?? "";
      box.classList.toggle("nbr-error", kind === "error");
      const next = [...this.sections.values()].find((other) => other.place > place);
      (next?.box ?? this.links).before(box);
      this.sections.set(name, { box, code, place });
    }
    const { box, code } = this.sections.get(name);
    box.hidden = !part.text;
    grow(code, clean(part.text));
  }

  dispose() {
    for (const picture of this.pictures.values()) picture.dispose();
  }
}

/** An image that sharpens in place: one element, each preview put where the one before it was. */
class Picture {
  constructor() {
    this.image = element("img");
    this.image.hidden = true;
    this.empty = element("div", "nbr-empty");
    this.caption = element("figcaption", "nbr-label");
    this.node = element("figure", "nbr-image", this.image, this.empty, this.caption);
  }

  update({ images, facts }) {
    const image = images.get(0);
    if (image?.data && image !== this.shown) {
      this.shown = image;
      release(this.image.src);
      this.image.src = URL.createObjectURL(new Blob([image.data], { type: image.mime }));
      this.image.hidden = false;
    }
    this.image.alt = clean(facts.title ?? "Image");
    this.node.classList.toggle("nbr-busy", !facts.final && !facts.done);
    this.empty.hidden = Boolean(image) || facts.done;
    grow(this.caption, clean(image?.words ?? facts.words ?? ""));
  }

  dispose() {
    release(this.image.src);
  }
}

/** Sound: its transcript as it comes, a player when it is whole. */
class Sound {
  constructor() {
    this.text = element("p", "nbr-transcript");
    this.node = element("div", "nbr-sound nbr-busy", element("div", "nbr-label", "Audio"), this.text);
    this.player = null;
  }

  update({ parts, audio, facts }) {
    grow(this.text, clean(parts.get("transcript")?.text ?? ""));
    this.node.classList.toggle("nbr-busy", !facts.done);
    if (!audio?.data || this.player) return;
    this.player = element("audio");
    this.player.controls = true;
    this.player.src = URL.createObjectURL(new Blob([audio.data], { type: audio.mime }));
    this.text.before(this.player);
  }

  dispose() {
    release(this.player?.src);
  }
}

/** Let the bytes behind an address go, when whoever still loads it is through. */
function release(url) {
  if (url) setTimeout(() => URL.revokeObjectURL(url), 5000);
}

const KINDS = { message: Message, refusal: Refusal, reasoning: Reasoning, image: Picture, audio: Sound, alert: Alert };

/** The block for an item's kind; a card for all that has no look of its own. */
export function blockFor(kind, options) {
  return new (KINDS[kind] ?? Card)(options);
}
