"""The lane board's kernel side: why lanes fail, live and settled; what a page asks for, and what it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nbresponses import Client, DemoServer, LaneBoard
from nbresponses.client.lanes import LaneManager


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as server:
        yield server


class Page:
    """A board, and what it sends."""

    def __init__(self, lanes: LaneManager) -> None:
        self.lanes = lanes
        self.sent: list[dict[str, Any]] = []
        self.board = LaneBoard(lanes)
        self.board.send = lambda content, buffers=None: self.sent.append(content)  # noqa: ARG005

    def ask(self, **question: Any) -> dict[str, Any]:
        self.board._asked(None, {"id": "q", **question}, [])
        return next(message for message in reversed(self.sent) if message.get("re") == "q")

    def row(self, lane: str) -> dict[str, Any]:
        self.lanes.wait(timeout=20)
        self.board._look()
        row: dict[str, Any] = self.board._whole()["rows"][f"lane {lane}"]
        return row

    def until(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + 15
        while not true():
            assert time.monotonic() < until
            time.sleep(0.01)


@contextmanager
def opened(base_url: str, *, api_key: str | None = "any", **settings: Any) -> Iterator[Page]:
    with Client(base_url=base_url, api_key=api_key) as client:
        lanes = client.lanes(model="demo-echo", store=False, **settings)
        page = Page(lanes)
        try:
            yield page
        finally:
            page.board.close()
            lanes.close()


@pytest.fixture
def page(server: DemoServer) -> Iterator[Page]:
    with opened(server.base_url) as page:
        yield page


FAILURES = {
    "a model that is not there": ({"model": "demo-nope"}, "error", "'demo-nope' does not exist"),
    "an answer that fails": ({"model": "demo-failed"}, "error", "The demo server failed on purpose. (server_error)"),
    "an answer cut short": ({"model": "demo-incomplete"}, "incomplete", "it reached the limit of output tokens"),
    "a connection that breaks": ({"metadata": {"demo_fault": "close_at:5"}}, "cut_off", "(close code 1011)"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_lane_says_why_it_failed(page: Page, kind: str) -> None:
    fields, state, why = FAILURES[kind]
    page.lanes["a"].create("Before")
    page.lanes["a"].stream("Go on", **fields)
    row = page.row("a")
    assert (row["state"], row["asked"]) == (state, "Go on")
    assert why in row["why"]
    assert row["ended"] is not None
    for text in page.board.static().values():
        assert why.split("'")[-1].split(" (")[0] in text.replace("\\", "").replace("&#40;", "(")
    page.lanes["a"].stream("Again")
    row = page.row("a")
    assert (row["state"], row["why"]) == ("completed", ""), "of the failure before nothing is left"


def test_a_refused_connection_is_said_without_an_answer() -> None:
    with opened("http://127.0.0.1:9/v1", open_attempts=1) as page:
        page.lanes["a"].stream("Hello")
        row = page.row("a")
        assert row["state"] == "error"
        assert "no connection to ws://127.0.0.1:9" in row["why"]
        assert "no connection to ws://127.0.0.1:9" in page.board.static()["text/plain"]


def test_a_rejected_handshake_and_a_missing_key_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with DemoServer(delay=0, fault="status:401") as server, opened(server.base_url, api_key="sk-not-this-one") as page:
        page.lanes["a"].stream("Hello")
        why = page.row("a")["why"]
        assert "HTTP 401" in why
        assert "sk-not-this-one" not in why
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with opened("https://api.openai.com/v1", api_key=None) as page:
        page.lanes["a"].stream("Hello")
        assert "set OPENAI_API_KEY" in page.row("a")["why"]


def test_the_plain_table_has_a_column_for_it_only_where_one_failed(page: Page) -> None:
    page.lanes["good"].create("Hi")
    page.lanes.wait()
    first = page.board.static()["text/plain"].splitlines()[0]
    assert first.split() == ["lane", "state", "time", "tokens", "asked", "last"]
    page.lanes["bad"].stream("x", model="demo-nope")
    page.row("bad")
    first, *rows = page.board.static()["text/plain"].splitlines()
    assert first.endswith("why")
    assert "does not exist" in next(row for row in rows if row.startswith("bad"))


def test_a_board_without_lanes_says_so(page: Page) -> None:
    for text in page.board.static().values():
        assert "No lane has been used yet." in text


def test_a_page_begins_a_lane_goes_on_and_forks(page: Page) -> None:
    assert page.ask(op="ask", lane="new", text="First\nline two") == {"re": "q", "text": ""}
    row = page.row("new")
    assert (row["state"], row["asked"]) == ("completed", "First\nline two")
    long = "word " * 1000
    page.ask(op="ask", lane="new", text=long)
    at = page.row("new")["latest"]
    assert len(page.row("new")["asked"]) == 400
    assert page.ask(op="prompt", at=at)["text"] == long, "all of it, to be edited"
    assert page.ask(op="prompt", at="unknown")["text"] == ""
    assert page.ask(op="fork", lane="other", text="Elsewhere", at=at) == {"re": "q", "text": ""}
    assert page.row("other")["state"] == "completed"
    assert [row["depth"] for row in page.lanes.lineage()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"op": "ask", "lane": "bad name?", "text": "x"}, "bad name?"),
        ({"op": "ask", "lane": "a", "text": "x" * 100_001}, "100,000 characters"),
        ({"op": "steer", "lane": "nobody", "text": "x"}, "nobody"),
    ],
)
def test_a_page_is_told_why_something_cannot_be_done(page: Page, question: dict[str, Any], said: str) -> None:
    assert said in page.ask(**question)["failed"]


def test_the_limit_of_names_is_told_to_the_page(server: DemoServer) -> None:
    with opened(server.base_url, max_names=1) as page:
        page.ask(op="ask", lane="one", text="x")
        page.row("one")
        assert "takes 1" in page.ask(op="ask", lane="two", text="x")["failed"]


@pytest.mark.parametrize("question", [{"op": "ask", "lane": 5, "text": "x"}, {"op": [], "text": {}}, {"op": "fork"}])
def test_what_a_page_sends_is_not_trusted(page: Page, question: dict[str, Any]) -> None:
    assert page.ask(**question) == {"re": "q", "text": ""}
    page.board._asked(None, "no object", [])
    assert page.lanes.status()["lanes"] == []


def test_what_comes_after_a_stop_is_no_part_of_the_answer(page: Page) -> None:
    stream = page.board.ask("a", "Count")
    stream.until_done()
    slow = {"demo_count": "400", "demo_delay": "0.005"}
    page.lanes["a"].stream("Count", model="demo-long", metadata=slow)

    def begun() -> bool:
        page.board._look()
        rows = page.board._whole()["rows"]
        return bool(rows["lane a"].get("response")) and rows["lane a"]["state"] == "in flight"

    page.until(begun)
    page.board.stop("a")
    page.board._look()
    text = page.board._whole()["texts"][-1][2]
    row = page.row("a")
    assert row["state"] == "interrupted"
    assert row["why"] == ""
    time.sleep(0.1)  # the server goes on meanwhile
    page.board._look()
    assert page.board._whole()["texts"][-1][2] == text
