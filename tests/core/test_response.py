"""A response read from wire objects of every shape, whole or broken: what it says, and that it never fails."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresponses.core.response import Response, error_of

WIRE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-5",
    "created_at": 1718000000,
    "usage": {"input_tokens": 1, "output_tokens_details": {"reasoning_tokens": 7}},
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "**A**"}, {"type": "summary_text", "text": "**B**"}],
        },
        {"type": "reasoning", "summary": [{"text": "not shown"}], "content": [{"type": "reasoning_text", "text": "C"}]},
        {
            "type": "message",
            "content": [
                {
                    "type": "output_text",
                    "text": "Hello",
                    "annotations": [{"type": "url_citation", "url": "https://example.test"}],
                    "logprobs": [{"token": "Hello", "logprob": -0.5}],
                },
                {"type": "output_text", "text": " there"},
                {"type": "refusal", "refusal": "No."},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "image_generation_call", "result": "aW1n"},
        {"type": "image_generation_call", "result": None},
        {"type": "mcp_call", "arguments": "{}"},
        {"type": "unheard_of", "x": 1},
        {"type": "message", "content": [{"type": "output_text", "text": "!", "annotations": [], "logprobs": []}]},
    ],
}


def test_a_whole_response_says_what_it_holds() -> None:
    response = Response(WIRE)
    assert (response.id, response.status, response.model) == ("resp_1", "completed", "gpt-5")
    assert response.output == WIRE["output"]
    assert response.output_text == "Hello there!"
    assert response.reasoning_text == "**A**\n\n**B**\n\nC"
    assert response.refusal == "No."
    assert [call.name for call in response.function_calls] == ["f"]
    assert response.images == ["aW1n"]
    assert response.annotations == [{"type": "url_citation", "url": "https://example.test"}]
    assert response.annotations[0].url == "https://example.test"
    assert response.logprobs[0].logprob == -0.5
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens == 7
    assert response.created_at == 1718000000
    assert response.unheard_of is None
    assert (response.partial_images, response.audio, response.audio_transcript) == ([], None, "")
    assert (response.ending, response.error, response.incomplete_details) == (None, None, None)
    assert response.to_dict() == WIRE


def test_what_an_accumulator_adds() -> None:
    response = Response(
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        ending="incomplete",
        error={"type": None, "code": "c", "message": "m", "param": None},
        partial_images=["YQ=="],
        audio="YXU=",
        audio_transcript="au",
    )
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert (response.ending, response.partial_images) == ("incomplete", ["YQ=="])
    assert (response.audio, response.audio_transcript) == ("YXU=", "au")
    assert response.error == {"type": None, "code": "c", "message": "m", "param": None}


def test_an_empty_response_is_empty_and_not_zero() -> None:
    for response in (Response(), Response({}), Response({"usage": None, "output": None}), Response({"usage": {}})):
        assert response.usage is None
        assert response.output == []
        assert (response.id, response.status, response.model, response.error) == (None, None, None, None)
        assert (response.output_text, response.reasoning_text, response.refusal) == ("", "", None)
        assert (response.function_calls, response.images, response.annotations, response.logprobs) == ([], [], [], [])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, None),
        ({}, None),
        ("", None),
        ("boom", (None, None, "boom", None)),
        ({"code": "c", "message": "m"}, (None, "c", "m", None)),
        ({"type": "t", "code": 429, "message": "m", "param": "p"}, ("t", 429, "m", "p")),
        ({"error": {"type": "t", "message": "m"}}, ("t", None, "m", None)),
        ({"error": "boom"}, (None, None, "boom", None)),
        ({"error": None, "message": "m"}, (None, None, "m", None)),
        ({"detail": "m"}, (None, None, "m", None)),
        (["boom"], (None, None, "['boom']", None)),
    ],
)
def test_errors_of_any_shape_read_alike(error: Any, expected: tuple[Any, ...] | None) -> None:
    found = error_of(error)
    assert found == (expected and dict(zip(("type", "code", "message", "param"), expected, strict=True)))
    assert Response({"error": error}).error == found


def test_the_first_error_that_was_reported_stands_before_the_response_s_own() -> None:
    reported = {"type": "t", "code": "first", "message": "m", "param": None}
    assert Response({"error": {"code": "second"}}, error=reported).error == reported


def test_a_response_is_a_value() -> None:
    response = Response(WIRE, ending="completed")
    assert response == Response(copy.deepcopy(WIRE), ending="completed")
    assert response != Response(WIRE)
    assert response != WIRE
    with pytest.raises(TypeError):
        hash(response)
    assert copy.deepcopy(response) == response
    assert pickle.loads(pickle.dumps(response)) == response  # noqa: S301
    response.to_dict()["output"].clear()
    assert len(response.output) == 9
    response.partial_images.append("x")
    assert response.partial_images == []


def test_the_repr_names_the_items_and_shows_no_text() -> None:
    assert repr(Response({**WIRE, "output": WIRE["output"][2:4]}, ending="completed")) == (
        "Response(id='resp_1', status='completed', ending='completed', output=['message', 'function_call'])"
    )


def test_names_with_an_underscore_are_not_of_the_wire() -> None:
    with pytest.raises(AttributeError):
        Response({"_repr_html_": "x"})._repr_html_  # noqa: B018


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text"]), inner, max_size=2),
    max_leaves=5,
)
_parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["output_text", "refusal", "reasoning_text", "summary_text"])},
    optional=dict.fromkeys(("text", "refusal", "annotations", "logprobs"), _values),
)
_items = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "image_generation_call", "x"]) | _values},
    optional={
        "content": _values | st.lists(_parts, max_size=2),
        "summary": _values | st.lists(_parts, max_size=2),
        "result": _values,
        "arguments": _values,
    },
)
_names = ("id", "status", "model", "usage", "error", "incomplete_details")
_wires = st.fixed_dictionaries(
    {}, optional={"output": _values | st.lists(_items | _values, max_size=3), **dict.fromkeys(_names, _values)}
)


@settings(max_examples=150)
@given(wire=_wires)
def test_no_wire_object_makes_it_fail(wire: dict[str, Any]) -> None:
    response = Response(wire)
    for name in (*_names, "output", "images", "function_calls", "annotations", "logprobs", "ending", "audio"):
        getattr(response, name)
    assert isinstance(response.output_text + response.reasoning_text + (response.refusal or ""), str)
    assert all(isinstance(item, dict) for item in response.output)
    assert json.dumps(response.to_dict()) == json.dumps(wire)
    assert repr(response)


def test_a_deeply_nested_response_is_copied() -> None:
    nested: Any = "here"
    for _ in range(700):
        nested = [nested]
    copy = Response({"id": "resp_1", "metadata": {"deep": nested}}).to_dict()["metadata"]["deep"]
    assert copy is not nested
    for _ in range(700):
        [copy] = copy
    assert copy == "here"
