"""Steering over a real socket: each way it can go."""

from __future__ import annotations

import json

import pytest
from websockets.sync.client import connect

from nbresponses.demo import DemoServer

ENDS = {"response.completed", "response.incomplete", "response.failed"}
TOOL = {"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}}


class Steered:
    """A lane whose response runs, and what was read of it so far."""

    def __init__(self, websocket):
        self.websocket = websocket
        self.events = []

    def send(self, **message):
        self.websocket.send(json.dumps(message))

    def create(self, lane="a", **body):
        named = {} if lane is None else {"stream_id": lane}
        self.send(type="response.create", **named, **({"model": "demo-text", "input": "Hello", "store": False} | body))

    def begin(self, lane="a", **body):
        """Creates a response and reads until its text comes; its id."""
        # Long enough that steering comes in time, short enough for those that go on to their end.
        pace = "0.005" if "model" not in body else "0.06"
        body["metadata"] = {"demo_delay": pace, **body.get("metadata", {})}
        self.create(lane, **body)
        first = self.read("response.created")
        self.read("response.output_item.added")
        return first["response"]["id"]

    def steer(self, response_id, given="Shorter", **more):
        self.send(type="response.steer", previous_response_id=response_id, input=given, **more)

    def read(self, kind):
        """The next event of this type."""
        while True:
            self.events.append(json.loads(self.websocket.recv(timeout=5)))
            if self.events[-1]["type"] == kind:
                return self.events[-1]

    def failed(self, code):
        event = self.read("response.steer.failed")
        assert event["error"]["type"] == "invalid_request_error"
        assert event["error"]["message"]
        assert event["error"]["code"] == code
        return event


@pytest.fixture
def lane(server):
    with connect(server.base_url.replace("http://", "ws://") + "/responses", max_size=None, proxy=None) as websocket:
        yield Steered(websocket)


def text_of(event):
    return "".join(part["text"] for item in event["response"]["output"] for part in item.get("content", ()))


def test_an_accepted_steer_ends_the_response_and_a_successor_follows(lane, event_fields):
    response_id = lane.begin()
    lane.steer(response_id)
    accepted = lane.read("response.steer.accepted")
    assert accepted["steer"]["previous_response_id"] == response_id
    assert accepted["steer"]["id"].startswith("steer_")
    assert accepted["stream_id"] == "a"
    assert set(event_fields["response.steer.accepted"]) <= set(accepted)
    stopped = lane.read("response.incomplete")
    assert stopped["response"]["incomplete_details"] == {"reason": "steered"}
    assert stopped["response"]["output"][0]["status"] == "incomplete"
    created = lane.read("response.created")
    assert created["response"]["previous_response_id"] == response_id
    assert (created["response"]["id"] != response_id, created["stream_id"]) == (True, "a")
    assert "before, you said: “Hello”. You said: “Shorter”" in text_of(lane.read("response.completed"))


def test_the_frames_of_a_response_stay_numbered(lane):
    response_id = lane.begin()
    lane.steer(response_id)
    lane.read("response.incomplete")
    assert [event["sequence_number"] for event in lane.events] == list(range(len(lane.events)))


def test_the_default_lane_is_steered_without_a_name(lane):
    lane.steer(lane.begin(None))
    assert "stream_id" not in lane.read("response.steer.accepted")
    lane.read("response.incomplete")
    assert "stream_id" not in lane.read("response.completed")


def test_the_successor_comes_before_what_waits_on_the_lane(lane):
    response_id = lane.begin()
    lane.create("a", input="Waiting", model="demo-echo")
    lane.steer(response_id)
    lane.read("response.incomplete")
    assert "Shorter" in text_of(lane.read("response.completed"))
    assert text_of(lane.read("response.completed")) == "Demo turn 1: Waiting"


def test_several_steers_are_applied_in_their_order(lane):
    response_id = lane.begin(metadata={"demo_steer": "after"})
    lane.steer(response_id, "One")
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Two"}]}
    lane.steer(response_id, [message])
    ids = [lane.read("response.steer.accepted")["steer"]["id"] for _ in range(2)]
    assert len(set(ids)) == 2
    assert lane.read("response.completed")["response"]["id"] == response_id  # it went on to its end
    successor = lane.read("response.completed")
    assert "turn 3 of our conversation; before, you said: “One”. You said: “Two”" in text_of(successor)


def test_a_successor_can_be_steered_too(lane):
    lane.steer(lane.begin(), "One")
    lane.read("response.incomplete")
    successor = lane.read("response.created")["response"]["id"]
    lane.read("response.output_item.added")
    lane.steer(successor, "Two")
    lane.read("response.incomplete")
    assert "turn 3" in text_of(lane.read("response.completed"))


def begin_tools(lane, **body):
    response_id = lane.begin(model="demo-tools", tools=[TOOL], **body)
    lane.steer(response_id, "And hurry")
    lane.read("response.steer.accepted")
    return response_id, lane.read("response.completed")["response"]["output"][0]


def test_a_response_that_waits_for_tools_leaves_steering_pending(lane, event_fields):
    response_id, call = begin_tools(lane)
    pending = lane.read("response.steer.pending")
    assert set(event_fields["response.steer.pending"]) <= set(pending)
    assert pending["reason"] == "waiting_for_required_input"
    assert pending["steer"]["previous_response_id"] == response_id
    (stub,) = pending["required_input"]
    assert stub == {"type": "function_call_output", "call_id": call["call_id"], "name": "look_up"}
    filled = {**stub, "output": "found"}
    lane.create(model="demo-echo", input=[filled], previous_response_id=response_id, tools=[TOOL])
    created = lane.read("response.created")
    assert created["response"]["previous_response_id"] == response_id
    lane.read("response.completed")
    lane.create(model="demo-echo", input="Next", previous_response_id=created["response"]["id"])
    assert text_of(lane.read("response.completed")) == "Demo turn 3: Next"  # Hello, And hurry, Next


def test_an_approval_leaves_steering_pending_too(lane):
    lane.steer(lane.begin(model="demo-mcp"))
    asked = lane.read("response.completed")["response"]["output"][-1]
    stubs = lane.read("response.steer.pending")["required_input"]
    assert stubs == [{"type": "mcp_approval_response", "approval_request_id": asked["id"]}]


def test_pending_input_comes_back_when_its_parent_is_lost(lane, event_fields):
    response_id, _ = begin_tools(lane)
    accepted = lane.read("response.steer.pending")["steer"]["id"]
    lane.create(input="I forgot the output", previous_response_id=response_id)
    assert lane.read("error")["status"] == 400
    failed = lane.failed("successor_creation_failed")
    assert set(event_fields["response.steer.failed"]) <= set(failed)
    given = {"id": accepted, "previous_response_id": response_id, "input": "And hurry"}
    assert failed["steer"] == given


def test_pending_input_waits_on_while_its_parent_is_stored(lane):
    response_id, call = begin_tools(lane, store=True)
    lane.read("response.steer.pending")
    lane.create(input="I forgot the output", previous_response_id=response_id)
    assert lane.read("error")["status"] == 400
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "found"}
    lane.create(model="demo-echo", input=[output], previous_response_id=response_id)
    lane.create(model="demo-echo", input="Next", previous_response_id=lane.read("response.completed")["response"]["id"])
    assert text_of(lane.read("response.completed")) == "Demo turn 3: Next"
    assert not any(event["type"] == "response.steer.failed" for event in lane.events)


