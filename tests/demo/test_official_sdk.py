"""The official `openai` package, which nobody here wrote, believes the demo server."""

from __future__ import annotations

import asyncio
import json
import time

import openai
import pytest
from pydantic import BaseModel

from nbresponses.demo import DemoServer
from nbresponses.demo.scenarios import SCENARIOS

# The SDK raises as soon as an event carries a nested error, which is how real servers send it.
RAISES = {"demo-failed": "The demo server failed on purpose."}
# get_final_response() wants a `response.completed`; these end otherwise, and on purpose.
ENDS_OTHERWISE = {"demo-incomplete", "demo-error"}
QUICK = {"demo_delay": "0", "demo_count": "200"}
WEATHER = {
    "type": "function",
    "name": "weather_at",
    "description": "The weather at a place.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture(scope="module")
def slow_client():
    with DemoServer(delay=0.02) as server, openai.OpenAI(base_url=server.base_url, api_key="any") as client:
        yield client


def test_create(client):
    response = client.responses.create(model="demo-echo", input="Hello")
    assert response.output_text == "Demo turn 1: Hello"
    assert response.status == "completed"
    assert response.usage.output_tokens == 5
    assert response._request_id.startswith("req_")


@pytest.mark.parametrize("model", sorted(set(SCENARIOS) - set(RAISES)))
def test_create_stream(client, model):
    events = list(client.responses.create(model=model, input="Hello", stream=True, metadata=QUICK))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    unknown = {event.type for event in events if type(event).__name__ in {"BaseModel", "object"}}
    assert unknown == set()
    assert events[-1].response.id == events[0].response.id


@pytest.mark.parametrize("model", sorted(SCENARIOS))
def test_stream_accumulates(client, model):
    with client.responses.stream(model=model, input="Hello", metadata=QUICK) as stream:
        if model in RAISES:
            with pytest.raises(openai.APIError, match=RAISES[model]):
                stream.until_done()
            return
        events = list(stream)
        snapshots = [event for event in events if event.type == "response.output_text.delta"]
        if model in ENDS_OTHERWISE:
            with pytest.raises(RuntimeError, match="completed"):
                stream.get_final_response()
            return
        final = stream.get_final_response()
    assert final.status == "completed"
    if snapshots and len(final.output) == 1:
        assert snapshots[-1].snapshot == final.output_text


def test_retrieve_and_input_items_and_delete(client):
    response = client.responses.create(model="demo-echo", input="Hello")
    assert client.responses.retrieve(response.id).output_text == response.output_text
    items = list(client.responses.input_items.list(response.id, limit=1))
    assert [item.content[0].text for item in items] == ["Hello"]
    client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_a_conversation(client):
    first = client.responses.create(model="demo-echo", input="One")
    second = client.responses.create(model="demo-echo", input="Two", previous_response_id=first.id)
    assert second.output_text == "Demo turn 2: Two"
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="demo-echo", input="Two", previous_response_id="resp_none")
    assert caught.value.code == "previous_response_not_found"
    assert caught.value.param == "previous_response_id"


def test_resume_by_create_and_retrieve(slow_client):
    stream = slow_client.responses.create(model="demo-echo", input="Hello", stream=True, background=True)
    seen = []
    for event in stream:
        seen.append(event)
        if event.sequence_number == 3:
            break
    stream.close()
    rest = list(slow_client.responses.retrieve(seen[0].response.id, stream=True, starting_after=3))
    events = seen + rest
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].response.output_text == "Demo turn 1: Hello"


def test_resume_by_stream(slow_client):
    with slow_client.responses.stream(model="demo-echo", input="Hello", background=True) as stream:
        for event in stream:
            if event.type == "response.created":
                response_id = event.response.id
            if event.sequence_number == 4:
                break
    with slow_client.responses.stream(response_id=response_id, starting_after=4) as stream:
        events = list(stream)
        assert events[0].sequence_number == 5
        assert stream.get_final_response().output_text == "Demo turn 1: Hello"


def test_cancel(slow_client):
    response = slow_client.responses.create(model="demo-slow", input="Hello", background=True)
    assert response.status == "queued"
    assert slow_client.responses.cancel(response.id).status == "cancelled"
    assert slow_client.responses.retrieve(response.id).status == "cancelled"


def test_background_by_polling(slow_client):
    response = slow_client.responses.create(model="demo-echo", input="Hello", background=True)
    end = time.monotonic() + 10
    while response.status in {"queued", "in_progress"} and time.monotonic() < end:
        time.sleep(0.02)
        response = slow_client.responses.retrieve(response.id)
    assert response.output_text == "Demo turn 1: Hello"


class City(BaseModel):
    name: str
    people: int


class Answer(BaseModel):
    cities: list[City]
    certain: bool


def test_parse_a_pydantic_format(client):
    response = client.responses.parse(model="demo-text", input="12 towns", text_format=Answer)
    assert response.output_parsed.cities[0].people == 12
    with client.responses.stream(model="demo-text", input="12 towns", text_format=Answer) as stream:
        assert stream.get_final_response().output_parsed == response.output_parsed


def test_a_function_tool_and_its_output(client):
    given = {"model": "demo-tools", "tools": [WEATHER]}
    with client.responses.stream(**given, input="And in Oslo?") as stream:
        events = list(stream)
        (call,) = stream.get_final_response().output
    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert deltas[-1].snapshot == call.arguments
    assert json.loads(call.arguments) == {"city": "Oslo"}
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    answer = client.responses.create(**given, input=[output], previous_response_id=events[-1].response.id)
    assert "`weather_at` returned: rain" in answer.output_text


# The SDK types the window as output items; the user messages in it are input, in the real API too.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_compact(client):
    window = client.responses.compact(model="demo-text", input=[{"role": "user", "content": "Hello"}])
    assert [item.type for item in window.output] == ["message", "compaction"]
    response = client.responses.create(model="demo-echo", input=[*window.output, {"role": "user", "content": "On"}])
    assert response.output_text == "Demo turn 2: On"


def test_models(client):
    assert {model.id for model in client.models.list()} == set(SCENARIOS)


def test_errors_have_their_classes(server):
    fault = {"demo_fault": "status:429"}
    with openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            client.responses.create(model="demo-echo", input="x", metadata=fault)
        assert caught.value.code == "rate_limit_exceeded"
        with pytest.raises(openai.AuthenticationError):
            client.responses.create(model="demo-echo", input="x", metadata={"demo_fault": "status:401"})


def test_retries_of_the_sdk_get_through(server):
    with openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=2) as client:
        fault = {"demo_fault": "status:429,times:2,retry_after:0.01"}
        assert client.responses.create(model="demo-echo", input="x", metadata=fault).status == "completed"


async def ask(base_url):
    async with (
        openai.AsyncOpenAI(base_url=base_url, api_key="any") as client,
        client.responses.stream(model="demo-reasoning", input="Hello") as stream,
    ):
        kinds = [event.type async for event in stream]
        return kinds, await stream.get_final_response()


def test_the_async_client(server):
    kinds, final = asyncio.run(ask(server.base_url))
    assert kinds[-1] == "response.completed"
    assert [item.type for item in final.output] == ["reasoning", "message"]
