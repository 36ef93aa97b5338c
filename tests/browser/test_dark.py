"""All that is seen, in JupyterLab's dark theme and its light one: every text can be read. Pictures go to tests/output.

One notebook for all tests: opening one takes longer than all that they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contrast import poor_contrasts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab import LabPage
    from playwright.sync_api import Browser

SETUP = """%load_ext nbresponses
import datetime, json
from nbresponses import Capture, Client, DemoServer, EventInspector, LaneBoard, decode_event, show
from nbresponses.display import choose_view, follow
server = DemoServer(delay=0).start()
client = Client(base_url=server.base_url, api_key="any")

def said(model, prompt="Hi"):
    with client.stream(model=model, input=prompt) as stream:
        return stream.until_done().response.output

kinds = "reasoning tools code search mcp shell image refusal text".split()
items = [item for kind in kinds for item in said(f"demo-{kind}")]
events = [{"type": "response.created", "response": {"id": "r", "model": "demo", "status": "in_progress", "output": []}}]
for index, item in enumerate(items):
    at = {"output_index": index, "item": item}
    events += [{"type": "response.output_item.added", **at}, {"type": "response.output_item.done", **at}]
capture = Capture(datetime.datetime.now(datetime.UTC))
for event in events:
    capture.received([decode_event(json.dumps(event))], 0.0)
held = Capture(datetime.datetime.now(datetime.UTC))
for event in events:
    held.received([decode_event(json.dumps(event))], 0.0)
held.received([decode_event('{"type": "response.completed", "response": {"id": "r"}}')], 600.0)
"""
CELLS = {
    "setup": SETUP,
    "live": "follow(held.replay(1.0), choose_view(get_ipython(), widget=True))",
    "failed": "%%responses --model demo-failed\nHi",
    "incomplete": "%%responses --model demo-incomplete\nHi",
    "board": """lanes = client.lanes(store=False)
board = LaneBoard(lanes)
lanes["planner"].create("Draft a plan.", model="demo-text")
lanes["planner"].fork("critic").stream("Criticise it.", model="demo-failed").until_done()
lanes["slow"].stream("Count", model="demo-long", metadata={"demo_count": "900", "demo_delay": "0.2"})
board""",
    "inspector": "inspector = show(capture)\ninspector",
    "board settled": "board.settle()",
    "inspector settled": "inspector.settle()",
}
AT = {name: place for place, name in enumerate(CELLS)}
THEMES = ("JupyterLab Dark", "JupyterLab Light")

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[LabPage]:
    from lab import LabPage, LabServer

    with LabServer(dark=True) as server, LabPage(server, browser, "dark.ipynb", CELLS.values()) as page:
        page.page.set_viewport_size({"width": 1100, "height": 1400})
        page.run(AT["setup"])
        yield page


def look(lab: LabPage, name: str, places: str, shots: Path, suffix: str = "") -> None:
    """In both themes, the dark one first: a picture, and the contrast of every text."""
    cell = AT[name]
    found = {}
    for theme in THEMES:
        lab.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        lab.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        lab.page.evaluate(
            "([at]) => window.jupyterapp.shell.currentWidget.content.widgets[at].outputArea.node.scrollIntoView()",
            [cell],
        )
        lab.page.wait_for_timeout(300)  # colours fade from one theme to the other
        lab.page.screenshot(path=shots / f"{theme.split()[1].lower()}_{name}{suffix}.png")
        found[theme] = poor_contrasts(lab.page, places)
    lab.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", THEMES[0])
    assert found == {theme: [] for theme in THEMES}


def test_it_starts_dark(lab: LabPage) -> None:
    assert lab.page.get_attribute("body", "data-jp-theme-light") == "false"


def test_the_live_view(lab: LabPage, shots: Path) -> None:
    lab.start(AT["live"])
    lab.page.wait_for_selector(".nbr-image img")
    lab.page.wait_for_selector(".nbr-md table")
    lab.page.evaluate("document.querySelectorAll('.nbr details').forEach((each) => (each.open = true))")
    for place in (".nbr-think", ".nbr-card", ".nbr-bad", ".nbr-code", ".nbr-refusal", ".nbr-stop", ".nbr-facts"):
        assert lab.page.locator(place).count(), place
    look(lab, "live", ".nbr", shots)


def test_what_settled(lab: LabPage, shots: Path) -> None:
    if lab.running(AT["live"]):
        lab.interrupt()
        lab.wait(AT["live"])
    lab.run(AT["failed"])
    lab.run(AT["incomplete"])
    lab.page.wait_for_selector(".nbr", state="hidden")
    lab.page.evaluate("document.querySelectorAll('.jp-RenderedHTML details').forEach((each) => (each.open = true))")
    look(lab, "failed", ".jp-RenderedHTML", shots)


def test_the_lane_board(lab: LabPage, shots: Path) -> None:
    lab.run(AT["board"])
    for lane, state in (("planner", "completed"), ("critic", "error"), ("slow", "in flight")):
        lab.page.wait_for_selector(f".nbb-card[aria-label='{lane}'][data-state='{state}']")
    lab.page.locator(".nbb-node").first.dispatch_event("click")
    look(lab, "board", ".nbb", shots)


def test_the_inspector(lab: LabPage, shots: Path) -> None:
    lab.run(AT["inspector"])
    lab.page.locator(".nbi-row").nth(5).click()
    lab.page.wait_for_selector(".nbi-raw, .nbi-fields")
    look(lab, "inspector", ".nbi", shots)


def test_what_the_widgets_leave(lab: LabPage, shots: Path) -> None:
    lab.run(AT["board settled"])
    lab.run(AT["inspector settled"])
    lab.page.wait_for_selector(".nbb", state="detached")
    lab.page.wait_for_selector(".nbi", state="detached")
    look(lab, "board", ".jp-RenderedHTML", shots, "_settled")
    look(lab, "inspector", ".jp-RenderedHTML", shots, "_settled")
