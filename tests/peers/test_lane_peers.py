"""Lanes against servers that others wrote: WebSocket mode with stream_id, without it, and not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from nbresponses import Client
from nbresponses.client.lanes import LaneManager

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture(params=[True, False], ids=["stored", "not-stored"])
def lanes(request: pytest.FixtureRequest, start: Callable[[str, str], str]) -> Iterator[LaneManager]:
    """Lanes of the vLLM project's gateway, which speaks WebSocket mode with stream_id."""
    with (
        Client(base_url=start("start-agentic.sh", "/health") + "/v1", api_key="none") as client,
        client.lanes(model="any", store=request.param, transport="websocket") as lanes,
    ):
        yield lanes


def test_parallel_conversations_and_a_fork(lanes: LaneManager) -> None:
    planner, research = lanes["planner"], lanes["research"]
    plan, risks = planner.stream("Draft a deployment plan."), research.stream("List deployment risks.")
    assert "Draft a deployment plan." in plan.get_final_response().output_text
    assert "List deployment risks." in risks.get_final_response().output_text
    critic = planner.fork("critic")
    gaps, more = critic.stream("Find gaps in this plan."), planner.stream("Add rollback steps.")
    assert "Find gaps" in gaps.get_final_response().output_text
    assert "Add rollback" in more.get_final_response().output_text
    parents = {row["id"]: row["parent"] for row in lanes.lineage()}
    assert parents[gaps.id] == parents[more.id] == plan.id
    assert lanes.status()["stream_id"] == "sent back"
    assert [event.stream_id for event in gaps.capture.replay(speed=None)][-1] == "critic"


def test_a_tool_turn_sends_only_what_is_new(lanes: LaneManager) -> None:
    lane = lanes["main"]
    [call] = lane.create("use the tool", tools=[WEATHER]).function_calls
    assert call.name == "get_weather"
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    answer = lane.stream([output], tools=[WEATHER])
    assert "sunny" in answer.get_final_response().output_text
    [sent] = [message.facts() for message in answer.capture if message.direction == "out"]
    assert sent["input"] == [output]


def test_many_requests_on_several_lanes_keep_their_order(lanes: LaneManager) -> None:
    streams = [(name, turn, lanes[name].stream(f"{name} {turn}")) for turn in range(4) for name in "abcd"]
    for name, turn, stream in streams:
        assert f"{name} {turn}" in stream.get_final_response().output_text


def test_a_server_that_knows_no_lanes_is_noticed(start: Callable[[str, str], str]) -> None:
    """aimock has a WebSocket and drops stream_id."""
    with (
        Client(base_url=start("start-aimock.sh", "/v1/models") + "/v1", api_key="none") as client,
        client.lanes(model="gpt-4o", store=True) as lanes,
    ):
        streams = [lanes[name].stream("hello") for name in ("a", "b", "a")]
        texts = [stream.get_final_response().output_text for stream in streams]
        assert texts == ["Hello from aimock, this is a plain text answer."] * 3
        assert lanes.status()["stream_id"] == "dropped"
        assert len([notice for notice in lanes.notices if "stream_id" in notice]) == 1


@pytest.mark.parametrize(
    ("script", "ready", "model"),
    [("start-llama-server.sh", "/health", "tiny"), ("start-azagent.sh", "/readiness", "any")],
)
def test_a_server_without_websocket_mode_is_spoken_to_over_http(
    start: Callable[[str, str], str], script: str, ready: str, model: str
) -> None:
    with (
        Client(base_url=start(script, ready) + "/v1", api_key="none") as client,
        client.lanes(model=model, store=False, max_output_tokens=60) as lanes,
    ):
        first, second = lanes["a"].stream("hello"), lanes["b"].stream("hello")
        assert first.get_final_response().output_text
        assert second.get_final_response().output_text
        assert lanes["a"].create("and again").output_text
        assert lanes.status()["transport"] == "http"
        assert any("HTTP" in notice for notice in lanes.notices)
