"""The view by display updates: how often, what last, and under which id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbresponses import Change, Client, ConnectionFailed, ResponseStream
from nbresponses.display import follow
from nbresponses.display.updating import UpdatingView, pause_after


class Host:
    """A front end that takes notes, and a clock that moves when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.drawn: list[tuple[float, dict[str, str]]] = []
        self.calls: list[dict[str, Any]] = []
        self.view = UpdatingView(publish=self._publish, clock=lambda: self.now)

    def _publish(self, bundle: Any, **how: Any) -> None:
        self.drawn.append((self.now, bundle[0]))
        self.calls.append(how)


def changes(stream: ResponseStream) -> list[Change]:
    return [change for batch in stream.batches(0) for change in batch]


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        ({}, 0.1),
        ({"text/plain": "x" * 5_000}, 0.1),
        ({"text/plain": "x" * 20_000, "text/html": "x" * 20_000}, 0.2),
        ({"text/plain": "x", "text/html": "x" * 2_000_001}, 2.0),
    ],
)
def test_the_pause_grows_with_what_is_shown(data: dict[str, str], seconds: float) -> None:
    assert pause_after(data) == pytest.approx(seconds, rel=1e-3)


def test_no_more_often_than_the_pause_and_always_the_last_state(events: Any, played: Any) -> None:
    host = Host()
    stream = played(events(*["word " * 100] * 400))  # 200 kB
    host.view.start(stream)
    for change in changes(stream):
        host.now += 0.01
        host.view.apply([change])
    host.view.settle()
    assert len(host.drawn) >= 3
    for (before, data), (after, _) in zip(host.drawn, host.drawn[1:-1], strict=False):
        assert after - before >= pause_after(data) - 1e-9
    last = host.drawn[-1][1]
    assert last["text/markdown"].count("word") == 40_000
    assert sorted(last) == ["text/html", "text/markdown", "text/plain"]


def test_what_came_too_early_is_shown_by_a_tick(events: Any, played: Any) -> None:
    host = Host()
    stream = played(events("one ", "two"))
    host.view.start(stream)
    news = changes(stream)
    host.view.apply(news[:1])
    host.view.apply(news[1:])
    assert len(host.drawn) == 1
    host.now += 0.1
    host.view.tick()
    assert len(host.drawn) == 2
    assert host.drawn[-1][1]["text/plain"].startswith("one two")


def test_where_nothing_changes_the_clock_goes_on_slowly(events: Any, played: Any) -> None:
    host = Host()
    stream = played(events("text"))
    host.view.start(stream)
    host.view.apply(changes(stream))
    for _ in range(50):
        host.now += 0.1
        host.view.tick()
    assert 4 <= len(host.drawn) <= 6


def test_one_output_of_its_own(events: Any, played: Any) -> None:
    hosts = [Host(), Host()]
    for host in hosts:
        stream = played(events("text"))
        host.view.start(stream)
        for change in changes(stream):
            host.now += 1
            host.view.apply([change])
        host.view.settle()
        assert [call["update"] for call in host.calls] == [False] + [True] * (len(host.calls) - 1)
        assert len({call["display_id"] for call in host.calls}) == 1
    assert hosts[0].calls[0]["display_id"] != hosts[1].calls[0]["display_id"]


def test_nothing_is_shown_where_nothing_began(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    with Client(base_url="http://127.0.0.1:9/v1", api_key="any", max_retries=0) as client:
        stream = client.stream(model="m", input="x")
        with pytest.raises(ConnectionFailed):
            follow(stream, host.view)
    texts = [data["text/plain"] for _, data in host.drawn]
    assert texts == [] or texts[-1].startswith("[m · failed · ")


def test_an_interrupt_closes_settles_and_goes_on(played: Any, events: Callable[..., Any]) -> None:
    class Impatient(UpdatingView):
        def apply(self, changes: Any) -> None:
            super().apply(changes)
            raise KeyboardInterrupt

    drawn: list[dict[str, str]] = []
    stream = played(events(*["word "] * 50), speed=1.0)  # five seconds long
    with pytest.raises(KeyboardInterrupt):
        follow(stream, Impatient(publish=lambda bundle, **_: drawn.append(bundle[0])))
    assert stream.ending == "interrupted"
    assert "Interrupted" in drawn[-1]["text/plain"]
    assert "text/markdown" in drawn[-1]
