"""Text, reasoning and a tool call from servers that others wrote, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbresponses import Capture, Client, Rejected, ResponseCutOff

SERVERS = {
    "azagent": ("start-azagent.sh", "/readiness", "any"),
    "llama": ("start-llama-server.sh", "/health", "tiny"),
    "aimock": ("start-aimock.sh", "/v1/models", "gpt-5"),
}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PROMPTS = {
    "text": dict.fromkeys(SERVERS, "hello"),
    "reasoning": {"azagent": "please reason", "llama": "please reason", "aimock": "please reason"},
    "tool": {"azagent": "use the tool", "llama": "use the tool", "aimock": "use a tool"},
}


@pytest.fixture(params=SERVERS)
def peer(request: pytest.FixtureRequest, start: Callable[[str, str], str]) -> Iterator[tuple[str, str, Client]]:
    """(name, model, client) of each server."""
    script, ready, model = SERVERS[request.param]
    with Client(base_url=start(script, ready) + "/v1", api_key="none") as client:
        yield request.param, model, client


def ask(peer: tuple[str, str, Client], what: str, **fields: Any) -> Any:
    name, model, client = peer
    with client.stream(model=model, input=PROMPTS[what][name], max_output_tokens=400, **fields) as stream:
        events = list(stream)
    assert stream.ending == "completed", (stream.ending, stream.error)
    assert stream.error is None
    assert len(events) > 3
    assert len(stream.capture.events()) == len(events)
    assert not [event for event in events if event.type == "invalid"]
    return stream


def test_text(peer: tuple[str, str, Client]) -> None:
    stream = ask(peer, "text")
    deltas = "".join(event.delta for event in stream.capture.replay(speed=None) if event.type.endswith("text.delta"))
    assert len(stream.response.output_text) > 5
    assert deltas == stream.response.output_text


def test_reasoning(peer: tuple[str, str, Client]) -> None:
    stream = ask(peer, "reasoning")
    assert len(stream.response.reasoning_text) > 5
    assert len(stream.response.output_text) > 3
    assert stream.response.reasoning_text not in stream.response.output_text


def test_a_tool_call(peer: tuple[str, str, Client]) -> None:
    stream = ask(peer, "tool", tools=[WEATHER])
    [call] = stream.response.function_calls
    assert call.name == "get_weather"
    assert isinstance(json.loads(call.arguments), dict)
    assert call.call_id


def test_a_recorded_stream_is_the_same_when_it_is_replayed(peer: tuple[str, str, Client], tmp_path: Any) -> None:
    stream = ask(peer, "reasoning")
    path = tmp_path / "stream.jsonl"
    stream.capture.save(path)
    again = Capture.load(path).replay(speed=None)
    assert [event.payload for event in again] == [event.payload for event in stream.capture.replay(speed=None)]
    assert again.response.to_dict() == stream.response.to_dict()


def test_the_models_are_listed_where_the_server_lists_them(peer: tuple[str, str, Client]) -> None:
    name, _, client = peer
    if name == "azagent":
        with pytest.raises(Rejected) as caught:
            client.models()
        assert caught.value.status == 404
    else:
        assert client.models()


def test_a_cut_stream_keeps_what_came(start: Callable[[str, str], str]) -> None:
    with Client(base_url=start("start-aimock.sh", "/v1/models") + "/v1", api_key="none", max_retries=0) as client:
        stream = client.stream(model="gpt-4o", input="cut me")
        stream.until_done(timeout=30)
        assert stream.ending == "cut_off"
        assert stream.error is not None
        with pytest.raises(ResponseCutOff) as caught:
            stream.get_final_response()
        assert caught.value.response.output_text == stream.response.output_text
        assert caught.value.__cause__ is stream.error


@pytest.mark.parametrize(("prompt", "status"), [("rate limit", 429), ("server error", 500)])
def test_an_error_status_says_what_the_server_said(start: Callable[[str, str], str], prompt: str, status: int) -> None:
    with Client(base_url=start("start-aimock.sh", "/v1/models") + "/v1", api_key="none", max_retries=0) as client:
        with pytest.raises(Rejected) as caught:
            client.stream(model="gpt-4o", input=prompt).get_final_response()
        assert caught.value.status == status
        assert caught.value.error["message"] in {"Rate limit exceeded.", "Upstream blew up."}


def test_a_character_cut_in_two_is_put_together(start: Callable[[str, str], str]) -> None:
    with Client(base_url=start("start-llama-server.sh", "/health") + "/v1", api_key="none") as client:
        stream = client.stream(model="tiny", input="unicode please", max_output_tokens=60)
        text = stream.get_final_response().output_text
        assert text.encode()
        assert stream.ending in {"completed", "incomplete"}


def test_a_background_response_is_resumed_after_a_cut(start: Callable[[str, str], str]) -> None:
    with Client(base_url=start("start-azagent.sh", "/readiness") + "/v1", api_key="none") as client:
        whole = client.stream(model="any", input="slow", background=True, store=True)
        seen = []
        for event in whole:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
        whole.close()
        rest = client.stream(response_id=whole.id, starting_after=seen[-1].sequence_number)
        later = list(rest)
        assert later[0].sequence_number == (seen[-1].sequence_number or 0) + 1
        texts = [event.delta for event in [*seen, *later] if event.type == "response.output_text.delta"]
        assert "".join(texts) == "".join(f"{number} " for number in range(40))
