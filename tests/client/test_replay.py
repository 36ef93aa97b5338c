"""A capture played again: the same events through the same machinery, at any speed, stopped anywhere."""

from __future__ import annotations

import json
import threading
import time
from itertools import pairwise

import pytest

from nbresponses.capture.record import Capture
from nbresponses.errors import Disconnected, ProtocolError, RequestError, ResponseCutOff, ResponseFailed


@pytest.fixture
def captured(serve, wire, client_of):
    """A capture of this stream: six texts, 50 ms between them."""
    deltas = [step for n in range(6) for step in (0.05, wire.chunk(wire.delta(f"{n} ", n + 1)))]
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), *deltas, wire.chunk(wire.end(number=7)), wire.LAST_CHUNK])
    stream = client_of(server).stream("count", model="m").until_done()
    assert stream.ending == "completed"
    return stream.capture


def test_the_same_events_and_the_same_response(captured):
    stream = captured.replay(None)
    events = [event.payload for event in stream]
    assert events == [message.payload for message in captured if message.kind == "event"]
    assert stream.ending == "completed"
    assert stream.get_final_response().output_text == "0 1 2 3 4 5 "
    assert stream.request == {"input": "count", "model": "m", "stream": True}
    assert len(list(stream.capture.replay(None))) == 8, "a replay's own capture can be played too"


@pytest.mark.parametrize(
    ("speed", "shortest", "longest"), [(1.0, 0.28, 3), (3.0, 0.09, 2), (0.5, 0.55, 5), (None, 0, 0.25)]
)
def test_speed(captured, speed, shortest, longest):
    began = time.monotonic()
    list(captured.replay(speed))
    assert shortest <= time.monotonic() - began < longest


def test_the_pace_is_the_original_one(captured):
    times = [(time.monotonic(), event) for event in captured.replay(2.0) if event.type.endswith("delta")]
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(times)]
    assert 0.1 <= sum(gaps) <= 1.5
    assert max(gaps) < 0.5


def test_views_read_it_like_a_live_stream(captured):
    batches = list(captured.replay(1.0).batches(0.1))
    assert len(batches) >= 3
    assert "".join(change.delta or "" for batch in batches for change in batch) == "0 1 2 3 4 5 "


def test_closing_in_the_middle(captured):
    stream = captured.replay(0.01)
    assert next(stream).type == "response.created"
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 1
    assert (stream.ending, list(stream)) == ("interrupted", [])


def test_the_loop_thread_ends_with_it(captured, client_of, wait_until, monkeypatch):
    other = threading.active_count()
    streams = [captured.replay(None).until_done() for _ in range(5)]
    assert all(stream.ending == "completed" for stream in streams)
    wait_until(lambda: threading.active_count() <= other)


def test_after_saving_and_loading(captured, tmp_path):
    captured.save(tmp_path / "c.jsonl")
    stream = Capture.load(tmp_path / "c.jsonl").replay(None)
    assert stream.get_final_response().output_text == "0 1 2 3 4 5 "


def test_the_recorded_end_is_played(serve, wire, client_of):
    cut = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("par", 1) + wire.delta("t", 2)[:-9]), "reset"])
    stream = client_of(cut).stream("x").until_done()
    again = stream.capture.replay(None)
    with pytest.raises(ResponseCutOff, match="cut off after event 1"):
        again.get_final_response()
    assert isinstance(again.error, Disconnected)
    assert [m.payload for m in again.capture if m.kind == "remainder"] == [
        m.payload for m in stream.capture if m.kind == "remainder"
    ]

    stopped = client_of(serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])).stream("x")
    next(stopped)
    stopped.close()
    assert stopped.capture.replay(None).until_done().ending == "interrupted"

    failed = serve([wire.CHUNKED, wire.chunk(wire.event("error", error={"code": "c", "message": "m"}))])
    stream = client_of(failed).stream("x").until_done()
    again = stream.capture.replay(None)
    with pytest.raises(ResponseFailed):
        again.get_final_response()
    assert again.ending == stream.ending == "error"


def test_payloads_that_are_no_plain_json_come_through(serve, wire, client_of):
    odd = b'data: {"type":"x.unknown",\ndata: "a":"\xe2\x80\xa8"}\n\n' + b"data: {oops\n\n" + b"data: [1]\n\n"
    named = b'event: thread.created\ndata: {"id":"t"}\n\n'
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + odd + named + wire.end()), wire.LAST_CHUNK])
    stream = client_of(server).stream("x").until_done()
    before = [(event.type, event.payload) for event in stream]
    again = stream.capture.replay(None)
    assert [(event.type, event.payload) for event in again] == before
    assert [type_ for type_, _ in before] == [
        *("response.created", "x.unknown", "invalid", "invalid", "thread.created", "response.completed")
    ]


def test_a_capture_without_events(captured):
    empty = Capture(captured.started)
    with pytest.raises(ProtocolError, match="before the first event"):
        empty.replay(None).get_final_response()


@pytest.mark.parametrize("speed", [0, -1, "fast", True])
def test_a_speed_that_is_none(captured, speed):
    with pytest.raises(RequestError, match="speed"):
        captured.replay(speed)


def test_a_capture_of_a_resumed_stream_plays_without_overlap(serve, wire, client_of):
    first = wire.created(0) + wire.delta("a", 1) + wire.delta("b", 2)
    second = wire.delta("b", 2) + wire.delta("c", 3) + wire.end(number=4)
    server = serve([wire.CHUNKED, wire.chunk(first), "reset"], [wire.CHUNKED, wire.chunk(second), wire.LAST_CHUNK])
    stream = client_of(server, max_retries=1).stream("x", background=True).until_done()
    again = stream.capture.replay(None)
    assert again.get_final_response().output_text == stream.response.output_text == "abc"
    assert json.dumps(again.request) == json.dumps(stream.request)
