"""`run`: calls are made and answered, round after round, over HTTP and over lanes."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from nbresponses.client import AsyncClient, Client
from nbresponses.client.tools import ToolRun
from nbresponses.demo import DemoServer

ROUNDS = {"demo_rounds": "25"}


def look(place: str = "here") -> str:
    """Look somewhere."""
    return f"nothing {place}"


def creates(server: DemoServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests if request.method == "POST" and request.body]


@pytest.fixture
def server() -> Any:
    with DemoServer(delay=0) as server:
        yield server


def size(value: Any) -> int:
    return len(json.dumps(value))


def test_25_rounds_over_http_send_only_the_new_items(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Look around.", model="demo-rounds", tools=[look], metadata=ROUNDS)
    assert (run.ending, len(run.rounds), len(run.calls)) == ("answered", 26, 25)
    assert {call.outcome for call in run.calls} == {"ok"}
    assert "returned: nothing" in run.output_text
    first, *later = creates(server)
    assert first["input"] == "Look around."
    assert [body["previous_response_id"] for body in later] == [response.id for response in run.rounds[:-1]]
    assert all([item["type"] for item in body["input"]] == ["function_call_output"] for body in later)
    assert max(map(size, later)) - min(map(size, later)) < 50


def test_25_rounds_over_a_lane_send_only_the_new_items(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client, client.lanes(model="demo-rounds", store=False) as lanes:
        run = lanes["looker"].run("Look around.", tools=[look], metadata=ROUNDS)
        assert lanes.status()["transport"] == "websocket"
        sent = [message.facts() for message in lanes.capture if message.direction == "out"]
    assert (run.ending, len(run.rounds)) == ("answered", 26)
    assert [body["previous_response_id"] for body in sent[1:]] == [response.id for response in run.rounds[:-1]]
    assert all([item["type"] for item in body["input"]] == ["function_call_output"] for body in sent[1:])
    assert sum(map(size, sent)) < 27 * 800


def test_a_server_that_stores_nothing_gets_the_whole_conversation(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Look around.", model="demo-rounds", tools=[look], metadata=ROUNDS, store=False)
    bodies = creates(server)
    assert (run.ending, len(run.rounds), len(bodies)) == ("answered", 26, 26)
    assert not any("previous_response_id" in body for body in bodies)
    kinds = [item["type"] for item in bodies[-1]["input"]]
    assert kinds == ["message", *["function_call", "function_call_output"] * 25]


def test_a_server_that_refuses_the_id_gets_the_whole_conversation(serve: Any, client_of: Any, wire: Any) -> None:
    item = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "look",
        "arguments": "{}",
        "status": "completed",
    }
    call = wire.UNTIL_CLOSE + wire.created() + wire.end(output=[item])
    refusal = wire.error(400, {"error": {"message": "previous_response_id is not supported"}})
    raw = serve([call], [refusal], [call], [wire.UNTIL_CLOSE + wire.answer("done")])
    run = client_of(raw).run("Look.", model="m", tools=[look])
    assert (run.output_text, len(run.rounds)) == ("done", 3)
    bodies = [request.json for request in raw.requests]
    assert bodies[1]["previous_response_id"] == "resp_1"
    assert "previous_response_id" not in bodies[2]
    assert [entry["type"] for entry in bodies[2]["input"]] == ["message", "function_call", "function_call_output"]
    assert len(bodies[3]["input"]) == 5


def test_parallel_calls_errors_and_refusals_go_back_as_text(server: DemoServer) -> None:
    def broken(x: int = 0) -> int:
        """Fails."""
        raise ZeroDivisionError("division by nothing")

    asked = []

    def confirm(call: Any) -> Any:
        asked.append((call.name, call.arguments))
        return call.name != "look" or "not there"

    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=[look, broken], confirm=confirm)
    assert [(call.name, call.outcome) for call in run.calls] == [("look", "declined"), ("broken", "error")]
    assert [name for name, _ in asked] == ["look", "broken"]
    outputs = [item["output"] for item in creates(server)[1]["input"]]
    assert outputs == ["not there", "ZeroDivisionError: division by nothing"]


def test_the_model_is_told_of_arguments_that_do_not_fit(serve: Any, client_of: Any, wire: Any) -> None:
    base = {"type": "function_call", "status": "completed"}
    items = [
        {**base, "call_id": "1", "name": "look", "arguments": '{"place": 3}'},
        {**base, "call_id": "2", "name": "listen", "arguments": "{}"},
    ]
    called = wire.UNTIL_CLOSE + wire.created() + wire.end(output=items)
    raw = serve([called], [wire.UNTIL_CLOSE + wire.answer("so what")])
    run = client_of(raw).run("Look.", model="m", tools=[look])
    assert [call.outcome for call in run.calls] == ["error", "error"]
    outputs = [item["output"] for item in raw.requests[1].json["input"]]
    assert outputs == ["argument 'place': Expected `str`, got `int`", "there is no tool 'listen'"]


def test_a_limit_on_rounds(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-rounds", tools=[look], metadata=ROUNDS, max_rounds=2)
    assert (run.ending, len(run.rounds), len(run.calls), len(run.pending)) == ("max_rounds", 3, 2, 1)


def test_a_forced_choice_holds_for_the_first_round_only(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-text", tools=[look], tool_choice="required")
    assert run.ending == "answered"
    assert [body["tool_choice"] for body in creates(server)] == ["required", "auto"]


def test_what_nobody_was_named_for_is_given_back_not_executed(server: DemoServer) -> None:
    sql = {"type": "custom", "name": "run_sql"}
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=[look, sql])
        assert (run.ending, [call.name for call in run.pending]) == ("waiting", ["run_sql"])
        assert [item["type"] for item in run.answers] == ["function_call_output"]
        ran = client.run("Go.", model="demo-tools", tools=[look, sql], handlers={"run_sql": lambda item: item.input})
        assert (ran.ending, ran.calls[1].output) == ("answered", "Go.")
        asked = client.run("Lend it.", model="demo-mcp")
        assert [call.item.type for call in asked.pending] == ["mcp_approval_request"]
        lent = client.run("Lend it.", model="demo-mcp", handlers={"mcp_approval_request": lambda _: True})
        assert "the book is yours" in lent.output_text
        kept = client.run("Lend it.", model="demo-mcp", confirm=lambda _: False)
        assert "leaves the book" in kept.output_text
        # Its shell ran on the server, with its output beside it; the patch is the client's to apply.
        patched = client.run("Patch.", model="demo-shell")
    assert {call.name for call in patched.pending} <= {"apply_patch_call"}


async def slow(seconds: float = 0.0) -> str:
    """Waits."""
    await asyncio.sleep(seconds or 0.01)
    return f"loop {id(asyncio.get_running_loop())}"


async def other(seconds: float = 0.0) -> str:
    """Waits too."""
    return await slow(seconds)


def test_async_functions_run_on_a_loop_of_the_run(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=[slow, other])
    assert len({call.output for call in run.calls}) == 1


IN_A_CELL = """
import asyncio
from nbresponses import Client, DemoServer

