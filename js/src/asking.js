// Questions to the kernel and their answers. A question that gets none (a busy kernel, a lost message) resolves to null, and
// so does one that cannot be sent: the kernel is gone, and the caller is told by `lost`.

const PATIENCE = 10_000; // milliseconds

export const GONE = "The kernel ended or restarted: what had come is kept";

export class Kernel {
  constructor(model, lost) {
    Object.assign(this, { model, lost });
    this.waiting = new Map();
    this.name = Math.random().toString(36).slice(2); // views of one model answer to different names
    this.count = 0;
  }

  ask(op, fields) {
    const id = `${this.name}.${(this.count += 1)}`;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.settle(id, null), PATIENCE);
      this.waiting.set(id, { resolve, timer });
      try {
        this.model.send({ id, op, ...fields });
      } catch {
        this.settle(id, null);
        this.lost();
      }
    });
  }

  take(message) {
    this.settle(message.re, message);
  }

  settle(id, answer) {
    const asked = this.waiting.get(id);
    if (!asked) return;
    this.waiting.delete(id);
    clearTimeout(asked.timer);
    asked.resolve(answer);
  }

  dispose() {
    for (const id of [...this.waiting.keys()]) this.settle(id, null);
  }
}
