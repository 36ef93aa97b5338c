"""The inspector's index: rows, filters, the items over time, and the response at any row."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nbresponses import Accumulator, Capture, EventDecoder, decode_event
from nbresponses.widgets import capture_replay
from nbresponses.widgets.capture_index import CaptureIndex, Filter
from nbresponses.widgets.capture_replay import Replay

CREATED = {"type": "response.created", "response": {"id": "r", "output": []}}
COMPLETED = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
EVERYTHING = Filter()


def delta(text: str, index: int = 0, number: int | None = None) -> dict[str, Any]:
    event = {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text}
    return event if number is None else event | {"sequence_number": number}


def captured(*rows: tuple[float, str | None, dict[str, Any]]) -> Capture:
    capture = Capture(datetime.now(UTC))
    for at, lane, event in rows:
        capture.received([decode_event(json.dumps(event))], at, lane=lane)
    return capture


def simple() -> CaptureIndex:
    return CaptureIndex(
        captured((0.0, None, CREATED), (0.5, None, delta("one ", number=1)), (0.75, None, delta("two", number=2)))
    )


def test_rows_say_when_and_what() -> None:
    assert simple().rows(EVERYTHING, 0, 10) == [
        [0, None, 0.0, None, "response.created", "", None, "r"],
        [1, 1, 0.5, 0.5, "response.output_text.delta", "item", None, '"one "'],
        [2, 2, 0.75, 0.25, "response.output_text.delta", "item", None, '"two"'],
    ]
    assert simple().rows(EVERYTHING, 2, 10)[0][0] == 2
    assert simple().rows(EVERYTHING, 99, 10) == []


def test_the_gap_is_to_the_message_before_on_the_same_lane() -> None:
    index = CaptureIndex(captured((0.0, "a", delta("1")), (1.0, "b", delta("2")), (3.0, "a", delta("3"))))
    assert [row[3] for row in index.rows(EVERYTHING, 0, 9)] == [None, None, 3.0]
    assert [row[6] for row in index.rows(EVERYTHING, 0, 9)] == [0, 1, 0]


def test_filters_combine() -> None:
    index = CaptureIndex(
        captured((0.0, "a", delta("x1")), (1.0, "b", delta("y")), (2.0, "a", delta("x2")), (3.0, "a", CREATED))
    )
    assert list(index.shown(Filter(lane=0))) == [0, 2, 3]
    assert list(index.shown(Filter(type="response.created"))) == [3]
    assert list(index.shown(Filter(type="response.output_text.delta", lane=0, text="X2"))) == [2]
    assert list(index.shown(Filter(text="x2", lane=1))) == []
    assert list(index.shown(EVERYTHING)) == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["Größe", 'a"b', "back\\slash", "line\nend", "日本"])
def test_a_text_is_found_however_it_is_written_in_json(text: str) -> None:
    capture = Capture(datetime.now(UTC))
    for ascii_only in (True, False):
        event = decode_event(json.dumps(delta(f"<{text}>"), ensure_ascii=ascii_only))
        capture.received([event], 0.0)
    assert len(CaptureIndex(capture).shown(Filter(text=text))) == 2
    assert len(CaptureIndex(capture).shown(Filter(text=text + "x"))) == 0


def test_a_capture_that_grows_adds_rows_and_matches() -> None:
    capture = captured((0.0, None, CREATED), (1.0, None, delta("word")))
    index = CaptureIndex(capture)
    assert list(index.shown(Filter(text="word"))) == [1]
    assert not index.extend()
    capture.received([decode_event(json.dumps(delta("word"))), decode_event(json.dumps(delta("other")))], 2.0)
    assert index.extend()
    assert list(index.shown(Filter(text="word"))) == [1, 2]
    assert index.overview()["total"] == 4
    assert Replay(index).at(3).output_text == "wordwordother"  # type: ignore[union-attr]


def test_places_among_the_shown_rows() -> None:
    index = simple()
    assert index.row_at(0.6) == 1
    assert (index.row_at(-1.0), index.row_at(99.0)) == (0, 2)
    only = Filter(type="response.output_text.delta")
    assert [index.place_of(only, row) for row in range(3)] == [0, 0, 1]


def test_what_is_no_event_is_listed_too() -> None:
    capture = Capture(datetime.now(UTC))
    capture.sent({"model": "m", "input": "What?"}, 0.0)
    capture.noted("status", 0.1, status=200)
    capture.received([decode_event('{"type": 5, "sequence_number": "x", "output_index": [], "item": 3}')], 0.2)
    capture.remainder(b'{"type": "resp', 0.3)
    rows = CaptureIndex(capture).rows(EVERYTHING, 0, 9)
    assert [row[4] for row in rows] == ["→ request", "· status", "(no type)", "remainder"]
    assert [row[7] for row in rows] == ['"What?"', "status: 200", "", '{"type": "resp']


def test_the_timeline_has_the_items_of_each_response() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "f"}}
    index = CaptureIndex(
        captured(
            (0.0, None, CREATED), (0.1, None, added), (0.4, None, delta("x", 1)), (0.9, None, delta("y", 1)),
            (1.0, None, COMPLETED), (1.5, None, CREATED), (1.6, None, delta("z", 0)),
        )
    )  # fmt: skip
    items = [["f · function_call", 0, 0.1, 0.1, 1], ["item", 0, 0.4, 0.9, 2], ["item", 0, 1.6, 1.6, 1]]
    assert index.overview()["items"] == items
    assert sum(index.overview()["density"]) == 7


def test_the_response_is_shown_as_it_was() -> None:
    replay = Replay(simple())
    for row, text in ((2, "one two"), (0, ""), (1, "one "), (2, "one two")):
        response = replay.at(row)
        assert response is not None
        assert response.output_text == text


def test_each_lane_and_each_turn_has_its_own_response() -> None:
    capture = captured((0.0, "a", delta("of a")), (0.1, "b", delta("of b")), (0.2, "a", COMPLETED), (0.3, "a", CREATED))
    replay = Replay(CaptureIndex(capture))
    texts = [response.output_text for row in (1, 2, 3) if (response := replay.at(row)) is not None]
    assert texts == ["of b", "of a", ""]


def test_steering_on_the_same_connection_begins_no_other_response() -> None:
    capture = captured((0.0, "a", CREATED), (0.1, "a", delta("one ")))
    capture.sent({"type": "response.steer", "input": "x"}, 0.2, transport="websocket", lane="a")
    capture.received([decode_event(json.dumps(delta("two")))], 0.3, lane="a")
    index = CaptureIndex(capture)
    assert list(index.responses) == [1, 1, 1, 1]
    assert Replay(index).at(3).output_text == "one two"  # type: ignore[union-attr]


def test_after_the_end_the_response_is_still_there() -> None:
    capture = Capture(datetime.now(UTC))
    capture.sent({"model": "m"}, 0.0)
    capture.received([decode_event(json.dumps(event)) for event in (CREATED, delta("all"), COMPLETED)], 0.1)
    capture.noted("ended", 0.2, ending="completed")
    replay = Replay(CaptureIndex(capture))
    assert replay.at(0) is None
    response = replay.at(4)
    assert response is not None
    assert (response.output_text, response.ending) == ("all", "completed")


def test_going_back_starts_at_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_replay, "_APART", 3)
    rows = [(0.0, None, CREATED), *((float(n), None, delta(f"{n} ")) for n in range(1, 100))]
    replay = Replay(CaptureIndex(captured(*rows)))
    for row in (99, *range(98, 0, -1), 50, 60, 50, 60, 99):
        response = replay.at(row)
        assert response is not None
        assert response.output_text.split() == [str(n) for n in range(1, row + 1)], "as if read from the beginning"
        assert len(replay._marks) <= 8


@pytest.mark.parametrize("at", [0.25, 0.5, 1.0])
def test_responses_of_captured_streams(stream_file: Path, at: float) -> None:
    decoder = EventDecoder()
    events = decoder.feed(stream_file.read_bytes()) + decoder.finish()
    capture = Capture(datetime.now(UTC))
    capture.received(events, 1.0)
    row = int((len(events) - 1) * at)
    accumulator = Accumulator()
    for event in events[: row + 1]:
        accumulator.apply(event)
    response = Replay(CaptureIndex(capture)).at(row)
    assert response is not None
    assert response.to_dict() == accumulator.response.to_dict()


def test_an_empty_capture() -> None:
    index = CaptureIndex(Capture(datetime.now(UTC)))
    assert index.overview()["total"] == 0
    assert index.rows(Filter(text="x"), 0, 9) == []
