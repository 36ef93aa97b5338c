"""Functions as tools: their schemas, how calls are read, and what answers them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from nbresponses.core.docstrings import read_docstring
from nbresponses.core.schemas import schema_of
from nbresponses.core.strict import is_strict, strict
from nbresponses.core.tools import ToolCall, answer_item, calls_in, refusal_item, tool_of
from nbresponses.core.wire import WireObject
from nbresponses.errors import RequestError


class Author(pydantic.BaseModel):
    name: str


class Book(pydantic.BaseModel):
    title: str
    authors: list[Author] = []


@dataclass
class Place:
    city: str
    altitude: float = 0.0


class Tag(TypedDict):
    label: str


class Tree(msgspec.Struct):
    children: list[Tree] = []


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius", days: int | None = None) -> str:
    """The weather of a city.

    Args:
        city: where,
            as a name
        unit (str): how it is told

    Returns:
        a text
    """
    return f"{city} {unit} {days}"


def test_a_function_is_described_by_its_signature_and_docstring() -> None:
    assert tool_of(weather).definition == {
        "type": "function",
        "name": "weather",
        "description": "The weather of a city.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "where, as a name"},
                "unit": {
                    "anyOf": [{"enum": ["celsius", "fahrenheit"]}, {"type": "null"}],
                    "description": "how it is told",
                },
                "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["city", "unit", "days"],
            "additionalProperties": False,
        },
    }


def test_null_stands_for_a_default_that_strict_mode_cannot_leave_out() -> None:
    args, named = tool_of(weather).read('{"city": "Oslo", "unit": null, "days": null}')
    assert weather(*args, **named) == "Oslo celsius None"


def lend(book: Book, to: Place, tags: list[Tag], parent: Tree | None = None) -> None: ...


def test_models_dataclasses_typed_dicts_and_structs_are_read_as_themselves() -> None:
    tool = tool_of(lend)
    assert tool.definition["strict"] is True
    assert is_strict(tool.definition["parameters"])
    _, given = tool.read(
        '{"book": {"title": "T", "authors": [{"name": "A"}]}, "to": {"city": "Oslo", "altitude": 3},'
        ' "tags": [{"label": "x"}], "parent": {"children": [{"children": []}]}}'
    )
    assert given == {
        "book": Book(title="T", authors=[Author(name="A")]),
        "to": Place("Oslo", 3.0),
        "tags": [{"label": "x"}],
        "parent": Tree([Tree()]),
    }


@pytest.mark.parametrize("type_", [Book, Place, Tag, Tree, list[Book], dict[str, Book]])
def test_every_reference_of_a_schema_leads_somewhere(type_: Any) -> None:
    schema = schema_of(type_)
    names = set(schema.get("$defs", {}))

    def walk(value: Any) -> None:
        for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(entry)
        if isinstance(value, dict) and "$ref" in value:
            assert value["$ref"].removeprefix("#/$defs/") in names

    walk(schema)


def test_what_takes_any_key_or_value_has_no_strict_form() -> None:
    def loose(table: dict[str, int], anything, pair: tuple[int, str] = (1, "")):  # type: ignore[no-untyped-def]
        """Anything."""

    assert strict(schema_of(dict[str, int])) is None
    definition = tool_of(loose).definition
    assert definition["strict"] is False
    assert definition["parameters"]["required"] == ["table", "anything"]
    assert definition["parameters"]["additionalProperties"] is False
    with pytest.raises(RequestError, match="no strict form"):
        tool_of(loose, strict_mode=True)
    assert tool_of(weather, strict_mode=False).definition["parameters"]["required"] == ["city"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"city": 1}', "argument 'city': Expected `str`, got `int`"),
        ("{}", "missing a required argument: 'city'"),
        ('{"city": "Oslo", "town": "x"}', "unknown argument 'town'"),
        ('{"city": "Os', "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"city": "Oslo", "unit": "kelvin"}', "argument 'unit'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_words(arguments: str, text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        tool_of(weather).read(arguments)


def test_annotations_partials_methods_and_positional_parameters() -> None:
    class Shop:
        def price(self, _item: Annotated[str, "what is bought"], /, count: int = 1) -> float:
            """The price."""
            return count * 2.0

    tool = tool_of(Shop().price)
    assert tool.definition["parameters"]["properties"]["_item"]["description"] == "what is bought"
    args, named = tool.read('{"_item": "pen", "count": 3}')
    assert tool.function(*args, **named) == 6.0
    bound = tool_of(functools.partial(weather, unit="celsius"))
    assert (bound.name, bound.definition["description"]) == ("weather", "The weather of a city.")
    assert bound.definition["parameters"]["properties"]["city"]["description"] == "where, as a name"


def test_what_no_model_can_call_is_refused() -> None:
    def several(*names: str) -> None: ...

    with pytest.raises(RequestError, match=r"\*names"):
        tool_of(several)
    with pytest.raises(RequestError, match="no name for a tool"):
        tool_of(lambda: None)


@pytest.mark.parametrize(
    "text",
    [
        "Adds.\n\nArgs:\n    a (int): one\n    b: two\n\nReturns:\n    c: three",
        "Adds.\n\nParameters\n----------\na : int\n    one\nb\n    two\n\nReturns\n-------\nint\n    three",
        "Adds.\n\n:param int a: one\n:param b: two\n:returns: three",
    ],
)
def test_three_styles_of_docstrings(text: str) -> None:
    assert read_docstring(text) == ("Adds.", {"a": "one", "b": "two"})


# ── Calls and answers ──


def test_half_written_calls_and_those_the_server_ran_are_not_offered() -> None:
    output: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a', "status": "incomplete"},
        {"type": "function_call", "call_id": "2", "name": "f", "arguments": "{}"},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "shell_call", "call_id": "3", "status": "completed"},
        {"type": "shell_call_output", "call_id": "3"},
        {"type": "web_search_call", "id": "w"},
        {"type": "mcp_approval_request", "id": "m"},
    ]
    assert [item.get("call_id") or item.get("id") for item in calls_in(output)] == ["2", "m"]


@pytest.mark.parametrize(
    ("call", "output", "item"),
    [
        ({"type": "function_call", "call_id": "1"}, {"a": [1]}, {"call_id": "1", "output": '{"a":[1]}'}),
        ({"type": "function_call", "call_id": "1"}, Book(title="T"), {"output": '{"title":"T","authors":[]}'}),
        ({"type": "function_call", "call_id": "1"}, None, {"output": "null"}),
        ({"type": "function_call", "call_id": "1"}, 1 + 2j, {"output": "(1+2j)"}),
        (
            {"type": "function_call", "call_id": "1", "caller": {"type": "program"}},
            "x",
            {"output": "x", "caller": {"type": "program"}},
        ),
        (
            {"type": "function_call", "call_id": "1"},
            {"type": "input_image", "image_url": "data:"},
            {"output": [{"type": "input_image", "image_url": "data:"}]},
        ),
        ({"type": "custom_tool_call", "call_id": "1"}, "rows", {"type": "custom_tool_call_output", "output": "rows"}),
        ({"type": "mcp_approval_request", "id": "m"}, True, {"approval_request_id": "m", "approve": True}),
        ({"type": "mcp_approval_request", "id": "m"}, 1, {"approve": False}),
        ({"type": "mcp_approval_request", "id": "m"}, "no", {"approve": False, "reason": "no"}),
        ({"type": "apply_patch_call", "call_id": "1"}, True, {"status": "completed", "output": ""}),
        ({"type": "apply_patch_call", "call_id": "1"}, False, {"status": "failed"}),
        ({"type": "local_shell_call", "call_id": "1"}, "out", {"id": "1", "output": "out"}),
        (
            {"type": "shell_call", "call_id": "1"},
            "out",
            {"output": [{"stdout": "out", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
        ),
    ],
)
def test_each_call_is_answered_in_the_shape_of_its_kind(
    call: dict[str, Any], output: Any, item: dict[str, Any]
) -> None:
    answered = answer_item(call, output)
    assert answered.items() >= item.items()


def test_a_refusal_is_an_answer_too() -> None:
    assert refusal_item({"type": "function_call", "call_id": "1"}, "no")["output"] == "no"
    assert refusal_item({"type": "mcp_approval_request", "id": "m"}, "no")["approve"] is False
    assert refusal_item({"type": "apply_patch_call", "call_id": "1"}, "no")["status"] == "failed"
    assert refusal_item({"type": "shell_call", "call_id": "1"}, "no")["output"][0]["outcome"]["exit_code"] == 1


def test_a_call_knows_its_parsed_arguments() -> None:
    call = ToolCall(WireObject(type="function_call", name="f", arguments='{"a": 1}'), 1)
    assert (call.name, call.arguments, call.outcome) == ("f", {"a": 1}, "waiting")
    assert ToolCall(WireObject(type="function_call", arguments='{"a'), 1).arguments == '{"a'
    assert ToolCall(WireObject(type="custom_tool_call", input="select"), 1).arguments == "select"
