"""How the lane board draws texts that grow: the end in sight, a reader left alone, one layout for all lanes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from nbresponses import Capture, LaneBoard, decode_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser
    from widget_page import WidgetPage

LANES, ROUNDS = 12, 20
DELTA = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
LINE = "a piece of the text that a lane writes, long enough to fill its card in a few rounds"
FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
BOX = "document.querySelector('.nbb-text')"


class Lanes:
    """Lanes without a server: a capture that a test fills."""

    names = tuple(f"lane-{number}" for number in range(LANES))

    def __init__(self) -> None:
        self.capture = Capture(datetime.now(UTC))
        for name in self.names:
            self.arrive(name, {"type": "response.created", "response": {"id": f"r-{name}", "output": []}})

    def status(self) -> dict[str, Any]:
        rows = [{"lane": name, "state": "running", "queued": 0, "latest": None} for name in self.names]
        return {"transport": "websocket", "in_flight": LANES, "queued": 0, "connections": [], "lanes": rows}

    def lineage(self) -> list[dict[str, Any]]:
        return []

    def arrive(self, name: str, event: dict[str, Any]) -> None:
        self.capture.received([decode_event(json.dumps(event))], 0.0, lane=name)

    def say(self, words: str) -> None:
        for name in self.names:
            self.arrive(name, DELTA | {"delta": f"{LINE} {words} "})


@pytest.fixture
def lanes() -> Lanes:
    return Lanes()


@pytest.fixture
def page(browser: Browser, lanes: Lanes) -> Iterator[WidgetPage]:
    from widget_page import WidgetPage

    board = LaneBoard(lanes)  # type: ignore[arg-type]
    context = browser.new_context(viewport={"width": 1040, "height": 700})
    yield WidgetPage(context, board)
    board.close()
    context.close()


@pytest.fixture
def say(page: WidgetPage, lanes: Lanes) -> Callable[[str], None]:
    """Let all lanes go on, until the page has drawn it."""

    def go_on(words: str) -> None:
        lanes.say(words)
        page.page.wait_for_function(
            """([words, lanes]) => {
                 const all = [...document.querySelectorAll(".nbb-card .nbb-text")];
                 return all.length === lanes && all.every((each) => each.textContent.includes(words));
               }""",
            arg=[words, LANES],
        )
        page.page.evaluate(FRAME)

    return go_on


def test_the_end_stays_in_sight(page: WidgetPage, say: Callable[[str], None]) -> None:
    say("first")
    top = page.page.evaluate(f"{BOX}.firstChild.getBoundingClientRect().top - {BOX}.getBoundingClientRect().top")
    assert 0 <= top < 10, "a short text stands at the top"
    for number in range(ROUNDS):
        say(f"round {number}.")
    below = page.page.evaluate(
        f"{BOX}.firstChild.getBoundingClientRect().bottom - {BOX}.getBoundingClientRect().bottom"
    )
    assert page.page.evaluate(f"{BOX}.scrollHeight > {BOX}.clientHeight + 50")
    assert below <= 0


def test_a_reader_who_went_up_is_left_there(page: WidgetPage, say: Callable[[str], None]) -> None:
    for number in range(8):
        say(f"round {number}.")
    page.page.evaluate(f"{BOX}.scrollTop -= 200")
    box = page.page.locator(".nbb-text").first.bounding_box()
    assert box is not None
    at = [box["x"] + 30, box["y"] + 40]
    seen = "([x, y]) => document.caretRangeFromPoint(x, y).startOffset"
    page.page.evaluate(FRAME)
    before = page.page.evaluate(seen, at)
    for number in range(4):
        say(f"more {number}.")
    assert abs(page.page.evaluate(seen, at) - before) < 100, "at most a line off"


def test_all_lanes_are_laid_out_at_once(page: WidgetPage, say: Callable[[str], None]) -> None:
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")

    def layouts() -> int:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return int(next(each["value"] for each in metrics if each["name"] == "LayoutCount"))

    say("first")
    before = layouts()
    for number in range(ROUNDS):
        say(f"round {number}.")
    assert layouts() - before < 3 * ROUNDS, f"one a round at most expected, not one for each of {LANES} lanes"
