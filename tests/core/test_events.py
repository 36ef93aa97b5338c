"""The table of events held against the catalogue and the official SDK; what an event is as a value."""

from __future__ import annotations

import copy
import json
import pickle
import typing
from pathlib import Path
from typing import Any

import openai.types.responses as official
import pandas as pd
import pytest

import nbresponses
from nbresponses.core.decode import decode_event
from nbresponses.core.events import (
    EVENT_TYPES,
    Event,
    InvalidEvent,
    Logprob,
    ResponseCompletedEvent,
    ResponseErrorEvent,
    ResponseTextDeltaEvent,
    TopLogprob,
    UnknownEvent,
    fitted,
)
from nbresponses.core.wire import WireObject

CATALOGUE: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "event_catalog.json").read_text(encoding="utf-8")
)
"""Event type → its fields and their JSON types; a question mark where a field is optional or null."""

LOGPROBS = [
    {
        "token": "a",
        "bytes": [97],
        "logprob": -0.5,
        "top_logprobs": [{"token": "b", "bytes": [98], "logprob": -1.5}],
    }
]


def value_of(name: str, kind: str, number: int) -> Any:
    if name == "logprobs":
        return LOGPROBS
    return {
        "object": {"id": f"{name}-{number}", "inner": {"list": [{"a": 1}]}, "none": None},
        "array": [{"id": f"{name}-{number}"}, "text"],
        "integer": 40 + number,
        "string": f"{name} €",
    }[kind.rstrip("?")]


def sample(type_: str) -> dict[str, Any]:
    fields = CATALOGUE[type_].items()
    return {"type": type_, **{name: value_of(name, kind, n) for n, (name, kind) in enumerate(fields)}}


def as_attribute(name: str, value: Any) -> Any:
    if name == "logprobs":
        return (Logprob("a", (97,), -0.5, (TopLogprob("b", (98,), -1.5),)),)
    return value


# ── The table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_has_the_types_of_the_catalogue_and_no_others() -> None:
    assert set(EVENT_TYPES) == set(CATALOGUE)
    assert len(EVENT_TYPES) == 62
    assert len(set(EVENT_TYPES.values())) == 62
    with pytest.raises(TypeError):
        EVENT_TYPES["x"] = Event  # type: ignore[index]


def test_classes_are_named_as_in_the_official_sdk() -> None:
    union = typing.get_args(typing.get_args(official.ResponseStreamEvent)[0])
    names = {typing.get_args(cls.model_fields["type"].annotation)[0]: cls.__name__ for cls in union}
    assert len(names) >= 59
    ours = {type_: cls.__name__ for type_, cls in EVENT_TYPES.items()}
    assert {type_: name for type_, name in ours.items() if type_ in names} == names
    for type_ in set(ours) - set(names):  # steering is no part of the union
        cls = getattr(official, ours[type_])
        assert typing.get_args(cls.model_fields["type"].annotation) == (type_,)


def test_every_class_is_public_and_says_what_it_is() -> None:
    for type_, cls in EVENT_TYPES.items():
        assert getattr(nbresponses, cls.__name__) is cls
        assert cls.type == type_
        assert cls.__doc__
        assert issubclass(cls, Event)


@pytest.mark.parametrize("type_", CATALOGUE)
def test_each_type_decodes_to_its_class_with_every_field(type_: str) -> None:
    sent = sample(type_)
    event = decode_event(json.dumps(sent))
    assert type(event) is EVENT_TYPES[type_]
    assert event.type == type_
    for name, value in sent.items():
        assert getattr(event, name) == as_attribute(name, value), name
    assert event.to_dict() == sent


@pytest.mark.parametrize("type_", CATALOGUE)
def test_any_field_may_be_missing_or_null(type_: str) -> None:
    for name, kind in CATALOGUE[type_].items():
        missing = {key: value for key, value in sample(type_).items() if key != name}
        event = decode_event(json.dumps(missing))
        assert type(event) is EVENT_TYPES[type_], name
        assert event.to_dict() == missing
        assert getattr(event, name) in (None, "", (), {}, []), name
        null = {**sample(type_), name: None}
        event = decode_event(json.dumps(null))
        required_text = kind == "string" and type(event) is UnknownEvent  # there is no text that null could mean
        assert type(event) is EVENT_TYPES[type_] or required_text, name
        assert event.type == type_
        assert event.to_dict() == null
        for other in CATALOGUE[type_]:
            getattr(event, other, None)


@pytest.mark.parametrize("type_", CATALOGUE)
def test_any_event_may_carry_more(type_: str) -> None:
    more = {"stream_id": "lane", "obfuscation": "xyz", "agent": {"name": "a"}, "unheard_of": [1, {"a": None}]}
    event = decode_event(json.dumps({**sample(type_), **more}))
    assert type(event) is EVENT_TYPES[type_]
    assert event.stream_id == "lane"
    assert event.to_dict() == {**sample(type_), **more}


# ── An event as a value ──────────────────────────────────────────────────────────────────────────────────────────────

CREATED = (
    '{"type":"response.created","response":{"id":"r","output":[{"type":"message"}],"items":1},"sequence_number":0}'
)


