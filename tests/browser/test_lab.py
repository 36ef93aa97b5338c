"""`%%responses` in a real JupyterLab: the answer streams, stops, settles, and is there when the file is opened again.

One notebook for all tests, a cell or two for each: opening a notebook takes longer than all that they do.
"""

from __future__ import annotations

import subprocess
import sys
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
    "slow": "%%responses --model demo-slow\nOne two three four five six seven eight nine ten",
    "image": """%%responses --model demo-image --param 'metadata={"demo_delay":"0.3"}'\nA landscape""",
    "long": LONG,
    "what came": "len(_responses.response.output_text), _responses.ending",
    "long again": LONG,
    "how it ended": "_responses.ending",
    "tools": "%%responses --model demo-tools\nWeather in Oslo?",
    "html": "%%responses\nHello <b>you</b>",
    "reloaded": "%%responses --model demo-slow\nEleven twelve thirteen fourteen fifteen sixteen seventeen eighteen",
    "beside": LONG.replace("%%responses", "%%responses --no-wait").replace("400", "3000"),
    "shown again": "from nbresponses import show\nshow(_responses)",
}
AT = {name: place for place, name in enumerate(CELLS)}
STREAMING = "document.querySelector('.nbr-md')?.innerText.length > 40"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[LabPage]:
    from lab import opened

    with opened(browser, "answers.ipynb", CELLS, "load") as page:
        yield page


def test_text_streams_and_settles(lab: LabPage, shots: Path) -> None:
    cell = AT["slow"]
    lab.start(cell)
    lab.wait_text(cell, "This demo takes")
    assert lab.running(cell)
    assert lab.page.is_visible(".nbr-stop")
    lab.page.screenshot(path=shots / "lab_streaming.png")
    lab.wait(cell)
    lab.page.wait_for_selector(".nbr", state="detached")
    lab.page.screenshot(path=shots / "lab_settled.png")
    bundles = [output["data"] for output in lab.outputs(cell) if output["output_type"] == "display_data"]
    assert sorted(bundles[-1]) == ["text/html", "text/markdown", "text/plain"]
    assert "seven eight nine ten" in lab.text(cell)


def test_an_image_sharpens(lab: LabPage, shots: Path) -> None:
    lab.page.evaluate(
        """() => {
             window.seen = [];
             const look = () => {
               const [words] = document.querySelector(".nbr-image figcaption")?.innerText.match(/preview \\d/) ?? [];
               const { src } = document.querySelector(".nbr-image img") ?? {};
               if (words && window.seen.at(-1)?.[0] !== words) window.seen.push([words, src]);
             };
             window.watch = new MutationObserver(look);
             window.watch.observe(document.body, { subtree: true, childList: true, characterData: true });
           }"""
    )
    lab.start(AT["image"])
    lab.page.wait_for_function("() => window.seen.length === 2")
    lab.page.screenshot(path=shots / "lab_image.png")
    lab.wait(AT["image"])
    lab.page.evaluate("() => window.watch.disconnect()")
    words, sources = zip(*lab.page.evaluate("window.seen"), strict=True)
    assert list(words) == sorted(words)
    assert len(set(words)) == len(set(sources)) >= 2, "three, where the machine is not too busy to show each"
    assert all(source.startswith("blob:") for source in sources)
    lab.page.wait_for_selector(".jp-OutputArea img[src^='data:image/png']")


def test_stop_ends_the_stream_and_keeps_what_came(lab: LabPage) -> None:
    cell = AT["long"]
    lab.start(cell)
    lab.page.wait_for_function(STREAMING)
    lab.page.click(".nbr-stop")
    clicked = time.monotonic()
    lab.wait(cell)
    assert time.monotonic() - clicked < 1.5, "about 0.1 s expected"
    lab.page.wait_for_selector(".nbr", state="detached")
    assert "nterrupted" in lab.text(cell)
    assert "Traceback" not in lab.text(cell)
    lab.run(AT["what came"])
    length, ending = lab.text(AT["what came"]).split("(")[1].strip(")\n").split(", ")
    assert int(length) > 40
    assert ending == "'interrupted'"


def test_the_toolbar_stops_too(lab: LabPage) -> None:
    cell = AT["long again"]
    lab.start(cell)
    lab.page.wait_for_function(STREAMING)
    lab.interrupt()
    clicked = time.monotonic()
    lab.wait(cell)
    assert time.monotonic() - clicked < 1.5, "about 0.1 s expected"
    lab.run(AT["how it ended"])
    assert "interrupted" in lab.text(AT["how it ended"])


def test_a_page_reloaded_in_mid_stream_shows_the_whole_answer(lab: LabPage) -> None:
    lab.shows_the_whole_after_a_reload(AT["reloaded"], AT["shown again"], last="seventeen eighteen")


def test_a_page_reloaded_beside_a_free_kernel_goes_on_to_the_end(lab: LabPage) -> None:
    cell = AT["beside"]
    lab.run(cell)
    lab.wait_text(cell, "w20 ")
    lab.save()
    lab.page.reload()
    lab.ready()
    lab.page.wait_for_selector(".nbr-stop")
    shown = len(lab.text(cell))
    lab.page.wait_for_function(f"document.querySelector('.nbr').innerText.length > {shown + 50}")
    lab.page.click(".nbr-stop")
    lab.page.wait_for_selector(".nbr[data-state=interrupted]")
    lab.page.wait_for_timeout(500)  # the settled output, which does not reach this page, has been sent
    assert len(lab.text(cell)) > shown + 50
    lab.page.evaluate(
        """(at) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = at;
             void window.jupyterapp.commands.execute("notebook:clear-cell-output") }""",
        cell,
    )
    lab.page.wait_for_selector(".nbr", state="detached")


def test_the_saved_file_shows_the_answer_without_a_kernel(lab: LabPage, tmp_path: Path) -> None:
    lab.run(AT["tools"])
    lab.run(AT["html"])
    lab.page.wait_for_selector(".nbr", state="detached")
    saved = lab.save()
    assert "widgets" not in saved["metadata"]
    assert "widget" not in str([cell["outputs"] for cell in saved["cells"]])
    lab.end_kernel()
    lab.open(kernel=False)
    for cell, words in (("slow", "nine ten"), ("tools", "get_weather"), ("html", "<b>you</b>")):
        lab.wait_text(AT[cell], words)
        assert "Error displaying widget" not in lab.text(AT[cell])
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path), str(lab.path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    page = (tmp_path / "answers.html").read_text()
    assert "get_weather" in page
    assert "<b>you</b>" not in page


def test_nothing_failed_or_came_from_elsewhere(lab: LabPage) -> None:
    assert lab.errors == []
    assert lab.foreign(lab.server.origin) == []
