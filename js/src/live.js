// The live view's widget: collects messages as soon as its model exists, draws wherever it is displayed.
// The store is shared by both through this factory's closure: each hook gets a wrapper of the model of its own.

import { Store } from "./store.js";
import { View } from "./view.js";

const AGAIN = 1000; // milliseconds between two requests for a snapshot

export default () => {
  const store = new Store();
  let asked = -Infinity;
  let late = false; // a page that came during the stream: the settled output will not reach it, so it keeps the widget

  function ask(model) {
    if (performance.now() - asked < AGAIN) return;
    asked = performance.now();
    model.send({ op: "snapshot" });
  }

  function receive(model, message, buffers) {
    if (message.ack) {
      store.stopped = true;
      return;
    }
    const whole = store.receive(message, buffers);
    if (!whole) ask(model);
    else if (message.last && !message.snapshot && !late) model.send({ op: "seen" });
  }

  return {
    initialize({ model }) {
      late = model.get("snapshot")?.n > 1;
      store.load(model.get("snapshot"));
      const onMessage = (message, buffers) => receive(model, message, buffers);
      const onSnapshot = () => store.load(model.get("snapshot"));
      model.on("msg:custom", onMessage);
      model.on("change:snapshot", onSnapshot);
      return () => {
        model.off("msg:custom", onMessage);
        model.off("change:snapshot", onSnapshot);
      };
    },
    render({ model, el }) {
      const view = new View(store, model, el);
      return () => view.dispose();
    },
  };
};
