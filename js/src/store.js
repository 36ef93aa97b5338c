// The state of one response, from numbered messages. Draws nothing; views read it and are told that it changed.
//
// Rules
// 1. A message is taken when its number follows the last one. An older one changes nothing.
// 2. After a gap nothing is taken until a snapshot comes, so that no text is ever shown with a hole in it.
// 3. Texts only grow, or are replaced as a whole (`version` says so): a view appends what it has not drawn yet.

export class Store {
  constructor() {
    this.number = 0;
    this.items = new Map();
    this.state = {};
    this.since = performance.now();
    this.stale = false;
    this.listeners = new Set();
  }

  /** Take a message. False where something before it is missing: ask for a snapshot. */
  receive(message, buffers) {
    if (message.snapshot) return this.load(message.snapshot, buffers);
    if (!(message.n > this.number)) return true;
    if (this.stale || message.n !== this.number + 1) {
      this.stale = true;
      return false;
    }
    this.number = message.n;
    for (const op of message.ops) this.apply(op, buffers);
    this.tell();
    return true;
  }

  /** Take a whole state, unless it is older than what is here. */
  load(snapshot, buffers = snapshot.buffers) {
    if (!(snapshot.n >= this.number)) return true;
    this.number = snapshot.n;
    this.stale = false;
    this.know(snapshot.state);
    const gone = new Set(this.items.keys());
    for (const { key, facts, texts, notes, images, audio } of snapshot.items) {
      gone.delete(key);
      const item = this.item(key);
      Object.assign(item, { facts, notes, born: performance.now() });
      for (const [name, text] of texts) this.set(item, name, text);
      for (const [slot, about, at] of images) this.image(item, slot, about, buffers[at]);
      if (audio) item.audio = { ...audio[0], data: buffers[audio[1]] };
    }
    for (const key of gone) this.items.delete(key);
    this.tell();
    return true;
  }

  apply([what, key, ...rest], buffers) {
    if (what === "state") this.know({ ...this.state, ...key });
    else if (what === "gone") this.items.delete(key);
    else {
      const item = this.item(key);
      if (what === "item") Object.assign(item.facts, rest[0]);
      else if (what === "add") this.part(item, rest[0]).text += rest[1];
      else if (what === "set") this.set(item, rest[0], rest[1]);
      else if (what === "notes") item.notes = rest[0];
      else if (what === "image") this.image(item, rest[0], rest[1], buffers[rest[2]]);
      else if (what === "audio") item.audio = { ...rest[0], data: buffers[rest[1]] };
    }
  }

  know(state) {
    if (state.elapsed !== this.state.elapsed) this.since = performance.now();
    this.state = state;
  }

  /** Seconds since the request was sent. */
  elapsed() {
    const { elapsed, ended } = this.state;
    return (elapsed ?? 0) + (ended ? 0 : (performance.now() - this.since) / 1000);
  }

  /** The kernel is gone: what came is all there will be. */
  lose() {
    if (this.state.ended) return;
    this.state = { ...this.state, state: "gone", elapsed: this.elapsed(), ended: true };
    for (const { facts } of this.items.values()) facts.done = true;
    this.tell();
  }

  item(key) {
    if (!this.items.has(key)) {
      const born = performance.now();
      this.items.set(key, { key, facts: {}, parts: new Map(), notes: [], images: new Map(), audio: null, born });
    }
    return this.items.get(key);
  }

  part(item, name) {
    if (!item.parts.has(name)) item.parts.set(name, { text: "", version: 0 });
    return item.parts.get(name);
  }

  set(item, name, text) {
    const part = this.part(item, name);
    if (!text.startsWith(part.text)) part.version += 1;
    part.text = text;
  }

  image(item, slot, facts, data) {
    item.images.set(slot, { ...facts, data });
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}
