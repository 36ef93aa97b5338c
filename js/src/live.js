// The live view's widget: collects messages as soon as its model exists, draws wherever its mark or its display is.
// The store is shared by all hooks through this factory's closure: each gets a wrapper of the model of its own.

import { Places } from "./places.js";
import { Store } from "./store.js";
import { View } from "./view.js";

const AGAIN = 1000; // milliseconds between two requests for a snapshot
const LOOK = 500; // milliseconds between two looks for places and silence
const SILENCE = 5000; // milliseconds without a message after which the kernel is asked whether one was lost
const LONGEST = 60_000; // between two such questions: each silence is twice as long as the one before

export default () => {
  const store = new Store();
  let asked = -Infinity;
  let heard = performance.now();
  let patience = SILENCE;
  let ended = false;

  /** The model, for reading and for messages: one that cannot be sent says that the kernel is gone. */
  function guarded(model) {
    return {
      get: (name) => model.get(name),
      send(message) {
        try {
          model.send(message);
        } catch {
          store.lose();
        }
      },
    };
  }

  function ask(kernel) {
    if (performance.now() - asked < AGAIN) return;
    asked = performance.now();
    kernel.send({ op: "snapshot" });
  }

  function receive(kernel, message, buffers) {
    heard = performance.now();
    patience = SILENCE;
    if (message.ack) {
      store.stopped = true;
      return;
    }
    const whole = store.receive(message, buffers);
    if (!whole) ask(kernel);
    ended ||= Boolean(message.last);
  }

  /** The widget may go when the settled output has taken its place. It never reaches a cell that was moved meanwhile. */
  function leave(kernel, places) {
    if (!ended || places.marked()) return;
    ended = false;
    kernel.send({ op: "seen" });
  }

  /** A kernel that died is not announced; neither is a last message that was dropped. */
  function listen(kernel) {
    if (store.state.ended || performance.now() < heard + patience) return;
    heard = performance.now();
    patience = Math.min(2 * patience, LONGEST);
    kernel.send({ op: "at", n: store.number });
  }

  return {
    initialize({ model }) {
      const kernel = guarded(model);
      const places = new Places(model.get("mark"), (el) => {
        const view = new View(store, kernel, el);
        return () => view.dispose();
      });
      store.load(model.get("snapshot"));
      const on = {
        "msg:custom": (message, buffers) => (places.look(), receive(kernel, message, buffers), leave(kernel, places)),
        "change:snapshot": () => store.load(model.get("snapshot")),
        comm_live_update: () => store.lose(), // JupyterLab's word for a kernel that restarts
      };
      for (const [name, handler] of Object.entries(on)) model.on(name, handler);
      const clock = setInterval(() => (places.look(), listen(kernel), leave(kernel, places)), LOOK);
      places.look();
      return () => {
        for (const [name, handler] of Object.entries(on)) model.off(name, handler);
        clearInterval(clock);
        places.clear();
      };
    },
    render({ model, el }) {
      const view = new View(store, guarded(model), el);
      return () => view.dispose();
    },
  };
};
