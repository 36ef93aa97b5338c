"""`batches()`: the pace of a view. At most one list per interval, empty ones while there is no news, an end."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest


def test_the_changes_arrive_all_and_in_order(serve, wire, client_of):
    server = serve([wire.CHUNKED, *(wire.chunk(wire.delta(str(n))) for n in range(50)), wire.chunk(wire.end())])
    batches = list(client_of(server).stream("x").batches(0.01))
    assert "".join(change.delta or "" for batch in batches for change in batch) == "".join(map(str, range(50)))
    assert batches[-1][-1].part == ("response", None)


def test_at_most_one_list_per_interval(serve, wire, client_of):
    pieces = [step for n in range(40) for step in (wire.chunk(wire.delta(str(n))), 0.01)]
    server = serve([wire.CHUNKED, *pieces, wire.chunk(wire.end()), wire.LAST_CHUNK])
    times = []
    for _ in client_of(server).stream("x").batches(0.1):
        times.append(time.monotonic())
    gaps = [later - earlier for earlier, later in pairwise(times[:-1])]
    assert len(times) <= 12
    assert min(gaps) >= 0.09


def test_without_news_the_clock_ticks(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), 0.6, wire.chunk(wire.end()), wire.LAST_CHUNK])
    batches = list(client_of(server).stream("x").batches(0.1))
    empty = [batch for batch in batches if not batch]
    assert 2 <= len(empty) <= 9


@pytest.mark.parametrize("interval", [0.25, 2.0])
def test_the_end_does_not_wait_for_the_interval(serve, wire, client_of, interval):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), 0.1, wire.chunk(wire.end()), wire.LAST_CHUNK])
    began = time.monotonic()
    batches = list(client_of(server).stream("x").batches(interval))
    assert time.monotonic() - began < 1.5
    assert [change.event.type for batch in batches for change in batch] == ["response.created", "response.completed"]


def test_a_long_interval_gives_no_empty_lists_early(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), 0.5, wire.chunk(wire.end()), wire.LAST_CHUNK])
    assert all(client_of(server).stream("x").batches(5.0))


def test_a_cut_is_the_last_change(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "reset"])
    stream = client_of(server).stream("x")
    changes = [change for batch in stream.batches(0.01) for change in batch]
    assert changes[-1].event is None
    assert changes[-1].part == ("response", None)
    assert stream.ending == "cut_off"


def test_it_goes_on_where_the_iteration_stopped(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a", "b", "c")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    for event in stream:
        if event.type.endswith("delta"):
            break
    assert [change.delta for batch in stream.batches(0.01) for change in batch if change.delta] == ["b", "c"]
    assert list(stream.batches()) == []


def test_timing(serve, wire, client_of):
    server = serve([wire.CHUNKED, 0.1, wire.chunk(wire.created()), 0.1, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    next(stream)
    timing = stream.timing
    assert timing.ended is None
    assert timing.first_text is None
    assert timing.elapsed(timing.started + 7) == 7
    timing = stream.until_done().timing
    assert 0.09 < timing.first_byte <= timing.first_event < timing.first_text <= timing.ended < 5
    assert timing.elapsed(timing.started + 100) == timing.ended
