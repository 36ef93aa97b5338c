"""Streams side by side, the keyboard, and the reader's place on the page, in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import LabPage
    from playwright.sync_api import Browser

PAIR = """\
import asyncio
from nbresponses import AsyncClient, DemoServer, show

async def pair():
    with DemoServer(delay=0.05) as server:
        async with AsyncClient(base_url=server.base_url, api_key="any") as client:
            one = client.stream(model="demo-slow", input="one two three four")
            two = client.stream(model="demo-slow", input="five six seven eight")
            async with one as one, two as two:
                await asyncio.gather(show(one), show(two))

await pair()"""
ASIDE = "%%responses --model demo-slow --no-wait\n{}"
LONG = """%%responses --model demo-long --param 'metadata={"demo_count":"3000","demo_delay":"0.02"}'\nCount"""
CELLS = {
    "load": "%load_ext nbresponses",
    "pair": PAIR,
    "first panel": ASIDE.format("alpha beta gamma delta"),
    "second panel": ASIDE.format("epsilon zeta eta theta"),
    "another cell": "import time\nfor number in range(10):\n    print('printed', number)\n    time.sleep(0.2)",
    "long": LONG,
    "below": "\n".join("# a line" for _ in range(60)),
}
AT = {name: place for place, name in enumerate(CELLS)}

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[LabPage]:
    from lab import opened

    with opened(browser, "use.ipynb", CELLS, "load") as page:
        yield page


def bundles(lab: LabPage, cell: str) -> list[str]:
    """What the cell's outputs say as plain text, without prints."""
    found = [output["data"] for output in lab.outputs(AT[cell]) if output["output_type"] == "display_data"]
    return ["".join(data["text/plain"]) for data in found]


def test_two_streams_in_one_cell_have_their_own_views(lab: LabPage) -> None:
    lab.start(AT["pair"])
    lab.page.wait_for_function(
        "() => [...document.querySelectorAll('.nbr-md')].filter((n) => n.innerText).length === 2"
    )
    lab.wait(AT["pair"])
    lab.page.wait_for_selector(".nbr", state="detached")
    one, two = bundles(lab, "pair")
    assert "one two three four" in one
    assert "five six seven eight" in two


def test_streams_of_other_cells_stay_in_their_cells(lab: LabPage) -> None:
    for cell in ("first panel", "second panel", "another cell"):
        lab.start(AT[cell])
    lab.wait(AT["another cell"])
    lab.page.wait_for_selector(".nbr", state="detached")
    assert "alpha beta gamma delta" in "".join(bundles(lab, "first panel"))
    assert "epsilon zeta eta theta" in "".join(bundles(lab, "second panel"))
    for cell in ("first panel", "second panel"):
        assert "printed" not in lab.text(AT[cell])
        assert len(bundles(lab, cell)) == 1
    printed = [line for line in lab.text(AT["another cell"]).split("\n") if line.strip()]
    assert printed == [f"printed {number}" for number in range(10)]


def test_the_readers_place_and_the_keyboard(lab: LabPage) -> None:
    lab.start(AT["long"])
    lab.wait_text(AT["long"], "w20 ")
    box = "document.querySelector('.jp-WindowedPanel-outer')"
    lab.page.evaluate(f"{box}.scrollTop = 40")
    lab.page.focus(".nbr-stop")
    place = lab.page.evaluate(f"{box}.scrollTop")
    lab.wait_text(AT["long"], "w200 ")
    assert lab.page.evaluate(f"{box}.scrollTop") == place
    assert lab.page.evaluate("document.activeElement.className") == "nbr-stop", "an update of what is kept came by"
    lab.page.keyboard.press("Space")
    lab.wait(AT["long"], seconds=10)
    lab.page.wait_for_selector(".nbr", state="detached")
    assert "nterrupted" in lab.text(AT["long"])
    inside = "document.activeElement.closest('.jp-Cell')?.querySelector('.jp-OutputArea')?.innerText ?? ''"
    assert "w20 " in lab.page.evaluate(inside), "the focus stays in the cell"


def test_nothing_failed(lab: LabPage) -> None:
    assert lab.errors == []
