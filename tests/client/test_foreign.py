"""Streams of other clients, recorded and shown: the official SDK's, dicts, raw SSE."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import openai
import pytest

from nbresponses import Capture, Client, show
from nbresponses.client.foreign import watch
from nbresponses.core.decode import decode_event
from nbresponses.core.wire import InvalidEvent
from nbresponses.demo import DemoServer
from nbresponses.errors import RequestError


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0, seed=7) as server:
        yield server


def sdk(server: DemoServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0)


def messages(capture: Capture) -> list[dict[str, Any]]:
    return [message.facts() for message in capture if message.kind == "event"]


def test_what_the_sdk_yields_is_passed_on_unchanged(server: DemoServer) -> None:
    with sdk(server) as client, client.responses.create(model="demo-text", input="Hi", stream=True) as stream:
        recording = Capture.record(stream)
        types = [type(event).__name__ for event in recording]
    assert types[0] == "ResponseCreatedEvent"
    assert recording.response.ending == "completed"
    assert recording.capture.ending == "completed"
    assert next(message.kind for message in recording.capture) == "status"


def test_the_sdks_stream_helper_and_its_asynchronous_client(server: DemoServer) -> None:
    with sdk(server) as client, client.responses.stream(model="demo-text", input="Hi") as stream:
        recording = Capture.record(stream).until_done()
        final = stream.get_final_response()
    assert recording.response.output_text == final.output_text
    assert not any("snapshot" in message for message in messages(recording.capture))

    async def main() -> Any:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            stream = await client.responses.create(model="demo-text", input="Hi", stream=True)
            recording = Capture.record(stream)
            async for _ in recording:
                pass
            return recording

    assert asyncio.run(main()).response.output_text == final.output_text


def test_the_sdks_websocket_lanes(server: DemoServer) -> None:
    with sdk(server) as client, client.responses.connect() as connection:
        recording = Capture.record(connection)
        for lane in ("a", "b"):
            connection.response.create(model="demo-echo", input=f"I am {lane}", stream_id=lane, store=False)
        ended = 0
        for event in recording:
            ended += event.type == "response.completed"
            if ended == 2:
                break
        recording.close()
    assert "I am a" in recording.lane("a").output_text
    assert "I am b" in recording.lane("b").output_text
    received = [message for message in recording.capture if message.kind == "event"]
    assert {(message.transport, message.lane) for message in received} == {("websocket", "a"), ("websocket", "b")}


def test_dicts_lines_and_chunks(server: DemoServer) -> None:
    body = {"model": "demo-text", "input": "Hi", "stream": True}
    raw = httpx.post(f"{server.base_url}/responses", json=body).content
    lines = raw.decode().splitlines()
    dicts = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    ways: list[list[Any]] = [
        dicts,
        lines,
        [line + "\n" for line in lines],
        [line.encode() for line in lines],
        [raw[start : start + 1000] for start in range(0, len(raw), 1000)],
        [raw[start : start + 1] for start in range(len(raw))],
        [b"", *(each + b"\n\n" for each in raw.split(b"\n\n"))],
        [f"data: {json.dumps(each)}\n\n"[start : start + 40] for each in dicts for start in range(0, 9999, 40)],
        [json.dumps(each) for each in dicts],  # messages of a WebSocket
        [json.dumps(each).encode() for each in dicts],
        [decode_event(json.dumps(each)) for each in dicts],
    ]
    texts = {Capture.record(way).until_done().response.output_text for way in ways}
    assert len(texts) == 1
    assert Capture.record(raw.decode().splitlines(keepends=True)[:-20]).until_done().response.ending == "cut_off"


def test_what_is_no_event_is_kept_and_changes_nothing() -> None:
    recording = Capture.record([object(), [1], {"type": "response.output_text.delta", "delta": "x"}]).until_done()
    assert recording.response.output_text == "x"
    events = [message.event() for message in recording.capture if message.direction == "in"]
    assert [isinstance(event, InvalidEvent) for event in events] == [True, True, False]


def test_what_is_no_stream_is_refused_with_what_helps(server: DemoServer) -> None:
    fields: dict[str, Any] = {"model": "demo-echo", "input": "Hi"}
    with sdk(server) as client:
        whole = client.responses.create(**fields)
        with pytest.raises(TypeError, match=r"not Response: was it asked for without stream=True\?"):
            Capture.record(whole)
        with pytest.raises(TypeError, match="not Response"):
            show(whole)
        with pytest.raises(TypeError, match=r"not ResponseStreamManager: enter it first"):
            Capture.record(client.responses.stream(**fields))
    later = openai.AsyncOpenAI(base_url=server.base_url, api_key="any").responses.create(**fields, stream=True)
    with pytest.raises(TypeError, match="not coroutine: await it first"):
        Capture.record(later)
    for wrong in (None, "data: x", b"x", {"type": "x"}, 3):
        with pytest.raises(TypeError, match=f"takes a stream, not {type(wrong).__name__}"):
            Capture.record(wrong)


def test_show_raises_what_the_other_client_raised(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"type": "response.output_text.delta", "delta": "half an answer"}
        raise ConnectionError("gone")

    async def later() -> AsyncIterator[dict[str, Any]]:
        for each in broken():
            yield each

    with pytest.raises(ConnectionError, match="gone"):
        show(broken())
    assert "half an answer" in capsys.readouterr().out

    async def main() -> None:
        await show(later())  # type: ignore[misc]

    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(main())
    assert "half an answer" in capsys.readouterr().out


def test_a_failure_of_the_other_client_is_theirs_and_noted() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"type": "response.output_text.delta", "delta": "x"}
        raise ConnectionError("gone")

    recording = Capture.record(broken())
    with pytest.raises(ConnectionError):
        recording.until_done()
    assert (recording.response.ending, recording.response.output_text) == ("cut_off", "x")
    assert [m.facts()["error"] for m in recording.capture if m.kind == "ended"] == ["ConnectionError: gone"]


def test_show_takes_other_clients_streams(server: DemoServer, capsys: pytest.CaptureFixture[str]) -> None:
    with sdk(server) as client:
        show(client.responses.create(model="demo-echo", input="seen", stream=True))
    assert "seen" in capsys.readouterr().out

    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
            shown = show(await client.responses.create(model="demo-echo", input="seen later", stream=True))
            assert shown is not None
            await shown

    asyncio.run(main())
    assert "seen later" in capsys.readouterr().out
    with pytest.raises(TypeError, match="not int"):
        show(3)


def test_a_stream_that_is_looked_at_can_be_stopped(wait_until: Any) -> None:
    with DemoServer(delay=0) as server, sdk(server) as client:
        stream = watch(client.responses.create(model="demo-slow", input="Hi", stream=True))
        next(stream)
        stream.close()
        assert stream.ending == "interrupted"
        wait_until(lambda: not server.active)


def test_events_as_the_sdks_own(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client, client.stream("Hi", model="demo-text") as stream:
        events = list(stream)
    theirs = [event.to_openai() for event in events]
    assert type(theirs[0]).__name__ == "ResponseCreatedEvent"
    assert [each.type for each in theirs] == [event.type for event in events]
    assert theirs[-1].response.output_text == stream.response.output_text


def test_a_client_from_an_openai_client(server: DemoServer) -> None:
    theirs = openai.OpenAI(
        base_url=server.base_url, api_key="sk-theirs", organization="org", default_headers={"x-a": "1"},
        default_query={"q": "1"}, timeout=7.0, max_retries=5,
    )  # fmt: skip
    with Client.from_openai(theirs, max_retries=1) as client:
        assert "hello" in client.create("hello", model="demo-echo").output_text
        settings = client._api.settings
        assert (settings.max_retries, settings.timeouts.idle) == (1, 7.0)
        assert dict(settings.query) == {"q": "1"}
        sent = {name.lower(): value for name, value in settings.secret.headers().items()}
        assert (sent["authorization"], sent["openai-organization"], sent["x-a"]) == ("Bearer sk-theirs", "org", "1")
        assert "sk-theirs" not in repr(client)
    with pytest.raises(RequestError, match="not str"):
        Client.from_openai("client")


def test_a_client_from_an_azure_client() -> None:
    theirs = openai.AzureOpenAI(azure_endpoint="https://x.test", api_key="azure-key", api_version="2025-04-01-preview")
    with Client.from_openai(theirs) as client:
        settings = client._api.settings
        sent = {name.lower(): value for name, value in settings.secret.headers().items()}
    assert settings.base_url == "https://x.test/openai"
    assert dict(settings.query) == {"api-version": "2025-04-01-preview"}
    assert sent["api-key"] == "azure-key"
    assert "authorization" not in sent
