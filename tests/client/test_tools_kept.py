"""What a run keeps when it ends early, and calls that would break it: nothing that came is lost."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from nbresponses.client import AsyncClient, Client
from nbresponses.client.tools import ToolRun
from nbresponses.demo import DemoServer
from nbresponses.errors import NBResponsesError, Rejected, RequestError, ResponseFailed

ROUNDS = {"demo_rounds": "5"}


@pytest.fixture
def server() -> Any:
    with DemoServer(delay=0) as server:
        yield server


class Looking:
    """A function that does something else at its third call."""

    def __init__(self, third: Any) -> None:
        self.third = third
        self.made = 0

    def __call__(self, place: str = "here") -> str:
        """Look."""
        self.made += 1
        return self.third() if self.made == 3 else f"nothing {place}"


def interrupt() -> Any:
    raise KeyboardInterrupt


def look(place: str = "here") -> str:
    """Look."""
    return "nothing"


def answered(wire: Any, *items: dict[str, Any], status: str = "completed", **more: Any) -> bytes:
    return bytes(wire.UNTIL_CLOSE + wire.created() + wire.end(status, output=list(items), **more))


def call(call_id: str, name: str = "look", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments,
            "status": "completed", **more}  # fmt: skip


def outputs(request: Any) -> list[tuple[str, str]]:
    return [(item["call_id"], item["output"]) for item in request.json["input"]]


# ── Ended early ──


def test_an_interrupt_in_a_later_round_carries_the_run_so_far(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client, pytest.raises(KeyboardInterrupt) as caught:
        client.run("Go.", model="demo-rounds", tools=[Looking(interrupt)], metadata=ROUNDS)
    run: ToolRun = caught.value.partial  # type: ignore[attr-defined]
    assert (run.ending, len(run.rounds)) == ("interrupted", 3)
    assert [(each.outcome, each.round) for each in run.calls] == [("ok", 1), ("ok", 2)]
    assert [each.round for each in run.pending] == [3]
    assert "3 rounds, 2 calls" in caught.value.__notes__[0]


def test_an_interrupt_while_a_later_round_streams_keeps_what_came_of_it(serve: Any, client_of: Any, wire: Any) -> None:
    raw = serve([answered(wire, call("a"))], [wire.CHUNKED + wire.chunk(wire.created() + wire.delta("half")), "hold"])

    def follow(stream: Any) -> None:
        if len(raw.requests) == 2:
            next(event for event in stream if event.type == "response.output_text.delta")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        client_of(raw).run("Go.", model="m", tools=[look], on_stream=follow)
    run = caught.value.partial  # type: ignore[attr-defined]
    assert [response.ending for response in run.rounds] == ["completed", "interrupted"]
    assert (run.output_text, len(run.calls)) == ("half", 1)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_failure_in_a_later_round_carries_the_run_so_far(serve: Any, wire: Any, face: str) -> None:
    failed = answered(wire, status="failed", error={"code": "server_error", "message": "no more"})
    raw = serve([answered(wire, call("a"))], [failed])

    async def main() -> None:
        async with AsyncClient(base_url=raw.base_url, max_retries=0) as client:
            await client.run("Go.", model="m", tools=[look])

    def run_it() -> None:
        with Client(base_url=raw.base_url, max_retries=0) as client:
            client.run("Go.", model="m", tools=[look])

    with pytest.raises(ResponseFailed) as caught:
        asyncio.run(main()) if face == "async" else run_it()
    run = caught.value.partial
    assert (run.ending, [each.output for each in run.calls]) == ("failed", ["nothing"])
    assert [response.ending for response in run.rounds] == ["completed", "failed"]
    assert copy.deepcopy(caught.value).partial.calls == run.calls


def test_a_refused_round_carries_the_rounds_before_it_and_a_refused_run_nothing(
    serve: Any, client_of: Any, wire: Any
) -> None:
    raw = serve([answered(wire, call("a"))], [wire.error(429, {"error": {"message": "slow down"}})])
    with pytest.raises(Rejected) as caught:
        client_of(raw).run("Go.", model="m", tools=[look])
    assert (len(caught.value.partial.rounds), len(caught.value.partial.calls)) == (1, 1)
    with pytest.raises(Rejected) as caught:
        client_of(raw).run("Go.", model="m", tools=[look])
    assert caught.value.partial is None
    assert NBResponsesError("x").partial is None


def test_results_of_the_interrupted_round_are_kept(serve: Any, client_of: Any, wire: Any) -> None:
    def stop() -> Any:
        raise KeyboardInterrupt

    async def quick() -> str:
        return "quick"

    async def slow() -> str:
        await asyncio.sleep(0.05)
        raise KeyboardInterrupt

    told: list[Any] = []
    for names in (["look", "stop", "look"], ["quick", "slow"]):
        raw = serve([answered(wire, *(call(str(at), name) for at, name in enumerate(names)))])
        with pytest.raises(KeyboardInterrupt) as caught:
            client_of(raw).run("Go.", model="m", tools=[look, stop, quick, slow], on_call=told.append)
        run = caught.value.partial  # type: ignore[attr-defined]
        assert [each.name for each in run.calls] == names[:1]
        assert [each.name for each in run.pending] == names[1:]
    assert [each.output for each in told] == ["nothing", "quick"]


def test_a_cancelled_run_carries_itself(server: DemoServer) -> None:
    async def main() -> ToolRun:
        began = asyncio.Event()

        async def forever() -> None:
            """Waits."""
            began.set()
            await asyncio.Event().wait()

        async with AsyncClient(base_url=server.base_url) as client:
            task = asyncio.create_task(client.run("Go.", model="demo-tools", tools=[forever]))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return caught.value.partial  # type: ignore[attr-defined, no-any-return]

    run = asyncio.run(main())
    assert (run.ending, len(run.rounds), len(run.pending)) == ("interrupted", 1, 1)


@pytest.mark.parametrize("status", ["completed", None])
def test_an_incomplete_response_tells_its_calls(serve: Any, client_of: Any, wire: Any, status: str | None) -> None:
    cut = {**call("b", arguments='{"pla'), "status": "incomplete" if status else None}
    whole = {**call("a"), "status": status}
    details = {"reason": "max_output_tokens"}
    raw = serve([answered(wire, whole, cut, status="incomplete", incomplete_details=details)])
    made: list[str] = []
    run = client_of(raw).run("Go.", model="m", tools=[Looking(made.append)])
    assert (run.ending, [each.item.call_id for each in run.pending], run.calls) == ("incomplete", ["a"], ())
    assert run.response.incomplete_details.reason == "max_output_tokens"
    assert not made


# ── Calls that would break a run ──


def test_a_function_that_raises_cancelled_error_does_not_end_the_run(server: DemoServer) -> None:
    def plain() -> None:
        """Raises."""
        raise asyncio.CancelledError("by a library")

    async def later() -> None:
        """Raises."""
        await asyncio.sleep(0)
        raise asyncio.CancelledError("by a library")

    async def itself() -> None:
        """Is cancelled."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    functions = [plain, later, itself]
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=functions)

    async def main() -> ToolRun:
        async with AsyncClient(base_url=server.base_url) as client:
            return await client.run("Go.", model="demo-tools", tools=functions)

    for each in (run, asyncio.run(main())):
        assert (each.ending, [one.outcome for one in each.calls]) == ("answered", ["error"] * 3)
        told = ["CancelledError: by a library", "CancelledError: by a library", "CancelledError"]
        assert [one.output for one in each.calls] == told


