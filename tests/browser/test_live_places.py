"""The live view beside its mark in an output, and what it says when the kernel is gone. No Jupyter here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from module_page import ModulePage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

MARK = "nbr-mark-of-a-test"
MARKED = f'<div class="{MARK}"></div><p>What a file keeps</p>'
TEXT = (["item", "0", {"kind": "message", "order": 0}], ["add", "0", "text", "Hello"])


@pytest.fixture
def marked(browser: Browser) -> Iterator[ModulePage]:
    """The module on a page whose clock a test can set forward, with an output that holds the mark."""
    context = browser.new_context(viewport={"width": 900, "height": 700})
    context.clock.install()
    page = ModulePage(context, mark=MARK)
    page.page.evaluate("() => { window.hide(); out.replaceChildren() }")
    put(page, "output", MARKED)
    yield page
    context.close()


def put(page: ModulePage, name: str, html: str) -> None:
    """Make an output of this name, or replace what it holds, as a notebook does."""
    page.page.evaluate(
        """([name, html]) => {
             let output = document.querySelector(`.${name}`);
             if (!output) {
               output = document.createElement("div");
               output.className = name;
               document.getElementById("out").append(document.createElement("section"));
               document.querySelector("#out > section:last-child").append(output);
             }
             output.innerHTML = html;
           }""",
        [name, html],
    )


def show(page: ModulePage, *ops: list[Any], **more: Any) -> None:
    page.send(*ops, **more)
    page.page.wait_for_selector(".nbr-place .nbr")


def lost(page: ModulePage) -> None:
    """From now on the page cannot send: its kernel, or the comm, is gone."""
    page.page.evaluate("window.sent = { push() { throw new Error('Cannot send') } }")


def test_the_view_covers_its_output_until_that_has_settled(marked: ModulePage) -> None:
    show(marked, *TEXT)
    assert marked.page.is_visible(".nbr-place .nbr-md")
    assert not marked.page.is_visible(".output")
    put(marked, "output", "<p>The settled answer</p>")
    marked.page.wait_for_selector(".output p")
    assert marked.page.locator(".nbr-place").count() == 0
    marked.raw({"n": 2, "ops": [["add", "0", "text", " again"]]})
    assert marked.page.locator(".nbr-place").count() == 0
    assert marked.errors == []


def test_the_widget_stays_where_the_settled_output_does_not_come(marked: ModulePage) -> None:
    show(marked, *TEXT)
    marked.page.evaluate(
        "document.querySelector('#out > section').remove()"
    )  # a cell that was moved: its output is new,
    put(marked, "moved", MARKED)  # and no display update reaches it
    marked.page.wait_for_selector(".moved + .nbr-place")
    marked.send(["add", "0", "text", " you"], ["state", {"state": "completed", "ended": True}], last=True)
    marked.page.clock.run_for(10_000)
    assert marked.text(".moved + .nbr-place .nbr-md") == "Hello you"
    assert not marked.page.is_visible(".moved")
    assert marked.sent() == [], "else the kernel would close it"
    put(marked, "moved", "<p>Cleared, or run again</p>")
    marked.page.clock.run_for(1000)
    assert marked.sent() == [{"op": "seen"}]


def test_an_update_of_what_is_kept_touches_nothing_in_the_view(marked: ModulePage) -> None:
    show(marked, *TEXT)
    marked.page.focus(".nbr-stop")
    marked.page.evaluate(
        """() => { window.seen = []; const view = document.querySelector(".nbr-place"); const step = () => {
             window.seen.push(getComputedStyle(view).display !== "none" && document.activeElement.className);
             requestAnimationFrame(step) }; step() }"""
    )
    for number in range(5):
        put(marked, "output", f"{MARKED}<p>state {number}</p>")
        marked.send(["add", "0", "text", f" {number}"])
    assert set(marked.page.evaluate("window.seen")) == {"nbr-stop"}
    assert marked.page.locator(".nbr").count() == 1


def test_an_output_shown_again_elsewhere_has_a_view_too(marked: ModulePage) -> None:
    show(marked, *TEXT)
    put(marked, "another", MARKED)
    marked.page.wait_for_function("document.querySelectorAll('.nbr-place .nbr').length === 2")
    marked.send(["add", "0", "text", " you"])
    assert marked.page.locator(".nbr-md").all_inner_texts() == ["Hello you", "Hello you"]


def test_a_kernel_that_restarts_ends_the_view(marked: ModulePage) -> None:
    show(marked, *TEXT, ["item", "1", {"kind": "reasoning", "order": 1}], ["state", {"model": "demo", "elapsed": 3.0}])
    marked.page.evaluate("window.fire('comm_live_update')")
    marked.page.wait_for_selector(".nbr-stop", state="hidden")
    status = marked.text(".nbr-status")
    assert "The kernel ended or restarted: what had come is kept" in status
    assert marked.text(".nbr-md") == "Hello"
    assert marked.page.locator(".nbr-busy").count() == 0
    marked.page.clock.run_for(5000)
    assert marked.text(".nbr-status") == status, "the clock stands still"


def test_stop_without_a_kernel_says_so_and_throws_nothing(marked: ModulePage) -> None:
    show(marked, *TEXT)
    lost(marked)
    marked.page.click(".nbr-stop")
    marked.page.wait_for_function("document.querySelector('.nbr-words').innerText.includes('kernel ended')")
    marked.page.clock.run_for(1000)
    assert "kernel ended" in marked.text(".nbr-words"), "and not: use the toolbar's interrupt"
    assert not marked.page.is_visible(".nbr-stop")
    assert marked.errors == []


def test_a_silent_kernel_is_asked_less_and_less_often(marked: ModulePage) -> None:
    show(marked, *TEXT)
    for _ in range(150):
        marked.page.clock.fast_forward(1000)
    assert marked.sent()[0] == {"op": "at", "n": 1}
    assert 4 <= len(marked.sent()) <= 7, "after 5, 15, 35, 75 and 135 seconds"
    lost(marked)
    marked.page.clock.fast_forward(70_000)
    marked.page.wait_for_function("document.querySelector('.nbr-words').innerText.includes('kernel ended')")
    assert marked.errors == []


def test_what_was_lost_comes_with_the_answer(marked: ModulePage) -> None:
    show(marked, *TEXT)
    item = {"key": "0", "facts": {"kind": "message", "order": 0, "done": True}, "texts": [["text", "Hello you"]]}
    snapshot = {"n": 2, "state": {"state": "completed", "ended": True}, "items": [item | {"notes": [], "images": []}]}
    marked.raw({"snapshot": snapshot})
    marked.page.wait_for_function("document.querySelector('.nbr-words').innerText === 'Done'")
    assert marked.text(".nbr-md") == "Hello you"
