"""The official `openai` package's WebSocket connection, and its session of lanes, against the demo server."""

from __future__ import annotations

import asyncio

import openai
import pytest
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketAccumulator,
    ResponsesWebSocketError,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)

LIMITS = ResponsesWebSocketLimits(
    max_lanes=40, max_events_per_lane=5_000, max_events=20_000, max_bytes_per_lane=16 << 20, max_bytes=64 << 20
)
OPTIONS = {"max_size": None}


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def connection(client):
    with client.responses.connect(websocket_connection_options=OPTIONS) as connection:
        yield connection


def create(text, **body):
    return {"type": "response.create", "model": "demo-echo", "store": False, "input": text, **body}


def test_the_connection_reads_typed_events(connection):
    connection.response.create(model="demo-reasoning", input="Hello", stream_id="a", store=False)
    events = []
    for event in connection:
        events.append(event)
        if event.type == "response.completed":
            break
    assert {event.stream_id for event in events} == {"a"}
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message"]


@pytest.mark.parametrize("model", ["demo-text", "demo-tools", "demo-shell", "demo-image", "demo-search", "demo-mcp"])
def test_its_accumulator_agrees_with_the_end(connection, model):
    connection.response.create(model=model, input="Hello")
    accumulator = ResponsesWebSocketAccumulator()
    for event in connection:
        accumulator.add_event(event)
        if event.type == "response.completed":
            break
        # The text told by deltas alone, one event before the end.
        text = accumulator.snapshot().output_text
    assert accumulator.get_final_response().output_text == text


def test_errors_are_typed(connection):
    connection.response.create(model="demo-echo", input="x", previous_response_id="resp_none", stream_id="a")
    event = connection.recv()
    assert (type(event).__name__, event.status, event.stream_id) == ("ResponseWsError", 400, "a")
    assert event.error.code == "previous_response_not_found"


def test_steering_is_typed(connection):
    slow = {"demo_delay": "0.005"}
    connection.response.create(model="demo-text", input="Hello", stream_id="a", metadata=slow)
    response_id = connection.recv().response.id
    connection.response.steer(previous_response_id=response_id, input="Shorter")
    kinds = []
    for event in connection:
        kinds.append((event.type, type(event).__name__))
        if event.type == "response.completed":
            break
    assert ("response.steer.accepted", "ResponseSteerAcceptedEvent") in kinds
    assert event.response.previous_response_id == response_id


def test_a_session_runs_lanes_and_a_fork(connection):
    with ResponsesWebSocketSession(connection, limits=LIMITS) as session:
        planner, research, critic = (session.lane(name) for name in ("planner", "research", "critic"))
        planner.send(create("Draft a deployment plan."))
        research.send(create("List deployment risks."))
        plan, risks = planner.get_final_response(timeout=10), research.get_final_response(timeout=10)
        assert plan.output_text == "Demo turn 1: Draft a deployment plan."
        assert risks.output_text == "Demo turn 1: List deployment risks."
        critic.send(create("Find gaps.", previous_response_id=plan.id))
        planner.send(create("Add rollback steps.", previous_response_id=plan.id))
        assert critic.get_final_response(timeout=10).output_text == "Demo turn 2: Find gaps."
        assert planner.get_final_response(timeout=10).output_text == "Demo turn 2: Add rollback steps."


def test_an_error_of_a_lane_leaves_the_others(connection):
    with ResponsesWebSocketSession(connection, limits=LIMITS) as session:
        good, bad = session.lane("good"), session.lane("bad")
        bad.send(create("x", previous_response_id="resp_none"))
        good.send(create("y"))
        with pytest.raises(ResponsesWebSocketError):
            bad.get_final_response(timeout=10)
        assert good.get_final_response(timeout=10).output_text == "Demo turn 1: y"


def test_an_async_session_of_32_lanes(server):
    async def turns(session, name):
        lane, previous, said = session.lane(name), None, []
        for number in range(3):
            await lane.send(create(f"{name}/{number}", previous_response_id=previous))
            response = await lane.get_final_response()
            previous = response.id
            said.append(response.output_text)
        return said

    async def all_lanes():
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            manager = client.responses.connect(websocket_connection_options=OPTIONS)
            async with manager as connection, AsyncResponsesWebSocketSession(connection, limits=LIMITS) as session:
                return await asyncio.gather(*(turns(session, f"lane{number}") for number in range(32)))

    told = asyncio.run(all_lanes())
    assert told == [[f"Demo turn {turn + 1}: lane{lane}/{turn}" for turn in range(3)] for lane in range(32)]
