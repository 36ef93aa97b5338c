"""Structured output: what is asked for, what is read, and why there is nothing to read."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.core.formats import format_of
from nbresponses.core.partial_json import open_partial
from nbresponses.core.request import Request
from nbresponses.core.response import Response
from nbresponses.core.strict import is_strict
from nbresponses.errors import FormatError, RequestError


class Model(pydantic.BaseModel):
    name: str
    age: int


@dataclass
class Data:
    name: str
    age: int


class Typed(TypedDict):
    name: str
    age: int


class Struct(msgspec.Struct):
    name: str
    age: int


TEXT = '{"name": "Ada", "age": 36}'


def answer(text: str | None, *, ending: str = "completed", **more: Any) -> Response:
    content = [] if text is None else [{"type": "output_text", "text": text}]
    return Response({"output": [{"type": "message", "content": content}], **more}, ending=ending)


def read(wanted: Any, response: Response) -> Any:
    response.format = format_of(wanted)
    return response.parsed


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Model, Model(name="Ada", age=36)),
        (Data, Data("Ada", 36)),
        (Typed, {"name": "Ada", "age": 36}),
        (Struct, Struct("Ada", 36)),
    ],
)
def test_an_answer_becomes_an_object_of_the_type_asked_for(type_: Any, value: Any) -> None:
    format_ = format_of(type_)
    assert format_.body["name"] == type_.__name__
    assert format_.body["strict"] is True
    assert is_strict(format_.body["schema"])
    assert set(format_.body["schema"]["properties"]) == {"name", "age"}
    assert read(type_, answer(TEXT)) == value


@pytest.mark.parametrize("type_", [list[Data], list[Model], int, Data | None])
def test_a_type_that_is_no_object_is_wrapped_and_unwrapped(type_: Any) -> None:
    format_ = format_of(type_)
    assert is_strict(format_.body["schema"])
    assert list(format_.body["schema"]["properties"]) == ["value"]
    person = {"name": "Ada", "age": 36}
    sent = {list[Data]: [person], list[Model]: [person], int: 7}.get(type_, person)
    made = {list[Data]: [Data(**person)], list[Model]: [Model(**person)], int: 7}.get(type_, Data(**person))
    assert read(type_, answer(json.dumps({"value": sent}))) == made
    with pytest.raises(FormatError, match="no 'value'"):
        read(type_, answer("{}"))


def test_a_schema_goes_out_as_it_is_and_brings_plain_objects() -> None:
    schema = {"title": "A person!", "type": "object", "properties": {"name": {"type": "string"}}}
    assert format_of(schema).body == {"type": "json_schema", "name": "A_person", "schema": schema, "strict": False}
    assert read(schema, answer(TEXT)) == {"name": "Ada", "age": 36}
    assert format_of({"type": "json_object"}).body == {"type": "json_object"}
    with pytest.raises(RequestError, match="says nothing"):
        format_of({})
    with pytest.raises(RequestError, match=r"no schema can be made of it: builtins\.object"):
        format_of(object)
    for value in (object(), ["secret"], "secret", print):  # an error does not tell what a variable holds
        with pytest.raises(RequestError, match=f"a type or a JSON schema is expected, not {type(value).__name__}$"):
            format_of(value)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (answer('{"name": "Ada"'), "invalid"),
        (answer('{"name": "Ada", "age": "old"}'), "invalid"),
        (answer("{}"), "invalid"),
        (answer(None), "absent"),
        (answer('{"name": "A', ending="incomplete", incomplete_details={"reason": "max_output_tokens"}), "incomplete"),
        (answer('{"name": "A', ending="cut_off"), "incomplete"),
        (
            Response(
                {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]}, ending="completed"
            ),
            "refused",
        ),
    ],
)
@pytest.mark.parametrize("type_", [Model, Struct])
def test_why_there_is_no_object(type_: Any, response: Response, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(type_, response)
    assert caught.value.reason == reason


def test_no_object_and_no_error_while_it_runs_or_calls_a_tool() -> None:
    assert read(Model, answer('{"name": "A', ending=None)) is None  # type: ignore[arg-type]
    assert read(Model, Response({"output": [{"type": "function_call", "name": "f"}]}, ending="completed")) is None
    assert answer(TEXT).parsed is None  # no format was given


def test_comments_before_the_answer_and_fences_around_it() -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "message", "content": [{"type": "output_text", "text": f"```json\n{TEXT}\n```"}]},
    ]
    assert read(Data, Response({"output": output}, ending="completed")) == Data("Ada", 36)


def test_a_request_carries_the_format_in_its_text_field() -> None:
    request = Request("x", model="m", text_format=Data, text={"verbosity": "low"})
    assert request.body["text"] == {"verbosity": "low", "format": format_of(Data).body}
    assert "text_format" not in request.body
    with pytest.raises(RequestError, match=r"text\.format"):
        Request("x", text_format=Data, text={"format": {"type": "text"}})


# ── Partial ──


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("   ", None),
        ("{", {}),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name":', {}),
        ('{"name": "A', {"name": "A"}),
        ('{"name": "A\\', {"name": "A"}),
        ('{"name": "A\\\\', {"name": "A\\"}),
        ('{"name": "A\\u00e', {"name": "A"}),
        ('{"name": "A\\\\u00e', {"name": "A\\u00e"}),
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": tru', {}),
        ('[1, {"b": [2, "x', [1, {"b": [2, "x"]}]),
        ('[{"a": 1}, {"b', [{"a": 1}, {}]),
        ("[]", []),
        ("not JSON", None),
        ("}{", None),
    ],
)
def test_a_text_that_goes_on_is_read_as_far_as_it_goes(text: str, value: Any) -> None:
    assert open_partial(text) == value


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES.filter(lambda value: isinstance(value, (dict, list))), st.booleans())
def test_every_beginning_of_a_text_grows_into_the_whole(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert open_partial(text) == value
    for end in range(1, len(text)):
        part = open_partial(text[:end])
        assert type(part) is type(value), text[:end]
        assert len(part) <= len(value)


def test_a_text_of_open_brackets_is_read_in_linear_time() -> None:
    began = time.monotonic()
    for text in ("[" * 200_000, '{"a":' * 100_000):
        assert open_partial(text) is None  # too deep for any reader
    assert time.monotonic() - began < 20  # each bracket costs the same; it was minutes


def test_an_answer_nested_too_deeply_is_an_invalid_one() -> None:
    with pytest.raises(FormatError, match="nested too deeply") as caught:
        format_of(dict[str, int]).read("[" * 20_000)
    assert caught.value.reason == "invalid"
