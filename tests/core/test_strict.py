"""Strict mode: what need not be there is asked for as a value or null, and null is read as its absence."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from nbresponses.core.formats import format_of
from nbresponses.core.schemas import Shape, schema_of
from nbresponses.core.strict import is_strict, strict, without_nulls
from nbresponses.core.tools import tool_of
from nbresponses.errors import FormatError, RequestError


class Typed(TypedDict):
    name: str
    age: NotRequired[int]
    born: NotRequired[int | None]


class Loose(TypedDict, total=False):
    name: str


@dataclass
class Data:
    name: str
    age: int = 36
    tags: list[str] = field(default_factory=lambda: ["a"])
    born: int | None = 1815


class Struct(msgspec.Struct):
    name: str
    age: int = 36


class Model(pydantic.BaseModel):
    name: str
    age: int = 36
    tags: list[str] = pydantic.Field(default_factory=lambda: ["a"], description="what it is about")


@dataclass
class Shelf:
    first: Data
    others: list[Data] = field(default_factory=list)
    named: dict[str, Data] | None = None


@dataclass
class Nested:
    inner: Data = field(default_factory=lambda: Data("nobody"))
    maybe: Data | None = None


NULLS: list[tuple[Any, dict[str, Any], Any]] = [
    (Typed, {"name": "Ada", "age": None, "born": None}, {"name": "Ada", "born": None}),
    (Loose, {"name": None}, {}),
    (Data, {"name": "Ada", "age": None, "tags": None, "born": None}, Data("Ada", 36, ["a"], None)),
    (Struct, {"name": "Ada", "age": None}, Struct("Ada")),
    (Model, {"name": "Ada", "age": None, "tags": None}, Model(name="Ada")),
    (Nested, {"inner": None, "maybe": None}, Nested()),
    (
        Nested,
        {"inner": None, "maybe": {"name": "Ada", "age": None, "tags": None, "born": 1}},
        Nested(maybe=Data("Ada", born=1)),
    ),
]


@pytest.mark.parametrize(("type_", "sent", "meant"), NULLS)
def test_null_stands_for_what_need_not_be_there(type_: Any, sent: dict[str, Any], meant: Any) -> None:
    format_ = format_of(type_)
    schema = format_.body["schema"]
    assert format_.body["strict"] is True
    assert is_strict(schema)
    assert set(schema["required"]) == set(sent)
    assert format_.read(json.dumps(sent)) == meant
    shorter = {name: value for name, value in sent.items() if value is not None or name == "born"}
    assert format_.read(json.dumps(shorter)) == meant  # as a server without strict mode sends it


def test_the_schema_says_null_only_where_something_need_not_be_there() -> None:
    properties = format_of(Data).body["schema"]["properties"]
    assert properties == {
        "name": {"type": "string"},
        "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "born": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }
    described = format_of(Model).body["schema"]["properties"]["tags"]
    assert described["description"] == "what it is about"
    assert "description" not in described["anyOf"][0]


def test_a_null_where_a_value_must_be_is_refused() -> None:
    with pytest.raises(FormatError, match="name"):
        format_of(Data).read('{"name": null, "age": null, "tags": null, "born": null}')


def test_nulls_at_any_depth() -> None:
    sent = {"name": "Ada", "age": None, "tags": None, "born": 1}
    value = {"first": sent, "others": [sent, {**sent, "age": 1}], "named": {"x": sent}}
    ada = Data("Ada", born=1)
    assert Shape.of(Shelf).read(value) == Shelf(ada, [ada, Data("Ada", 1, born=1)], {"x": ada})
    assert format_of(list[Data]).read(json.dumps({"value": [sent]})) == [ada]


class Cat(msgspec.Struct, tag="cat"):
    lives: int = 9


class Dog(msgspec.Struct, tag="dog"):
    lives: int | None = 1
    tricks: int = 0


class Fish(msgspec.Struct, tag="fish"):
    lives: int = 2


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"type": "cat", "lives": None}, Cat(9)),
        ({"type": "fish", "lives": None}, Fish(2)),
        ({"type": "dog", "lives": None, "tricks": None}, Dog(None, 0)),
    ],
)
def test_in_a_union_the_class_that_was_written_decides(sent: dict[str, Any], meant: Any) -> None:
    assert Shape.of(list[Cat | Dog | Fish]).read([sent]) == [meant]


def test_a_schema_that_refers_to_itself() -> None:
    schema = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    asked = strict(schema)
    assert asked is not None
    assert is_strict(asked)
    assert asked["$defs"]["Node"]["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    assert without_nulls({"next": {"next": {"next": None}}}, schema) == {"next": {"next": {}}}


def find(place: Data, near: Typed | None = None, kind: Literal["a", "b"] = "a", limit: int = 3) -> Any:
    """Finds."""
    return place, near, kind, limit


def test_functions_read_their_nulls_the_same_way() -> None:
    tool = tool_of(find)
    parameters = tool.definition["parameters"]
    assert (tool.definition["strict"], is_strict(parameters)) == (True, True)
    place = {"name": "Ada", "age": None, "tags": None, "born": 1}
    given = {"place": place, "near": {"name": "x", "age": None, "born": None}, "kind": None, "limit": None}
    args, named = tool.read(json.dumps(given))
    assert find(*args, **named) == (Data("Ada", born=1), {"name": "x", "born": None}, "a", 3)


# ── Classes of pydantic and their own errors ──


@pydantic.dataclasses.dataclass
class Counted:
    name: str
    count: int = pydantic.Field(gt=0)
    notes: list[str] = pydantic.Field(default_factory=list)


@dataclass
class Holder:
    counted: Counted


@pytest.mark.parametrize("type_", [Counted, list[Counted], Counted | None, Holder])
def test_a_dataclass_of_pydantic_is_read_by_pydantic(type_: Any) -> None:
    format_ = format_of(type_)
    assert format_.body["strict"] is True
    assert '"exclusiveMinimum": 0' in json.dumps(format_.body)
    good, bad = ({"name": "x", "count": count, "notes": None} for count in (1, 0))
    made = Counted("x", 1)

    def text(sent: dict[str, Any]) -> str:
        wrapped = {Counted: sent, Holder: {"counted": sent}}.get(type_)
        return json.dumps(wrapped or {"value": [sent] if type_ == list[Counted] else sent})

    assert format_.read(text(good)) == {Holder: Holder(made)}.get(type_, [made] if type_ == list[Counted] else made)
    with pytest.raises(FormatError, match="greater than 0"):
        format_.read(text(bad))


def test_a_function_takes_a_dataclass_of_pydantic() -> None:
    def store(what: Counted, near: Annotated[Counted | None, "beside it"] = None) -> str:
        """Stores."""
        return f"{what.name} {near}"

    tool = tool_of(store)
    args, named = tool.read('{"what": {"name": "x", "count": 2, "notes": null}, "near": null}')
    assert store(*args, **named) == "x None"
    with pytest.raises(ValueError, match=r"(?s)argument 'what'.*greater than 0"):
        tool.read('{"what": {"name": "x", "count": 0}}')


@dataclass
class Picky:
    name: str

    def __post_init__(self) -> None:
        raise KeyError(self.name)


def test_what_a_class_itself_raises_is_told_as_it_is() -> None:
    with pytest.raises(FormatError, match="KeyError: 'Ada'") as caught:
        format_of(list[Picky]).read('{"value": [{"name": "Ada"}]}')
    assert caught.value.reason == "invalid"
    assert isinstance(caught.value.__cause__, KeyError)

    def take(who: Picky) -> None:
        """Takes."""

    with pytest.raises(ValueError, match="argument 'who': KeyError: 'Ada'"):
        tool_of(take).read('{"who": {"name": "Ada"}}')


def test_a_type_that_pydantic_cannot_read_is_refused_in_words() -> None:
    @dataclass
    class Mixed:
        counted: Counted
        struct: Struct

    with pytest.raises(RequestError, match="no schema can be made of it"):
        format_of(Mixed)
    assert schema_of(Counted)["required"] == ["name", "count"]
