"""Deltas and responses as frames, and frames for other programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pandas as pd
import pytest

from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder

STARTED = datetime(2026, 1, 31, 12, tzinfo=UTC)


def second(seconds: float) -> pd.Timedelta:
    return pd.Timedelta(seconds=seconds)


def receive(capture: Capture, at: float, event: dict, lane: str | None = None) -> None:
    capture.received(EventDecoder().feed(f"data: {json.dumps(event)}\n\n".encode()), at, lane=lane)


def lifecycle(word: str, id_: str = "r1", **more: object) -> dict:
    return {"type": f"response.{word}", "response": {"id": id_, **more}}


def text(delta: str, **more: object) -> dict:
    return {"type": "response.output_text.delta", "delta": delta, "output_index": 0, "content_index": 0, **more}


def column(frame: pd.DataFrame, name: str) -> list:
    return [None if pd.isna(value) else value for value in frame[name]]


def usage(output: int, reasoning: int = 0) -> dict:
    return {
        "input_tokens": 10,
        "output_tokens": output,
        "total_tokens": 10 + output,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": reasoning},
    }


# ── Deltas ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_piece_starts_where_its_part_has_come_to() -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, lifecycle("created"))
    receive(capture, 2.0, text("grün"))
    receive(capture, 3.0, text("other", content_index=1))
    receive(capture, 5.0, text("er 😀"))
    receive(capture, 6.0, text("!"))
    frame = capture.deltas()
    assert column(frame, "start") == [0, 0, 4, 8]
    assert column(frame, "gap") == [None, None, second(3), second(1)]
    assert column(frame, "kind") == ["text"] * 4
    assert column(frame, "part_index") == [0, 1, 0, 0]
    assert column(frame, "response_id") == ["r1"] * 4


def test_ids_that_change_from_event_to_event_divide_no_part() -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, text("a", item_id="x1"))
    receive(capture, 2.0, text("b", item_id="x2"))
    receive(capture, 3.0, text("c", item_id="y", output_index=None))
    receive(capture, 4.0, text("d", item_id="z", output_index=None))
    assert column(capture.deltas(), "start") == [0, 1, 0, 0]


def test_each_command_of_a_shell_is_a_part() -> None:
    capture = Capture(STARTED)
    for at, (delta, index) in enumerate([("ls", 0), ("pwd", 1), (" -l", 0)]):
        event = {"type": "response.shell_call_command.delta", "delta": delta, "output_index": 0, "command_index": index}
        receive(capture, float(at), event)
    frame = capture.deltas()
    assert column(frame, "part_index") == [0, 1, 0]
    assert column(frame, "start") == [0, 0, 2]
    assert column(frame, "kind") == ["shell_command"] * 3


def test_a_delta_of_an_unknown_type_has_no_kind() -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, {"type": "brand.new.delta", "delta": "x"})
    assert column(capture.deltas(), "kind") == [None]


# ── Responses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_row_says_what_became_of_a_response() -> None:
    capture = Capture(STARTED, 100.0)
    capture.sent({"model": "m"}, 100.5)
    receive(capture, 101.0, lifecycle("created", model="m-1", status="in_progress", previous_response_id="r0"))
    receive(capture, 102.0, text(""))
    receive(capture, 102.5, text("Hi"))
    receive(capture, 103.0, lifecycle("completed", status="completed", usage=usage(20, 5), metadata={"k": "v"}))
    [row] = capture.responses().to_dict("records")
    assert row["started"] == pd.Timestamp("2026-01-31 12:00:00.5", tz="UTC")
    assert (row["to_first_event"], row["to_first_text"], row["duration"]) == (second(0.5), second(2), second(2.5))
    assert (row["response_id"], row["model"], row["status"], row["ending"]) == ("r1", "m-1", "completed", "completed")
    assert row["previous_response_id"] == "r0"
    assert [row[f"{name}_tokens"] for name in ("input", "cached", "output", "reasoning", "total")] == [10, 4, 20, 5, 30]
    assert row["tokens_per_second"] == 10.0
    assert (row["events"], row["characters"], row["metadata"]) == (4, 2, '{"k":"v"}')
    assert row["bytes"] == sum(len(message.payload) for message in capture if message.direction == "in")


def test_a_failure_is_told_by_its_first_error() -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, lifecycle("created"))
    receive(capture, 2.0, {"type": "error", "code": "first", "message": "one"})
    receive(capture, 3.0, lifecycle("failed", error={"code": "second", "message": "two"}))
    frame = capture.responses()
    assert [column(frame, name) for name in ("ending", "error_code", "error_message")] == [
        ["failed"],
        ["first"],
        ["one"],
    ]


def test_an_error_that_answers_a_request_is_a_row_and_takes_the_request() -> None:
    capture = Capture(STARTED)
    capture.sent({"model": "m"}, 1.0, transport="websocket", lane="a")
    receive(capture, 2.0, {"type": "error", "error": {"code": "busy", "message": "later"}}, lane="a")
    capture.sent({"model": "m"}, 5.0, transport="websocket", lane="a")
    receive(capture, 5.5, lifecycle("created"), lane="a")
    frame = capture.responses()
    assert column(frame, "response_id") == [None, "r1"]
    assert column(frame, "ending") == ["error", None]
    assert column(frame, "to_first_event") == [second(1), second(0.5)]


def test_queued_requests_belong_to_responses_in_turn() -> None:
    capture = Capture(STARTED)
    for at in (1.0, 1.2):
        message = {"type": "response.create"}
        capture.sent(message, at, transport="websocket", lane="a")
    receive(capture, 2.0, lifecycle("created", "r1"), lane="a")
    capture.sent({"type": "response.steer"}, 2.1, transport="websocket", lane="a")
    receive(capture, 3.0, lifecycle("completed", "r1"), lane="a")
    receive(capture, 4.0, lifecycle("created", "r2"), lane="a")
    receive(capture, 5.0, lifecycle("completed", "r2"), lane="a")
    receive(capture, 6.0, lifecycle("created", "r3"), lane="a")
    frame = capture.responses()
    assert column(frame, "to_first_event") == [second(1), second(2.8), second(0)]
    assert column(frame, "lane") == ["a"] * 3


def test_a_request_that_was_sent_later_is_not_the_one_that_was_answered() -> None:
    capture = Capture(STARTED)
    receive(capture, 2.0, lifecycle("created"))
    capture.sent({"model": "m"}, 3.0)
    assert column(capture.responses(), "to_first_event") == [second(0)]


def test_an_ending_that_was_noted_counts_where_the_server_said_nothing() -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, lifecycle("created"))
    receive(capture, 2.0, text("x"))
    assert column(capture.responses(), "ending") == [None]
    capture.noted("ended", 3.0, ending="interrupted")
    assert column(capture.responses(), "ending") == ["interrupted"]


def test_a_stream_that_another_response_replaced_was_cut_off(tape, cells) -> None:
    tape.created(1).text(2, "x").created(3, "r2").ended(4, "r2").noted(5, "ended", ending="completed")
    assert cells(tape.capture.responses(), "ending") == ["cut_off", "completed"]


def test_what_ran_on_a_connection_that_was_closed_was_cut_off(tape, cells) -> None:
    tape.created(1, "r1", "a").noted(2, "closed").created(3, "r2", "b")
    assert cells(tape.capture.responses(), "ending") == ["cut_off", None]


def test_the_first_byte_is_that_of_the_answers_headers(tape, cells) -> None:
    tape.sent(1).noted(1.5, "status", status=200).created(2).text(3, "")
    tape.got(4, "response.reasoning_summary_text.delta", delta="hm").text(5, "Hi")
    frame = tape.capture.responses()
    assert cells(frame, "to_first_byte") == [second(0.5)]
    assert cells(frame, "to_first_event") == [second(1)]
    assert cells(frame, "to_first_token") == [second(3)]
    assert cells(frame, "to_first_text") == [second(4)]


def test_stalls_are_gaps_of_the_length_asked_for(tape, cells) -> None:
    tape.sent(1).created(9).text(9.25, "a").text(12, "b").text(13.5, "c")
    frame = tape.capture.responses(stall=1.5)
    assert (cells(frame, "stalls"), cells(frame, "stalled")) == ([2], [second(4.25)])
    assert cells(frame, "longest_gap") == [second(2.75)]
    assert cells(tape.capture.responses(stall=2), "stalls") == [1]
    assert cells(tape.capture.responses(stall=3), "stalled") == [second(0)]


def test_a_repeated_request_counts_from_its_first_sending(tape, cells) -> None:
    tape.sent(1).noted(2, "retry").sent(3).noted(4, "retry").sent(5).created(6).noted(7, "resumed").text(8, "x")
    tape.ended(9).sent(10, input="next").created(11, "r2")
    frame = tape.capture.responses()
    assert cells(frame, "retries") == [3, 0]
    assert cells(frame, "to_first_event") == [second(5), second(1)]


def test_the_cost_is_by_the_longest_name_that_fits(tape, cells) -> None:
    prices = {"m": {"input": 1.0, "output": 1.0}, "m-1": {"input": 2.0, "cached_input": 0.5, "output": 10.0}}
    for number, model in enumerate(["m-1-mini", "m", "other"]):
        tape.created(1, f"r{number}", model=model).ended(2, f"r{number}", usage=usage(20))
    tape.created(3, "r9", model="m").ended(4, "r9")
    assert cells(tape.capture.responses(prices), "cost") == [
        pytest.approx((6 * 2 + 4 * 0.5 + 20 * 10) / 1e6),
        pytest.approx((10 + 20) / 1e6),
        None,
        None,
    ]
    assert cells(tape.capture.responses(), "cost") == [None] * 4
    with pytest.raises(ValueError, match=r"prices: 'm-1' has no price for output; it has input, cached$"):
        tape.capture.responses(prices | {"m-1": {"input": 2.0, "cached": 0.5}})


def test_ids_that_change_within_a_response_make_one_row(tape, cells) -> None:
    tape.created(1, "a1").got(2, "response.in_progress", response={"id": "a2"}).text(3, "x").ended(4, "a3")
    tape.created(5, "b1").ended(6, "b1").got(7, "response.failed", response={"id": "a3"})
    frame = tape.capture.responses()
    assert cells(frame, "response_id") == ["a3", "b1"]
    assert cells(frame, "events") == [5, 2]
    assert cells(tape.capture.events(), "response_id") == ["a3"] * 4 + ["b1"] * 2 + ["a3"]


def test_a_late_event_of_an_earlier_response_interrupts_nothing(tape, cells) -> None:
    tape.created(1, "r1").ended(2, "r1").created(3, "r2").got(4, "response.failed", response={"id": "r1"})
    tape.text(5, "x").ended(6, "r2")
    assert cells(tape.capture.events(), "response_id") == ["r1", "r1", "r2", "r1", "r2", "r2"]


@pytest.mark.parametrize("odd", [5, "x", [], {"input_tokens": "many", "output_tokens": 1.5, "total_tokens": 10**30}])
def test_odd_facts_are_null(odd: object) -> None:
    capture = Capture(STARTED)
    receive(capture, 1.0, lifecycle("created", model=5, status=[], usage=odd, incomplete_details=odd))
    frame = capture.responses()
    for name in ("model", "status", "input_tokens", "output_tokens", "total_tokens", "incomplete_reason"):
        assert column(frame, name) == [None], name
