"""The live view's module on a page of its own, with a model that stands in for the widget's: no Jupyter, no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import Watched

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route

MODULE = Path(__file__).parents[2] / "nbresponses" / "display" / "static" / "live"
ORIGIN = "http://module.test"

_PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/widget.css">
<style>body { font-family: sans-serif; width: 800px } #below { height: 3000px }</style>
<div id="out"></div><div id="below">below</div>
<script type="module">
import factory from "/widget.js";
const listeners = new Map();
window.sent = [];
window.traits = { snapshot: {}, kernel_id: "", allow_remote_images: false, ...(window.given ?? {}) };
const model = {
  get: (name) => window.traits[name],
  on: (name, f) => listeners.set(name, [...(listeners.get(name) ?? []), f]),
  off: (name, f) => listeners.set(name, (listeners.get(name) ?? []).filter((g) => g !== f)),
  send: (message) => window.sent.push(message),
};
window.fire = (name, ...args) => (listeners.get(name) ?? []).forEach((f) => f(...args));
window.widget = factory();
window.widget.initialize({ model });
window.show = () => window.widget.render({ model, el: document.getElementById("out") });
window.hide = window.show();
window.ready = true;
</script>"""


_OUTSIDE = """() => {
  const box = out.firstElementChild.getBoundingClientRect();
  const around = [[5, box.bottom + 5], [innerWidth - 5, 5], [box.left - 3, box.top + 5]];
  return around.filter(([x, y]) => y < innerHeight && out.contains(document.elementFromPoint(x, y)?.parentNode)).length;
}"""
_ACTIVE = """() => [...document.querySelectorAll("#out *")].filter((node) =>
  ["SCRIPT", "STYLE", "IFRAME", "OBJECT", "EMBED", "LINK", "META", "BASE", "FORM", "VIDEO"].includes(node.tagName)
  || [...node.attributes].some((a) => a.name.startsWith("on") || /^\\s*(javascript|vbscript|file):/i.test(a.value))
  || (node.tagName === "A" && node.href && !/^(https?|mailto):/.test(node.href))
  || (node.tagName === "IMG" && node.src && !/^(blob|data):/.test(node.src))
  || node.id
).map((node) => node.outerHTML.slice(0, 200))"""


class ModulePage(Watched):
    """Feeds messages to the module as the kernel does, and reads what it draws."""

    def __init__(self, context: BrowserContext, **traits: Any) -> None:
        super().__init__(context)
        self.number = 0
        self.page.route("**/*", self._answer)
        self.page.add_init_script(f"window.given = {json.dumps(traits)}; window.ran = []")
        self.page.goto(f"{ORIGIN}/")
        self.page.wait_for_function("window.ready")

    def _answer(self, route: Route) -> None:
        url = route.request.url
        if url == f"{ORIGIN}/":
            route.fulfill(body=_PAGE, content_type="text/html")
        elif url == f"{ORIGIN}/widget.js":
            route.fulfill(body=MODULE.with_suffix(".js").read_text(), content_type="text/javascript")
        elif url == f"{ORIGIN}/widget.css":
            route.fulfill(body=MODULE.with_suffix(".css").read_text(), content_type="text/css")
        elif url == f"{ORIGIN}/favicon.ico":
            route.fulfill(status=204)
        else:
            route.abort()

    def send(self, *ops: list[Any], buffers: tuple[bytes, ...] = (), skip: int = 0, **more: Any) -> None:
        """One numbered message with its operations; `skip` makes a gap before it."""
        self.number += 1 + skip
        self.raw({"n": self.number, "ops": list(ops), **more}, buffers)
        if not skip:
            self.page.wait_for_selector(f".nbr[data-drawn='{self.number}']")

    def raw(self, message: dict[str, Any], buffers: tuple[bytes, ...] = ()) -> None:
        self.page.evaluate(
            """async ([message, buffers]) => {
                 window.fire("msg:custom", message, buffers.map((b) => new DataView(Uint8Array.from(b).buffer)));
                 await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
               }""",
            [message, [list(buffer) for buffer in buffers]],
        )

    def html(self, selector: str = ".nbr-items") -> str:
        return str(self.page.eval_on_selector(selector, "node => node.innerHTML"))

    def text(self, selector: str = ".nbr") -> str:
        return str(self.page.eval_on_selector(selector, "node => node.innerText"))

    def sent(self) -> list[dict[str, Any]]:
        return list(self.page.evaluate("window.sent"))

    def harmless(self) -> None:
        """Nothing ran, nothing was loaded, nothing active stands in the page, nothing covers what is beside the box."""
        assert self.page.evaluate("window.__hostile_script_ran") is None
        assert self.foreign(ORIGIN) == []
        assert self.dialogs == []
        assert self.page.evaluate(_ACTIVE) == []
        assert self.page.evaluate(_OUTSIDE) == 0
        assert self.page.url == f"{ORIGIN}/"
