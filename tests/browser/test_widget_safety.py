"""The hostile corpus through the lane board and the inspector: nothing runs, nothing loads, nothing leaves its box."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nbresponses import Capture, EventInspector, LaneBoard, decode_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser
    from widget_page import WidgetPage

_spec = util.spec_from_file_location("hostile", Path(__file__).parents[1] / "render" / "hostile.py")
assert _spec is not None
assert _spec.loader is not None
hostile = util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)

ORIGIN = "http://widget.test"
WORDS = [word.encode("utf-8", "replace").decode() for word in hostile.WORDS]
OURS = "button, input, select, option, label, svg, svg *"
ACTIVE = """(ours) => [...document.querySelectorAll("#out *")].filter((node) =>
  ["SCRIPT", "STYLE", "IFRAME", "OBJECT", "EMBED", "LINK", "META", "BASE", "FORM", "VIDEO"]
    .includes(node.tagName)
  || [...node.attributes].some((a) => a.name.startsWith("on") || /^\\s*(javascript|vbscript|file):/i.test(a.value))
  || (node.tagName === "A" && node.href && !/^(https?|mailto):/.test(node.href))
  || (node.tagName === "IMG" && node.src && !/^(blob:|data:image\\/(png|jpeg|gif|webp))/.test(node.src))
  || (["svg", "INPUT"].includes(node.tagName) && !node.matches(ours))
).map((node) => node.outerHTML.slice(0, 200))"""
FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
OVERLAP = """() => {
  const box = document.querySelector("#out > *").getBoundingClientRect();
  const outside = [[5, box.bottom + 5], [innerWidth - 5, 5], [box.left - 3, box.top + 5]];
  return outside.filter(([x, y]) => y < innerHeight && document.elementFromPoint(x, y)?.closest("#out > *")).length;
}"""

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[Any], WidgetPage]]:
    from widget_page import WidgetPage

    context = browser.new_context(viewport={"width": 1040, "height": 1400})
    yield lambda widget: WidgetPage(context, widget)
    context.close()


def events(text: str, word: str, lane: str | None) -> list[dict[str, Any]]:
    """A response that holds the text as its answer and the word everywhere else, streamed."""
    whole = hostile.response(text, word)
    numbered: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": word, "model": word}}]
    for index, item in enumerate(whole["output"]):
        numbered.append({"type": "response.output_item.added", "output_index": index, "item": item})
        numbered.append({"type": "response.output_item.done", "output_index": index, "item": item})
    delta = {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": text}
    numbered += [delta, {"type": word, "delta": text}, {"type": "error", "code": word, "message": word}]
    numbered.append({"type": "response.failed", "response": {**whole, "output": whole["output"][:2]}})
    return [{**event, "sequence_number": at, "stream_id": lane} for at, event in enumerate(numbered)]


def hostile_capture(lanes: bool) -> Capture:
    capture = Capture(datetime.now(UTC), source=WORDS[0])
    for number, text in enumerate(hostile.TEXTS.values()):
        word = WORDS[number % len(WORDS)]
        lane = f"{word[:60]} {number}" if lanes else None
        at = number * 0.5
        capture.sent({"type": "response.create", "input": text, "model": word}, at, transport="websocket", lane=lane)
        sound = [decode_event(json.dumps(event)) for event in events(text, word, lane)]
        capture.received(sound, at + 0.25, transport="websocket", lane=lane)
        capture.noted("closed", at + 0.3, lane=lane, reason=word)
    capture.remainder(WORDS[1].encode(), 100.0)
    return capture


class Lanes:
    """A connection whose names, states and ids are hostile."""

    def __init__(self, capture: Capture | None = None) -> None:
        self.capture = capture or hostile_capture(lanes=True)
        self.names = sorted({message.lane for message in self.capture if message.lane})

    def status(self) -> dict[str, Any]:
        rows = [
            {"lane": name, "state": WORDS[at % len(WORDS)], "queued": 0, "latest": WORDS[at % len(WORDS)]}
            for at, name in enumerate(self.names)
        ]
        return {"transport": WORDS[0], "in_flight": 1, "queued": 0, "connections": [], "lanes": rows}

    def lineage(self) -> list[dict[str, Any]]:
        return [
            {"id": word, "parent": WORDS[at - 1] if at else None, "lane": word, "state": word}
            for at, word in enumerate(WORDS)
        ]


def harmless(page: WidgetPage) -> None:
    assert page.page.evaluate("window.__hostile_script_ran") is None
    assert page.foreign(ORIGIN) == []
    assert page.dialogs == []
    assert page.page.evaluate(ACTIVE, OURS) == []
    assert page.page.evaluate(OVERLAP) == 0
    assert page.page.url == f"{ORIGIN}/"
    assert page.errors == []


def test_the_board(open_page: Callable[[Any], WidgetPage]) -> None:
    board = LaneBoard(Lanes())  # type: ignore[arg-type]
    try:
        page = open_page(board)
        page.page.wait_for_function("document.querySelector('#out').innerText.includes('onerror')")
        for node in page.page.query_selector_all(".nbb-node")[:6]:
            node.dispatch_event("click")
        page.page.wait_for_timeout(200)
        harmless(page)
        assert hostile.RUN in page.page.inner_text("#out"), "it is there, as text"
    finally:
        board.close()


def test_the_inspector(open_page: Callable[[Any], WidgetPage]) -> None:
    capture = hostile_capture(lanes=False)
    page = open_page(EventInspector(capture))
    page.page.wait_for_selector(".nbi-row")
    shown = page.page.locator(".nbi-row")
    for number in range(0, 18, 3):
        shown.nth(number).click()
        page.page.wait_for_timeout(30)
    for row in range(5, len(capture), 67):
        page.widget.seek(row)
        page.page.wait_for_selector(f".nbi[data-row='{row}']")
        assert page.page.evaluate(ACTIVE, OURS) == []
    page.widget.seek(len(capture) - 3)
    page.page.wait_for_timeout(200)
    harmless(page)


def test_piles(open_page: Callable[[Any], WidgetPage]) -> None:
    """A line of a megabyte, 100,000 nested quotations and the like, as answers of lanes and in their events."""
    capture = Capture(datetime.now(UTC))
    for name in ("one line", "one word", "quotations", "nested emphasis", "links"):
        made = [decode_event(json.dumps(event)) for event in events(hostile.PILES[name], f"of {name}", name)]
        capture.received(made, 0.1, transport="websocket", lane=name)
    board = LaneBoard(Lanes(capture))  # type: ignore[arg-type]
    try:
        page = open_page(board)
        page.page.wait_for_function("document.querySelectorAll('.nbb-card').length === 5")
        page.page.evaluate(FRAME)
        harmless(page)
        assert page.page.inner_text(".nbb-card[aria-label='one word'] .nbb-text")
    finally:
        board.close()
    page = open_page(EventInspector(capture))
    page.page.set_default_timeout(20_000)
    for row in range(20, len(capture), len(capture) // 5):  # one of each
        begun = time.monotonic()
        page.widget.seek(row)
        page.page.wait_for_selector(f".nbi[data-row='{row}']")
        page.page.evaluate(FRAME)
        assert time.monotonic() - begun < 20, "about a second expected"
    harmless(page)


def test_the_second_wall(open_page: Callable[[Any], WidgetPage], monkeypatch: pytest.MonkeyPatch) -> None:
    """Even HTML that was not escaped in the kernel does nothing in the page."""
    inspector = EventInspector(hostile_capture(lanes=False))
    page = open_page(inspector)
    raw = [*hostile.TEXTS.values(), *WORDS, "<img src=https://evil.test/a.png>", "<audio src=//evil.test/b controls>"]
    raw.append("<div style='position:fixed;inset:0;background:url(//evil.test/c)'>over all</div>")
    raw.append(
        "<p style='background:u\\72l(//evil.test/d)'>x</p><a href='javascript:window.__hostile_script_ran=1'>y</a>"
    )
    for row, text in enumerate(raw):
        html = f"<p>{row}</p>{text.encode('utf-8', 'replace').decode()}<p>end</p>"
        monkeypatch.setattr(inspector, "_shown", lambda *_, html=html, **__: {"html": html})
        inspector.seek(row)
        page.page.wait_for_selector(f".nbi[data-row='{row}']")
        assert page.page.evaluate(ACTIVE, OURS) == []
    page.page.wait_for_timeout(200)
    harmless(page)


@pytest.mark.parametrize("settled", ["board", "inspector"])
def test_what_settles(open_page: Callable[[Any], WidgetPage], settled: str) -> None:
    """The static copy in a page that does not sanitise: the hardest place that it may come to."""
    inspector = EventInspector(hostile_capture(lanes=False))
    board = LaneBoard(Lanes())  # type: ignore[arg-type]
    shown = {"board": board, "inspector": inspector}[settled].static()
    board.close()
    page = open_page(inspector)
    page.page.evaluate(
        "(html) => { const box = document.createElement('div'); box.innerHTML = html; out.append(box) }",
        shown["text/html"],
    )
    page.page.wait_for_timeout(300)
    harmless(page)
