"""What a request can ask for beside its text: limits, formats, log probabilities, tools."""

from __future__ import annotations

import json
import math

import pytest

WEATHER = {
    "type": "function",
    "name": "weather_at",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    "strict": True,
}
SQL = {"type": "custom", "name": "sql", "description": "Runs SQL."}


def items_of(events, kind):
    return [item for item in events[-1]["response"]["output"] if item["type"] == kind]


def text_of(events):
    return items_of(events, "message")[-1]["content"][0]["text"]


@pytest.mark.parametrize("limit", [1, 7])
def test_max_output_tokens_makes_it_incomplete(stream, limit):
    final = stream("demo-text", max_output_tokens=limit)[-1]
    assert final["type"] == "response.incomplete"
    assert final["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert final["response"]["usage"]["output_tokens"] == limit
    assert final["response"]["max_output_tokens"] == limit


def test_a_limit_that_is_not_reached_changes_nothing(stream):
    used = stream()[-1]["response"]["usage"]["output_tokens"]
    assert stream(max_output_tokens=used)[-1]["type"] == "response.completed"


def test_a_limit_within_the_reasoning_leaves_no_message(stream):
    final = stream("demo-reasoning", max_output_tokens=5)[-1]["response"]
    assert [item["type"] for item in final["output"]] == ["reasoning"]


def test_a_limit_within_a_call_leaves_its_arguments_cut(stream):
    final = stream("demo-tools", max_output_tokens=6)[-1]["response"]
    assert [item["status"] for item in final["output"]] == ["incomplete", "incomplete"]
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(final["output"][0]["arguments"])


def test_obfuscation_hides_lengths_and_can_be_left_out(stream):
    deltas = [event for event in stream("demo-text") if event["type"] == "response.output_text.delta"]
    assert {len(event["delta"] + event["obfuscation"]) % 16 for event in deltas} == {0}
    assert len({event["obfuscation"] for event in deltas}) > len(deltas) // 2
    plain = stream("demo-text", stream_options={"include_obfuscation": False})
    assert not any("obfuscation" in event for event in plain)
    assert not any("obfuscation" in event for event in stream("demo-refusal"))


def test_logprobs_come_on_request(stream):
    events = stream("demo-echo", include=["message.output_text.logprobs"], top_logprobs=3)
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    done = next(event for event in events if event["type"] == "response.output_text.done")
    assert done["logprobs"] == [entry for event in deltas for entry in event["logprobs"]]
    for event in deltas:
        (entry,) = event["logprobs"]
        assert entry["token"] == event["delta"]
        assert bytes(entry["bytes"]).decode() == event["delta"]
        assert 0 < math.exp(entry["logprob"]) < 1
        top = [other["logprob"] for other in entry["top_logprobs"]]
        assert len(top) == 3
        assert top == sorted(top, reverse=True)
    assert events[-1]["response"]["output"][0]["content"][0]["logprobs"] == done["logprobs"]
    assert all(event["logprobs"] == [] for event in stream() if event["type"] == "response.output_text.delta")


def test_json_schema_gives_json_that_fits(stream):
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        },
        "required": ["name", "tags", "score", "next"],
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}
        },
    }
    events = stream("demo-text", text={"format": {"type": "json_schema", "name": "x", "schema": schema}})
    answer = json.loads(text_of(events))
    assert isinstance(answer["name"], str)
    assert answer["tags"] == ["a", "a"]
    assert 0 <= answer["score"] <= 1
    assert "next" in answer
    assert events[-1]["response"]["text"]["format"]["schema"] == schema


def test_json_object_gives_an_object(stream):
    answer = json.loads(text_of(stream("demo-reasoning", text={"format": {"type": "json_object"}})))
    assert answer == {"demo": True, "prompt": "Hello there"}


def test_own_tools_are_called_with_fitting_arguments(stream):
    events = stream("demo-tools", "Weather for 5 days?", tools=[WEATHER, SQL])
    (call,) = items_of(events, "function_call")
    assert json.loads(call["arguments"]) == {"city": "Oslo", "days": 5}
    assert call["call_id"].startswith("call_")
    (custom,) = items_of(events, "custom_tool_call")
    assert (custom["name"], custom["input"]) == ("sql", "Weather for 5 days?")


