"""The events frame: each column says what the event said, whatever the server did, and nothing else does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresponses.capture import schema
from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.events import EVENT_TYPES

STARTED = datetime(2026, 1, 31, 12, tzinfo=UTC)


def captured(*events: dict | str, lanes: list[str | None] | None = None) -> Capture:
    """One event each second, the first at 1 s."""
    capture = Capture(STARTED, 0.0, "test")
    for number, event in enumerate(events):
        text = event if isinstance(event, str) else json.dumps(event)
        lane = lanes[number] if lanes else None
        capture.received(EventDecoder().feed(f"data: {text}\n\n".encode()), number + 1.0, lane=lane)
    return capture


def column(frame: pd.DataFrame, name: str) -> list:
    return [None if pd.isna(value) else value for value in frame[name]]


def created(id_: str, **more: object) -> dict:
    return {"type": "response.created", "response": {"id": id_, "status": "in_progress", **more}}


def done(id_: str, kind: str = "completed", **more: object) -> dict:
    return {"type": f"response.{kind}", "response": {"id": id_, "status": kind, **more}}


def text(delta: str, **more: object) -> dict:
    return {"type": "response.output_text.delta", "delta": delta, "output_index": 0, "content_index": 0, **more}


def summary(delta: str, **more: object) -> dict:
    return {"type": "response.reasoning_summary_text.delta", "delta": delta, **more}


def test_the_columns_say_what_the_events_said() -> None:
    frame = captured(
        created("resp_1") | {"sequence_number": 0},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {"id": "msg_1"}},
        text("Hi", sequence_number=2, item_id="msg_1"),
        summary("hm", sequence_number=3, item_id="rs_1", output_index=1, summary_index=2),
    ).events()
    assert column(frame, "type")[1:3] == ["response.output_item.added", "response.output_text.delta"]
    assert column(frame, "sequence_number") == [0, 1, 2, 3]
    assert column(frame, "item_id") == [None, "msg_1", "msg_1", "rs_1"]
    assert column(frame, "output_index") == [None, 0, 0, 1]
    assert column(frame, "content_index") == [None, None, 0, None]
    assert column(frame, "summary_index") == [None, None, None, 2]
    assert column(frame, "delta") == [None, None, "Hi", "hm"]
    assert column(frame, "response_id") == ["resp_1"] * 4
    assert column(frame, "lane") == [None] * 4


def test_times_are_wall_times_and_gaps_are_between_rows() -> None:
    capture = Capture(STARTED, 1000.0)
    capture.sent({"model": "m"}, 1000.0)
    capture.received([decode_event(json.dumps(text("a")))] * 2, 1000.000001)
    capture.noted("retry", 1000.3)
    capture.received([decode_event(json.dumps(text("b")))], 1000.5)
    frame = capture.events()
    assert frame["time"].tolist() == [
        *[pd.Timestamp("2026-01-31 12:00:00.000001", tz="UTC")] * 2,
        pd.Timestamp("2026-01-31 12:00:00.5", tz="UTC"),
    ]
    assert column(frame, "gap") == [None, pd.Timedelta(0), pd.Timedelta(microseconds=499_999)]
    assert frame.attrs == {"frame": "events", "source": "", "started": "2026-01-31T12:00:00+00:00", "repaired": 0}


def test_bytes_are_those_of_the_payload() -> None:
    event = json.dumps(text("grün"), ensure_ascii=False)
    assert captured(event).events()["bytes"].tolist() == [len(event.encode())]


def test_the_response_in_progress_is_carried_on_its_lane() -> None:
    lanes = ["a", "b", "a", "b", "a", "b", "a"]
    frame = captured(
        created("r1"), created("r2"), text("x"), text("y"), done("r1"), done("r2"), created("r3"), lanes=lanes
    ).events()
    assert column(frame, "response_id") == ["r1", "r2", "r1", "r2", "r1", "r2", "r3"]
    assert column(frame, "lane") == lanes


def test_nothing_is_in_progress_between_a_terminal_event_and_the_next_response() -> None:
    keepalive = {"type": "keepalive"}
    frame = captured(keepalive, created("r1"), done("r1"), keepalive, created("r2"), text("x")).events()
    assert column(frame, "response_id") == [None, "r1", "r1", None, "r2", "r2"]


def test_a_stream_that_starts_in_the_middle_belongs_to_the_response_it_names_later() -> None:
    assert column(captured(text("x"), done("r1")).events(), "response_id") == ["r1", "r1"]
    assert column(captured(text("x")).events(), "response_id") == [None]


def test_a_response_without_an_id_neither_names_nor_ends_another() -> None:
    frame = captured(created("r1"), {"type": "response.in_progress", "response": {}}, text("x")).events()
    assert column(frame, "response_id") == ["r1", "r1", "r1"]


def test_the_stream_id_is_the_lane_where_none_was_given() -> None:
    frame = captured(
        text("x", stream_id="critic"), text("y"), text("z", stream_id="other"), lanes=[None, None, "given"]
    )
    assert column(frame.events(), "lane") == ["critic", None, "given"]


@pytest.mark.parametrize(
    ("event", "code", "message"),
    [
        ({"type": "error", "code": "c", "message": "m"}, "c", "m"),
        ({"type": "error", "error": {"type": "t", "code": "c", "message": "m"}}, "c", "m"),
        ({"error": {"code": 429, "message": "m"}}, "429", "m"),
        ({"type": "error", "error": "m"}, None, "m"),
        ({"type": "error", "error": {"code": {"odd": 1}, "message": 5}}, None, None),
        ({"type": "error", "code": None, "message": None}, None, None),
        (done("r", "failed", error={"code": "c", "message": "m"}), "c", "m"),
        (done("r", "failed", error="m"), None, "m"),
        (created("r", error=None), None, None),
        ({"type": "response.steer.failed", "error": {"code": "c", "message": "m"}}, "c", "m"),
        ({"type": "response.code_interpreter_call_code.done", "code": "print()"}, None, None),
        ({"type": "response.refusal.delta", "message": "no error"}, None, None),
    ],
)
def test_errors_of_every_shape(event: dict, code: str | None, message: str | None) -> None:
    frame = captured(event).events()
    assert (column(frame, "error_code"), column(frame, "error_message")) == ([code], [message])


def test_what_is_no_json_object_is_a_row_too() -> None:
    capture = captured(text("a"), "{broken s3cr3t", "[1]", text("b"))
    decoder = EventDecoder(max_event_bytes=100)
    capture.received(decoder.feed(b"data: " + b"x" * 200 + b"\n\n"), 9.0)
    frame = capture.events()
    assert column(frame, "type") == [
        "response.output_text.delta",
        *["invalid"] * 2,
        "response.output_text.delta",
        "invalid",
    ]
    assert column(frame, "delta") == ["a", None, None, "b", None]
    assert "no JSON object but an array" in column(frame, "error_message")[2]
    assert "too large" in column(frame, "error_message")[4]
    assert frame["bytes"].tolist()[4] > 100
    assert "s3cr3t" not in repr(frame.to_dict())


def test_a_remainder_is_no_row(record) -> None:
    capture = record(b'data: {"type":"keepalive"}\n\ndata: {"type":"resp')
    assert [message.kind for message in capture] == ["request", "event", "remainder"]
    assert len(capture.events()) == 1


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({"sequence_number": None}, "sequence_number", None),
        ({"sequence_number": "7"}, "sequence_number", None),
        ({"sequence_number": True}, "sequence_number", None),
        ({"sequence_number": 2**63 - 1}, "sequence_number", 2**63 - 1),
        ({"sequence_number": 2**63}, "sequence_number", None),
        ({"sequence_number": 10**30}, "sequence_number", None),
        ({"sequence_number": -1}, "sequence_number", -1),
        ({"content_index": -1}, "content_index", -1),
        ({"output_index": 2**31}, "output_index", None),
        ({"output_index": 1.0}, "output_index", None),
        ({"item_id": 5}, "item_id", None),
        ({"item_id": ""}, "item_id", ""),
        ({"delta": {"stdout": "out", "stderr": "err"}}, "delta", "outerr"),
        ({"delta": {"stderr": "err"}}, "delta", "err"),
        ({"delta": {}}, "delta", None),
        ({"delta": ["x"]}, "delta", None),
        ({"delta": ""}, "delta", ""),
        ({"response": "resp_1"}, "response_id", None),
        ({"item": {"id": "i"}}, "item_id", "i"),
        ({"item": {"id": "i"}, "item_id": "own"}, "item_id", "own"),
        ({"item": [], "delta": "x"}, "delta", "x"),
    ],
)
def test_a_field_of_the_wrong_type_is_null_and_spoils_nothing(fields: dict, name: str, expected: object) -> None:
    frame = captured({"type": "some.event"} | fields, text("after", sequence_number=3)).events()
    assert column(frame, name)[0] == expected
    assert column(frame, "type") == ["some.event", "response.output_text.delta"]
    assert column(frame, "sequence_number")[1] == 3


def test_an_event_without_a_type_has_the_one_that_the_stream_gave_it() -> None:
    frame = captured({"delta": "x"}, {"error": {"code": "c"}}, {"type": ""}).events()
    assert column(frame, "type") == ["message", "error", ""]
    capture = Capture(STARTED)
    capture.received(EventDecoder().feed(b'event: response.output_text.delta\ndata: {"delta":"x"}\n\n'), 1.0)
    assert column(capture.events(), "type") == ["response.output_text.delta"]


def test_base64_is_no_text() -> None:
    frame = captured({"type": "response.audio.delta", "delta": "QUJD"}, text("x")).events()
    assert column(frame, "delta") == [None, "x"]


def test_unknown_types_are_categories_like_the_others() -> None:
    capture = captured({"type": "brand.new"}, {"type": "keepalive"}, created("r"))
    assert column(capture.events(), "type") == ["brand.new", "keepalive", "response.created"]
    assert capture.events()["type"].cat.categories.tolist() == [*schema.KNOWN_TYPES, "brand.new"]
    assert set(EVENT_TYPES) < set(schema.KNOWN_TYPES)


def test_an_empty_capture_has_the_same_columns() -> None:
    capture = Capture(STARTED)
    for name_, columns in schema.FRAMES.items():
        frame = getattr(capture, name_)()
        assert len(frame) == 0
        assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [(c.name, c.dtype) for c in columns]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = (
    "sequence_number stream_id item_id output_index content_index summary_index command_index delta response item "
    "error code message steer"
)
fields = st.sampled_from(FIELDS.split())
types = st.sampled_from([*EVENT_TYPES, "keepalive", "odd", "", 5, None])


@settings(max_examples=50)
@given(st.lists(st.tuples(types, st.dictionaries(fields, json_values, max_size=5)), max_size=6))
def test_no_json_object_makes_a_frame_fail(events) -> None:
    payloads = [json.dumps({"type": kind} | body) for kind, body in events]
    capture = captured(*payloads)
    frame = capture.events()
    assert column(frame, "type") == [decode_event(payload).type for payload in payloads]
    assert [str(dtype) for dtype in frame.dtypes] == [each.dtype for each in schema.EVENTS]
    frame.to_json()
    assert len(capture.deltas()) == frame["delta"].notna().sum()
    assert capture.responses()["events"].sum() <= len(frame)
    for name, columns in schema.FRAMES.items():
        assert [str(dtype) for dtype in getattr(capture, name)().dtypes] == [each.dtype for each in columns]


def test_heavy_packages_wait_until_a_frame_is_asked_for() -> None:
    code = (
        "import sys; from nbresponses.capture import asked, files, record, schema; "
        "print([name for name in ('numpy', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_hundred_thousand_events_take_little_time_and_memory() -> None:
    count = 100_000
    capture = Capture(STARTED)
    more = {"item_id": "msg_" + "0" * 50, "logprobs": [], "obfuscation": "x" * 8}
    events = [decode_event(json.dumps(text(" word", sequence_number=n, **more))) for n in range(count)]
    capture.received(events, 1.0)
    capture.events()
    begun = time.process_time()
    frame = capture.events()
    spent = (time.process_time() - begun) / count
    size = (frame.memory_usage(deep=True).sum() - frame["delta"].str.len().sum()) / count
    print(f"\n{spent * 1e6:.2f} µs and {size:.0f} bytes beyond the text per row")
    assert frame["sequence_number"].tolist() == list(range(count))
    assert size <= 60
    assert spent < 20e-6
