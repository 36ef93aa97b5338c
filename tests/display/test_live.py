"""The live view's kernel side: numbered messages, one snapshot for whoever asks, stop, and the widget's end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from nbresponses import Client, DemoServer, ResponseStream
from nbresponses.display import follow
from nbresponses.display import live as live_module
from nbresponses.display.live import LiveView
from nbresponses.render import blocks, bundle, unfinished


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
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The view's time, in seconds: a test sets it."""
    now = [100.0]
    monkeypatch.setattr(live_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Front:
    if "clock" in request.fixturenames:
        request.getfixturevalue("clock")
    return Front(monkeypatch)


def test_messages_are_numbered_and_the_last_says_so(front: Front, events: Any, played: Any) -> None:
    follow(played(events("Hello ", "there")), front.view)
    assert [message["n"] for message in front.numbered] == list(range(1, len(front.numbered) + 1))
    assert [message.get("last", False) for message in front.numbered].count(True) == 1
    assert front.numbered[-1]["last"] is True


def test_the_output_is_text_with_a_mark_and_then_the_settled_answer(front: Front, events: Any, played: Any) -> None:
    follow(played(events("Hello ", "there")), front.view)
    (first, update), (last, updated) = front.published
    assert (update, updated) == (False, True)
    assert sorted(first) == sorted(last) == ["text/html", "text/markdown", "text/plain"]
    assert front.view._widget is not None
    mark = f'<div class="{front.view._widget.mark}"></div>'
    assert first["text/html"].startswith(mark)
    assert mark not in last["text/html"]
    assert "Hello there" in last["text/plain"]


def test_what_a_saved_file_holds_costs_no_more_than_its_rate(
    front: Front, events: Any, played: Any, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 0
    monkeypatch.setattr(live_module, "kept", lambda *_, **__: ({"text/plain": "x" * size}, {}))
    stream = played(events("Hello"))
    front.view.start(stream)
    (change, *_) = stream.changes()
    written = []
    for second in range(1, 61):
        clock[0], size = 100.0 + second, 300 * second
        before = len(front.published)
        front.view.apply([change])
        written += [second] * (len(front.published) - before)
    assert written[:3] == [3, 6, 9], "2.5 s apart at least"
    assert written[-1] - written[-2] > 8, "10 kB and 1.2 kB a second"
    assert sum(300 * second for second in written[:-1]) < 1200 * 60


def test_what_a_saved_file_holds_is_what_had_come(front: Front, events: Any, played: Any, clock: list[float]) -> None:
    stream = played(events("Hello"))
    (change, *_) = stream.changes()
    front.view.start(stream)
    front.view.apply([change])
    clock[0] += 3
    front.view.tick()
    for form, text in front.published[-1][0].items():
        assert "Hello" in text, form
        assert "Still streaming" in text, form


def test_what_a_saved_file_holds_has_no_bytes_of_pictures_and_sound() -> None:
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    output = [
        {"type": "image_generation_call", "id": "i", "status": "completed", "result": picture},
        {
            "type": "code_interpreter_call",
            "id": "c",
            "code": "plot()",
            "outputs": [{"type": "image", "url": f"data:image/png;base64,{picture}"}, {"type": "logs", "logs": "285"}],
        },
        {"type": "audio", "data": "UklGRg==", "transcript": "A tone"},
    ]
    found = blocks({"output": output})
    assert picture in bundle({"output": output})["text/html"]
    shown = unfinished(found, None, mark='"><script>')
    assert picture not in str(shown)
    assert "<script" not in shown["text/html"]
    for form, text in shown.items():
        assert "285" in text, form


def test_nothing_is_written_again_where_nothing_came(
    front: Front, events: Any, played: Any, clock: list[float]
) -> None:
    front.view.start(played(events("Hello")))
    for _ in range(20):
        clock[0] += 1
        front.view.tick()
    assert len(front.published) == 1


def test_the_widget_is_closed_when_the_end_was_seen_and_not_before(front: Front, events: Any, played: Any) -> None:
    stream = played(events("Hello"))
    front.view.start(stream)
    front.ask("seen")
    assert front.closed == 0
    front.view.settle()
    front.ask("seen")
    front.ask("seen")
    assert front.closed == 1


def test_the_widget_stays_for_a_page_that_came_late(front: Front, events: Any, played: Any) -> None:
    front.view.start(played(events("Hello")))
    widget = front.view._widget
    assert widget is not None
    widget.get_state(["mark"])
    assert not widget.seen_late
    widget.get_state()
    front.view.settle()
    front.ask("seen")
    assert front.closed == 0, "the settled output reached the page that says so, not the other one"


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


@pytest.mark.parametrize("ahead", [False, True], ids=["in step", "response ahead of the changes"])
def test_a_page_that_comes_between_two_messages_gets_each_piece_once(
    ahead: bool, front: Front, events: Any, played: Any, clock: list[float]
) -> None:
    stream = played(events(*"abcdefghij"))
    changes = stream.changes()
    waiting = [next(changes)]  # from here on the stream's response goes as far as its changes were taken
    front.view.start(stream)
    clock[0] += 5  # a message only where the clock is moved, from here on
    text = None
    while waiting:
        change = waiting.pop(0)
        clock[0] += change.delta == "c"
        front.view.apply([change])
        waiting = waiting or [*islice(changes, 1)]
        if change.delta == "f":
            if ahead:
                waiting += islice(changes, 2)
                front.view._state.look = True
            snapshot = front.view._widget.get_state()["snapshot"]  # type: ignore[union-attr]
            (text,) = (text for item in snapshot["items"] for part, text in item["texts"])
    assert text == "abcdef"
    clock[0] += 1
    front.view.tick()
    later = [op for message in front.numbered if message["n"] > snapshot["n"] for op in message["ops"]]
    assert text + "".join(op[3] for op in later if op[0] == "add") == "abcdefghij"
    assert [op for op in later if op[0] == "set"] == []


def test_a_page_that_heard_nothing_for_a_while_gets_what_it_missed(front: Front, events: Any, played: Any) -> None:
    follow(played(events("Hello")), front.view)
    last = front.numbered[-1]["n"]
    front.view._asked(None, {"op": "at", "n": last}, [])
    assert front.messages[-1][0].get("n") == last, "it has everything"
    front.view._asked(None, {"op": "at", "n": last - 1}, [])
    assert front.messages[-1][0]["snapshot"]["n"] == last


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