def test_a_successor_that_cannot_be_made_gives_the_input_back(lane):
    response_id = lane.begin(metadata={"demo_steer": "fail"}, store=True)
    lane.steer(response_id)
    accepted = lane.read("response.steer.accepted")["steer"]["id"]
    assert lane.read("response.incomplete")["response"]["id"] == response_id
    assert lane.failed("successor_creation_failed")["steer"]["id"] == accepted
    lane.create(model="demo-echo", input="Next", previous_response_id=response_id)
    assert text_of(lane.read("response.completed")) == "Demo turn 2: Next"  # what was given back is not put in


def test_a_response_that_fails_gives_the_input_back(lane):
    response_id = lane.begin(model="demo-failed", metadata={"demo_steer": "after"})
    lane.steer(response_id)
    lane.read("response.failed")
    lane.failed("successor_creation_failed")


def test_unknown_responses(lane, server):
    lane.steer("resp_none", "Hello?")
    failed = lane.failed("response_not_found")
    assert failed["steer"] == {"previous_response_id": "resp_none", "input": "Hello?"}
    assert "stream_id" not in failed
    with connect(server.base_url.replace("http://", "ws://") + "/responses", proxy=None) as other:
        other.send(json.dumps({"type": "response.steer", "previous_response_id": lane.begin(), "input": "x"}))
        assert json.loads(other.recv(timeout=5))["error"]["code"] == "response_not_found"


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        [],
        7,
        ["x"],
        [{"role": "assistant", "content": "x"}],
        [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}],
        [{"role": "user", "content": "x", "id": "msg_1"}],
        [{"type": "function_call_output", "call_id": "c", "output": "x"}],
        [{"role": "user"}],
    ],
)
def test_invalid_input(lane, given):
    response_id = lane.begin()
    lane.steer(response_id, given)
    failed = lane.failed("invalid_input")
    assert failed["steer"] == {"previous_response_id": response_id, "input": given}
    lane.read("response.completed")  # it runs on, undisturbed


def test_a_stream_id_is_not_sent_with_steering(lane):
    lane.steer(lane.begin(), stream_id="a")
    lane.failed("invalid_input")


@pytest.mark.parametrize(
    "body",
    [
        {"conversation": "conv_1"},
        {"context_management": [{"type": "compaction", "compact_threshold": 100_000}]},
        {"metadata": {"demo_steer": "no"}},
    ],
)
def test_responses_that_take_no_steering(lane, body):
    lane.steer(lane.begin(**body))
    assert lane.failed("steering_not_supported")["stream_id"] == "a"


def test_too_many(lane):
    response_id = lane.begin(metadata={"demo_steer": "after"})
    for _ in range(9):
        lane.steer(response_id)
    lane.failed("too_many_pending_steers")
    assert [event["type"] for event in lane.events].count("response.steer.accepted") == 8


@pytest.mark.parametrize(
    ("model", "end", "code"),
    [
        ("demo-echo", "response.completed", "response_already_completed"),
        ("demo-failed", "response.failed", "response_not_active"),
    ],
)
def test_too_late(lane, model, end, code):
    lane.create(model=model)
    lane.steer(lane.read(end)["response"]["id"])
    lane.failed(code)


def test_the_three_events_of_steering_are_all_that_the_scenarios_lack(event_fields):
    assert {kind for kind in event_fields if ".steer." in kind} == {
        "response.steer.accepted",
        "response.steer.pending",
        "response.steer.failed",
    }


def test_a_wrong_way_of_steering_is_refused():
    with DemoServer(delay=0) as server:
        url = server.base_url.replace("http://", "ws://") + "/responses"
        with connect(url, proxy=None) as websocket:
            lane = Steered(websocket)
            lane.create(metadata={"demo_steer": "sideways"})
            assert "demo_steer" in lane.read("error")["error"]["message"]
