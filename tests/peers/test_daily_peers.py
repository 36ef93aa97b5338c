"""What users do every day, with servers that others wrote: tool rounds, background, resume, cancel, objects.

What a server cannot do is a named outcome, never a hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbresponses import Client, FormatError, NBResponsesError, ProtocolError, Rejected, Timeouts
from nbresponses.errors import ResponseCancelled, ResponseCutOff

SERVERS = {
    "azagent": ("start-azagent.sh", "/readiness", "any"),
    "llama": ("start-llama-server.sh", "/health", "tiny"),
    "aimock": ("start-aimock.sh", "/v1/models", "gpt-5"),
}
LIMITS = Timeouts(first_byte=20, idle=20, total=60)
PROMPTS = {"azagent": "use the tool", "llama": "use the tool", "aimock": "use a tool"}


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


@pytest.fixture(params=SERVERS)
def peer(request: pytest.FixtureRequest, start: Callable[[str, str], str]) -> Iterator[tuple[str, str, Client]]:
    """(name, model, client) of each server."""
    script, ready, model = SERVERS[request.param]
    with Client(base_url=start(script, ready) + "/v1", api_key="none", timeout=LIMITS) as client:
        yield request.param, model, client


@pytest.fixture
def azagent(start: Callable[[str, str], str]) -> Iterator[Client]:
    script, ready, _ = SERVERS["azagent"]
    with Client(base_url=start(script, ready) + "/v1", api_key="none", timeout=LIMITS) as client:
        yield client


@pytest.mark.parametrize("store", [None, False])
def test_a_tool_round(peer: tuple[str, str, Client], store: bool | None) -> None:
    name, model, client = peer
    fields: dict[str, Any] = {} if store is None else {"store": store}
    # The tiny model calls again whenever the words are there: its last round is cut by the limit.
    run = client.run(PROMPTS[name], model=model, tools=[get_weather], max_rounds=2, max_output_tokens=400, **fields)
    assert run.calls[0].outcome == "ok", run.calls
    assert str(run.calls[0].output).startswith("sunny in ")
    assert len(run.rounds) >= 2
    if name == "llama":
        return
    assert run.ending == "answered"
    # aimock takes previous_response_id and forgets all the same: it needs store=False (docs/servers.md).
    assert ("sunny" in run.output_text) is (name == "azagent" or store is False)


def test_answers_as_objects_or_a_named_reason(peer: tuple[str, str, Client]) -> None:
    name, model, client = peer
    response = client.create("hello", model=model, max_output_tokens=60, text_format=list[int])
    if name == "llama":  # its grammar holds even a tiny model to the schema, as far as its tokens go
        assert response.ending in {"completed", "incomplete"}
        assert response.parsed_so_far is None or isinstance(response.parsed_so_far, list)
    else:  # scripted: they know nothing of formats
        with pytest.raises(FormatError) as caught:
            _ = response.parsed
        assert caught.value.reason == "invalid"


def test_a_background_response_is_taken_up_after_every_event(azagent: Client) -> None:
    with azagent.stream("please reason", model="any", background=True) as stream:
        events = list(stream)
        whole = stream.response
    assert stream.ending == "completed"
    for cut in range(len(events) - 1):
        after = events[cut].sequence_number
        with azagent.stream(response_id=whole.id, starting_after=after) as again:
            rest = list(again)
        assert again.ending == "completed", (cut, again.error)
        assert [event.sequence_number for event in rest] == [event.sequence_number for event in events[cut + 1 :]]
        assert again.response.output_text == whole.output_text


def test_a_running_response_is_taken_up_and_cancelled(azagent: Client) -> None:
    with azagent.stream("slow please", model="any", background=True) as stream:
        for event in stream:
            if event.type.endswith("text.delta"):
                break
        id_, last = stream.id, stream.last_sequence_number
    assert id_ is not None
    with azagent.stream(response_id=id_, starting_after=last) as again:
        first = next(again)
        assert first.sequence_number == (last or 0) + 1
        azagent.cancel(id_)
        again.until_done(timeout=30)
    assert again.ending in {"cancelled", "failed", "incomplete", "cut_off"}
    with pytest.raises((ResponseCancelled, ResponseCutOff, NBResponsesError)):
        again.get_final_response()
    assert azagent.retrieve(id_).status == "cancelled"


def test_taking_up_what_a_server_does_not_keep_is_a_clear_error(peer: tuple[str, str, Client]) -> None:
    _, _, client = peer
    began = time.monotonic()
    with pytest.raises((Rejected, ProtocolError)) as caught:
        client.stream(response_id="resp_none").get_final_response()
    assert str(caught.value)
    assert time.monotonic() - began < 60


def test_what_background_does_where_it_is_not_known(peer: tuple[str, str, Client]) -> None:
    name, model, client = peer
    stream = client.stream("hello", model=model, background=True, max_output_tokens=20)
    stream.until_done(timeout=60)
    if stream.error is None:
        assert stream.ending in {"completed", "incomplete"}
    else:
        assert name != "azagent"
        assert isinstance(stream.error, NBResponsesError)


def test_many_prompts(peer: tuple[str, str, Client]) -> None:
    _, model, client = peer
    frame = client.map(["hello", "hello again", "please reason"], model=model, max_output_tokens=40, progress=False)
    assert set(frame["ending"]) <= {"completed", "incomplete"}
    assert frame["text"].str.len().gt(0).sum() >= 2


def test_an_interrupt_leaves_no_task_behind(peer: tuple[str, str, Client]) -> None:
    _, model, client = peer

    def stop(city: str) -> str:
        """Interrupts."""
        raise KeyboardInterrupt

    stop.__name__ = "get_weather"
    streams: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        client.run(PROMPTS[peer[0]], model=model, tools=[stop], on_stream=streams.append, max_output_tokens=400)
    assert streams[0].response.function_calls
    assert streams[0].ending == "completed"
