"""What the user asks for → the body: what passes through, what is refused and by which name, how it becomes JSON."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
import pytest

from nbresponses.core.request import NOT_GIVEN, Request, checked_body, encode_body
from nbresponses.core.wire import WireObject
from nbresponses.errors import RequestError

ITEM = {"role": "user", "content": "hi"}


def test_fields_pass_through_unchanged():
    fields = {
        "model": "m",
        "input": [ITEM],
        "unheard_of": {"a": [1, None]},
        "temperature": 1,
        "tools": ({"type": "x"},),
    }
    assert Request(**fields).body == fields


def test_what_is_none_is_sent_and_what_is_not_given_is_not():
    body = Request("hi", previous_response_id=None, instructions=None, model=NOT_GIVEN).body
    assert body == {"input": "hi", "previous_response_id": None, "instructions": None}
    assert not NOT_GIVEN
    assert repr(NOT_GIVEN) == "NOT_GIVEN"


def test_extra_body_is_laid_over_the_fields_unchecked():
    body = Request("hi", model="m", extra_body={"model": "other", "temperature": "hot", "more": 1}).body
    assert body == {"input": "hi", "model": "other", "temperature": "hot", "more": 1}
    assert Request(extra_body={"input": "from a whole body"}).body == {"input": "from a whole body"}


@pytest.mark.parametrize("source", [{"previous_response_id": "r"}, {"conversation": "c"}, {"prompt": {"id": "p"}}])
def test_something_to_answer_is_enough(source):
    assert Request(**source).body == source


@pytest.mark.parametrize("fields", [{}, {"model": "m"}, {"input": None}, {"previous_response_id": None}])
def test_nothing_to_answer(fields):
    with pytest.raises(RequestError, match="nothing to answer") as caught:
        Request(**fields)
    assert caught.value.field == "input"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", 5),
        ("instructions", ["a"]),
        ("temperature", "1"),
        ("temperature", True),
        ("max_output_tokens", 1.5),
        ("max_output_tokens", True),
        ("store", "yes"),
        ("background", 1),
        ("tools", {"type": "x"}),
        ("tools", "web_search"),
        ("include", "all"),
        ("metadata", [1]),
        ("reasoning", "high"),
        ("text", "json"),
        ("tool_choice", 1),
        ("previous_response_id", 3),
    ],
)
def test_a_wrong_type_is_named_and_its_value_is_not_shown(field, value):
    with pytest.raises(RequestError, match=f"^{field}: must be") as caught:
        Request("x", **{field: value})
    assert caught.value.field == field
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (5, "input"),
        (b"x", "input"),
        (ITEM, "input"),
        ({1}, "input"),
        ([ITEM, "text"], "input[1]"),
        ([None], "input[0]"),
    ],
)
def test_an_input_that_is_none(value, field):
    with pytest.raises(RequestError) as caught:
        Request(value)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("text", "text"),
        ("", ""),
        ([], []),
        ([ITEM], [ITEM]),
        ((ITEM,), [ITEM]),
        ([WireObject(ITEM)], [ITEM]),
        ([MappingProxyType(ITEM)], [ITEM]),
    ],
)
def test_an_input_that_is_one(value, sent):
    assert json.loads(encode_body(Request(value).body))["input"] == sent


def test_fields_of_the_other_transport():
    for field in ("stream_id", "generate"):
        with pytest.raises(RequestError, match="WebSocket") as caught:
            Request("x", **{field: "a"})
        assert caught.value.field == field
        with pytest.raises(RequestError):
            Request("x", extra_body={field: "a"})
        checked_body({"input": "x", field: "a"}, transport="websocket")
    for field in ("stream", "background"):
        with pytest.raises(RequestError):
            checked_body({"input": "x", field: True}, transport="websocket")
        Request("x", **{field: True})


def test_two_histories():
    with pytest.raises(RequestError, match="conversation"):
        Request("x", previous_response_id="r", conversation="c")


def test_background():
    assert Request("x", background=True).background
    assert Request(extra_body={"input": "x", "background": True}).background
    assert not Request("x").background


def test_resume():
    request = Request(response_id="r", starting_after=0)
    assert (request.response_id, request.starting_after, request.body) == ("r", 0, {})
    for wrong in ({"starting_after": 1}, {"response_id": " "}, {"response_id": "r", "starting_after": True}):
        with pytest.raises(RequestError):
            Request(**wrong)


def test_a_request_is_not_changed_from_outside_and_shows_no_contents():
    request = Request("private words", model="m")
    request.body["input"] = "other"
    assert request.body["input"] == "private words"
    assert repr(request) == "Request(model='m', fields=['input', 'model'])"
    assert repr(Request(response_id="r")) == "Request(response_id='r', starting_after=None)"


# ── JSON ──


@dataclass
class Point:
    x: int


class Struct(msgspec.Struct):
    y: int


class Dumping:
    def model_dump(self, *, mode, exclude_unset):
        assert (mode, exclude_unset) == ("json", True)
        return {"role": "user"}


class Telling:
    def to_dict(self):
        return {"z": 1}


def test_values_that_know_their_json():
    body = {"a": Point(1), "b": Struct(2), "c": Dumping(), "d": [Telling()], "e": OrderedDict(k=1), "f": {1}}
    assert json.loads(encode_body(body)) == {
        "a": {"x": 1},
        "b": {"y": 2},
        "c": {"role": "user"},
        "d": [{"z": 1}],
        "e": {"k": 1},
        "f": [1],
    }


def test_text_is_utf_8_and_a_lone_surrogate_its_escape():
    assert encode_body({"a": "é\u2028€"}) == '{"a":"é\u2028€"}'.encode()
    assert encode_body({"a": "\ud83d!"}) == b'{"a":"\\ud83d!"}'
    assert json.loads(encode_body({"a": "\ud83d!"})) == {"a": "\ud83d!"}


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], object(), {"k": lambda: 1}, {(1, 2): 3}])
def test_what_has_no_json_names_its_field(value):
    with pytest.raises(RequestError, match="cannot be sent as JSON") as caught:
        encode_body({"fine": 1, "wrong": value})
    assert caught.value.field == "wrong"


def test_a_circle_names_its_field():
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(RequestError) as caught:
        encode_body({"wrong": circle})
    assert caught.value.field == "wrong"
