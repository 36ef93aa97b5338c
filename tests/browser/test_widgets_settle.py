"""Lane board and inspector settle in a real JupyterLab: in their place, and after a reload where `settle` is called.

Whatever happened before, the copy is seen, is what the saved file holds, and is there without a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import LabPage
    from playwright.sync_api import Browser

CELLS = {
    "setup": """from nbresponses import Client, DemoServer, LaneBoard, show
server = DemoServer(delay=0).start()
client = Client(base_url=server.base_url, api_key="any")
lanes = client.lanes(model="demo-echo", store=False)
answer = lanes["planner"].create("Draft a plan.")""",
    "board": "board = show(lanes)",
    "inspector": "inspector = show(lanes.capture)",
    "board settles": "board.settle()",
    "inspector settles": "inspector.settle()",
    "never shown": "LaneBoard(lanes).settle()",
}
AT = {name: place for place, name in enumerate(CELLS)}
WORDS = {"board": "planner", "inspector": "response.completed"}
STATIC = ["text/html", "text/markdown", "text/plain"]
WIDGETS = {"board": ".nbb", "inspector": ".nbi"}

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[LabPage]:
    from lab import opened

    with opened(browser, "settled.ipynb", CELLS, "setup") as page:
        yield page


def shown(lab: LabPage, cell: str) -> list[list[str]]:
    """The media types of a cell's outputs in the saved file."""
    return [sorted(output["data"]) for output in lab.save()["cells"][AT[cell]]["outputs"]]


def text_of(lab: LabPage, cell: str, words: str) -> str:
    lab.wait_text(AT[cell], words)
    return lab.text(AT[cell])


@pytest.mark.parametrize("widget", ["board", "inspector"])
def test_it_settles_in_its_place(lab: LabPage, widget: str) -> None:
    lab.run(AT[widget])
    lab.page.wait_for_selector(WIDGETS[widget])
    for _ in range(2):  # a second time changes nothing
        lab.run(AT[f"{widget} settles"])
        lab.page.wait_for_selector(WIDGETS[widget], state="detached")
        assert "Demo turn 1: Draft a plan." in text_of(lab, widget, WORDS[widget])
        assert shown(lab, widget) == [STATIC]
        assert shown(lab, f"{widget} settles") == []
    assert "widgets" not in lab.save()["metadata"]


@pytest.mark.parametrize("widget", ["board", "inspector"])
def test_after_a_reload_the_copy_is_where_it_was_asked_for(lab: LabPage, widget: str) -> None:
    lab.run(AT[widget])
    lab.page.wait_for_selector(WIDGETS[widget])
    lab.save()
    lab.page.reload()
    lab.ready()
    lab.page.wait_for_selector(WIDGETS[widget])  # the page has its widget back, and knows no display id
    for _ in range(2):  # a cell that is run again shows it again
        lab.run(AT[f"{widget} settles"])
        assert "Demo turn 1: Draft a plan." in text_of(lab, f"{widget} settles", WORDS[widget])
        lab.page.wait_for_selector(WIDGETS[widget], state="detached")
        assert shown(lab, f"{widget} settles") == [STATIC]
    assert "widgets" not in lab.save()["metadata"]


def test_what_was_never_displayed_settles_where_it_was_asked_for(lab: LabPage) -> None:
    lab.run(AT["never shown"])
    assert "Demo turn 1" in text_of(lab, "never shown", "planner")
    assert shown(lab, "never shown") == [STATIC]


def test_the_saved_file_shows_the_copies_without_a_kernel(lab: LabPage) -> None:
    for widget in WIDGETS:  # in their place again, whatever ran before
        lab.run(AT[widget])
        lab.run(AT[f"{widget} settles"])
    saved = lab.save()
    assert "widget" not in str([cell["outputs"] for cell in saved["cells"]])
    assert "widgets" not in saved["metadata"]
    lab.end_kernel()
    lab.open(kernel=False)
    for cell in ("board", "inspector", "never shown"):
        assert "Demo turn 1: Draft a plan." in text_of(lab, cell, "planner" if cell == "never shown" else WORDS[cell])
        assert "Error displaying widget" not in lab.text(AT[cell])
    assert lab.foreign(lab.server.origin) == []
