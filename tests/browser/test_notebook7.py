"""The first of the JupyterLab tests again, in Notebook 7."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab import LabPage
    from playwright.sync_api import Browser

CELLS = (
    "%load_ext nbresponses",
    "%%responses --model demo-slow\nOne two three four five six seven",
    """%%responses --model demo-long --param 'metadata={"demo_count":"400","demo_delay":"0.02"}'\nCount""",
    "_responses.ending",
)
LOADED_BY_ITSELF = "reading 'schema'"  # an error of the application, with or without us

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def notebook(browser: Browser) -> Iterator[LabPage]:
    from lab import LabPage, LabServer

    with LabServer("notebook") as server, LabPage(server, browser, "answers.ipynb", CELLS) as page:
        page.run(0)
        yield page


def test_text_streams_and_settles(notebook: LabPage, shots: Path) -> None:
    notebook.start(1)
    notebook.wait_text(1, "This demo takes")
    assert notebook.running(1)
    notebook.page.screenshot(path=shots / "notebook7_streaming.png")
    notebook.wait(1)
    notebook.page.wait_for_selector(".nbr", state="detached")
    assert "six seven" in notebook.text(1)


def test_stop_ends_the_stream_and_keeps_what_came(notebook: LabPage) -> None:
    notebook.start(2)
    notebook.page.wait_for_function("document.querySelector('.nbr-md')?.innerText.length > 40")
    notebook.page.click(".nbr-stop")
    clicked = time.monotonic()
    notebook.wait(2)
    assert time.monotonic() - clicked < 1.5, "about 0.1 s expected"
    notebook.run(3)
    assert "interrupted" in notebook.text(3)


def test_nothing_failed_or_came_from_elsewhere(notebook: LabPage) -> None:
    assert [error for error in notebook.errors if LOADED_BY_ITSELF not in error] == []
    assert notebook.foreign(notebook.server.origin) == []
