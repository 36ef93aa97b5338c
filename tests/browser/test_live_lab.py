"""A live view whose kernel goes away, and a file saved in mid-stream, in a real JupyterLab."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab import LabPage, LabServer
    from playwright.sync_api import Browser

LOAD = "%load_ext nbresponses"
LONG = """%%responses --model demo-long --param 'metadata={"demo_count":"3000","demo_delay":"0.02"}'\nCount"""
DIES = "import os\nos.kill(os.getpid(), 9)"
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
KEPT = "The kernel ended or restarted: what had come is kept"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    from lab import LabServer

    with LabServer() as server:
        yield server


@pytest.fixture
def lab(server: LabServer, browser: Browser, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """A notebook of its own for each test: what they do to the kernel would hurt the others."""
    from lab import LabPage

    cells = (LOAD, LONG, LONG.replace("%%responses", "%%responses --no-wait"), DIES)
    with LabPage(server, browser, f"{request.node.name}.ipynb", cells) as page:
        page.run(0)
        yield page
        assert [error for error in page.errors if "Canceled future" not in error] == [], "that one is JupyterLab's own"
        if not page.page.is_closed():
            page.end_kernel()


def streams(lab: LabPage, cell: int, words: str = "w20 ") -> None:
    lab.start(cell)
    lab.wait_text(cell, words)


def test_a_restart_in_mid_stream_ends_the_view(lab: LabPage, shots: Path) -> None:
    streams(lab, 1)
    lab.page.evaluate(f"() => {KERNEL}.restart()")
    lab.wait_text(1, KEPT)
    assert "w20 " in lab.text(1)
    assert not lab.page.is_visible(".nbr-stop")
    lab.page.screenshot(path=shots / "lab_restarted.png")
    status = lab.page.inner_text(".nbr-status")
    lab.page.wait_for_function(f"() => {KERNEL}.status === 'idle'")
    assert lab.page.inner_text(".nbr-status") == status, "its clock stands still"
    lab.run(0)
    streams(lab, 1)
    lab.page.click(".nbr-stop")
    lab.wait(1)
    assert "nterrupted" in lab.text(1), "the cell can be run again"


def test_a_kernel_that_dies_ends_the_view(lab: LabPage) -> None:
    streams(lab, 2)
    lab.start(3)
    lab.wait_text(2, KEPT, seconds=30)
    assert "w20 " in lab.text(2)


def test_a_kernel_that_is_shut_down_ends_the_view(lab: LabPage) -> None:
    streams(lab, 2)
    lab.end_kernel()
    lab.page.wait_for_function("() => !document.querySelector('.nbr-stop')?.checkVisibility()")
    assert "w20 " in lab.text(2)


def test_a_file_saved_in_mid_stream_holds_what_had_come(
    lab: LabPage, server: LabServer, browser: Browser, shots: Path
) -> None:
    from lab import LabPage

    streams(lab, 1, "w300 ")
    lab.page.keyboard.press("Control+s")
    lab.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert lab.running(1)
    saved = json.loads(lab.path.read_text())["cells"][1]["outputs"]
    (bundle,) = (output["data"] for output in saved if output["output_type"] == "display_data")
    assert sorted(bundle) == ["text/html", "text/markdown", "text/plain"]
    for text in bundle.values():
        assert "w20 " in "".join(text)
        assert "Still streaming" in "".join(text)
    lab.end_kernel()
    lab.page.close()
    with LabPage(server, browser, lab.name) as again:
        again.wait_text(1, "w20 ")
        assert "Still streaming when this was written" in again.text(1)
        assert "displaying widget" not in again.text(1)
        again.page.screenshot(path=shots / "lab_saved_in_mid_stream.png")
        again.end_kernel()


def test_a_cell_that_is_moved_shows_what_came(lab: LabPage) -> None:
    streams(lab, 1)
    lab.page.evaluate("() => window.jupyterapp.commands.execute('notebook:move-cell-down')")
    lab.page.wait_for_function("() => document.querySelector('.nbr-stop')?.checkVisibility()")
    lab.wait_text(2, "w30 ")
    lab.page.click(".nbr-stop")
    lab.page.wait_for_selector(".nbr[data-state=interrupted]")
    lab.wait(2)
    lab.page.wait_for_timeout(1000)  # the settled output, which does not reach the cell, has been sent
    assert "w30 " in lab.text(2)
    assert "Still streaming" not in lab.text(2), "that is in the file, and covered"


def test_a_page_reloaded_beside_a_busy_kernel_shows_what_was_saved(lab: LabPage) -> None:
    streams(lab, 1, "w300 ")
    lab.save()
    lab.page.reload()
    lab.ready(kernel=False)
    lab.wait_text(1, "w20 ")
    assert "Loading widget" not in lab.text(1)
    lab.interrupt()
    lab.page.wait_for_selector(".nbr[data-state=interrupted]")
    assert "w300 " in lab.text(1)


@pytest.mark.slow
def test_a_page_without_anywidget_shows_what_a_file_would_hold(browser: Browser) -> None:
    from lab import LabPage, LabServer

    slow = "%%responses --model demo-slow\nOne two three four five six seven eight nine ten"
    server = LabServer()
    config = server.root.parent / "config" / "labconfig" / "page_config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"disabledExtensions": {"anywidget": True}}))
    with server, LabPage(server, browser, "without.ipynb", (LOAD, slow)) as lab:
        lab.run(0)
        lab.start(1)
        lab.wait_text(1, "This demo takes")
        assert "Still streaming" in lab.text(1)
        lab.wait(1)
        lab.wait_text(1, "nine ten")
        assert "Still streaming" not in lab.text(1)
