"""The cases of WebSocket mode in tests/data/cases: frames as a server sent them, and what has to come of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.failures import judge
from nbresponses.core.lanes.actions import Accepted, Deliver, LaneRequest, Record, Started

CASES = Path(__file__).parents[2] / "data" / "cases"
IDS = ["B103", "B105", "B110", "B113", "B116", "B118", "B119", "B121", "B126"]


def play(w, frames):
    """Carry out the frames of a case; the tickets by lane, in order."""
    lanes = {}
    running = {}
    for frame in frames:
        if "close" in frame:
            w.lose(frame["close"]["code"])
        elif frame["dir"] == "recv":
            w.recv(frame["json"])
        elif frame["json"]["type"] == "response.create":
            body = dict(frame["json"])
            lane = body.pop("stream_id", None)
            body.setdefault("previous_response_id", None)
            first, *_ = w.do(w.table.submitted(LaneRequest(lane, body), w.now))
            assert isinstance(first, Accepted)
            lanes.setdefault(lane or "", []).append(first.ticket)
            running[lane] = first.ticket
        elif frame["json"]["type"] == "response.steer":
            w.steer("a", frame["json"]["input"])
        else:  # a stop, which the wire does not know
            w.stop(running[frame["json"]["stream_id"]])
    return lanes


def result(w, ticket):
    """What a ticket's stream and capture hold, in the words of the cases."""
    accumulator, error = Accumulator(), None
    for action in w.log:
        if isinstance(action, (Deliver, Record)) and action.ticket == ticket:
            accumulator.apply(action.event)
            if action.event.type == "error":
                error = {"kind": "api_error", "http_status": action.event.status, **action.event.error}
                error["error_type"] = error["type"]
    response, end = accumulator.response, w.ended.get(ticket)
    if error is None and accumulator.ending == "failed":
        error = {"kind": "response_failed", **response.error, "retry_after_s": judge(response.error, now=0.0).wait}
    if error is None and end is not None and end.ending == "cut_off":
        error = {"kind": "incomplete_stream"}
    return {"response_id": response.id, "status": response.status, "output_text": response.output_text, "error": error}


def assert_subset(expected, actual, where=""):
    for name, value in expected.items():
        if isinstance(value, dict) and isinstance(actual.get(name), dict):
            assert_subset(value, actual[name], f"{where}.{name}")
        else:
            assert actual.get(name) == value, f"{where}.{name}"


def check_case(w, case):
    expect = case["expect"]
    lanes = play(w, case["input"]["frames"])
    for lane, entries in expect["lanes"].items():
        assert len(lanes[lane]) == len(entries), lane
        for ticket, entry in zip(lanes[lane], entries, strict=True):
            assert_subset(entry, result(w, ticket), lane or "default lane")
    if "connection" in expect:
        kinds = ["protocol_error" for report in w.reports() if type(report.error).__name__ == "ProtocolError"]
        assert [{"kind": kind} for kind in kinds] == expect["connection"]
        assert len(w.reports()) == len(expect["connection"])
    for wanted, told in zip(expect.get("steer", []), w.steers()[1:], strict=True):
        assert (told.id, str(told.state), list(told.required_input)) == (
            *list(wanted.values())[:2],
            wanted["required_input"],
        )
    if expect.get("safe_to_repeat"):
        assert w.repeats() or any(end.safe_to_repeat for end in w.ended.values())
    return lanes


@pytest.mark.parametrize("name", IDS)
def test_case(world, name):
    w = world(known_server=False, max_attempts=2)
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    lanes = check_case(w, case)
    assert not any(isinstance(action, Started) for action in w.log)
    if case["expect"].get("needs_new_connection"):
        assert w.sends[-1].generation == 2
        assert w.repeats() == ["connection_limit"]
    if "close" in case["expect"]:
        assert w.ended[lanes[""][0]].error.code == case["expect"]["close"]["code"]
    if case["expect"].get("retryable"):
        assert judge(result(w, lanes[""][0])["error"], now=0.0).retryable


def test_the_check_can_fail(world):
    case = json.loads((CASES / "B119.json").read_text(encoding="utf-8"))
    case["expect"]["lanes"]["forkA"][0]["output_text"] = "B1A2"
    with pytest.raises(AssertionError, match="output_text"):
        check_case(world(known_server=False), case)


# ── Cases that have no file ──────────────────────────────────────────────────────────────────────────────────────────


def test_b122_a_lane_cannot_send_for_another(world):
    from nbresponses.errors import RequestError

    with pytest.raises(RequestError):
        world().submit("a", stream_id="b")


def test_b125_unstored_responses_are_bound_to_their_connection(world):
    w = world()
    w.submit("a", "one", store=False)
    w.answer("a", "a1")
    w.lose()
    w.at(5.0)
    w.submit("b", "fork", store=False, previous_response_id="a1")
    assert w.sends[-1].message["previous_response_id"] is None


def test_b128_sixteen_kinds_of_end_do_not_use_up_places(world):
    w = world(max_in_flight=4)
    kinds = ["response.completed", "response.failed", "response.incomplete", "error"]
    for number in range(32):
        lane = f"n{number % 4}"
        ticket = w.submit(lane, previous_response_id=None)
        assert w.sends[-1].ticket == ticket
        w.running(lane, f"r{number}")
        if number % 5 == 0:
            w.stop(ticket)
        w.event(kinds[number % 4], lane, response={"id": f"r{number}"}, error={"code": "odd"})
    assert w.table.status(0.0)["in_flight"] == 0


def test_b129_frames_carry_their_generation(world):
    w = world()
    w.submit("a")
    w.running("a", "r1")
    w.lose()
    w.at(5.0)
    second = w.submit("a")
    w.recv({"type": "response.completed", "response": {"id": "r1"}, "stream_id": "a"}, generation=1)
    assert second not in w.ended
    assert w.table.status(w.now)["dropped_frames"] == 1
