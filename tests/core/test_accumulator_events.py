"""What each of the 62 event types changes, one row for each; the parts that grow, type by type."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.core.decode import decode_event
from nbresponses.core.events import EVENT_TYPES

Json = dict[str, Any]


def feed(accumulator: Accumulator, *events: Json) -> list[Change]:
    return [change for event in events for change in accumulator.apply(decode_event(json.dumps(event)))]


def after(*events: Json) -> Accumulator:
    accumulator = Accumulator()
    feed(accumulator, *events)
    return accumulator


def added(item: Json, index: int = 0) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


AT = {"item_id": "i", "output_index": 0}
TEXT_AT = {**AT, "content_index": 0}
MESSAGE = {"id": "i", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
REASONING = {"id": "i", "type": "reasoning", "summary": []}
CALL = {"id": "i", "type": "function_call", "call_id": "c", "name": "f", "arguments": "", "status": "in_progress"}
MCP_CALL = {"id": "i", "type": "mcp_call", "server_label": "s", "name": "f", "arguments": "", "status": "in_progress"}
LIST_TOOLS = {"id": "i", "type": "mcp_list_tools", "server_label": "s", "tools": [], "status": "in_progress"}
CODE = {"id": "i", "type": "code_interpreter_call", "code": "", "outputs": None, "status": "in_progress"}
CUSTOM = {"id": "i", "type": "custom_tool_call", "call_id": "c", "name": "t", "input": ""}
SEARCH = {"id": "i", "type": "web_search_call", "status": "in_progress"}
FILES = {"id": "i", "type": "file_search_call", "queries": [], "results": None, "status": "in_progress"}
IMAGE = {"id": "i", "type": "image_generation_call", "result": None, "status": "in_progress"}
SHELL = {"id": "i", "type": "shell_call", "action": {"commands": [], "timeout_ms": None}, "status": "in_progress"}
OUTPUT = {"id": "i", "type": "shell_call_output", "call_id": "c", "output": []}
COMPACTION = {"id": "i", "type": "compaction", "encrypted_content": "x", "status": "in_progress"}
PATCH = {"id": "i", "type": "apply_patch_call", "operation": {"type": "update_file", "path": "a", "diff": ""}}


def text_delta(delta: str) -> Json:
    return {"type": "response.output_text.delta", **TEXT_AT, "delta": delta}


def text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


class Row(NamedTuple):
    """Item that was announced, events before, fields of the event, the change, and what the item then holds."""

    item: Json | None
    before: list[Json]
    fields: Json
    part: tuple[str, int | None]
    delta: str | None
    then: Json | None


def status_row(item: Json, status: str) -> Row:
    return Row(item, [], AT, ("item", None), None, {"status": status})


NOTE = {"type": "url_citation", "url": "https://example.test"}
PIECE = {"stdout": "o", "stderr": "e"}
RESPONSE: Json = {"id": "r", "status": "queued", "output": []}
WHOLE = ("response", None)

TABLE: dict[str, Row] = {
    "response.created": Row(None, [], {"response": RESPONSE}, WHOLE, None, None),
    "response.queued": Row(None, [], {"response": RESPONSE}, WHOLE, None, None),
    "response.in_progress": Row(None, [], {"response": RESPONSE}, WHOLE, None, None),
    "response.completed": Row(MESSAGE, [], {"response": RESPONSE}, WHOLE, None, MESSAGE),
    "response.failed": Row(MESSAGE, [], {"response": RESPONSE}, WHOLE, None, MESSAGE),
    "response.incomplete": Row(MESSAGE, [], {"response": RESPONSE}, WHOLE, None, MESSAGE),
    "error": Row(MESSAGE, [], {"message": "m"}, WHOLE, None, MESSAGE),
    "response.output_item.added": Row(None, [], {"output_index": 0, "item": MESSAGE}, ("item", None), None, MESSAGE),
    "response.output_item.done": Row(
        MESSAGE,
        [text_delta("a")],
        {"output_index": 0, "item": {**MESSAGE, "content": [text_part("b")]}},
        ("item", None),
        None,
        {"content": [text_part("b")]},
    ),
    "response.content_part.added": Row(
        MESSAGE, [], {**TEXT_AT, "part": text_part("")}, ("text", 0), None, {"content": [text_part("")]}
    ),
    "response.content_part.done": Row(
        MESSAGE,
        [text_delta("a")],
        {**TEXT_AT, "part": {**text_part("b"), "extra": 1}},
        ("text", 0),
        None,
        {"content": [{**text_part("b"), "extra": 1}]},
    ),
    "response.output_text.delta": Row(
        MESSAGE, [text_delta("a")], {**TEXT_AT, "delta": "b"}, ("text", 0), "b", {"content": [text_part("ab")]}
    ),
    "response.output_text.done": Row(
        MESSAGE, [text_delta("a ")], {**TEXT_AT, "text": "a"}, ("text", 0), None, {"content": [text_part("a")]}
    ),
    "response.output_text.annotation.added": Row(
        MESSAGE,
        [text_delta("a")],
        {**TEXT_AT, "annotation_index": 0, "annotation": NOTE},
        ("annotation", 0),
        None,
        {"content": [{**text_part("a"), "annotations": [NOTE]}]},
    ),
    "response.refusal.delta": Row(
        MESSAGE,
        [{"type": "response.refusal.delta", **TEXT_AT, "delta": "N"}],
        {**TEXT_AT, "delta": "o"},
        ("refusal", 0),
        "o",
        {"content": [{"type": "refusal", "refusal": "No"}]},
    ),
    "response.refusal.done": Row(
        MESSAGE,
        [{"type": "response.refusal.delta", **TEXT_AT, "delta": "N"}],
        {**TEXT_AT, "refusal": "No"},
        ("refusal", 0),
        None,
        {"content": [{"type": "refusal", "refusal": "No"}]},
    ),
    "response.function_call_arguments.delta": Row(
        CALL,
        [{"type": "response.function_call_arguments.delta", **AT, "delta": "{"}],
        {**AT, "delta": "}"},
        ("arguments", None),
        "}",
        {"arguments": "{}"},
    ),
    "response.function_call_arguments.done": Row(
        CALL, [], {**AT, "arguments": "{}", "name": "f"}, ("arguments", None), None, {"arguments": "{}", "name": "f"}
    ),
    "response.mcp_call_arguments.delta": Row(
        MCP_CALL, [], {**AT, "delta": "{"}, ("arguments", None), "{", {"arguments": "{"}
    ),
    "response.mcp_call_arguments.done": Row(
        MCP_CALL, [], {**AT, "arguments": "{}"}, ("arguments", None), None, {"arguments": "{}"}
    ),
    "response.mcp_call.in_progress": status_row(MCP_CALL, "in_progress"),
    "response.mcp_call.completed": status_row(MCP_CALL, "completed"),
    "response.mcp_call.failed": status_row(MCP_CALL, "failed"),
    "response.mcp_list_tools.in_progress": status_row(LIST_TOOLS, "in_progress"),
    "response.mcp_list_tools.completed": status_row(LIST_TOOLS, "completed"),
    "response.mcp_list_tools.failed": status_row(LIST_TOOLS, "failed"),
    "response.audio.delta": Row(None, [], {"delta": "YQ=="}, ("audio", None), "YQ==", None),
    "response.audio.done": Row(None, [], {}, ("audio", None), None, None),
    "response.audio.transcript.delta": Row(None, [], {"delta": "hi"}, ("transcript", None), "hi", None),
    "response.audio.transcript.done": Row(None, [], {}, ("transcript", None), None, None),
    "response.web_search_call.in_progress": status_row(SEARCH, "in_progress"),
    "response.web_search_call.searching": status_row(SEARCH, "searching"),
    "response.web_search_call.completed": status_row(SEARCH, "completed"),
    "response.file_search_call.in_progress": status_row(FILES, "in_progress"),
    "response.file_search_call.searching": status_row(FILES, "searching"),
    "response.file_search_call.completed": status_row(FILES, "completed"),
    "response.code_interpreter_call.in_progress": status_row(CODE, "in_progress"),
    "response.code_interpreter_call.interpreting": status_row(CODE, "interpreting"),
    "response.code_interpreter_call.completed": status_row(CODE, "completed"),
    "response.code_interpreter_call_code.delta": Row(
        CODE, [], {**AT, "delta": "1"}, ("code", None), "1", {"code": "1"}
    ),
    "response.code_interpreter_call_code.done": Row(CODE, [], {**AT, "code": "1"}, ("code", None), None, {"code": "1"}),
    "response.reasoning_text.delta": Row(
        REASONING,
        [],
        {**TEXT_AT, "delta": "hm"},
        ("reasoning_text", 0),
        "hm",
        {"content": [{"type": "reasoning_text", "text": "hm"}]},
    ),
    "response.reasoning_text.done": Row(
        REASONING,
        [],
        {**TEXT_AT, "text": "hm"},
        ("reasoning_text", 0),
        None,
        {"content": [{"type": "reasoning_text", "text": "hm"}]},
    ),
    "response.reasoning_summary_part.added": Row(
        REASONING,
        [],
        {**AT, "summary_index": 0, "part": {"type": "summary_text", "text": ""}},
        ("reasoning_summary", 0),
        None,
        {"summary": [{"type": "summary_text", "text": ""}]},
    ),
    "response.reasoning_summary_part.done": Row(
        REASONING,
        [],
        {**AT, "summary_index": 0, "part": {"type": "summary_text", "text": "s"}, "status": "incomplete"},
        ("reasoning_summary", 0),
        None,
        {"summary": [{"type": "summary_text", "text": "s"}]},
    ),
    "response.reasoning_summary_text.delta": Row(
        REASONING,
        [],
        {**AT, "summary_index": 0, "delta": "s"},
        ("reasoning_summary", 0),
        "s",
        {"summary": [{"type": "summary_text", "text": "s"}]},
    ),
    "response.reasoning_summary_text.done": Row(
        REASONING,
        [],
        {**AT, "summary_index": 0, "text": "s"},
        ("reasoning_summary", 0),
        None,
        {"summary": [{"type": "summary_text", "text": "s"}]},
    ),
    "response.image_generation_call.in_progress": status_row(IMAGE, "in_progress"),
    "response.image_generation_call.generating": status_row(IMAGE, "generating"),
    "response.image_generation_call.completed": status_row(IMAGE, "completed"),
    "response.image_generation_call.partial_image": Row(
        IMAGE, [], {**AT, "partial_image_index": 1, "partial_image_b64": "aQ=="}, ("image", 1), None, {"result": None}
    ),
    "response.custom_tool_call_input.delta": Row(
        CUSTOM, [], {**AT, "delta": "x"}, ("input", None), "x", {"input": "x"}
    ),
    "response.custom_tool_call_input.done": Row(
        CUSTOM, [], {**AT, "input": "x"}, ("input", None), None, {"input": "x"}
    ),
    "response.compaction.compacting": status_row(COMPACTION, "compacting"),
    "response.shell_call_command.added": Row(
        SHELL,
        [],
        {"output_index": 0, "command_index": 0, "command": ""},
        ("shell_command", 0),
        None,
        {"action": {"commands": [""], "timeout_ms": None}},
    ),
    "response.shell_call_command.delta": Row(
        SHELL,
        [{"type": "response.shell_call_command.delta", "output_index": 0, "command_index": 0, "delta": "l"}],
        {"output_index": 0, "command_index": 0, "delta": "s"},
        ("shell_command", 0),
        "s",
        {"action": {"commands": ["ls"], "timeout_ms": None}},
    ),
    "response.shell_call_command.done": Row(
        SHELL,
        [{"type": "response.shell_call_command.delta", "output_index": 0, "command_index": 0, "delta": "ls"}],
        {"output_index": 0, "command_index": 1, "command": "pwd"},
        ("shell_command", 1),
        None,
        {"action": {"commands": ["ls", "pwd"], "timeout_ms": None}},
    ),
    "response.shell_call_output_content.delta": Row(
        OUTPUT, [], {**AT, "command_index": 0, "delta": PIECE}, ("shell_output", 0), "oe", {"output": [PIECE]}
    ),
    "response.shell_call_output_content.done": Row(
        OUTPUT,
        [{"type": "response.shell_call_output_content.delta", **AT, "command_index": 0, "delta": {"stdout": "?"}}],
        {**AT, "command_index": 0, "output": [{**PIECE, "outcome": {"type": "exit", "exit_code": 0}}]},
        ("shell_output", 0),
        None,
        {"output": [{**PIECE, "outcome": {"type": "exit", "exit_code": 0}}]},
    ),
}

CHANGES_NOTHING = {"response.steer.accepted", "response.steer.failed", "response.steer.pending"}
"""Steering is about a lane, not about a response."""


def test_every_type_of_the_table_is_here() -> None:
    assert set(TABLE) | CHANGES_NOTHING == set(EVENT_TYPES)
    assert not set(TABLE) & CHANGES_NOTHING


@pytest.mark.parametrize("type_", TABLE)
def test_each_type_changes_what_it_should(type_: str) -> None:
    row = TABLE[type_]
    accumulator = after(*([added(row.item)] if row.item else []), *row.before)
    (change,) = feed(accumulator, {"type": type_, **row.fields})
    assert change.event == decode_event(json.dumps({"type": type_, **row.fields}))
    assert change.part == row.part
    assert change.delta == row.delta
    assert change.output_index == (0 if row.part[0] not in ("response", "audio", "transcript") else None)
    if row.then is not None:
        (item,) = accumulator.response.output
        assert item == {**(row.item or {}), **row.then}


@pytest.mark.parametrize("type_", sorted(CHANGES_NOTHING | {"keepalive", "unheard.of", "thread.created", "invalid"}))
def test_other_types_change_nothing(type_: str) -> None:
    accumulator = after(added(MESSAGE), text_delta("a"))
    before = accumulator.response
    assert feed(accumulator, {"type": type_, **TEXT_AT, "steer": {"id": "s"}, "delta": "x", "item": CALL}) == []
    assert accumulator.response == before
    assert [change.delta for change in feed(accumulator, text_delta("b"))] == ["b"]
    assert accumulator.response.output_text == "ab"


def test_the_diffs_of_a_patch_are_followed_though_they_are_not_in_the_catalogue() -> None:
    name = "response.apply_patch_call_operation_diff"
    accumulator = after(added(PATCH))
    changes = feed(
        accumulator,
        {"type": f"{name}.delta", **AT, "delta": "+a"},
        {"type": f"{name}.delta", **AT, "delta": "\n"},
        {"type": f"{name}.delta", **AT, "delta": None},
    )
    assert [(change.part, change.delta) for change in changes[:2]] == [(("diff", None), "+a"), (("diff", None), "\n")]
    assert accumulator.response.output[0]["operation"] == {"type": "update_file", "path": "a", "diff": "+a\n"}
    (done,) = feed(accumulator, {"type": f"{name}.done", **AT, "diff": "+a"})
    assert (done.delta, done.snapshot) == (None, "+a")
    assert accumulator.response.output[0]["operation"]["diff"] == "+a"
    feed(accumulator, {"type": "response.output_item.done", "output_index": 0, "item": {**PATCH, "operation": None}})
    assert accumulator.response.output[0]["operation"] == {"diff": "+a"}


def test_what_a_finished_item_says_inside_its_action_wins() -> None:
    command = {"type": "response.shell_call_command.delta", "output_index": 0, "command_index": 0, "delta": "l"}
    finished = {**SHELL, "action": {"commands": ["ls"]}}
    accumulator = after(added(SHELL), command, {**added(finished), "type": "response.output_item.done"})
    assert accumulator.response.output == [finished]
    diff = {"type": "response.apply_patch_call_operation_diff.delta", **AT, "delta": "+"}
    finished = {**PATCH, "operation": {"type": "update_file", "diff": "+a"}}
    accumulator = after(added(PATCH), diff, {**added(finished), "type": "response.output_item.done"})
    assert accumulator.response.output == [finished]


def test_the_spelling_of_another_server_is_kept_and_changes_nothing() -> None:
    accumulator = after(added(MCP_CALL))
    assert feed(accumulator, {"type": "response.mcp_call.arguments.delta", **AT, "delta": "{"}) == []
    assert accumulator.response.output == [MCP_CALL]
