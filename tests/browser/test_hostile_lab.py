"""The hostile corpus in a real JupyterLab, with its sanitiser and its mathematics: settled as HTML and as Markdown,
live, on the lane board, in the inspector. Nothing runs, and the browser's own log has no request to another host."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import LabPage
    from playwright.sync_api import Browser

SETUP = f"""import datetime, json, sys, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from IPython.display import display
from nbresponses import Capture, EventInspector, LaneBoard, Response, decode_event
from nbresponses.display import choose_view, follow
from nbresponses.render import bundle
from tests.render import hostile

pairs = [(text, hostile.WORDS[at % len(hostile.WORDS)]) for at, text in enumerate(hostile.TEXTS.values())]
answers = [hostile.response(text, word) for text, word in pairs]
bundles = [bundle(Response(answer, ending="failed")) for answer in answers]

def streamed(answer, capture, at, lane=None):
    whole = {{"type": "response.created", "response": {{"id": f"r{{at}}", "model": answer["model"], "output": []}}}}
    events = [whole]
    for index, item in enumerate(answer["output"]):
        events.append({{"type": "response.output_item.added", "output_index": index, "item": item}})
        events.append({{"type": "response.output_item.done", "output_index": index, "item": item}})
    capture.received([decode_event(json.dumps(event)) for event in events], at, lane=lane)
    return events

class Lanes:
    def __init__(self):
        self.capture = Capture(datetime.datetime.now(datetime.UTC), time.monotonic())
        self.names = [f"{{word[:60]}} {{at}}" for at, (_, word) in enumerate(pairs)]
        for at, (name, answer) in enumerate(zip(self.names, answers)):
            streamed(answer, self.capture, 0.1, name)
    def status(self):
        rows = [dict(lane=name, state="idle", queued=0, latest=None, ending=None, error=None) for name in self.names]
        return dict(transport="websocket", in_flight=0, queued=0, connections=[], lanes=rows)
    def lineage(self):
        return []
"""
LIVE = """
capture = Capture(datetime.datetime.now(datetime.UTC))
items = [item for answer in answers for item in answer["output"]]
streamed({"model": hostile.WORDS[0], "output": items}, capture, 0.0)
capture.received([decode_event('{"type": "response.completed", "response": {"id": "r"}}')], 600.0)
follow(capture.replay(1.0), choose_view(get_ipython(), widget=True))
"""
CELLS = {
    "setup": SETUP,
    "html": "display({'text/html': '\\n'.join(each['text/html'] for each in bundles)}, raw=True)",
    "markdown": "display({'text/markdown': '\\n\\n'.join(each['text/markdown'] for each in bundles)}, raw=True)",
    "board": "board = LaneBoard(Lanes())\nboard",
    "inspector": "inspector = EventInspector(board._lanes.capture)\ninspector",
    "live": LIVE,
    "piles": """for name in ("one line", "quotations"):
    display(bundle(Response(hostile.response(hostile.PILES[name], "word"), ending="failed")), raw=True)""",
}
AT = {name: place for place, name in enumerate(CELLS)}
OURS = ".nbr, .nbb, .nbi, .jp-RenderedHTML, .jp-RenderedMarkdown"
ACTIVE = """(ours) => [...document.querySelectorAll(ours)].flatMap((box) => [...box.querySelectorAll("*")])
  .filter((node) => node.matches("script, iframe, object, embed, link, meta, base, form, video")
    || [...node.attributes].some((a) => a.name.startsWith("on")
      || /^\\s*(javascript|vbscript|file|command):/i.test(a.value))
    || (node.tagName === "IMG" && node.src && !/^(blob:|data:image\\/(png|jpeg|gif|webp))/.test(node.src))
    || (node.tagName === "A" && node.target === "_blank" && !node.relList.contains("noopener"))
    || /url\\(/i.test(node.getAttribute("style") ?? ""))
  .map((node) => node.outerHTML.slice(0, 200))"""
OVER = """() => [[5, 5], [innerWidth - 5, 5], [5, innerHeight - 5], [innerWidth / 2, 12]].filter(([x, y]) =>
  document.elementFromPoint(x, y)?.closest(".jp-OutputArea")).length"""

pytestmark = pytest.mark.timeout(150)


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[LabPage]:
    from lab import opened

    with opened(browser, "hostile.ipynb", CELLS, "setup") as page:
        yield page


def harmless(lab: LabPage) -> None:
    assert lab.page.evaluate("window.__hostile_script_ran") is None
    assert lab.dialogs == []
    assert lab.foreign(lab.server.origin) == []
    assert lab.page.evaluate(ACTIVE, OURS) == []
    assert lab.page.evaluate(OVER) == 0
    assert lab.page.url.startswith(lab.server.origin)


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_settled(lab: LabPage, form: str) -> None:
    box = ".jp-RenderedHTML" if form == "html" else ".jp-RenderedMarkdown"
    lab.run(AT[form], 60)
    lab.wait_text(AT[form], "__hostile_script_ran=1")
    lab.page.wait_for_selector(f"{box} mjx-container", state="attached")
    lab.page.evaluate("document.querySelectorAll('.jp-OutputArea details').forEach((each) => (each.open = true))")
    lab.page.wait_for_timeout(1000)  # mathematics are set after the output is there
    harmless(lab)


def test_the_board_and_the_inspector(lab: LabPage) -> None:
    lab.run(AT["board"])
    lab.page.wait_for_selector(".nbb-card")
    lab.run(AT["inspector"])
    lab.page.wait_for_selector(".nbi-row")
    for number in range(0, 10, 3):
        lab.page.locator(".nbi-row").nth(number).click()
        lab.page.wait_for_timeout(50)
    harmless(lab)


def test_live(lab: LabPage) -> None:
    lab.start(AT["live"])
    lab.page.wait_for_selector(".nbr-card", timeout=60_000)
    lab.wait_text(AT["live"], "__hostile_script_ran=1", 60)
    lab.page.evaluate("document.querySelectorAll('.nbr details').forEach((each) => (each.open = true))")
    lab.page.wait_for_timeout(500)
    harmless(lab)
    lab.interrupt()
    lab.wait(AT["live"], 60)
    harmless(lab)


def test_piles_settle(lab: LabPage) -> None:
    """A line of a megabyte, 100,000 nested quotations: the page shows them, and can be used afterwards."""
    cell = AT["piles"]
    lab.run(cell, 60)
    lab.page.wait_for_function(
        f"document.querySelectorAll('.jp-Cell:nth-child({cell + 1}) .jp-RenderedHTML').length === 2", timeout=60_000
    )
    begun = time.monotonic()
    lab.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert time.monotonic() - begun < 20, "under a second expected"
    harmless(lab)