async def slow() -> str:
    "Waits."
    await asyncio.sleep(0.01)
    return str(id(asyncio.get_running_loop()))

async def cell():
    with DemoServer(delay=0) as server, Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=[slow])  # blocks, while this loop runs
    assert run.calls[0].output == str(id(asyncio.get_running_loop())), run.calls
    print("on the caller's loop")

asyncio.new_event_loop().run_until_complete(cell())
"""


def test_async_functions_run_on_the_callers_own_loop() -> None:
    # In a process of its own: nest-asyncio2 changes asyncio for the whole process that it works in.
    done = subprocess.run([sys.executable, "-c", IN_A_CELL], check=False, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "on the caller's loop", done.stderr


def test_the_asynchronous_face(server: DemoServer) -> None:
    threads = []

    def plain() -> str:
        """In a thread."""
        threads.append(threading.current_thread())
        return "done"

    async def main() -> tuple[ToolRun, ToolRun]:
        async with AsyncClient(base_url=server.base_url) as client:
            one = await client.run("Go.", model="demo-tools", tools=[slow, plain])
            async with client.lanes(model="demo-rounds") as lanes:
                return one, await lanes["a"].run("Go.", tools=[plain])

    one, two = asyncio.run(main())
    assert [call.outcome for call in one.calls] == ["ok", "ok"]
    assert (len(two.rounds), two.ending) == (4, "answered")
    assert threading.main_thread() not in threads


def test_a_function_that_takes_too_long(server: DemoServer) -> None:
    async def never() -> None:
        """Waits for ever."""
        await asyncio.Event().wait()

    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=[never], tool_timeout=0.05)
    assert (run.calls[0].outcome, run.calls[0].output) == ("error", "no result within 0.05 s")


def test_an_interrupt_in_a_function_ends_the_run(server: DemoServer) -> None:
    def stop() -> None:
        """Interrupts."""
        raise KeyboardInterrupt

    async def stop_later() -> None:
        """Interrupts."""
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    streams: list[Any] = []
    with Client(base_url=server.base_url) as client:
        for function in (stop, stop_later):
            with pytest.raises(KeyboardInterrupt):
                client.run("Go.", model="demo-tools", tools=[function], on_stream=streams.append)
    assert [stream.ending for stream in streams] == ["completed", "completed"]
    assert server.active == ()


def test_an_interrupt_between_two_calls_leaves_nothing_unawaited(server: DemoServer) -> None:
    async def first(place: str = "") -> str:
        return place

    def second(place: str = "") -> str:
        raise KeyboardInterrupt

    with Client(base_url=server.base_url) as client, pytest.raises(KeyboardInterrupt):
        client.run("x", model="demo-tools", tools=[first, second])
    gc.collect()  # a coroutine that nobody awaited would be a warning, and so an error