def test_a_call_that_comes_twice_is_made_once_and_answered_twice(serve: Any, client_of: Any, wire: Any) -> None:
    again = {**call("a"), "id": "fc_other"}
    items = [call("a"), again, call("a", arguments='{"place": "x"}'), call("b")]
    raw = serve([answered(wire, *items)], [wire.UNTIL_CLOSE + wire.answer("done")])
    made: list[str] = []

    def look(place: str = "here") -> str:
        """Look."""
        made.append(place)
        return f"{len(made)}"

    run = client_of(raw).run("Go.", model="m", tools=[look])
    assert made == ["here", "x", "here"]
    assert outputs(raw.requests[1]) == [("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")]
    assert [each.item.id for each in run.calls] == ["fc_a", "fc_other", "fc_a", "fc_b"]


# ── What is given as tools ──


def test_one_function_will_do(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=look)
        assert [each.name for each in run.calls] == ["look"]
        for bad in ("look", 3):
            with pytest.raises(RequestError, match="tools: a function, or a list of functions"):
                client.run("Go.", model="demo-tools", tools=bad)
        for handlers, text in [([look], "a dict of functions"), ({"run_sql": "look"}, "'run_sql' must be")]:
            with pytest.raises(RequestError, match=text):
                client.run("Go.", model="demo-tools", tools=look, handlers=handlers)


def test_a_run_is_a_value(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        run = client.run("Go.", model="demo-tools", tools=look)
    assert copy.copy(run) == run
    assert repr(run).startswith("ToolRun(answered, 2 rounds, 1 calls, ")
