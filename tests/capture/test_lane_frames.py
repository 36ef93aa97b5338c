"""Lanes, lineage and gaps: by hand, and as a real lane manager records them."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

from nbresponses import Client, DemoServer

SECOND = pd.Timedelta(seconds=1)


# ── Lanes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_row_says_what_went_over_a_lane(tape) -> None:
    tape.sent(1, "a", input="hello").created(2, "r1", "a").text(3, "Hi", "a")
    tape.ended(4, "r1", "a", usage={"input_tokens": 3, "output_tokens": 2})
    tape.sent(5, "a").created(6, "r2", "a").ended(7, "r2", "a", how="failed")
    tape.sent(8, "a").created(9, "r3", "a").sent(2, None)
    frame = tape.capture.lanes()
    assert [None if pd.isna(lane) else lane for lane in frame["lane"]] == ["a", None]
    row = frame.iloc[0]
    assert [row[name] for name in ("requests", "responses", "completed", "failed", "running")] == [3, 3, 1, 1, 1]
    assert (row["latest_response_id"], row["events"], row["characters"]) == ("r1", 6, 2)
    assert (row["input_tokens"], row["output_tokens"]) == (3, 2)
    assert row["busy"] == 3 * SECOND + 2 * SECOND + SECOND
    assert row["ended"] - row["started"] == 8 * SECOND
    sent = [message.payload for message in tape.capture if message.direction == "out" and message.lane == "a"]
    assert row["sent_bytes"] == sum(map(len, sent))
    assert frame.iloc[1]["requests"] == 1
    assert pd.isna(frame.iloc[1]["input_tokens"])


def test_an_error_without_a_response_is_a_failure_of_its_lane(tape, cells) -> None:
    frame = tape.sent(1, "a").got(2, "error", "a", error={"code": "busy"}).capture.lanes()
    assert (cells(frame, "responses"), cells(frame, "failed")) == ([0], [1])


# ── Lineage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def turn(tape, at: float, id_: str, lane: str | None = None, **body: object) -> None:
    tape.sent(at, lane, **body).created(at + 0.1, id_, lane).ended(at + 0.2, id_, lane)


def test_forks_and_continuations(tape, cells) -> None:
    turn(tape, 1, "r1", "plan")
    turn(tape, 2, "r2", "critic", previous_response_id="r1")
    turn(tape, 3, "r3", "plan", previous_response_id="r1")
    turn(tape, 4, "r4", "plan", previous_response_id="r1")
    turn(tape, 5, "r5", "critic", previous_response_id="r2")
    turn(tape, 6, "r6", None)
    frame = tape.capture.lineage().set_index("response_id")
    assert frame.index.tolist() == ["r1", "r2", "r5", "r3", "r4", "r6"]
    assert frame["depth"].to_dict() == {"r1": 0, "r2": 1, "r5": 2, "r3": 1, "r4": 1, "r6": 0}
    assert frame["fork"][frame["fork"]].index.tolist() == ["r2", "r4"]
    assert frame["children"].to_dict()["r1"] == 3
    assert set(frame["root_id"][:5]) == {"r1"}
    assert frame.loc["r2", ["lane", "parent_lane", "continued_by"]].tolist() == ["critic", "plan", "id"]
    assert cells(tape.capture.lanes(), "forked_from") == [None, "plan", None]


def test_a_context_that_was_sent_again_continues_the_response_whose_output_it_holds(tape, cells) -> None:
    tape.sent(1).created(1.1).added(1.2, 0, "message", id="m1").done(1.3, 0, "message", id="m1").ended(1.4)
    history = [{"role": "user", "content": "hi"}, {"type": "message", "id": "m1"}, {"role": "user", "content": "more"}]
    turn(tape, 2, "r2", input=history)
    turn(tape, 3, "r3", input=[{"type": "message", "id": "unknown"}])
    frame = tape.capture.lineage()
    assert cells(frame, "parent_id") == [None, "r1", None]
    assert cells(frame, "continued_by") == ["anew", "context", "anew"]


def test_a_parent_outside_of_the_capture_is_named_and_makes_a_root(tape, cells) -> None:
    tape.created(1, "r2", previous_response_id="r1").ended(2, "r2")
    frame = tape.capture.lineage()
    assert (cells(frame, "parent_id"), cells(frame, "root_id"), cells(frame, "depth")) == (["r1"], ["r2"], [0])
    assert (cells(frame, "parent_lane"), cells(frame, "fork")) == ([None], [False])


def test_responses_that_continue_each_other_are_listed_once(tape, cells) -> None:
    tape.created(1, "r1", previous_response_id="r2").ended(2, "r1").created(3, "r2", previous_response_id="r1")
    tape.created(4, "r3", previous_response_id="r3")
    assert sorted(cells(tape.capture.lineage(), "response_id")) == ["r1", "r2", "r3"]


@pytest.mark.parametrize("transport", ["websocket", "http"])
def test_lanes_as_a_manager_records_them(transport: str) -> None:
    with (
        DemoServer(delay=0) as server,
        Client(base_url=server.base_url, api_key="k") as client,
        client.lanes(model="demo-echo", store=False, transport=transport) as lanes,
    ):
        planner = lanes["planner"]
        planner.create("Draft a plan.")
        critic = planner.fork("critic")
        stream = critic.stream("Criticise it.")
        planner.create("Go on.")
        stream.until_done()
        lanes.default.create("Hello.")
        capture, told = lanes.capture, lanes.lineage()
    frame = capture.lineage()
    assert frame["response_id"].tolist() == [row["id"] for row in told]
    parents = [None if pd.isna(parent) else parent for parent in frame["parent_id"]]
    assert parents == [row["parent"] for row in told]
    assert frame["depth"].tolist() == [row["depth"] for row in told]
    assert frame["fork"].tolist().count(True) == 1
    by_lane = capture.lanes().set_index(capture.lanes()["lane"].fillna("(default)"))
    assert by_lane["completed"].to_dict() == {"planner": 2, "critic": 1, "(default)": 1}
    assert by_lane.loc["critic", "forked_from"] == "planner"
    assert stream.capture.lanes()["lane"].tolist() == ["critic"]
    assert stream.capture.responses()["ending"].tolist() == ["completed"]


# ── Gaps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_gaps_repeats_steps_back_and_stalls(tape, cells) -> None:
    tape.created(1)
    for at, number in [(1.1, 5), (1.2, 6), (1.3, 9), (1.4, 9), (1.5, 2), (4.5, 3)]:
        tape.text(at, "x", sequence_number=number)
    frame = tape.capture.gaps(stall=2)
    assert cells(frame, "kind") == ["gap", "repeat", "backwards", "stall"]
    assert cells(frame, "row") == [3, 4, 5, 6]
    assert cells(frame, "missing") == [2, None, None, None]
    assert cells(frame, "after") == [6, 9, 9, 2]
    assert cells(frame, "before") == [9, 9, 2, 3]
    assert frame["duration"].iloc[-1] == 3 * SECOND
    assert cells(frame, "type") == ["response.output_text.delta"] * 4
    assert len(tape.capture.gaps()) == 4
    assert len(tape.capture.gaps(stall=3.5)) == 3


def test_other_responses_and_lanes_make_no_gaps(tape) -> None:
    tape.created(1, "r1", "a").created(1, "r2", "b")
    for number in range(3):
        tape.text(2, "x", "a", sequence_number=number).text(2, "y", "b", sequence_number=number + 100)
    tape.ended(3, "r1", "a").created(30, "r3", "a").text(30, "z", "a", sequence_number=7)
    assert tape.capture.gaps(stall=5).empty


def test_numbers_at_the_edge_of_64_bits_are_no_error(tape, cells) -> None:
    tape.created(1)
    for number in (-(2**62), 2**63 - 1, 0):
        tape.text(1, "x", sequence_number=number)
    assert cells(tape.capture.gaps(), "kind") == ["gap", "backwards"]
    assert cells(tape.capture.gaps(), "missing") == [None, None]


@pytest.mark.parametrize("stall", [-1, "1", None, True, float("nan"), float("inf")])
def test_what_is_no_length_of_a_stall_is_named(tape, stall: object) -> None:
    for frame in (tape.created(0).ended(1).capture.gaps, tape.capture.responses):
        with pytest.raises(ValueError, match=r"stall: a number of seconds is expected, 0 or more, not"):
            frame(stall=stall)
    assert len(tape.capture.gaps(stall=timedelta(seconds=1))) == len(tape.capture.gaps(stall=1)) == 1
