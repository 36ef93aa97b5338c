"""The hostile corpus in a browser: live and settled, nothing runs, nothing loads, nothing leaves its box."""

from __future__ import annotations

import time
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses import Response
from nbresponses.display.live_state import LiveState
from nbresponses.render import blocks, bundle

if TYPE_CHECKING:
    from module_page import ModulePage

_spec = util.spec_from_file_location("hostile", Path(__file__).parents[1] / "render" / "hostile.py")
assert _spec is not None
assert _spec.loader is not None
hostile = util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

ORIGIN = "http://module.test"
OVERLAP = """() => {
  const box = document.querySelector(".nbr").getBoundingClientRect();
  const outside = [[5, box.bottom + 5], [innerWidth - 5, 5], [box.left - 3, box.top + 5]];
  return outside.filter(([x, y]) => y < innerHeight && document.elementFromPoint(x, y)?.closest(".nbr")).length;
}"""
ACTIVE = """() => [...document.querySelectorAll("#out *")].filter((node) =>
  ["SCRIPT", "STYLE", "IFRAME", "OBJECT", "EMBED", "LINK", "META", "BASE", "FORM", "INPUT", "VIDEO", "svg"]
    .includes(node.tagName)
  || [...node.attributes].some((a) => a.name.startsWith("on") || /^\\s*(javascript|vbscript|file):/i.test(a.value))
  || (node.tagName === "A" && node.href && !/^(https?|mailto):/.test(node.href))
  || (node.tagName === "IMG" && node.src && !/^(blob|data):/.test(node.src))
  || (node.closest(".nbr-md, pre") && node.id)
).map((node) => node.outerHTML.slice(0, 200))"""


def live(module: ModulePage, text: str, word: str) -> None:
    """The answer as a view sends it, with the word in every name, label and message."""
    state = LiveState()
    state.compare(blocks(Response(hostile.response(text, word), ending="failed")), 0.0)
    ops, buffers = state.take()
    fresh = f"{module.number}:"
    for op in ops:
        op[1] = fresh + op[1]
    module.send(*ops, ["state", {"model": word, "rest": [word]}], buffers=tuple(buffers))


def harmless(module: ModulePage) -> None:
    assert module.page.evaluate("window.__hostile_script_ran") is None
    assert module.foreign(ORIGIN) == []
    assert module.dialogs == []
    assert module.page.evaluate(ACTIVE) == []
    assert module.page.evaluate(OVERLAP) == 0
    assert module.page.url == f"{ORIGIN}/"


def test_live_nothing_runs_or_loads(module: ModulePage) -> None:
    words = hostile.WORDS
    for number, text in enumerate(hostile.TEXTS.values()):
        live(module, text, words[number % len(words)])
    module.page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    module.page.wait_for_timeout(300)
    harmless(module)
    assert "window.__hostile_script_ran=1" in module.text(), "it is there, as text"
    assert module.errors == []


def test_live_text_in_pieces(module: ModulePage) -> None:
    for number, text in enumerate(hostile.TEXTS.values()):
        key = str(number)
        module.send(["item", key, {"kind": "message", "order": number}])
        pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
        module.send(*(["add", key, "text", piece.encode("utf-8", "replace").decode()] for piece in pieces))
    harmless(module)
    assert module.errors == []


def test_live_piles_are_drawn_in_time(module: ModulePage) -> None:
    slow = {}
    for name, text in hostile.PILES.items():
        module.send(["item", name, {"kind": "message", "order": 0}])
        half = len(text) // 2
        begun = time.monotonic()
        module.send(["add", name, "text", text[:half]])
        module.send(["add", name, "text", text[half:]])
        module.send(["item", name, {"done": True}])
        slow[name] = round(time.monotonic() - begun, 1)
        harmless(module)
        module.send(["gone", name])
    assert max(slow.values()) < 10, f"about a second expected: {slow}"


def test_settled_nothing_runs_or_loads(module: ModulePage) -> None:
    """The settled HTML in a page that does not sanitise: the hardest place that it may come to."""
    words = hostile.WORDS
    for number, text in enumerate(hostile.TEXTS.values()):
        shown: dict[str, Any] = bundle(Response(hostile.response(text, words[number % len(words)]), ending="failed"))
        module.page.evaluate(
            "(html) => { const box = document.createElement('div'); box.innerHTML = html; out.append(box) }",
            shown["text/html"],
        )
    module.page.wait_for_timeout(300)
    harmless(module)
