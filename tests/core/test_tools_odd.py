"""Odd signatures, arguments and results: described or refused in words, and passed on as what they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from unittest.mock import Mock

import numpy as np
import pydantic
import pytest

from nbresponses.core.docstrings import read_docstring
from nbresponses.core.formats import format_of
from nbresponses.core.tools import ToolCall, text_of, tool_of
from nbresponses.core.wire import WireObject
from nbresponses.errors import FormatError, RequestError


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


@dataclass
class Owner:
    pets: list[Cat | Dog]


@dataclass
class Town:
    name: str
    people: int = 3


@pytest.mark.parametrize("type_", [dict, dict[str, Any], list[dict], dict | None])
def test_a_dict_of_any_keys_is_asked_for_without_strict_mode(type_: Any) -> None:
    def keep(facts: type_) -> None: ...  # type: ignore[valid-type]

    keep.__annotations__ = {"facts": type_}
    definition = tool_of(keep).definition
    assert definition["strict"] is False
    assert '"properties": {}' not in json.dumps(definition)  # an object that can hold nothing
    assert format_of(type_).body["strict"] is False


def test_optional_parameters_that_are_positional_only() -> None:
    def add(first: int = 1, second: int = 2, /, third: int = 3) -> tuple[int, int, int]:
        return first, second, third

    def made(arguments: str) -> tuple[int, int, int]:
        args, named = tool_of(add).read(arguments)
        return add(*args, **named)

    assert made('{"second": 5, "third": null}') == (1, 5, 3)
    assert made('{"third": 9}') == (1, 2, 9)
    assert made('{"first": null, "second": null, "third": null}') == (1, 2, 3)


@pytest.mark.parametrize("type_", [Cat | Dog, Pet, Cat | int, list[Cat | Dog], Owner])
def test_a_union_of_models_is_read_by_pydantic(type_: Any) -> None:
    format_ = format_of(type_)
    assert format_.body["strict"] is True
    sent: Any = {"kind": "cat", "lives": 9}
    value: Any = Cat(kind="cat", lives=9)
    if type_ is Owner:
        assert format_.read(json.dumps({"pets": [sent]})) == Owner([value])
        return
    if type_ == list[Cat | Dog]:
        sent, value = [sent], [value]
    assert format_.read(json.dumps({"value": sent})) == value
    with pytest.raises(FormatError, match="does not fit"):
        format_.read('{"value": {"kind": "bird"}}')


def test_the_notes_of_pydantic_are_told_and_hold() -> None:
    def buy(count: Annotated[int, pydantic.Field(ge=1, description="how many")]) -> None:
        """Buys."""

    tool = tool_of(buy)
    assert tool.definition["parameters"]["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
    }
    assert tool.read('{"count": 2}') == ([], {"count": 2})
    with pytest.raises(ValueError, match=r"(?s)argument 'count'.*greater than or equal to 1"):
        tool.read('{"count": 0}')


def test_a_class_is_a_function_that_makes_one() -> None:
    tool = tool_of(Town)
    assert tool.definition["parameters"]["properties"]["name"] == {"type": "string"}
    args, named = tool.read('{"name": "Oslo", "people": null}')
    assert Town(*args, **named) == Town("Oslo", 3)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (int, r"int\(\) does not tell its parameters"),
        (max, r"max\(\) does not tell its parameters"),
        (Mock(), r"a model cannot give \*args"),
    ],
)
def test_what_does_not_tell_its_parameters_is_refused(function: Any, text: str) -> None:
    with pytest.raises(RequestError, match=text):
        tool_of(function)


def test_a_type_without_a_schema_is_named() -> None:
    def number(value: complex) -> None: ...

    with pytest.raises(RequestError, match=r"parameter 'value': builtins\.complex has no JSON schema"):
        tool_of(number)


@pytest.mark.parametrize("arguments", [{"name": "Oslo"}, '{"name": "Oslo"}'])
def test_arguments_that_a_server_sends_as_an_object(arguments: Any) -> None:
    assert tool_of(Town).read(arguments) == ([], {"name": "Oslo"})
    item = WireObject({"type": "function_call", "name": "Town", "arguments": arguments})
    assert ToolCall(item, 1).arguments == {"name": "Oslo"}


@pytest.mark.parametrize("arguments", [[1], 3, "[1]"])
def test_arguments_that_are_no_object(arguments: Any) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        tool_of(Town).read(arguments)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([Cat(kind="cat", lives=9)], '[{"kind":"cat","lives":9}]'),
        ({"cat": Cat(kind="cat", lives=9)}, '{"cat":{"kind":"cat","lives":9}}'),
        ({"mean": np.float64(1.5), "n": np.int64(3)}, '{"mean":1.5,"n":3}'),
        (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
        (Town("Oslo"), '{"name":"Oslo","people":3}'),
        ({(1, 2): object}, "{(1, 2): <class 'object'>}"),
    ],
)
def test_results_go_back_as_json_where_they_have_one(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_docstrings_text_after_a_section_is_not_the_parameters() -> None:
    told, notes = read_docstring("Adds.\n\nExample::\n\n    add(1)\n\nArgs:\n    a: one\n        more\n\nIt is quick.")
    assert (told, notes) == ("Adds.\n\nIt is quick.", {"a": "one more"})
