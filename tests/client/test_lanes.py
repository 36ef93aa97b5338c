"""Lanes end to end: both faces and both transports against the demo server, over real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from nbresponses import AsyncClient, Client, ConnectionFailed, DemoServer, LaneError, RequestError, TimedOut
from nbresponses.client.lanes import LaneManager

TRANSPORTS = ["websocket", "http"]


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as server:
        yield server


@pytest.fixture
def client(server: DemoServer) -> Iterator[Client]:
    with Client(base_url=server.base_url) as client:
        yield client


@pytest.fixture(params=TRANSPORTS)
def lanes(request: pytest.FixtureRequest, client: Client) -> Iterator[LaneManager]:
    with client.lanes(model="demo-echo", store=False, transport=request.param) as lanes:
        assert lanes.status()["transport"] == request.param
        yield lanes


def test_parallel_conversations_and_a_fork(lanes: LaneManager) -> None:
    """The first worked example of WebSocket mode."""
    planner, research = lanes["planner"], lanes["research"]
    plan = planner.stream("Draft a deployment plan.")
    risks = research.stream("List deployment risks.")
    assert plan.get_final_response().output_text == "Demo turn 1: Draft a deployment plan."
    assert risks.get_final_response().output_text == "Demo turn 1: List deployment risks."

    critic = planner.fork("critic")
    gaps = critic.stream("Find gaps in this plan.")
    more = planner.stream("Add rollback steps.")
    assert gaps.get_final_response().output_text == "Demo turn 2: Find gaps in this plan."
    assert more.get_final_response().output_text == "Demo turn 2: Add rollback steps."

    rows = {row["id"]: row for row in lanes.lineage()}
    assert rows[gaps.id]["parent"] == rows[more.id]["parent"] == plan.id
    assert rows[gaps.id]["lane"] == "critic"
    assert rows[risks.id]["parent"] is None
    assert planner.latest == more.id
    assert critic.latest == gaps.id


def test_a_tool_turn_sends_only_what_is_new(lanes: LaneManager) -> None:
    """The second worked example: the output of a tool, and the next message, on the id of the turn before."""
    main = lanes["main"]
    call = {"type": "function", "name": "fizz_buzz", "parameters": {"type": "object", "properties": {}}}
    first = main.create("Find fizz_buzz()", model="demo-tools", tools=[call])
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "tool result"}
        for item in first.output
        if item["type"] == "function_call"
    ]
    assert results
    second = main.stream([*results, {"type": "message", "role": "user", "content": "Now optimize it."}])
    assert second.get_final_response().status == "completed"
    if lanes.status()["transport"] == "websocket":
        [sent] = [message.facts() for message in second.capture if message.direction == "out"]
        assert sent["previous_response_id"] == first.id
        assert len(sent["input"]) == len(results) + 1


def test_requests_of_a_lane_run_in_order_and_continue_each_other(lanes: LaneManager) -> None:
    streams = [lanes["a"].stream(f"number {number}") for number in range(5)]
    texts = [stream.get_final_response().output_text for stream in streams]
    assert texts == [f"Demo turn {number + 1}: number {number}" for number in range(5)]


def test_a_lane_starts_anew_where_it_is_told_to(lanes: LaneManager) -> None:
    lanes["a"].create("one")
    assert lanes["a"].create("two", previous_response_id=None).output_text == "Demo turn 1: two"


def test_the_default_lane_has_no_stream_id(lanes: LaneManager) -> None:
    stream = lanes.default.stream("hello")
    assert stream.get_final_response().output_text == "Demo turn 1: hello"
    assert {event.stream_id for event in stream.capture.replay(speed=None)} <= {None}
    assert "stream_id" not in stream.request


def test_a_captured_lane_names_its_lane_and_holds_what_was_sent(lanes: LaneManager) -> None:
    stream = lanes["a"].stream("hello")
    stream.until_done(10)
    messages = list(stream.capture)
    assert [message.lane for message in messages if message.direction == "out"] == ["a"]
    assert {message.lane for message in messages if message.direction == "in"} == {"a"}
    frame = lanes.capture.events()
    assert set(frame["lane"].dropna()) == {"a"}


def test_compacting_makes_the_window_the_base_of_the_lane(lanes: LaneManager) -> None:
    lanes["a"].create("one")
    lanes["a"].create("two")
    window = lanes["a"].compact()
    assert [item["type"] for item in window.output][-1] == "compaction"
    after = lanes["a"].stream("three")
    after.until_done(10)
    [sent] = [message.facts() for message in after.capture if message.direction == "out"]
    assert sent.get("previous_response_id") is None
    assert sent["input"][: len(window.output)] == window.output


def test_what_cannot_be_sent_is_refused_before_sending(lanes: LaneManager) -> None:
    for fields, name in (
        ({"stream": True}, "stream"),
        ({"background": True}, "background"),
        ({"stream_id": "b"}, "stream_id"),
    ):
        with pytest.raises(RequestError) as caught:
            lanes["a"].stream("x", **fields)
        assert caught.value.field == name
    for name in ("", "a b", "x" * 257, "ü", "a/b"):
        with pytest.raises(RequestError):
            lanes[name]
    with pytest.raises(LaneError, match="no completed response"):
        lanes["new"].fork("other")
    with pytest.raises(AttributeError):
        lanes["a"].name = "b"  # type: ignore[misc]


def test_a_warm_up_carries_its_id_over_and_nothing_else(client: Client) -> None:
    shared = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    with client.lanes(model="demo-echo", store=False, tools=shared) as lanes:
        warm = lanes["a"].warm_up(instructions="Be brief.")
        lanes["a"].create("Hello.")
        first, second = [message.facts() for message in lanes.capture if message.direction == "out"]
    assert (first["generate"], first["instructions"], first["tools"]) == (False, "Be brief.", shared)
    assert (second["previous_response_id"], second["tools"]) == (warm.id, shared)
    assert not {"generate", "instructions"} & set(second)


def test_a_manager_tells_what_it_is(client: Client) -> None:
    lanes = client.lanes(model="demo-echo")
    assert repr(lanes) == "<LaneManager not connected, lanes: none>"
    with lanes:
        lanes["planner"].create("x")
        lanes.default.create("x")
        assert repr(lanes) == "<LaneManager websocket, lanes: planner, (default)>"


def test_an_asynchronous_manager_tells_what_it_is_without_a_loop(server: DemoServer) -> None:
    assert repr(AsyncClient(base_url=server.base_url).lanes()) == "<AsyncLaneManager not connected, lanes: none>"


def test_stopping_keeps_what_came_and_the_lane_goes_on(client: Client) -> None:
    with client.lanes(model="demo-slow") as lanes:
        stream = lanes["a"].stream("x")
        for event in stream:
            if event.type == "response.output_text.delta":
                break
        stream.close()
        assert stream.ending == "interrupted"
        assert stream.response.output_text
        other = lanes["b"].create("hello", model="demo-echo")
        assert other.output_text == "Demo turn 1: hello"


def test_waiting_has_a_limit(client: Client) -> None:
    with client.lanes(model="demo-slow") as lanes:
        lanes["a"].stream("x")
        with pytest.raises(TimedOut):
            lanes.wait(timeout=0.05)
        lanes["a"].close()
        lanes.wait(timeout=10)


def test_a_stream_that_nobody_holds_runs_to_its_end(client: Client) -> None:
    with client.lanes(model="demo-echo") as lanes:
        for number in range(3):
            lanes["a"].stream(f"{number}")
        lanes.wait(timeout=10)
        assert len(lanes.lineage()) == 3


def test_more_than_sixteen_wait_visibly(client: Client) -> None:
    with client.lanes(model="demo-slow") as lanes:
        lanes["first"].create("x", model="demo-echo")  # so that it is known that stream_id comes back
        streams = [lanes[f"lane-{number}"].stream("x") for number in range(20)]
        status = lanes.status()
        assert status["in_flight"] == 16
        assert status["queued"] == 4
        for stream in streams:
            stream.close()


def test_the_name_number_33_is_refused_or_gets_a_connection_of_its_own(client: Client) -> None:
    with client.lanes(model="demo-echo") as lanes:
        for number in range(32):
            lanes[f"n{number}"].stream("x")
        with pytest.raises(LaneError, match="on_name_limit"):
            lanes["n32"].stream("x")
        lanes.default.create("the default lane does not count")
    with client.lanes(model="demo-echo", on_name_limit="new_connection") as lanes:
        streams = [lanes[f"n{number}"].stream("x") for number in range(33)]
        for stream in streams:
            assert stream.get_final_response().output_text == "Demo turn 1: x"
        assert len(lanes.status()["connections"]) == 2


def test_a_lane_that_nobody_reads_ends_alone(client: Client) -> None:
    with client.lanes(model="demo-long", lane_buffer=20_000) as lanes:
        unread = lanes["unread"].stream("x")
        read = lanes["read"].create("hello", model="demo-echo")
        assert read.output_text == "Demo turn 1: hello"
        deadline = time.monotonic() + 20
        while unread._inbox.error is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert isinstance(unread.error, LaneError)
        assert "lane_buffer" in str(unread.error)
        assert len(unread.capture) > 10
        assert lanes["read"].create("still here", model="demo-echo").output_text == "Demo turn 2: still here"


def test_steering_ends_the_response_and_starts_a_successor(client: Client) -> None:
    with client.lanes(model="demo-slow") as lanes:
        lane = lanes["a"]
        stream = lane.stream("a long story")
        for event in stream:
            if event.type == "response.output_text.delta":
                break
        steer = lane.steer("shorter, please")
        assert steer.state in {"accepted", "committed"}
        stream.until_done(20)
        assert stream.ending == "incomplete"
        assert stream.response.incomplete_details is not None
        assert stream.response.incomplete_details.reason == "steered"
        lanes.wait(timeout=20)
        [successor] = lane.successors
        assert successor.ending == "completed"
        assert successor.response.previous_response_id == stream.id
        assert lane.latest == successor.id


def test_what_runs_nowhere_cannot_be_steered(lanes: LaneManager) -> None:
    with pytest.raises(LaneError, match="runs nothing"):
        lanes["a"].steer("x")


def test_a_server_without_websocket_mode_is_spoken_to_over_http(client: Client) -> None:
    with client.lanes(model="demo-echo", transport="auto") as lanes:
        assert lanes.status()["transport"] == "websocket"
        assert lanes.notices == []


def test_no_connection_is_an_error_on_entering() -> None:
    with Client(base_url="http://127.0.0.1:9/v1") as client, pytest.raises(ConnectionFailed):
        client.lanes(model="x").__enter__()


def test_a_key_function_that_fails_is_an_error_on_entering_and_the_lanes_can_be_used_later(server: DemoServer) -> None:
    answers = iter([RuntimeError("the vault is closed")])

    def key() -> str:
        for error in answers:
            raise error
        return "a-key-of-a-vault"

    with Client(base_url=server.base_url, api_key=key) as client:
        with pytest.raises(ConnectionFailed, match=r"api_key failed \(RuntimeError\)") as caught:
            client.lanes(model="demo-echo").__enter__()
        assert isinstance(caught.value.__cause__, RuntimeError)
        with client.lanes(model="demo-echo") as lanes:
            assert lanes["a"].create("x", timeout=20).status == "completed"


def test_a_mistake_while_connecting_lets_nobody_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_hub: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("nbresponses.client.lane_hub.LaneHub._connect", broken)
    with pytest.raises(ZeroDivisionError):
        client.lanes(model="demo-echo").__enter__()


def test_closing_while_it_connects_lets_nobody_wait() -> None:
    deaf = socket.create_server(("127.0.0.1", 0))
    with deaf, Client(base_url=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1") as client:
        lanes = client.lanes(model="x", open_timeout=None)
        timer = threading.Timer(0.3, lanes.close)
        timer.start()
        with pytest.raises(LaneError, match="closed"):
            lanes.__enter__()
        timer.join()


def test_lanes_of_a_loop_that_has_ended_say_so(server: DemoServer) -> None:
    lanes = AsyncClient(base_url=server.base_url).lanes(model="demo-echo")

    async def ask() -> Any:
        return await lanes["a"].create("x", timeout=20)

    assert asyncio.run(ask()).status == "completed"
    with pytest.raises(LaneError, match="another event loop"):
        asyncio.run(ask())


def test_a_refused_request_leaves_the_fork_to_the_next(lanes: LaneManager) -> None:
    parent = lanes["a"].create("one")
    fork = lanes["a"].fork("b")
    with pytest.raises(RequestError):
        fork.stream("two", stream=True)
    assert fork.latest == parent.id
    answer = fork.create("two")
    assert [row["parent"] for row in lanes.lineage() if row["id"] == answer.id] == [parent.id]


def test_closing_the_client_ends_its_lanes(server: DemoServer) -> None:
    client = Client(base_url=server.base_url)
    lanes = client.lanes(model="demo-slow")
    stream = lanes["a"].stream("x")
    client.close()
    assert stream.ending == "interrupted"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_asynchronous_face(server: DemoServer, transport: Any) -> None:
    async def conversation() -> list[str]:
        async with (
            AsyncClient(base_url=server.base_url) as client,
            client.lanes(model="demo-echo", store=False, transport=transport) as lanes,
        ):
            planner = lanes["planner"]
            plan, risks = planner.stream("plan"), lanes["research"].stream("risks")
            events = [event.type async for event in plan]
            texts = [events[-1], (await risks.get_final_response()).output_text]
            critic = planner.fork("critic")
            texts += [(await critic.create("gaps")).output_text, (await planner.create("more")).output_text]
            await lanes.wait(timeout=10)
            assert lanes.lineage()
            return texts

    for _ in range(2):
        texts = asyncio.run(conversation())
        assert texts == ["response.completed", "Demo turn 1: risks", "Demo turn 2: gaps", "Demo turn 2: more"]
