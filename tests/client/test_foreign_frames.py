"""The official SDK's streams, recorded, against our own on the same server: the same messages, the same frames.

Both servers draw the same ids and texts. What cannot be equal is named in docs/tools.md, column by column.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest

from nbresponses import Capture, Client
from nbresponses.capture.schema import FRAMES
from nbresponses.demo import DemoServer

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
PART = PAGE[PAGE.index("### The same frames") : PAGE.index("## Small things")]
ALWAYS, _, AFTER_AN_ERROR = PART.partition("raises itself")
EXEMPT = set(re.findall(r"`(\w+)`", ALWAYS))

ASKS: dict[str, dict[str, Any]] = {
    **{name: {"model": f"demo-{name}"} for name in ("text", "reasoning", "tools", "image", "search", "mcp", "shell")},
    "incomplete": {"model": "demo-incomplete"},
    "a flat error": {"model": "demo-error"},
    "cut": {"model": "demo-text", "metadata": {"demo_fault": "cut_at:20"}},
    "cut in an event": {"model": "demo-text", "metadata": {"demo_fault": "cut_in_line:20"}},
    "without a terminal event": {"model": "demo-text", "metadata": {"demo_fault": "no_terminal"}},
}


def by_our_own(url: str, **fields: Any) -> Capture:
    with Client(base_url=url, max_retries=0) as client:
        return client.stream("Hi", **fields).until_done().capture


def by_the_sdk(url: str, **fields: Any) -> Capture:
    with openai.OpenAI(base_url=url, api_key="any", max_retries=0) as client:
        recording: Any = Capture.record(client.responses.create(input="Hi", stream=True, **fields))
        with suppress(openai.APIError):  # noted in the capture
            recording.until_done()
        return recording.capture


def by_the_sdk_asynchronously(url: str, **fields: Any) -> Capture:
    async def main() -> Capture:
        async with openai.AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            recording: Any = Capture.record(await client.responses.create(input="Hi", stream=True, **fields))
            with suppress(openai.APIError):
                async for _ in recording:
                    pass
            return recording.capture

    return asyncio.run(main())


def captures(sdk: Callable[..., Capture], **fields: Any) -> tuple[Capture, Capture]:
    found = []
    for record in (by_our_own, sdk):
        with DemoServer(delay=0, seed=7) as server:
            found.append(record(server.base_url, **fields))
    return found[0], found[1]


def assert_equal(ours: Capture, theirs: Capture) -> None:
    for name in FRAMES:
        if name == "gaps":  # all of it is times
            continue
        one, other = getattr(ours, name)(), getattr(theirs, name)()
        assert list(other.columns) == list(one.columns)
        assert len(other) == len(one), name
        columns = compared(one)
        assert columns, name
        for column in columns:
            assert other[column].equals(one[column]), (name, column)
        if name == "tools":
            for column in ("arguments", "result"):
                assert [_parsed(text) for text in other[column]] == [_parsed(text) for text in one[column]]


def compared(frame: Any) -> list[str]:
    """The columns that are to be equal as they are."""
    return [name for name in frame.columns if name not in EXEMPT and frame[name].dtype.kind not in "mM"]


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return str(text)


def messages(capture: Capture) -> list[Any]:
    return [_without_times(message.facts()) for message in capture if message.kind == "event"]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(entry) for name, entry in value.items() if not name.endswith("_at")}
    return [_without_times(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("ask", ASKS)
def test_the_same_frames(ask: str) -> None:
    ours, theirs = captures(by_the_sdk, **ASKS[ask])
    assert messages(theirs) == messages(ours) != []
    assert_equal(ours, theirs)
    assert theirs.ending == ours.ending


@pytest.mark.parametrize("ask", ["text", "incomplete", "a flat error", "cut"])
def test_the_same_frames_of_the_asynchronous_client(ask: str) -> None:
    ours, theirs = captures(by_the_sdk_asynchronously, **ASKS[ask])
    assert messages(theirs) == messages(ours) != []
    assert_equal(ours, theirs)


def test_the_same_frames_of_a_failed_response(serve: Any, wire: Any) -> None:
    failed = wire.end("failed", 2, error={"code": "server_error", "message": "boom"})
    raw = serve([wire.UNTIL_CLOSE + wire.created() + wire.delta("a", 1) + failed])
    for sdk in (by_the_sdk, by_the_sdk_asynchronously):
        ours, theirs = (record(raw.base_url, model="m") for record in (by_our_own, sdk))
        assert messages(theirs) == messages(ours) != []
        assert_equal(ours, theirs)
        assert theirs.ending == "failed"


@pytest.mark.parametrize("sdk", [by_the_sdk, by_the_sdk_asynchronously])
def test_an_error_that_the_sdk_raises_is_a_row_and_nothing_follows_it(sdk: Callable[..., Capture]) -> None:
    ours, theirs = captures(sdk, model="demo-failed")
    *same, error, failed = messages(ours)
    assert (error["type"], failed["type"]) == ("error", "response.failed")
    *before, raised = messages(theirs)
    assert before == same
    assert raised == {"type": "error", "error": error["error"]}  # without its sequence_number
    one, other = (capture.responses().iloc[0] for capture in (ours, theirs))
    assert (one["ending"], other["ending"]) == ("failed", "error")
    assert other["error_code"] == one["error_code"] == "server_error"
    assert other["error_message"] == one["error_message"]
    unlike = {name for name in compared(ours.responses()) if str(one[name]) != str(other[name])}
    assert unlike == {"status", "ending", "events"} == set(re.findall(r"`(\w+)`", AFTER_AN_ERROR)) - {"error"}


def test_the_same_frames_of_websocket_lanes() -> None:
    asks = [("a", "One."), ("b", "Two."), ("a", "Three.")]
    with (
        DemoServer(delay=0, seed=7) as server,
        Client(base_url=server.base_url) as client,
        client.lanes(model="demo-echo", store=False) as lanes,
    ):
        for lane, text in asks:
            lanes[lane].create(text, previous_response_id=None)
        ours = lanes.capture
    with (
        DemoServer(delay=0, seed=7) as server,
        openai.OpenAI(base_url=server.base_url, api_key="any") as sdk,
        sdk.responses.connect() as connection,
    ):
        recording: Any = Capture.record(connection)
        for lane, text in asks:
            connection.response.create(model="demo-echo", input=text, stream_id=lane, store=False)
            next(event for event in recording if event.type == "response.completed")
        recording.close()
    assert messages(recording.capture) == messages(ours) != []
    assert_equal(ours, recording.capture)
