"""The JupyterLab tests again, in Notebook 7: streams, sharpens, stops, survives a reload, is there without a kernel.

One notebook for all tests, a cell or two for each: opening a notebook takes longer than all that they do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab import LabPage
    from playwright.sync_api import Browser

LONG = """%%responses --model demo-long --param 'metadata={"demo_count":"400","demo_delay":"0.02"}'\nCount"""
CELLS = {
    "load": "%load_ext nbresponses",
    "slow": "%%responses --model demo-slow\nOne two three four five six seven",
    "image": """%%responses --model demo-image --param 'metadata={"demo_delay":"0.3"}'\nA landscape""",
    "long": LONG,
    "long again": LONG,
    "ending": "_responses.ending, len(_responses.response.output_text)",
    "reloaded": "%%responses --model demo-slow\nEleven twelve thirteen fourteen fifteen sixteen",
    "shown again": "from nbresponses import show\nshow(_responses)",
}
AT = {name: place for place, name in enumerate(CELLS)}
STREAMING = "document.querySelector('.nbr-md')?.innerText.length > 40"
PREVIEWS = """() => {
  window.previews = {};
  new MutationObserver(() => {
    const caption = document.querySelector(".nbr-image figcaption")?.textContent.match(/preview \\d/)?.[0];
    const source = document.querySelector(".nbr-image img")?.src;
    if (caption && source) window.previews[caption] = source;
  }).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
}"""
LOADED_BY_ITSELF = "reading 'schema'"  # an error of the application, with or without us

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def notebook(browser: Browser) -> Iterator[LabPage]:
    from lab import LabPage, LabServer

    with LabServer("notebook") as server, LabPage(server, browser, "answers.ipynb", CELLS.values()) as page:
        page.run(AT["load"])
        yield page


def kept(notebook: LabPage) -> int:
    """The characters that an interrupted answer has kept."""
    notebook.run(AT["ending"])
    ending, length = notebook.text(AT["ending"]).split("(")[1].split(")")[0].split(", ")
    assert ending == "'interrupted'"
    return int(length)


def test_text_streams_and_settles(notebook: LabPage, shots: Path) -> None:
    cell = AT["slow"]
    notebook.start(cell)
    notebook.wait_text(cell, "This demo takes")
    assert notebook.running(cell)
    notebook.page.screenshot(path=shots / "notebook7_streaming.png")
    notebook.wait(cell)
    notebook.page.wait_for_selector(".nbr", state="detached")
    assert "six seven" in notebook.text(cell)


def test_an_image_sharpens(notebook: LabPage, shots: Path) -> None:
    notebook.page.evaluate(PREVIEWS)
    notebook.start(AT["image"])
    notebook.page.wait_for_function("Object.keys(window.previews).length === 2")
    notebook.page.screenshot(path=shots / "notebook7_image.png")
    notebook.wait(AT["image"])
    notebook.page.wait_for_selector(".jp-OutputArea img[src^='data:image/png']")
    seen = notebook.page.evaluate("window.previews")
    assert "preview 3" in seen
    assert len(set(seen.values())) == len(seen) > 1, "a page that is slow to draw the first one may miss it"
    assert all(source.startswith("blob:") for source in seen.values())


@pytest.mark.parametrize("by", ["button", "interrupt"])
def test_it_stops_at_once_and_keeps_what_came(notebook: LabPage, by: str) -> None:
    cell = AT["long" if by == "button" else "long again"]
    notebook.start(cell)
    notebook.page.wait_for_function(STREAMING)
    if by == "button":
        notebook.page.click(".nbr-stop")
    else:
        notebook.interrupt()
    stopped = time.monotonic()
    notebook.wait(cell)
    assert time.monotonic() - stopped < 1.5, "about 0.1 s expected"
    notebook.page.wait_for_selector(".nbr", state="detached")
    assert "nterrupted" in notebook.text(cell)
    assert "Traceback" not in notebook.text(cell)
    assert kept(notebook) > 40


def test_a_page_reloaded_in_mid_stream_shows_the_whole_answer(notebook: LabPage) -> None:
    notebook.shows_the_whole_after_a_reload(AT["reloaded"], AT["shown again"], last="fifteen sixteen")


def test_the_saved_file_shows_the_answers_without_a_kernel(notebook: LabPage, shots: Path) -> None:
    saved = notebook.save()
    assert "widgets" not in saved["metadata"]
    assert "widget" not in str([cell["outputs"] for cell in saved["cells"]])
    notebook.end_kernel()
    notebook.open(kernel=False)
    for cell, words in (("slow", "six seven"), ("shown again", "fifteen sixteen"), ("image", "A landscape")):
        notebook.wait_text(AT[cell], words)
        assert "Error displaying widget" not in notebook.text(AT[cell])
    notebook.page.wait_for_selector(".jp-OutputArea img[src^='data:image/png']")
    notebook.page.screenshot(path=shots / "notebook7_reopened.png")


def test_nothing_failed_or_came_from_elsewhere(notebook: LabPage) -> None:
    assert [error for error in notebook.errors if LOADED_BY_ITSELF not in error] == []
    assert notebook.foreign(notebook.server.origin) == []
