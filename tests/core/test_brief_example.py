"""The worked example of the reference: a whole small stream on the wire, without `event:` lines, step by step."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

import nbresponses
from nbresponses import Accumulator, EventDecoder, SSEDecoder, decode_event

STREAM = b"""\
data: {"type":"response.created","response":{"id":"resp_abc123","object":"response","status":"queued","created_at":1718000000,"model":"gpt-4o","output":[],"tools":[],"tool_choice":"auto","parallel_tool_calls":true,"top_p":1,"temperature":1},"sequence_number":0}

data: {"type":"response.queued","response":{"id":"resp_abc123","object":"response","status":"queued","created_at":1718000000,"model":"gpt-4o","output":[],"tools":[],"tool_choice":"auto","parallel_tool_calls":true,"top_p":1,"temperature":1},"sequence_number":1}

data: {"type":"response.in_progress","response":{"id":"resp_abc123","status":"in_progress","object":"response","created_at":1718000000,"model":"gpt-4o","output":[],"tools":[],"tool_choice":"auto","parallel_tool_calls":true,"top_p":1,"temperature":1},"sequence_number":2}

data: {"type":"response.output_item.added","output_index":0,"item":{"id":"item_1","type":"message","role":"assistant","content":[],"status":"in_progress"},"sequence_number":3}

data: {"type":"response.content_part.added","output_index":0,"item_id":"item_1","content_index":0,"part":{"type":"output_text","text":"","annotations":[]},"sequence_number":4}

data: {"type":"response.output_text.delta","output_index":0,"item_id":"item_1","content_index":0,"delta":"Hello","sequence_number":5,"logprobs":[{"token":"Hello","logprob":-0.01}]}

data: {"type":"response.output_text.delta","output_index":0,"item_id":"item_1","content_index":0,"delta":" world","sequence_number":6,"logprobs":[{"token":" world","logprob":-0.02}]}

data: {"type":"response.output_text.done","output_index":0,"item_id":"item_1","content_index":0,"text":"Hello world","sequence_number":7,"logprobs":[{"token":"Hello","logprob":-0.01},{"token":" world","logprob":-0.02}]}

data: {"type":"response.content_part.done","output_index":0,"item_id":"item_1","content_index":0,"part":{"type":"output_text","text":"Hello world","annotations":[]},"sequence_number":8}

data: {"type":"response.output_item.done","output_index":0,"item":{"id":"item_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello world","annotations":[]}],"status":"completed"},"sequence_number":9}

data: {"type":"response.completed","response":{"id":"resp_abc123","status":"completed","output":[{"id":"item_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello world","annotations":[]}],"status":"completed"}],"object":"response","created_at":1718000000,"model":"gpt-4o","tools":[],"tool_choice":"auto","parallel_tool_calls":true,"top_p":1,"temperature":1,"usage":{"input_tokens":9,"output_tokens":2,"total_tokens":11}},"sequence_number":10}

"""  # noqa: E501

LOGPROBS = [{"token": "Hello", "logprob": -0.01}, {"token": " world", "logprob": -0.02}]

STEPS = [
    # class, kind of the change, its delta, text so far, status, ending
    ("ResponseCreatedEvent", "response", None, "", "queued", None),
    ("ResponseQueuedEvent", "response", None, "", "queued", None),
    ("ResponseInProgressEvent", "response", None, "", "in_progress", None),
    ("ResponseOutputItemAddedEvent", "item", None, "", "in_progress", None),
    ("ResponseContentPartAddedEvent", "text", None, "", "in_progress", None),
    ("ResponseTextDeltaEvent", "text", "Hello", "Hello", "in_progress", None),
    ("ResponseTextDeltaEvent", "text", " world", "Hello world", "in_progress", None),
    ("ResponseTextDoneEvent", "text", None, "Hello world", "in_progress", None),
    ("ResponseContentPartDoneEvent", "text", None, "Hello world", "in_progress", None),
    ("ResponseOutputItemDoneEvent", "item", None, "Hello world", "in_progress", None),
    ("ResponseCompletedEvent", "response", None, "Hello world", "completed", "completed"),
]
PAYLOADS = [line.removeprefix("data: ") for line in STREAM.decode().split("\n") if line]


def test_the_wire_has_no_event_names() -> None:
    decoder = SSEDecoder()
    events = decoder.feed(STREAM)
    assert [event.event for event in events] == [None] * 11
    assert [event.data for event in events] == PAYLOADS
    assert decoder.finish() == []


def test_the_events_are_typed_and_lose_nothing() -> None:
    events = EventDecoder().feed(STREAM)
    assert [type(event).__name__ for event in events] == [step[0] for step in STEPS]
    assert all(type(event) is getattr(nbresponses, step[0]) for event, step in zip(events, STEPS, strict=True))
    assert [event.to_dict() for event in events] == [json.loads(payload) for payload in PAYLOADS]
    assert [event.sequence_number for event in events] == list(range(11))
    assert events == [decode_event(payload) for payload in PAYLOADS]
    created, delta = events[0], events[5]
    assert created.response.id == "resp_abc123"  # type: ignore[attr-defined]
    assert created.response.usage is None  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        created.response["usage"]  # type: ignore[attr-defined]
    assert delta.logprobs[0].logprob == -0.01  # type: ignore[attr-defined]


def test_each_event_changes_what_it_should() -> None:
    accumulator = Accumulator()
    kept = []
    for event, (_, kind, delta, text, status, ending) in zip(EventDecoder().feed(STREAM), STEPS, strict=True):
        (change,) = accumulator.apply(event)
        assert change.event is event
        assert change.part == (kind, 0 if kind == "text" else None)
        assert change.output_index == (None if kind == "response" else 0)
        assert change.delta == delta
        kept.append((change, text if kind == "text" else ""))
        assert accumulator.response.output_text == text
        assert accumulator.response.status == status
        assert accumulator.ending == ending
    assert [change.snapshot for change, _ in kept] == [text for _, text in kept], "true after all that came later"
    assert accumulator.finish() == []
    response = accumulator.response
    assert response.id == "resp_abc123"
    assert response.usage is not None
    assert response.usage.total_tokens == 11
    assert response.logprobs == LOGPROBS, "the terminal event leaves them out; they were streamed"
    last = json.loads(PAYLOADS[-1])["response"]
    assert {**response.to_dict(), "output": None} == {**last, "output": None}


def test_any_two_cuts_give_the_same_events() -> None:
    whole = EventDecoder().feed(STREAM)
    for a, b in combinations(range(0, len(STREAM), 37), 2):
        decoder = EventDecoder()
        assert decoder.feed(STREAM[:a]) + decoder.feed(STREAM[a:b]) + decoder.feed(STREAM[b:]) == whole
