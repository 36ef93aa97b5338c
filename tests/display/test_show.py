"""`show`, the settled bundle and the facts below an answer."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from nbresponses import AsyncClient, Client, DemoServer, Response, show
from nbresponses.display import settled, status_line


def test_outside_ipython_plain_text_is_printed(events: Any, played: Any, capsys: Any) -> None:
    stream = played(events("An answer.")).until_done()
    show(stream)
    out = capsys.readouterr().out
    assert out.startswith("An answer.\n\n[a-model · completed · ")
    show(stream)
    assert capsys.readouterr().out == out
    show(stream.response)
    assert capsys.readouterr().out == "An answer.\n\n[a-model · completed · 10 tokens]\n"


def test_a_running_stream_is_followed(events: Any, played: Any, capsys: Any) -> None:
    stream = played(events("a ", "b"), speed=5.0)
    show(stream)
    assert stream.ending == "completed"
    assert capsys.readouterr().out.startswith("a b\n[a-model · completed · ")


async def _asynchronous(url: str) -> Any:
    async with (
        AsyncClient(base_url=url, api_key="any") as client,
        client.stream(model="demo-echo", input="x") as stream,
    ):
        await stream.until_done()
        return stream


def test_an_asynchronous_stream(capsys: Any) -> None:
    import asyncio

    with DemoServer(delay=0) as server:
        show(asyncio.run(_asynchronous(server.base_url)))
    assert capsys.readouterr().out.startswith("Demo turn 1: x\n\n[demo-echo · completed · ")


def test_asynchronous_streams_that_run_are_followed(capsys: Any) -> None:
    import asyncio

    async def two(url: str) -> list[str | None]:
        async with AsyncClient(base_url=url, api_key="any") as client:
            first, second = (client.stream(model="demo-echo", input=text) for text in ("one", "two"))
            async with first, second:
                await asyncio.gather(show(first), show(second))  # type: ignore[arg-type]
                await show(first)  # type: ignore[misc]  # once more, at its end
                return [first.ending, second.ending]

    with DemoServer(delay=0.01) as server:
        assert asyncio.run(two(server.base_url)) == ["completed", "completed"]
    printed = capsys.readouterr().out
    assert "Demo turn 1: one\n\n[demo-echo · completed" in printed
    assert printed.count("[demo-echo · completed") == 3


@pytest.mark.parametrize("wrong", [None, "text", {"output": []}, Client])
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"show\(\) takes a stream, a response, a capture or lanes, not "):
        show(wrong)  # type: ignore[arg-type]


def test_facts_in_the_metadata(events: Any, played: Any) -> None:
    _, metadata = settled(played(events("x")).until_done())
    assert metadata == {
        "nbresponses": {
            "model": "a-model",
            "response_id": "r",
            "status": "completed",
            "ending": "completed",
            "usage": {"output_tokens": 10},
        }
    }


def test_times_come_from_the_stream(events: Any, played: Any) -> None:
    stream = played(events(*["word "] * 3), speed=2.0)
    stream.until_done()
    line = status_line(stream.response, stream)
    assert line.elapsed == stream.timing.ended
    assert line.first_token == stream.timing.first_text
    assert line.output_tokens == 10
    span = stream.timing.ended - stream.timing.first_event
    assert line.tokens_per_second == pytest.approx(10 / span)
    assert status_line(Response({"status": "completed"})).elapsed is None


def test_states(played: Any, events: Any) -> None:
    stream = played(events("word"), speed=0.5)
    seen = [status_line(stream.response, stream).state]
    for _ in stream:
        state = status_line(stream.response, stream).state
        if state != seen[-1]:
            seen.append(state)
    assert seen in (["waiting", "streaming", "completed"], ["waiting", "streaming"], ["streaming", "completed"])
    assert status_line(stream.response, stream).state == "completed"


def test_how_long_reasoning_took(played: Any) -> None:
    item = {"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "Hm."}]}
    steps = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "t"}},
        *[{"type": "response.in_progress", "response": {}}] * 4,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}},
    ]
    stream = played(steps, speed=1.0).until_done()
    data, _ = settled(stream)
    found = re.search(r"Reasoning · ([\d.]+) s", data["text/plain"])
    assert found is not None
    assert 0.5 <= float(found[1]) < 5, "0.5 s of recorded time; a busy machine needs longer"


def test_importing_display_needs_no_ipython() -> None:
    code = "import sys, nbresponses.display.show; print('IPython' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.strip() == "False False"