def test_outputs_of_calls_are_answered_with_text(stream):
    first = stream("demo-tools", tools=[WEATHER, SQL])[-1]["response"]
    outputs = [
        {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": f"{item['name']} says 12 degrees"}
        for item in first["output"]
    ]
    events = stream("demo-tools", outputs, tools=[WEATHER, SQL], previous_response_id=first["id"])
    assert "`weather_at` returned: weather_at says 12 degrees" in text_of(events)
    assert "`sql` returned: sql says 12 degrees" in text_of(events)
    assert not items_of(events, "function_call")


def test_outputs_must_fit_the_calls(http, stream):
    first = stream("demo-tools", tools=[WEATHER])[-1]["response"]
    body = {"model": "demo-tools", "previous_response_id": first["id"]}
    unanswered = http.post("/responses", json={**body, "input": "Well?"})
    assert unanswered.json()["error"]["message"].startswith("No tool output found for function call call_")
    stray = {"type": "function_call_output", "call_id": "call_nobody", "output": "x"}
    unknown = http.post("/responses", json={**body, "input": [stray]})
    assert "No tool call found" in unknown.json()["error"]["message"]
    assert unknown.status_code == unanswered.status_code == 400


def test_tool_choice_is_followed(stream):
    other = {**WEATHER, "name": "other"}
    assert not items_of(stream("demo-tools", tools=[WEATHER], tool_choice="none"), "function_call")
    named = stream("demo-text", tools=[WEATHER, other], tool_choice={"type": "function", "name": "other"})
    assert [item["name"] for item in items_of(named, "function_call")] == ["other"]
    required = stream("demo-text", tools=[WEATHER, other], tool_choice="required")
    assert len(items_of(required, "function_call")) == 2
    one = stream("demo-tools", tools=[WEATHER, other], parallel_tool_calls=False)
    assert len(items_of(one, "function_call")) == 1
    assert not items_of(stream("demo-text", tools=[WEATHER]), "function_call")


@pytest.mark.parametrize(
    ("tool", "item"),
    [
        ("image_generation", "image_generation_call"),
        ("code_interpreter", "code_interpreter_call"),
        ("web_search", "web_search_call"),
        ("mcp", "mcp_list_tools"),
        ("shell", "shell_call"),
    ],
)
def test_the_default_model_uses_a_hosted_tool_it_is_given(stream, tool, item):
    assert items_of(stream("demo-text", tools=[{"type": tool}]), item)


@pytest.mark.parametrize("approve", [True, False])
def test_an_approval_is_acted_upon(stream, approve):
    first = stream("demo-mcp")[-1]["response"]
    asked = first["output"][-1]["id"]
    decision = {"type": "mcp_approval_response", "approval_request_id": asked, "approve": approve}
    events = stream("demo-mcp", [decision], previous_response_id=first["id"])
    calls = items_of(events, "mcp_call")
    assert [call["approval_request_id"] for call in calls] == ([asked] if approve else [])
    assert ("did not approve" in text_of(events)) is not approve


def test_reasoning_is_shown_where_it_is_asked_for(stream):
    assert not items_of(stream("demo-text"), "reasoning")
    (short,) = items_of(stream("demo-text", reasoning={"effort": "high"}), "reasoning")
    assert short["summary"] == []
    (full,) = items_of(stream("demo-text", reasoning={"effort": "high", "summary": "auto"}), "reasoning")
    assert len(full["summary"]) == 3
    assert "encrypted_content" not in full
    (sealed,) = items_of(stream("demo-reasoning", include=["reasoning.encrypted_content"]), "reasoning")
    assert sealed["encrypted_content"]


@pytest.mark.parametrize(("limit", "compacted"), [(1, True), (100_000, False)])
def test_the_server_compacts_past_the_threshold(stream, limit, compacted):
    events = stream(context_management=[{"type": "compaction", "compact_threshold": limit}])
    assert bool(items_of(events, "compaction")) is compacted


def test_the_delay_can_be_set_by_request(http):
    body = {"model": "demo-echo", "input": "x", "metadata": {"demo_delay": "soon"}}
    assert "demo_delay" in http.post("/responses", json=body).json()["error"]["message"]