def test_opening_an_event_changes_nothing_about_it() -> None:
    event, other = decode_event(CREATED), decode_event(CREATED)
    event.response.id  # noqa: B018
    assert event == other
    assert hash(event) == hash(other)
    assert repr(event) == repr(other)
    assert pickle.loads(pickle.dumps(event)) == event  # noqa: S301
    assert copy.deepcopy(event) == event
    assert event != decode_event(CREATED.replace('"r"', '"s"'))


def test_events_are_frozen() -> None:
    event = decode_event('{"type":"response.output_text.delta","delta":"x"}')
    with pytest.raises(AttributeError):
        event.delta = "y"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        decode_event(CREATED).sequence_number = 1


def test_to_dict_is_new_each_time() -> None:
    event = decode_event(CREATED)
    event.to_dict()["response"]["output"].append(1)
    assert event.to_dict() == json.loads(CREATED)
    assert event.response == json.loads(CREATED)["response"]


def test_objects_are_rows_of_a_data_frame() -> None:
    events = [{"type": "response.output_item.added", "item": item} for item in ({"a": 1, "b": {"c": 2}}, {"a": 2})]
    frame = pd.DataFrame([decode_event(json.dumps(event)).item for event in events])  # type: ignore[attr-defined]
    assert frame["a"].tolist() == [1, 2]


def test_objects_read_by_attribute_and_by_key() -> None:
    response = decode_event(CREATED).response  # type: ignore[attr-defined]
    assert isinstance(response, WireObject)
    assert response.output[0].type == "message"
    assert response["items"] == 1
    assert response.usage is None
    with pytest.raises(KeyError):
        response["usage"]
    with pytest.raises(AttributeError):
        response.__wrapped__  # noqa: B018
    assert copy.deepcopy(response) == response
    assert pickle.loads(pickle.dumps(response)) == response  # noqa: S301


@pytest.mark.parametrize("response", ['"text"', "5", "null", "[]", "true"])
def test_what_should_be_an_object_and_is_not_reads_as_empty(response: str) -> None:
    event = decode_event(f'{{"type":"response.completed","response":{response}}}')
    assert isinstance(event, ResponseCompletedEvent)
    assert event.response == {}
    assert event.response.id is None
    assert event.to_dict()["response"] == json.loads(response)


def test_the_repr_is_short_and_has_no_payload() -> None:
    event = decode_event(json.dumps({"type": "response.output_text.delta", "delta": "d" * 1000, "output_index": 2}))
    assert repr(event).startswith("ResponseTextDeltaEvent(delta='ddd")
    assert "output_index=2" in repr(event)
    assert "payload" not in repr(event)
    assert len(repr(event)) < 150


def test_an_event_can_be_made_by_hand() -> None:
    event = ResponseTextDeltaEvent(delta="x", output_index=0, sequence_number=3)
    assert event.payload == b""
    assert event.to_dict() == {
        "type": "response.output_text.delta", "delta": "x", "output_index": 0, "sequence_number": 3,
    }  # fmt: skip
    assert ResponseCompletedEvent().response == {}
    scored = ResponseTextDeltaEvent(logprobs=(Logprob("a", (97,), -0.5),))
    assert json.loads(json.dumps(scored.to_dict()))["logprobs"][0]["token"] == "a"
    assert InvalidEvent().to_dict() == {}
    assert UnknownEvent().type == "message"


# ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"code": "c", "message": "m", "param": "p"}, (None, "c", "m", "p")),
        ({"error": {"type": "t", "code": "c", "message": "m", "param": None}}, ("t", "c", "m", None)),
        ({"error": {"message": "m"}, "code": "outer"}, (None, None, "m", None)),
        ({"error": {"code": 400}}, (None, 400, None, None)),
        ({"error": "m"}, (None, None, "m", None)),
        ({"error": None, "message": "m"}, (None, None, "m", None)),
        ({}, (None, None, None, None)),
    ],
)
def test_flat_and_nested_errors_read_alike(fields: dict[str, Any], expected: tuple[Any, ...]) -> None:
    event = decode_event(json.dumps({"type": "error", **fields}))
    assert isinstance(event, ResponseErrorEvent)
    assert tuple(event.error[name] for name in ("type", "code", "message", "param")) == expected
    assert (event.code, event.message, event.param) == expected[1:]


def test_an_error_has_the_status_of_websocket_mode() -> None:
    event = decode_event('{"type":"error","status":400,"error":{"code":"c"}}')
    assert isinstance(event, ResponseErrorEvent)
    assert event.status == 400


# ── What fits of an event that does not ──────────────────────────────────────────────────────────────────────────────


def test_the_fields_that_fit_can_be_had() -> None:
    event = decode_event('{"type":"response.output_text.delta","delta":"x","output_index":"0","item_id":"m"}')
    assert isinstance(event, UnknownEvent)
    known = fitted(event)
    assert isinstance(known, ResponseTextDeltaEvent)
    assert (known.delta, known.output_index, known.item_id, known.payload) == ("x", None, "m", event.payload)
    assert fitted(UnknownEvent(type="unheard.of")) is None
