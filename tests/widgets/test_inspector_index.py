"""The inspector's index: rows, filters, one event in full, and the response at any row and time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nbresponses import Accumulator, Capture, EventDecoder, decode_event
from nbresponses.render import blocks, to_text
from nbresponses.widgets.inspector_index import InspectorIndex


def delta(text: str, index: int = 0, number: int | None = None) -> dict[str, Any]:
    event = {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text}
    return event if number is None else event | {"sequence_number": number}


def captured(*rows: tuple[float, str | None, dict[str, Any]]) -> Capture:
    capture = Capture(datetime.now(UTC))
    for at, lane, event in rows:
        capture.received([decode_event(json.dumps(event))], at, lane=lane)
    return capture


CREATED = {"type": "response.created", "response": {"id": "r", "output": []}}
COMPLETED = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}


def simple() -> InspectorIndex:
    return InspectorIndex(
        captured((0.0, None, CREATED), (0.5, None, delta("one ", number=1)), (0.75, None, delta("two", number=2)))
    )


def test_rows_say_when_and_what() -> None:
    assert simple().rows(0, 10) == [
        [0, "in", None, 0.0, 0.0, "response.created", None, ""],
        [1, "in", 1, 0.5, 0.5, "response.output_text.delta", 0, ""],
        [2, "in", 2, 0.75, 0.25, "response.output_text.delta", 0, ""],
    ]
    assert simple().rows(2, 10)[0][0] == 2
    assert simple().rows(-5, 1)[:1] == []
    assert simple().rows(99, 10) == []


def test_filters_combine_and_gaps_are_between_what_is_shown() -> None:
    index = InspectorIndex(
        captured((0.0, "a", delta("x1")), (1.0, "b", delta("y")), (2.0, "a", delta("x2")), (3.0, "a", CREATED))
    )
    assert index.filter(lane="a") == 3
    assert [row[4] for row in index.rows(0, 9)] == [0.0, 2.0, 1.0]
    assert index.filter(["response.output_text.delta"], "a", "X2") == 1
    assert index.rows(0, 9)[0][0] == 2
    assert index.place_of(3) == 1
    assert index.filter() == 4


def test_the_snapshot_is_the_response_as_it_was() -> None:
    index = simple()
    for row, text in ((2, "one two"), (0, ""), (1, "one"), (2, "one two")):
        assert index.snapshot(row)["text"].strip() == text
    assert index.snapshot(index.row_at(0.6))["row"] == 1
    assert index.row_at(-1.0) == 0
    assert index.row_at(99.0) == 2


def test_each_lane_has_its_own_response() -> None:
    index = InspectorIndex(
        captured((0.0, "a", delta("of a")), (0.1, "b", delta("of b")), (0.2, "a", COMPLETED), (0.3, "a", CREATED))
    )
    assert index.snapshot(1)["text"].strip() == "of b"
    assert index.snapshot(2)["text"].strip() == "of a"
    assert index.snapshot(3)["text"].strip() == "", "the lane's next response"


def test_one_event_in_full() -> None:
    index = simple()
    assert json.loads(index.payload(1)) == delta("one ", number=1)
    assert index.decoded(1).startswith("ResponseTextDeltaEvent\n")
    capture = Capture(datetime.now(UTC))
    capture.sent({"model": "m", "input": "x"}, 0.0)
    capture.noted("status", 0.1, status=200)
    notes = InspectorIndex(capture)
    assert [row[1:2] + row[5:6] for row in notes.rows(0, 9)] == [["out", "request"], ["note", "status"]]
    assert notes.decoded(1) == "no event"


def test_the_timeline_has_a_bar_for_each_item() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}}
    index = InspectorIndex(captured((0.1, None, added), (0.4, None, delta("x", 1)), (0.9, None, delta("y", 1))))
    assert index.overview()["timeline"] == [["", 0, "reasoning", 0.1, 0.1], ["", 1, "item", 0.4, 0.9]]


def test_an_empty_capture() -> None:
    index = InspectorIndex(Capture(datetime.now(UTC)))
    assert index.overview() | {"types": []} == {
        "total": 0, "shown": 0, "types": [], "lanes": [], "duration": 0.0, "timeline": []
    }  # fmt: skip
    assert index.filter(text="x") == 0


@pytest.mark.parametrize("at", [0.25, 0.5, 1.0])
def test_snapshots_of_captured_streams(stream_file: Path, at: float) -> None:
    decoder = EventDecoder()
    events = decoder.feed(stream_file.read_bytes()) + decoder.finish()
    capture = Capture(datetime.now(UTC))
    for number, event in enumerate(events):
        capture.received([event], float(number))
    index = InspectorIndex(capture)
    row = int((len(events) - 1) * at)
    accumulator = Accumulator()
    for event in events[: row + 1]:
        accumulator.apply(event)
    assert index.snapshot(row)["text"][:1000] == to_text(blocks(accumulator.response))[:1000]
