"""The board and the inspector on a page of their own, with their real kernel side behind it: no Jupyter, no network.

What the page sends reaches the widget's handler; what the widget sends by then goes back as custom messages, and the
page looks for more every 50 ms, as a websocket would bring it.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from chromium import Watched

if TYPE_CHECKING:
    from anywidget import AnyWidget
    from playwright.sync_api import BrowserContext, Route

ORIGIN = "http://widget.test"

_PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/widget.css">
<style>body { font-family: sans-serif; margin: 8px; width: 1000px } #below { height: 2000px }</style>
<div id="out"></div><div id="below">below</div>
<script type="module">
import exported from "/widget.js";
const listeners = new Map();
const traits = await window.kernelTraits();
const fire = window.fire = (name, ...args) => (listeners.get(name) ?? []).forEach((f) => f(...args));
window.messages = 0;
const take = (news) => {
  for (const message of news) {
    window.messages += 1;
    if (message.trait) traits[message.trait] = message.value, fire(`change:${message.trait}`);
    else fire("msg:custom", message, []);
  }
};
const model = {
  get: (name) => traits[name],
  on: (name, f) => listeners.set(name, [...(listeners.get(name) ?? []), f]),
  off: (name, f) => listeners.set(name, (listeners.get(name) ?? []).filter((g) => g !== f)),
  send(message) {
    if (window.lost) throw new Error("Cannot send");
    window.kernel(message).then(take);
  },
};
const widget = typeof exported === "function" ? await exported() : exported;
await widget.initialize?.({ model });
window.begun = performance.now();
window.hide = await widget.render({ model, el: document.getElementById("out") });
requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
window.again = () => {
  const place = document.createElement("div");
  document.getElementById("out").append(place);
  return widget.render({ model, el: place });
};
window.ready = true;
const poll = async () => { if (!window.lost) take(await window.kernel(null)); setTimeout(poll, 50); };
poll();
</script>"""


class WidgetPage(Watched):
    """One widget, drawn by its module, answered by its Python side."""

    def __init__(self, context: BrowserContext, widget: AnyWidget) -> None:
        super().__init__(context)
        self.widget = widget
        self._lock = threading.Lock()
        self._outbox: list[dict[str, Any]] = []
        widget.send = self._sent
        state = widget.get_state()
        self._files = {"/widget.js": state["_esm"], "/widget.css": state["_css"], "/": _PAGE}
        self._traits = {name: value for name, value in state.items() if isinstance(value, dict)}
        widget.observe(self._changed, list(self._traits))
        self.page.add_init_script("window.ran = []")
        self.page.expose_function("kernelTraits", lambda: self._traits)
        self.page.expose_function("kernel", self._asked)
        self.page.route("**/*", self._answer)
        self.page.goto(f"{ORIGIN}/")
        self.page.wait_for_function("window.ready")

    def lose_kernel(self, *, told: bool = True) -> None:
        """Nothing comes any more, nothing can be sent; `told` as JupyterLab tells of a restart, and of nothing else."""
        self.page.evaluate("(told) => { window.lost = true; if (told) window.fire('comm_live_update') }", told)

    def _asked(self, message: Any) -> list[dict[str, Any]]:
        if message is not None:
            self.widget._handle_custom_msg(json.loads(json.dumps(message)), [])
        with self._lock:
            news, self._outbox = self._outbox, []
        return news

    def _sent(self, content: dict[str, Any], buffers: Any = None) -> None:  # noqa: ARG002  as Widget.send
        with self._lock:
            self._outbox.append(content)

    def _changed(self, change: Any) -> None:
        with self._lock:
            self._outbox.append({"trait": change["name"], "value": change["new"]})

    def _answer(self, route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path in self._files:
            kind = {"/widget.js": "text/javascript", "/widget.css": "text/css"}.get(path, "text/html")
            route.fulfill(body=self._files[path], content_type=kind)
        elif path == "/favicon.ico":
            route.fulfill(status=204)
        else:
            route.abort()
