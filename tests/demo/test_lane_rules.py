"""The rules of a connection, with no socket: order, limits, cache and its evictions."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.demo.ask import Ask, Context
from nbresponses.demo.lanes import LaneRules, Limits, Start, Tell
from nbresponses.demo.store import Turn
from nbresponses.demo.wire import Ids


def create(lane=None, **body):
    named = {} if lane is None else {"stream_id": lane}
    return json.dumps({"type": "response.create", "model": "demo-echo", "input": "x", **named, **body})


def turn(response_id, status="completed", *, store=False):
    return Turn({"id": response_id, "status": status, "output": [], "store": store}, Ask.of({}, Context(), ()))


class Table:
    """The rules, and the requests that run, by lane."""

    def __init__(self, **limits):
        self.rules = LaneRules(Ids("test"), Limits(**limits))
        self.running = {}

    def send(self, lane=None, **body):
        return self.take(self.rules.received(create(lane, **body)))

    def take(self, actions):
        for action in actions:
            if isinstance(action, Start):
                assert action.request.lane not in self.running
                self.running[action.request.lane] = action
        return actions

    def finish(self, lane, response_id, status="completed"):
        request = self.running.pop(lane).request
        self.rules.started(request, response_id, "stop")
        return self.take(self.rules.ended(request, turn(response_id, status)))

    def refuse(self, lane):
        return self.take(self.rules.refused(self.running.pop(lane).request))

    def parent(self, lane, previous):
        """What the connection holds for a continuation on this lane, tried and ended in a way that changes nothing."""
        self.send(lane, previous_response_id=previous)
        return self.running[lane].parent


def told(actions):
    return [action.event for action in actions if isinstance(action, Tell)]


def test_a_lane_runs_one_request_after_the_other():
    table = Table()
    assert len(table.send("a", input="1")) == 1
    assert table.send("a", input="2") == []
    (start,) = table.finish("a", "resp_1")
    assert start.request.body["input"] == "2"


def test_lanes_run_at_the_same_time_up_to_the_limit():
    table = Table(in_flight=3)
    for lane in ("a", "b", None, "c", "d"):
        table.send(lane)
    assert set(table.running) == {"a", "b", None}
    (start,) = table.finish(None, "resp_1")
    assert start.request.lane == "c"  # the one that waited longest


def test_waiting_requests_start_in_the_order_they_came():
    table = Table(in_flight=1)
    table.send("a", input="1")
    table.send("b", input="2")
    table.send("a", input="3")
    (second,) = table.finish("a", "resp_1")
    (third,) = table.finish("b", "resp_2")
    assert (second.request.body["input"], third.request.body["input"]) == ("2", "3")


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 257, "a/b", 7, ["a"], {"a": 1}, True, "a\n"])
def test_names_that_are_no_names(name):
    table = Table()
    (event,) = told(table.send(name))
    assert event == {
        "type": "error",
        "status": 400,
        "error": {
            "type": "invalid_request_error",
            "code": "invalid_stream_id",
            "message": "The 'stream_id' field must be a non-empty string with at most 256 characters and may only "
            "contain letters, numbers, underscores, hyphens, and periods.",
            "param": "stream_id",
        },
    }


@pytest.mark.parametrize("name", ["a", "x" * 256, "A-b_c.9", "."])
def test_names_that_are_names(name):
    assert isinstance(Table().send(name)[0], Start)


def test_the_33rd_name_is_refused_and_the_default_lane_is_not_counted():
    table = Table(in_flight=100)
    for number in range(32):
        table.send(f"lane{number}")
        table.finish(f"lane{number}", f"resp_{number}")
    table.send(None)
    (event,) = told(table.send("agent_33"))
    assert event == {
        "type": "error",
        "status": 400,
        "stream_id": "agent_33",
        "error": {
            "type": "invalid_request_error",
            "code": "websocket_stream_limit_reached",
            "message": "This WebSocket connection has reached its maximum number of distinct stream IDs (32). "
            "Reuse an existing stream_id or open a new WebSocket connection.",
            "param": "stream_id",
        },
    }
    assert isinstance(table.send("lane5")[0], Start)


@pytest.mark.parametrize("raw", ["", "{", "[]", "7", b"\xff", '{"type": 1, "model": "\\ud800"}'])
def test_what_is_no_json_object_is_an_error(raw):
    (event,) = told(LaneRules(Ids()).received(raw))
    assert (event["type"], event["status"]) == ("error", 400)
    assert "stream_id" not in event


def test_unknown_events_are_an_error_of_their_lane():
    (event,) = told(LaneRules(Ids()).received('{"type": "response.cancel", "stream_id": "a"}'))
    assert (event["stream_id"], event["error"]["code"]) == ("a", "unknown_event_type")


def test_each_lane_holds_its_latest_response():
    table = Table()
    for lane in ("a", "b"):
        table.send(lane)
        table.finish(lane, f"resp_{lane}")
    assert table.parent("a", "resp_a").id == "resp_a"
    table.finish("a", "resp_a2")
    assert table.parent("c", "resp_a") is None  # the lane went on
    assert table.parent("d", "resp_a2").id == "resp_a2"  # a fork
    assert table.parent("b", "resp_b").id == "resp_b"


def test_a_response_that_runs_is_not_held_yet_and_its_parent_still_is():
    table = Table()
    table.send("a")
    table.finish("a", "resp_1")
    table.send("a", previous_response_id="resp_1")
    assert table.parent("b", "resp_1").id == "resp_1"
    assert table.parent("c", "resp_2") is None


@pytest.mark.parametrize("how", ["refused", "failed"])
def test_a_failed_continuation_gives_its_parent_up(how):
    table = Table()
    table.send("a")
    table.finish("a", "resp_1")
    table.send("a", previous_response_id="resp_1")
    if how == "refused":
        table.refuse("a")
    else:
        table.finish("a", "resp_2", "failed")
    assert table.parent("b", "resp_1") is None


@pytest.mark.parametrize("how", ["refused", "failed"])
def test_a_failed_fork_leaves_its_parent(how):
    table = Table()
    table.send("a")
    table.finish("a", "resp_1")
    table.send("b", previous_response_id="resp_1")
    if how == "refused":
        table.refuse("b")
    else:
        table.finish("b", "resp_2", "failed")
    assert table.parent("a", "resp_1").id == "resp_1"


def test_a_failed_new_start_leaves_what_the_lane_holds():
    table = Table()
    table.send("a")
    table.finish("a", "resp_1")
    table.send("a")
    table.refuse("a")
    assert table.parent("a", "resp_1").id == "resp_1"


def test_an_incomplete_response_can_be_continued():
    table = Table()
    table.send("a")
    table.finish("a", "resp_1", "incomplete")
    assert table.parent("a", "resp_1").id == "resp_1"


def test_a_fork_that_waits_too_long_loses_its_parent():
    table = Table(in_flight=2)
    table.send("a")
    table.finish("a", "resp_1")
    table.send("x")
    table.send("a", previous_response_id="resp_1")
    table.send("b", previous_response_id="resp_1")  # waits: two are in flight
    table.finish("a", "resp_2")  # the source lane goes on
    assert table.running["b"].parent is None


def test_a_successor_that_is_refused_gives_the_steering_back():
    table = Table()
    table.send("a")
    request = table.running.pop("a").request
    table.rules.started(request, "resp_1", "after")
    steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "Shorter"}
    (accepted,) = told(table.rules.received(json.dumps(steer)))
    table.take(table.rules.ended(request, turn("resp_1", store=True)))
    assert table.running["a"].request.successor
    (failed,) = told(table.refuse("a"))
    assert failed["error"]["code"] == "successor_creation_failed"
    assert failed["steer"] == {"id": accepted["steer"]["id"], "previous_response_id": "resp_1", "input": "Shorter"}


@given(st.lists(st.tuples(st.sampled_from(["send", "finish", "fail", "refuse"]), st.integers(0, 5)), max_size=80))
def test_whatever_happens_each_request_runs_once_in_its_order(steps):
    table = Table(in_flight=3)
    sent, ran = defaultdict(list), defaultdict(list)
    for number, (step, choice) in enumerate(steps):
        lane = [None, "a", "b", "c", "d", "e"][choice]
        before = dict(table.running)
        if step == "send":
            sent[lane].append(number)
            table.send(lane, input=str(number))
        elif lane in table.running:
            before.pop(lane)
            if step == "refuse":
                table.refuse(lane)
            else:
                table.finish(lane, f"resp_{number}", "completed" if step == "finish" else "failed")
        for one, start in table.running.items():
            if before.get(one) is not start:
                ran[one].append(int(start.request.body["input"]))
        assert len(table.running) == table.rules.in_flight <= 3
    while table.running:
        lane = next(iter(table.running))
        before = dict(table.running)
        table.finish(lane, f"resp_end_{len(ran)}_{sum(map(len, ran.values()))}")
        for one, start in table.running.items():
            if before.get(one) is not start:
                ran[one].append(int(start.request.body["input"]))
    assert ran == {lane: numbers for lane, numbers in sent.items() if numbers}
