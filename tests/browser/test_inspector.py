"""The event inspector's page: what is sent and drawn of a long capture, the keyboard, lanes, time, growth, both themes.

The kernel's side is real, Jupyter is not there: see `test_widgets.py` for the inspector in JupyterLab.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from nbresponses import Capture, Client, DemoServer, EventInspector, decode_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser
    from widget_page import WidgetPage

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def open_page(browser: Browser) -> Iterator[Callable[..., WidgetPage]]:
    from widget_page import WidgetPage

    contexts = []

    def page(capture: Capture, **settings: Any) -> WidgetPage:
        contexts.append(browser.new_context(viewport={"width": 1040, "height": 900}, **settings))
        opened = WidgetPage(contexts[-1], EventInspector(capture))
        opened.page.wait_for_selector(".nbi[data-row]")  # it has gone to the last message
        return opened

    yield page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def three_lanes() -> Capture:
    with DemoServer(delay=0.002) as server, Client(base_url=server.base_url, api_key="any") as client:
        with client.lanes(model="demo-tools", store=False) as lanes:
            for name in ("planner", "critic", "writer"):
                lanes[name].stream("Weather in Oslo?")
            lanes.wait()
        return lanes.capture


def long_capture(count: int) -> Capture:
    capture = Capture(datetime.now(UTC))
    capture.received([decode_event('{"type": "response.created", "response": {"id": "r", "output": []}}')], 0.0)
    one = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    for number in range(count):
        event = decode_event(json.dumps({**one, "sequence_number": number, "delta": f"w{number} "}))
        capture.received([event], number / 2000)
    return capture


def selected(page: WidgetPage) -> str:
    row = ".nbi-row[aria-selected=true]"
    return str(page.page.inner_text(row)) if page.page.locator(row).count() else ""


def test_it_opens_at_the_last_event(open_page: Callable[..., WidgetPage], three_lanes: Capture) -> None:
    page = open_page(three_lanes)
    assert page.page.get_attribute(".nbi", "data-row") == str(len(three_lanes) - 1)
    assert "get_weather" in page.page.inner_text(".nbi-answer")
    page.page.wait_for_selector(".nbi-fields dt")
    page.page.click("text=Raw JSON")
    assert page.page.inner_text(".nbi-raw").startswith("{")


def test_an_empty_capture_goes_to_its_first_events_when_they_come(browser: Browser) -> None:
    from widget_page import WidgetPage

    capture = Capture(datetime.now(UTC))
    context = browser.new_context()
    page = WidgetPage(context, EventInspector(capture))
    page.page.wait_for_selector(".nbi-counts >> text=0 messages")
    capture.received([decode_event('{"type": "response.created", "response": {"id": "r", "output": []}}')], 0.0)
    page.page.wait_for_selector(".nbi-at >> text=message 1 of 1")
    assert page.errors == []
    page.widget.close()
    context.close()


def test_a_hundred_thousand_events(open_page: Callable[..., WidgetPage]) -> None:
    page = open_page(long_capture(100_000))
    drawn = page.page.evaluate("window.drawn - window.begun")
    assert drawn < 2000, f"about 30 ms expected: {drawn:.0f}"
    frames = page.page.evaluate(
        """async () => {
          const list = document.querySelector(".nbi-list"), slow = [];
          let before = performance.now();
          for (let at = 0; at <= 100; at += 1) {
            list.scrollTop = (list.scrollHeight * at) / 100;
            await new Promise(requestAnimationFrame);
            slow.push(performance.now() - before);
            before = performance.now();
          }
          return slow.sort((a, b) => a - b);
        }"""
    )
    assert frames[50] < 200, f"one frame, 17 ms, expected while scrolling: {frames[50]:.0f} ms"
    page.page.wait_for_selector(".nbi-row >> text=99999")
    assert page.page.locator(".nbi-row").count() < 40
    assert page.page.evaluate("window.messages") < 60, "who drags past rows doesn't ask for them"
    page.page.press(".nbi-slider", "End")
    page.page.wait_for_selector(".nbi-at >> text=100,001 of 100,001")
    assert "w99999" in page.page.inner_text(".nbi-answer")
    page.page.fill("input[type=search]", "w")
    page.page.wait_for_selector(".nbi-counts >> text=/^100,000 of/")
    page.page.wait_for_selector(".nbi-row[aria-selected=true] >> text=99999")  # the selected row stays in view
    page.page.fill("input[type=search]", "w54321 ")
    page.page.wait_for_selector(".nbi-counts >> text=/^1 of 100,001/")
    page.page.click(".nbi-row")
    page.page.wait_for_function("document.querySelector('.nbi-answer').innerText.trim().endsWith('w54321')")
    assert page.errors == []


def test_the_keyboard_reaches_everything(open_page: Callable[..., WidgetPage], three_lanes: Capture) -> None:
    page = open_page(three_lanes)
    page.page.focus(".nbi-list")
    for key, row in (("End", len(three_lanes)), ("Home", 1), ("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2)):
        page.page.keyboard.press(key)
        page.page.wait_for_selector(f".nbi-at >> text=message {row} of")
    active = page.page.get_attribute(".nbi-list", "aria-activedescendant")
    assert page.page.get_attribute(f"[id='{active}']", "aria-posinset") == "2"
    page.page.focus(".nbi-slider")
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_selector(".nbi-at >> text=message 3 of")
    unnamed = page.page.evaluate(
        """() => [...document.querySelectorAll("#out :is(button, input, select, [tabindex])")].filter((node) =>
             !node.textContent.trim() && !node.getAttribute("aria-label")).length"""
    )
    assert unnamed == 0
    assert page.page.get_attribute(".nbi", "data-lm-suppress-shortcuts") == "true", "else Lab takes the arrow keys"


def test_lanes_are_told_apart(open_page: Callable[..., WidgetPage], three_lanes: Capture) -> None:
    page = open_page(three_lanes)
    page.page.select_option("select[aria-label=Lane]", label="critic")
    page.page.wait_for_selector(".nbi-counts >> text=/ of /")
    page.page.wait_for_function(
        """[...document.querySelectorAll(".nbi-row:not([hidden]) > :nth-child(6)")]
             .every((cell) => cell.innerText === "critic")"""
    )
    page.page.press(".nbi-list", "End")
    page.page.wait_for_selector(".nbi-answer >> text=get_weather")
    assert "critic" in selected(page)
    assert page.page.locator(".nbi-item").count() == 9, "three items on each lane"


def test_it_plays_at_the_speed_that_was_chosen(open_page: Callable[..., WidgetPage]) -> None:
    page = open_page(long_capture(4000))  # two seconds
    page.page.press(".nbi-slider", "Home")
    page.page.wait_for_function("Number(document.querySelector('.nbi').dataset.row) < 5")
    page.page.select_option("select[aria-label=Speed]", "0.25")
    page.page.click(".nbi-play")
    page.page.wait_for_function("Number(document.querySelector('.nbi').dataset.row) > 50")
    first = int(page.page.get_attribute(".nbi", "data-row") or 0)
    assert first < 3000, "it goes through the events, it doesn't jump"
    page.page.click(".nbi-play")
    page.page.wait_for_timeout(250)
    paused = page.page.get_attribute(".nbi", "data-row")
    page.page.wait_for_timeout(250)
    assert page.page.get_attribute(".nbi", "data-row") == paused
    page.page.select_option("select[aria-label=Speed]", "10")
    begun = time.monotonic()
    page.page.click(".nbi-play")
    page.page.wait_for_selector(".nbi-at >> text=4,001 of 4,001")
    assert time.monotonic() - begun < 8, "about 0.3 s expected"
    page.page.wait_for_selector(".nbi-play[aria-label=Play]")


def test_it_follows_a_capture_that_grows(open_page: Callable[..., WidgetPage]) -> None:
    capture = long_capture(500)
    page = open_page(capture)
    page.page.eval_on_selector(".nbi-list", "list => { list.scrollTop = 2200 }")
    event = '{"type": "response.output_text.delta", "output_index": 0, "sequence_number": 500, "delta": "late "}'
    capture.received([decode_event(event)], 1.0)
    page.page.wait_for_selector(".nbi-counts >> text=502 messages")
    assert page.page.evaluate("document.querySelector('.nbi-list').scrollTop") == 2200, "the reader is left alone"
    page.page.press(".nbi-list", "End")
    page.page.wait_for_selector(".nbi-row[aria-selected=true] >> text=late")
    page.widget.close()


def test_two_pages_do_not_disturb_each_other(open_page: Callable[..., WidgetPage], three_lanes: Capture) -> None:
    page = open_page(three_lanes)
    page.page.evaluate("window.again()")
    page.page.locator("input[type=search]").nth(0).fill("custom_tool")
    page.page.wait_for_selector(".nbi >> nth=0 >> .nbi-counts >> text=/ of /")
    assert page.page.locator(".nbi-counts").nth(1).inner_text() == f"{len(three_lanes)} messages"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes(open_page: Callable[..., WidgetPage], three_lanes: Capture, shots: Path, scheme: str) -> None:
    page = open_page(three_lanes, color_scheme=scheme)
    page.page.add_style_tag(content=":root { color-scheme: light dark }")
    page.widget.seek(len(three_lanes) * 4 // 5)
    page.page.wait_for_selector(".nbi-answer >> text=get_weather")
    page.page.screenshot(path=shots / f"inspector_{scheme}.png")
    shades = page.page.evaluate(
        """() => [getComputedStyle(document.querySelector(".nbi-row")).color,
                  getComputedStyle(document.querySelector("#out input")).backgroundColor]"""
    )
    words, field = (sum(int(part) for part in shade.strip("rgb()").split(",")[:3]) for shade in shades)
    assert (words > field) == (scheme == "dark")


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_kernel_that_is_gone_is_said(open_page: Callable[..., WidgetPage], three_lanes: Capture, told: bool) -> None:
    opened = open_page(three_lanes)
    opened.page.wait_for_selector(".nbi-fields dt")
    opened.lose_kernel(told=told)
    opened.page.click(".nbi-play")
    opened.page.click("button[title='One message back']")
    opened.page.wait_for_function("document.querySelector('.nbi-counts').innerText.startsWith('The kernel ended')")
    assert opened.page.inner_text(".nbi-play") == "▶"
    assert opened.page.is_visible(".nbi-answer")
    assert opened.errors == []
