"""The lane board as a reader uses it: lanes begun, continued and forked by keyboard; failures said; text rendered.

The kernel's side and the server are real, Jupyter is not there: see `test_widgets.py` for the board in JupyterLab.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbresponses import Client, DemoServer, LaneBoard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser
    from widget_page import WidgetPage

    from nbresponses.client.lanes import LaneManager

GONE = "The kernel ended or restarted: what had come is kept"
HOSTILE = "demo-<img src=x onerror=window.__hostile_script_ran=1>"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with DemoServer(delay=0.002) as server, Client(base_url=server.base_url, api_key="any") as client:
        yield client


@pytest.fixture
def lanes(client: Client) -> Iterator[LaneManager]:
    with client.lanes(model="demo-text", store=False) as lanes:
        yield lanes


@pytest.fixture
def open_page(browser: Browser, lanes: LaneManager) -> Iterator[Callable[..., WidgetPage]]:
    from widget_page import WidgetPage

    board = LaneBoard(lanes)
    contexts = []

    def page(width: int = 1040, **settings: Any) -> WidgetPage:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **settings))
        opened = WidgetPage(contexts[-1], board)
        opened.page.add_style_tag(content=f":root {{ color-scheme: light dark }} body {{ width: {width - 40}px }}")
        return opened

    yield page
    board.close()
    for context in contexts:
        context.close()


def card(name: str) -> str:
    return f".nbb-card[aria-label='{name}']"


def test_an_empty_board_begins_a_lane_by_keyboard(open_page: Callable[..., WidgetPage], shots: Path) -> None:
    page = open_page()
    page.page.wait_for_selector("text=No lane yet.")
    page.page.screenshot(path=shots / "board_empty.png")
    page.page.keyboard.press("Tab")  # to the name
    page.page.keyboard.type("planner")
    page.page.keyboard.press("Tab")
    page.page.keyboard.type("Draft a plan")
    page.page.keyboard.press("Shift+Enter")
    page.page.keyboard.type("in two lines")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(f"{card('planner')}[data-state=completed]")
    assert page.page.is_hidden("text=No lane yet.")
    assert page.page.is_hidden("textarea[placeholder='Its first prompt']")
    assert page.widget._lanes.capture[1].facts()["input"] == "Draft a plan\nin two lines"
    page.page.press("text=New lane", "Enter")
    assert page.page.evaluate("document.activeElement.placeholder") == "Its first prompt"
    page.page.keyboard.press("Escape")
    assert page.page.is_hidden("textarea[placeholder='Its first prompt']")
    assert page.errors == []


def test_a_lane_that_cannot_begin_says_why_and_can_be_corrected(open_page: Callable[..., WidgetPage]) -> None:
    page = open_page()
    page.page.fill("input[placeholder='Name of the lane']", "bad name?")
    page.page.press("input[placeholder='Name of the lane']", "Enter")
    page.page.wait_for_selector(".nbb-begin >> text=A lane needs a name and a prompt.")
    page.page.fill("textarea[placeholder='Its first prompt']", "Go")
    page.page.press("textarea[placeholder='Its first prompt']", "Enter")
    page.page.wait_for_selector(".nbb-begin .nbb-problem >> text=bad name?")
    assert page.page.input_value("textarea[placeholder='Its first prompt']") == "Go"
    page.page.fill("input[placeholder='Name of the lane']", "good")
    page.page.click(".nbb-begin button")
    page.page.wait_for_selector(f"{card('good')}[data-state=completed]")
    page.page.click("text=New lane")
    page.page.fill("input[placeholder='Name of the lane']", "good")
    page.page.fill("textarea[placeholder='Its first prompt']", "Go")
    page.page.click(".nbb-begin button")
    page.page.wait_for_selector(".nbb-begin .nbb-problem >> text=There is a lane “good” already")


def test_a_failed_lane_says_why_as_text(open_page: Callable[..., WidgetPage], lanes: LaneManager, shots: Path) -> None:
    lanes["good"].stream("Hello")
    lanes["nowhere"].stream("Hello", model=HOSTILE)
    lanes["short"].stream("Hello", model="demo-incomplete")
    lanes["fails"].stream("Hello", model="demo-failed")
    lanes.wait()
    page = open_page()
    page.page.wait_for_selector(f"{card('nowhere')} .nbb-why")
    assert HOSTILE in page.page.inner_text(f"{card('nowhere')} .nbb-why")
    assert "(server_error)" in page.page.inner_text(f"{card('fails')} .nbb-why")
    assert "limit of output tokens" in page.page.inner_text(f"{card('short')} .nbb-why")
    assert page.page.is_hidden(f"{card('good')} .nbb-why")
    assert page.page.inner_text(f"{card('nowhere')} .nbb-state") == "failed"
    assert page.page.evaluate("window.__hostile_script_ran") is None
    page.page.screenshot(path=shots / "board_failed.png")
    page.page.type(f"{card('fails')} textarea", "Once more")
    page.page.press(f"{card('fails')} textarea", "Enter")
    page.page.wait_for_selector(f"{card('fails')}[data-state=completed]")
    assert page.page.is_hidden(f"{card('fails')} .nbb-why")


def test_a_prompt_that_cannot_be_sent_comes_back(open_page: Callable[..., WidgetPage], lanes: LaneManager) -> None:
    lanes["a"].create("Hello")
    page = open_page()
    lanes.close()
    page.page.fill(f"{card('a')} textarea", "Go on")
    page.page.press(f"{card('a')} textarea", "Enter")
    page.page.wait_for_selector(f"{card('a')} .nbb-problem >> text=closed")
    assert page.page.input_value(f"{card('a')} textarea") == "Go on"


def test_a_fork_edits_the_prompt_that_was_answered(open_page: Callable[..., WidgetPage], lanes: LaneManager) -> None:
    long = "Write a plan. " * 60
    lanes["planner"].create(long)
    lanes["planner"].create("Go on")
    page = open_page()
    page.page.focus(".nbb-node")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("Enter")
    prompt = "textarea[placeholder='Prompt for the new lane']"
    page.page.wait_for_function(f'document.querySelector("{prompt}").value.length === {len(long)}')
    assert page.page.input_value("input[placeholder='Name of the new lane']") == "planner-2"
    page.page.fill(prompt, "Write another plan.")
    page.page.press(prompt, "Enter")
    page.page.wait_for_selector(f"{card('planner-2')}[data-state=completed]")
    assert page.page.is_hidden(".nbb-detail")
    rows = {row["lane"]: row for row in lanes.lineage()}
    assert rows["planner-2"]["depth"] == 1
    page.page.press(f"{card('planner-2')} >> text=Fork", "Enter")
    page.page.wait_for_selector(".nbb-detail")
    assert page.page.evaluate("document.activeElement.value") == "planner-2-2"
    page.page.keyboard.press("Escape")
    assert page.page.is_hidden(".nbb-detail")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_rendered_and_nothing_is_cut(
    open_page: Callable[..., WidgetPage], lanes: LaneManager, shots: Path, scheme: str
) -> None:
    for number in range(8):
        lanes[f"writer-{number}"].stream("Write a long part of the report, with a table and code in it")
    lanes.wait()
    page = open_page(color_scheme=scheme)
    page.page.wait_for_selector(f"{card('writer-0')} .nbb-text pre")
    assert page.page.locator(f"{card('writer-0')} .nbb-text table").count() == 1
    assert "##" not in page.page.inner_text(f"{card('writer-0')} .nbb-text")
    narrow = page.page.evaluate(
        """() => [...document.querySelectorAll(".nbb-card :is(textarea, .nbb-head)")].filter((node) =>
             node.scrollWidth > node.clientWidth + 1 || node.clientWidth < 150).length"""
    )
    assert narrow == 0, "the hint and the head fit"
    page.page.screenshot(path=shots / f"board_{scheme}.png")
    shade = page.page.evaluate(
        """() => [".nbb-text", ".nbb textarea"].map((place) => getComputedStyle(document.querySelector(place)))
             .map((style, at) => at ? style.backgroundColor : style.color)"""
    )
    words, field = (sum(float(part) for part in each.strip("rgb()").split(",")[:3]) for each in shade)
    assert (words > field) == (scheme == "dark")


def test_lanes_that_wait_for_their_turn_are_shown(open_page: Callable[..., WidgetPage], lanes: LaneManager) -> None:
    running = [lanes[f"writer-{number}"].stream("Write", model="demo-slow") for number in range(18)]
    opened = open_page()
    opened.page.wait_for_function("document.querySelectorAll('.nbb-card').length === 18")
    opened.page.wait_for_function("document.querySelectorAll('.nbb-card[data-state=queued]').length === 2")
    opened.page.wait_for_function(f'document.querySelector("{card("writer-17")}[data-state=completed]")')
    assert opened.errors == []
    assert all(stream.ending == "completed" for stream in running)


def test_a_narrow_page_has_one_column(open_page: Callable[..., WidgetPage], lanes: LaneManager, shots: Path) -> None:
    for number in range(3):
        lanes[f"a-rather-long-name-of-a-lane-{number}"].stream("Hello")
    lanes.wait()
    page = open_page(width=380)
    page.page.wait_for_selector(".nbb-text pre")
    page.page.screenshot(path=shots / "board_narrow.png", full_page=True)
    assert page.page.evaluate(
        "document.querySelector('.nbb').scrollWidth <= document.querySelector('#out').clientWidth"
    )
    lefts = page.page.evaluate(
        "[...document.querySelectorAll('.nbb-card')].map((node) => node.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1


def test_of_32_lanes_those_in_sight_are_rendered(
    open_page: Callable[..., WidgetPage], lanes: LaneManager, shots: Path
) -> None:
    for number in range(32):
        lanes[f"writer-{number}"].stream("Write")
    lanes.wait()
    page = open_page()
    page.page.wait_for_function("document.querySelectorAll('.nbb-rough').length > 10")
    page.page.screenshot(path=shots / "board_32.png")
    assert "32 of 32 names" in page.page.inner_text(".nbb-meters")
    assert page.page.locator(".nbb-text pre").count() >= 6
    assert page.page.text_content(f"{card('writer-31')} .nbb-rough").strip().endswith("`demo-image`.")
    page.page.locator(card("writer-31")).scroll_into_view_if_needed()
    page.page.wait_for_selector(f"{card('writer-31')} pre")
    assert page.errors == []


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_kernel_that_is_gone_is_said(open_page: Callable[..., WidgetPage], lanes: LaneManager, told: bool) -> None:
    opened = open_page()
    running = lanes["poet"].stream("Write.", model="demo-long", metadata={"demo_delay": "0.02"})
    opened.page.wait_for_function(f"document.querySelector(\"{card('poet')}\")?.innerText.includes('w20')")
    opened.lose_kernel(told=told)
    opened.page.fill(f"{card('poet')} textarea", "Go on.")
    opened.page.press(f"{card('poet')} textarea", "Enter")
    opened.page.wait_for_selector(f"{card('poet')}[data-state=gone]")
    assert opened.page.inner_text(".nbb-meters") == GONE
    assert opened.page.inner_text(f"{card('poet')} .nbb-problem") == GONE
    assert opened.page.input_value(f"{card('poet')} textarea") == "Go on."
    assert not opened.page.is_visible(f"{card('poet')} button:text('Stop')")
    facts = opened.page.inner_text(f"{card('poet')} .nbb-facts")
    opened.page.wait_for_timeout(1200)
    assert opened.page.inner_text(f"{card('poet')} .nbb-facts") == facts, "its clock stands still"
    assert opened.errors == []
    running.close()
