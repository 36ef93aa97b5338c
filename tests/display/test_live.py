"""The live view's kernel side: numbered messages, one snapshot for whoever asks, stop, and the widget's end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbresponses import Client, DemoServer, ResponseStream
from nbresponses.display import follow
from nbresponses.display import live as live_module
from nbresponses.display.live import LiveView


class Front:
    """What a front end would get: the widget's messages, and what was published."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[tuple[dict[str, Any], list[bytes]]] = []
        self.published: list[tuple[Any, bool]] = []
        self.closed = 0
        self.view = LiveView(kernel_id="k-1")
        monkeypatch.setattr(live_module, "publish", self._publish)
        monkeypatch.setattr(live_module.LiveWidget, "send", self._send)
        monkeypatch.setattr(live_module.LiveWidget, "close", self._close)

    def _publish(self, bundle: Any, *, display_id: str, update: bool) -> None:
        assert display_id.startswith("nbresponses-")
        self.published.append((bundle[0], update))

    def _send(self, content: dict[str, Any], buffers: Any = None) -> None:
        self.messages.append((content, list(buffers or ())))

    def _close(self) -> None:
        self.closed += 1

    def ask(self, op: str) -> None:
        self.view._asked(None, {"op": op}, [])

    @property
    def numbered(self) -> list[dict[str, Any]]:
        return [message for message, _ in self.messages if "n" in message]


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Front:
    return Front(monkeypatch)


def test_messages_are_numbered_and_the_last_says_so(front: Front, events: Any, played: Any) -> None:
    follow(played(events("Hello ", "there")), front.view)
    assert [message["n"] for message in front.numbered] == list(range(1, len(front.numbered) + 1))
    assert [message.get("last", False) for message in front.numbered].count(True) == 1
    assert front.numbered[-1]["last"] is True


def test_the_widget_is_replaced_once_by_the_settled_answer(front: Front, events: Any, played: Any) -> None:
    follow(played(events("Hello ", "there")), front.view)
    (first, update), (last, updated) = front.published
    assert (update, updated) == (False, True)
    assert "application/vnd.jupyter.widget-view+json" in first
    assert sorted(last) == ["text/html", "text/markdown", "text/plain"]
    assert "Hello there" in last["text/plain"]


def test_the_widget_is_closed_when_the_end_was_seen_and_not_before(front: Front, events: Any, played: Any) -> None:
    stream = played(events("Hello"))
    front.view.start(stream)
    front.ask("seen")
    assert front.closed == 0
    front.view.settle()
    front.ask("seen")
    front.ask("seen")
    assert front.closed == 1


def test_a_page_that_comes_anew_gets_everything(front: Front, events: Any, played: Any) -> None:
    stream = played(events("Hello ", "there"))
    follow(stream, front.view)
    widget = front.view._widget
    assert widget is not None
    snapshot = widget.get_state()["snapshot"]
    assert snapshot["n"] == front.numbered[-1]["n"]
    assert snapshot["state"]["state"] == "completed"
    assert ["text", "Hello there"] in snapshot["items"][0]["texts"]
    front.ask("snapshot")
    assert front.messages[-1][0]["snapshot"]["items"] == snapshot["items"]


def test_the_first_bundle_holds_no_answer_and_names_no_file(front: Front, events: Any, played: Any) -> None:
    front.view.start(played(events("Hello")))
    assert front.published[0][0]["text/plain"] == "A streaming answer."


def test_what_a_page_sends_may_be_anything(front: Front, events: Any, played: Any) -> None:
    front.view.start(played(events("Hello")))
    before = len(front.messages)
    for content in (None, [], "stop", {}, {"op": None}, {"op": "unknown"}, {"op": ["stop"]}):
        front.view._asked(None, content, [])
    assert len(front.messages) == before


@pytest.fixture
def slow_stream() -> Iterator[Callable[[], ResponseStream]]:
    with DemoServer(delay=0.05) as server, Client(base_url=server.base_url, api_key="any") as client:
        yield lambda: client.stream(model="demo-long", input="count")


def test_stop_from_another_thread_ends_the_stream(front: Front, slow_stream: Callable[[], ResponseStream]) -> None:
    stream = slow_stream()
    stop = threading.Timer(0.5, front.ask, ("stop",))
    stop.start()
    follow(stream, front.view)
    stop.join()
    assert stream.ending == "interrupted"
    assert stream.response.output_text
    assert {"ack": "stop"} in [message for message, _ in front.messages]
    assert front.numbered[-1]["last"] is True


def test_what_was_told_is_there_after_an_interrupt(front: Front, slow_stream: Callable[[], ResponseStream]) -> None:
    stream = slow_stream()
    view = front.view

    def apply(changes: Any) -> None:
        LiveView.apply(view, changes)
        if stream.response.output_text:
            raise KeyboardInterrupt

    view.apply = apply  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        follow(stream, view)
    assert front.published[-1][1] is True
    assert "Interrupted" in front.published[-1][0]["text/plain"]
