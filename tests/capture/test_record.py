"""The record in memory: what goes in comes out, shared and not copied, masked where it must be, safe to copy."""

from __future__ import annotations

import copy
import json
import pickle
import threading
import tracemalloc
from datetime import UTC, datetime

import pytest

from nbresponses.capture.messages import Message
from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.events import InvalidEvent, UnknownEvent
from nbresponses.core.sse import ServerSentEvent

STARTED = datetime(2026, 1, 31, 12, tzinfo=UTC)


def delta(text: str, number: int = 0) -> bytes:
    fields = {"type": "response.output_text.delta", "delta": text, "sequence_number": number}
    return json.dumps(fields).encode()


def terminal(kind: str = "completed") -> bytes:
    return json.dumps({"type": f"response.{kind}", "response": {"id": "resp_1", "status": kind}}).encode()


def new(origin: float = 50.0) -> Capture:
    return Capture(STARTED, origin, "test")


def test_messages_come_out_as_they_went_in() -> None:
    capture = new()
    capture.sent({"model": "m", "input": "hi"}, 50.0)
    capture.noted("status", 50.25, status=200, request_id="req_1")
    capture.received([decode_event(delta("a")), decode_event(delta("b"))], 50.5, transport="sse", lane="planner")
    capture.remainder(b'data: {"type', 51.0)

    assert list(capture) == [
        Message(0.0, "out", "request", "http", None, None, b'{"model":"m","input":"hi"}'),
        Message(0.25, "note", "status", "http", None, None, b'{"status":200,"request_id":"req_1"}'),
        Message(0.5, "in", "event", "sse", "planner", None, delta("a")),
        Message(0.5, "in", "event", "sse", "planner", None, delta("b")),
        Message(1.0, "in", "remainder", "sse", None, None, b'data: {"type'),
    ]
    assert capture[1].facts() == {"status": 200, "request_id": "req_1"}
    assert capture.duration == 1.0


def test_it_is_a_sequence() -> None:
    capture = new()
    capture.received([decode_event(delta(str(n), n)) for n in range(5)], 51.0)
    assert len(capture) == 5
    assert capture[-1].payload == delta("4", 4)
    assert [message.payload for message in capture[1:3]] == [delta("1", 1), delta("2", 2)]
    with pytest.raises(IndexError):
        capture[5]


def test_payloads_are_shared_with_the_events() -> None:
    events = EventDecoder().feed(b"data: " + delta("a") + b"\n\n")
    capture = new()
    capture.received(events, 51.0)
    assert capture[0].payload is events[0].payload


def test_messages_decode_to_the_events_they_were() -> None:
    events = [
        decode_event(delta("a")),
        decode_event(ServerSentEvent('{"delta": "x"}', event="response.output_text.delta")),
        decode_event(ServerSentEvent('{"x": 1}', event="thread.run.created")),
        decode_event('{"x": 1}'),
        decode_event('{"sequence_number": 3, "type": "keepalive"}'),
        decode_event('{"error": {"code": "c"}}'),
    ]
    capture = new()
    capture.received(events, 51.0)
    again = [message.event() for message in capture]
    assert [(type(event), event.type, event.to_dict()) for event in again if event] == [
        (type(event), event.type, event.to_dict()) for event in events
    ]
    assert [message.name for message in capture] == [
        *(None, "response.output_text.delta", "thread.run.created", None, None, None),
    ]
    assert isinstance(again[2], UnknownEvent)


def test_what_is_no_json_and_what_is_too_large_stays_an_invalid_event() -> None:
    decoder = EventDecoder(max_event_bytes=1000)
    events = decoder.feed(b"data: {broken\n\n")
    events += decoder.feed(b"data: " + delta("x" * 2000) + b"\n\n")
    capture = new()
    capture.received(events, 51.0)
    broken, large = (message.event() for message in capture)
    assert isinstance(broken, InvalidEvent)
    assert capture[0].payload == b"{broken"
    assert isinstance(large, InvalidEvent)
    assert large.error is not None
    assert events[1].error is not None  # type: ignore[attr-defined]
    assert str(large.error) == str(events[1].error)  # type: ignore[attr-defined]


def test_an_event_made_by_hand_is_kept_as_its_json() -> None:
    capture = new()
    capture.received([UnknownEvent(type="keepalive", sequence_number=4)], 51.0)
    assert capture[0].facts() == {"type": "keepalive", "sequence_number": 4}


