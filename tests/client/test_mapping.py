"""`map`: many prompts, a frame in their order, failures as rows, and going on from the capture file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbresponses import Capture
from nbresponses.client import AsyncClient, Client
from nbresponses.demo import DemoServer
from nbresponses.errors import RequestError

PROMPTS = [f"prompt {number}" for number in range(7)]


@pytest.fixture
def server() -> Any:
    with DemoServer(delay=0) as server:
        yield server


def posts(server: DemoServer) -> list[Any]:
    return [request.body for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize("lanes", [False, True])
def test_a_row_for_each_prompt_in_order(server: DemoServer, lanes: bool) -> None:
    with Client(base_url=server.base_url) as client:
        frame = client.map(PROMPTS, model="demo-echo", concurrency=3, progress=False, lanes=lanes)
    assert list(frame["prompt"]) == PROMPTS
    assert all(prompt in text for prompt, text in zip(frame["prompt"], frame["text"], strict=True))
    assert all("turn 1" in text for text in frame["text"])  # none continues another
    assert set(frame["ending"]) == {"completed"}
    assert frame["output_tokens"].gt(0).all()
    assert frame["response_id"].is_unique
    assert server.sockets == (1 if lanes else 0)


def test_failures_are_rows(server: DemoServer) -> None:
    prompts = ["good", {"input": "bad", "model": "demo-failed"}, {"input": "no", "model": "demo-none"}]
    with Client(base_url=server.base_url, max_retries=0) as client:
        frame = client.map(prompts, model="demo-echo", progress=False)
        assert client.map([], model="demo-echo", progress=False).empty
    assert list(frame["ending"][:2]) == ["completed", "failed"]
    assert "on purpose" in frame["error"][1]
    assert "does not exist" in frame["error"][2]
    assert "fail soon" in frame["text"][1]


def test_what_cannot_be_sent_is_an_error(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        for bad in ("one text", [{"model": 3, "input": "x"}]):
            with pytest.raises(RequestError):
                client.map(bad, progress=False)
        table = pd.DataFrame({"input": ["x"]})
        for bad in (table, {"input": "x"}):  # which would be taken for the prompt "input"
            with pytest.raises(RequestError, match="a list of prompts, or a column"):
                client.map(bad, model="demo-echo", progress=False)
        with pytest.raises(RequestError, match="concurrency"):
            client.map(["x"], concurrency=0)
        assert not posts(server)
        assert list(client.map(table["input"], model="demo-echo", progress=False)["prompt"]) == ["x"]


def test_it_goes_on_from_its_capture_file(server: DemoServer, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Client(base_url=server.base_url, max_retries=0) as client:
        options: dict[str, Any] = {"model": "demo-echo", "progress": False, "capture": path}
        failing = [*PROMPTS[:3], {"input": "x", "model": "demo-failed"}]
        first = client.map(failing, **options)
        assert len(posts(server)) == 4
        again = client.map([*PROMPTS[:2], "another", "x", *PROMPTS], **options)
    assert list(again["from_file"]) == [True, True, *[False] * 9]
    assert list(again["text"][:2]) == list(first["text"][:2])
    assert list(again["response_id"][:2]) == list(first["response_id"][:2])
    assert len(posts(server)) == 4 + 9
    with path.open("ab") as file:
        file.write(b'{"at": 1, "direc')  # a crash in mid-line
    with Client(base_url=server.base_url) as client:
        third = client.map([*PROMPTS[:2], "another", "x"], model="demo-echo", progress=False, capture=path)
    assert third["from_file"].all()


@pytest.mark.parametrize("lanes", [False, True])
def test_what_ends_it_carries_the_frame_so_far(server: DemoServer, tmp_path: Path, lanes: bool) -> None:
    path = tmp_path / "run.jsonl"
    prompts = ["one", {"input": "slow", "model": "demo-slow"}, "two", "three"]
    options: dict[str, Any] = {"model": "demo-echo", "concurrency": 1, "progress": False, "text_format": dict}
    opened: list[Any] = []

    async def main() -> Any:
        async with AsyncClient(base_url=server.base_url) as client:
            real = client.stream
            client.stream = lambda **fields: opened.append(real(**fields)) or opened[-1]  # type: ignore[method-assign]
            mapping = asyncio.create_task(client.map(prompts, capture=path, lanes=lanes, **options))

            def streams() -> Any:
                return server.created.get("slow") if lanes else opened[1:] and opened[1].response.output_text

            while not streams():  # noqa: ASYNC110  the server tells nobody
                await asyncio.sleep(0.01)
            mapping.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await mapping
            return caught.value

    error = asyncio.run(main())
    frame = error.partial
    assert list(frame["prompt"]) == ["one", "slow", "two", "three"]
    assert list(frame["ending"].fillna("none")) == ["completed", "interrupted", "none", "none"]
    assert list(frame["error"][1:]) == ["interrupted", "not sent", "not sent"]
    assert lanes or frame["text"][1]
    assert "1 answers to 4 prompts" in error.__notes__[0]
    kept = {message.lane for message in Capture.load(path) if message.kind == "ended"}
    assert kept == {"prompt 0", "prompt 1"}


def test_answers_as_objects(server: DemoServer) -> None:
    with Client(base_url=server.base_url) as client:
        frame = client.map(
            ["a", {"input": "b", "model": "demo-refusal"}], model="demo-text", text_format=list[int], progress=False
        )
    assert isinstance(frame["parsed"][0], list)
    assert "refused" in frame["error"][1]


def test_the_asynchronous_face_and_the_bar(server: DemoServer, capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> Any:
        async with AsyncClient(base_url=server.base_url) as client:
            return await client.map(PROMPTS, model="demo-echo")

    assert len(asyncio.run(main())) == 7
    assert "7/7" in capsys.readouterr().err


def test_an_empty_file_has_no_answers(server: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "run.jsonl"
    path.touch()
    with Client(base_url=server.base_url) as client:
        for known in (False, True):
            frame = client.map(PROMPTS, model="demo-echo", progress=False, capture="~/run.jsonl")
            assert set(frame["from_file"]) == {known}
    assert path.stat().st_size
