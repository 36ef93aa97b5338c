"""Functions that misbehave: the model is told, the run goes on. Options that cannot be right are refused first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from nbresponses.client import AsyncClient, Client
from nbresponses.client.tools import ToolRun
from nbresponses.demo import DemoServer
from nbresponses.errors import RequestError


class UnwritableError(Exception):
    """Its own text cannot be made."""

    def __str__(self) -> str:
        raise OSError("no text")

    __repr__ = __str__


def empty() -> int:
    """Looks for what is not there."""
    return next(iter([]))


def thing() -> Any:
    """Returns what cannot be written."""
    return type("Thing", (), {"__str__": UnwritableError.__str__, "__repr__": UnwritableError.__str__})()


def failing() -> None:
    """Raises what cannot be written."""
    raise UnwritableError


def run_on(server: DemoServer, face: str, tools: list[Callable[..., Any]], **options: Any) -> ToolRun:
    fields = {"model": "demo-tools", "tools": tools, **options}
    if face == "sync":
        with Client(base_url=server.base_url) as client:
            return client.run("Go.", **fields)

    async def main() -> ToolRun:
        async with AsyncClient(base_url=server.base_url) as client:
            return await client.run("Go.", **fields)

    return asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (empty, "StopIteration"),  # in a thread's future it would never arrive
        (thing, "the result cannot be written as text: OSError: no text"),
        (failing, "UnwritableError"),
    ],
)
def test_the_model_is_told_of_a_function_that_misbehaves(face: str, function: Any, told: str) -> None:
    with DemoServer(delay=0) as server:
        run = run_on(server, face, [function])
    assert run.ending == "answered"
    assert [(call.outcome, told in call.output) for call in run.calls] == [("error", True)]


async def watching(_given: Any) -> None: ...


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"confirm": "yes"}, "confirm: a function is expected, not str"),
        ({"on_stream": 1}, "on_stream: a function is expected, not int"),
        ({"on_stream": watching}, "on_stream: a plain function is expected"),
        ({"on_call": watching}, "on_call: a plain function is expected"),
        ({"tool_timeout": 0}, "tool_timeout: must be a number of seconds above 0"),
        ({"tool_timeout": "5"}, "tool_timeout: must be a number of seconds above 0"),
        ({"tool_timeout": float("nan")}, "tool_timeout: must be a number of seconds above 0"),
        ({"max_rounds": 2.5}, "max_rounds: must be a whole number"),
        ({"handlers": [empty]}, "handlers: a dict of functions by item type or name is expected, not list"),
    ],
)
def test_options_that_cannot_be_right_are_refused_before_anything_is_sent(options: dict[str, Any], text: str) -> None:
    with DemoServer(delay=0) as server:
        with pytest.raises(RequestError, match=text):
            run_on(server, "sync", [empty], **options)
        assert server.requests == []


def test_a_run_that_asyncio_itself_ends_is_in_the_context_of_its_exception() -> None:
    async def waiting() -> None:
        """Waits."""
        await asyncio.sleep(30)

    async def main(server: DemoServer) -> None:
        async with AsyncClient(base_url=server.base_url) as client, asyncio.timeout(1):
            await client.run("Go.", model="demo-tools", tools=[waiting])

    with DemoServer(delay=0) as server, pytest.raises(TimeoutError) as caught:
        asyncio.run(main(server))
    partial = getattr(caught.value.__context__, "partial", None)
    assert isinstance(partial, ToolRun)
    assert (partial.ending, [call.name for call in partial.pending]) == ("interrupted", ["waiting"])