@pytest.mark.parametrize("kind", ["completed", "failed", "incomplete"])
def test_the_ending_is_that_of_the_terminal_event(kind: str) -> None:
    capture = new()
    capture.received([decode_event(delta("a"))], 51.0)
    assert capture.ending is None
    capture.received([decode_event(terminal(kind))], 52.0)
    assert capture.ending == kind


def test_a_noted_ending_wins() -> None:
    capture = new()
    capture.received([decode_event(delta("a"))], 51.0)
    capture.noted("ended", 52.0, ending="interrupted")
    assert capture.ending == "interrupted"


def test_the_repr_has_counts_and_no_text() -> None:
    capture = new()
    capture.sent({"input": "my secret question"}, 50.0)
    capture.received([decode_event(delta("my secret answer")), decode_event(terminal())], 51.5)
    assert repr(capture) == "<Capture: 2 received, 1 sent, 0 noted; completed; 1.500 s>"
    assert "secret" not in "".join(map(repr, capture))


def test_copies_are_equal_and_independent(tmp_path) -> None:
    capture = new()
    capture.sent({"input": "hi"}, 50.0)
    capture.received([decode_event(delta("a"))], 51.0, lane="x")
    capture.tee(tmp_path / "live.jsonl")
    copies = [copy.copy(capture), copy.deepcopy(capture), pickle.loads(pickle.dumps(capture))]  # noqa: S301
    for each in copies:
        assert each == capture
        each.received([decode_event(delta("b"))], 52.0, lane="y")
        assert (len(each), len(capture)) == (3, 2)
        assert each[2].lane == "y"
    capture.close()
    assert (tmp_path / "live.jsonl").read_bytes().count(b"\n") == 3, "a copy wrote to the original's file"


def test_captures_differ_by_source_start_and_messages() -> None:
    one, other = new(), new()
    assert one == other
    other.noted("closed", 51.0)
    assert one != other
    assert Capture(STARTED, source="a") != Capture(STARTED, source="b")
    assert Capture(STARTED) != Capture(STARTED.replace(year=2027))
    assert one != "a capture"


def test_a_start_without_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware datetime"):
        Capture(datetime(2026, 1, 31))


def test_columns_are_a_snapshot() -> None:
    capture = new()
    capture.received([decode_event(delta("a"))], 51.0)
    columns = capture.columns()
    capture.received([decode_event(delta("b"))], 52.0, lane="x")
    assert columns.payloads == [delta("a")]
    assert (len(columns.times), len(columns.codes), len(columns.channels)) == (1, 1, 1)


def test_readers_see_whole_messages_while_another_thread_writes() -> None:
    capture = new(0.0)
    events = [decode_event(delta("a", n)) for n in range(3)]
    done = threading.Event()

    def write() -> None:
        for n in range(3000):
            capture.received(events, float(n), lane=f"lane{n % 40}")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not done.is_set() or not looks:
        columns = capture.columns()
        assert len(columns.times) == len(columns.codes) == len(columns.payloads)
        assert max(columns.codes, default=-1) < len(columns.channels)
        if len(capture):
            assert capture[-1].lane is not None
        looks += 1
    writer.join()
    assert len(capture) == 9000


def test_a_kept_event_costs_little_more_than_its_bytes() -> None:
    count, size = 20_000, 279
    blocks = []
    for number in range(count):
        payload = delta(" word", number)[:-1] + b', "item_id": "msg_' + b"0" * 50 + b'", "obfuscation": "'
        head = b"event: response.output_text.delta\ndata: " + payload
        blocks.append(head + b"x" * (size - len(head) - 4) + b'"}\n\n')
    wire = b"".join(blocks)
    assert len(wire) == count * size
    tracemalloc.start()
    try:
        capture, decoder = new(0.0), EventDecoder()
        before = tracemalloc.get_traced_memory()[0]
        for first in range(0, len(wire), 4096):
            capture.received(decoder.feed(wire[first : first + 4096]), first / 1e6)
        per_event = (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()
    assert len(capture) == count
    print(f"\n{per_event:.0f} bytes per kept event of {size} bytes on the wire")
    assert per_event < 350


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_what_is_no_time_is_refused(at: float) -> None:
    capture = Capture(STARTED, origin=5.0)
    event = decode_event('{"type": "response.created"}')
    writes = (
        lambda: capture.received([event], at),
        lambda: capture.sent({}, at),
        lambda: capture.noted("x", at),
        lambda: capture.remainder(b"{", at),
        lambda: capture.add([Message(at, "in", "event", "sse", None, None, b"{}")]),
    )
    for write in writes:
        with pytest.raises(ValueError, match=r"^at: \S+ is no "):
            write()
    assert len(capture) == 0
