"""Response → blocks: what each kind of item becomes, what belongs together, and what is still open."""

from __future__ import annotations

from typing import Any

import pytest

from nbresponses.core.response import Response
from nbresponses.render import Preview, blocks, item_blocks
from nbresponses.render.blocks import (
    Audio,
    Block,
    Code,
    Compaction,
    Error,
    Hit,
    Image,
    Key,
    Notice,
    Patch,
    Reasoning,
    Refusal,
    Search,
    Shell,
    ShellOutput,
    Source,
    Text,
    ToolCall,
    ToolList,
    Unknown,
)
from nbresponses.render.pictures import read_picture

PNG = "iVBORw0KGgoAAAANSUhEUgAA"
GIF = "R0lGODlhAQABAAAAACwAAAAA"


def of(*output: dict[str, Any], **fields: Any) -> list[Block]:
    return blocks({"status": "completed", **fields, "output": list(output)})


def only(*output: dict[str, Any], **fields: Any) -> Any:
    found = of(*output, **fields)
    assert len(found) == 1
    return found[0]


def message(*content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "content": list(content), **fields}


def said(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": list(annotations)}


def test_text_with_its_citations_each_once() -> None:
    url = {"type": "url_citation", "url": "https://a.b", "title": "A\nB", "start_index": 0, "end_index": 2}
    file = {"type": "file_citation", "filename": "x.pdf", "file_id": "f"}
    nested = {"type": "url_citation", "url_citation": {"url": "https://c.d"}}
    block = only(message(said("hello", url, url, file, nested, {}, {"type": []}), phase="commentary"))
    citations = (Source("A B", "https://a.b"), Source("x.pdf", ""), Source("https://c.d", "https://c.d"))
    assert block == Text(key=Key(0, "text", 0), text="hello", citations=citations, phase="commentary")


def test_parts_of_a_message() -> None:
    found = of(
        message(said("a"), said(""), {"type": "refusal", "refusal": "no"}, {"type": "sound", "data": 1}, "x", None)
    )
    assert [type(block) for block in found] == [Text, Refusal, Unknown]
    assert [block.key.part for block in found] == [0, 2, 3]
    assert only({"type": "message", "content": "a plain text"}).text == "a plain text"


def test_reasoning() -> None:
    item = {
        "type": "reasoning",
        "summary": [{"text": "one"}, {"text": ""}, {"text": "two"}],
        "content": [{"text": "raw"}],
    }
    block = blocks({"output": [item]}, seconds={0: 2.5})[0]
    assert block == Reasoning(key=Key(0, "reasoning"), summary=("one", "two"), text="raw", seconds=2.5)
    hidden = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    assert of(hidden) == []
    assert blocks({"output": [hidden]}, seconds={0: 1.0}) != []
    assert blocks({"output": [hidden], "status": "in_progress"})[0].done is False


def test_a_call_stands_with_its_result() -> None:
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "namespace": "n",
        "arguments": '{"a":1}',
        "status": "completed",
    }
    result = {"type": "function_call_output", "call_id": "c", "output": '{"b":2}'}
    block = only(call, result)
    assert block == ToolCall(
        key=Key(0, "tool"),
        label="function call",
        name="n.f",
        arguments='{\n  "a": 1\n}',
        status="completed",
        result='{\n  "b": 2\n}',
    )
    assert blocks({"output": [call]}, results={"c": "here"})[0].result == "here"  # type: ignore[attr-defined]
    alone = only(result)
    assert (alone.label, alone.name, alone.result) == ("tool result", "c", '{\n  "b": 2\n}')
    assert len(of(result, call)) == 2
    assert len(of(call, result, result)) == 2


def test_a_result_of_parts_and_a_screenshot() -> None:
    call = {
        "type": "computer_call",
        "call_id": "c",
        "action": {"type": "click", "x": 1},
        "pending_safety_checks": [{"message": "sure?"}],
    }
    shot = {"type": "computer_call_output", "call_id": "c", "output": {"image_url": f"data:image/png;base64,{PNG}"}}
    block = only(call, shot)
    assert block.pictures == (read_picture(PNG),)
    assert block.error == "to be confirmed first: sure?"
    parts = [
        {"type": "input_text", "text": "a"},
        {"type": "input_text", "text": "b"},
        {"type": "input_image", "image_url": f"data:image/gif;base64,{GIF}"},
    ]
    block = only(
        {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "raw"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": parts},
    )
    assert (block.arguments, block.result, block.pictures) == ("raw", "a\nb", (read_picture(GIF),))


def test_mcp() -> None:
    call = {
        "type": "mcp_call",
        "name": "ask",
        "server_label": "wiki",
        "arguments": "{}",
        "output": "text",
        "error": None,
    }
    block = only(call)
    assert (block.label, block.name, block.server, block.result, block.error) == ("MCP call", "ask", "wiki", "text", "")
    assert only({**call, "error": {"type": "http_error", "message": "gone"}}).error == "gone"
    assert only({**call, "error": "gone"}).error == "gone"
    assert only({"type": "mcp_approval_request", "name": "ask", "server_label": "wiki"}).label == "MCP approval asked"
    assert only({"type": "mcp_approval_response", "approve": False, "reason": "no"}).label == "MCP call not approved"
    tools = [{"name": "a", "description": "does\na"}, {"type": "web_search"}, "x"]
    listed = only({"type": "mcp_list_tools", "server_label": "wiki", "tools": tools, "error": "e"})
    assert listed == ToolList(
        key=Key(0, "tools"), label="MCP tools", server="wiki", tools=(("a", "does a"), ("web_search", "")), error="e"
    )


def test_code_and_programs() -> None:
    outputs = [
        {"type": "logs", "logs": "1\n"},
        {"type": "image", "url": f"data:image/png;base64,{PNG}"},
        {"type": "image", "url": "https://e.test/x.png"},
        {},
    ]
    block = only({"type": "code_interpreter_call", "code": "print(1)", "outputs": outputs, "status": "completed"})
    assert block == Code(
        key=Key(0, "code"),
        code="print(1)",
        status="completed",
        outputs=("1", read_picture(PNG), "https://e.test/x.png"),
    )
    program = {"type": "program", "call_id": "p", "code": "x"}
    assert only(program, {"type": "program_output", "call_id": "p", "result": "2"}).outputs == ("2",)


def test_searches() -> None:
    action = {
        "type": "search",
        "query": "q",
        "sources": [{"type": "url", "url": "https://a.b"}, {"type": "url", "url": "https://a.b"}],
    }
    block = only({"type": "web_search_call", "status": "completed", "action": action})
    assert block == Search(
        key=Key(0, "search"),
        where="web",
        queries=("q",),
        sources=(Source("https://a.b", "https://a.b"),),
        status="completed",
    )
    assert only({"type": "web_search_call", "action": {"type": "search", "queries": ["q", "r"]}}).queries == ("q", "r")
    opened = only({"type": "web_search_call", "action": {"type": "find_in_page", "url": "https://c.d", "pattern": "p"}})
    assert (opened.action, opened.queries, opened.sources) == (
        "find in page",
        ("p",),
        (Source("https://c.d", "https://c.d"),),
    )
    results = [{"filename": "a.txt", "score": 0.5, "text": "t"}, {"file_id": "f"}, None]
    found = only({"type": "file_search_call", "queries": ["q"], "results": results})
    assert found.hits == (Hit("a.txt", "t", 0.5), Hit("f"))


def test_shells() -> None:
    call = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls", "cat x"]}, "status": "completed"}
    output = [
        {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stderr": "e", "outcome": {"type": "timeout"}},
    ]
    block = only(call, {"type": "shell_call_output", "call_id": "s", "output": output})
    assert block == Shell(
        key=Key(0, "shell"),
        commands=("ls", "cat x"),
        outputs=(ShellOutput("a", "", "exit code 0"), ShellOutput("", "e", "timeout")),
        status="completed",
    )
    local = {"type": "local_shell_call", "call_id": "l", "action": {"command": ["echo", "a b", "$x"]}}
    block = only(local, {"type": "local_shell_call_output", "call_id": "l", "output": "a b"})
    assert (block.commands, block.outputs) == (("echo 'a b' '$x'",), (ShellOutput("a b"),))


def test_patches_compactions_and_the_unknown() -> None:
    operation = {"type": "update_file", "path": "a.py", "diff": "-a\n+b"}
    patch = {"type": "apply_patch_call", "call_id": "p", "operation": operation, "status": "completed"}
    block = only(patch, {"type": "apply_patch_call_output", "call_id": "p", "output": "done"})
    assert block == Patch(
        key=Key(0, "patch"), operation="update file", path="a.py", diff="-a\n+b", status="completed", result="done"
    )
    assert only({"type": "compaction"}) == Compaction(key=Key(0, "compaction"))
    assert only({"type": "new_thing", "a": [1]}) == Unknown(
        key=Key(0, "unknown"), type="new_thing", json='{\n  "type": "new_thing",\n  "a": [\n    1\n  ]\n}'
    )
    assert only({}).type == "no type"
    assert only({"a": "x" * 50_000}).json.endswith("characters more")


def test_images_final_partial_and_failed() -> None:
    item = {
        "type": "image_generation_call",
        "status": "completed",
        "result": PNG,
        "output_format": "jpeg",
        "revised_prompt": "a cat",
    }
    assert only(item) == Image(
        key=Key(0, "image"), picture=read_picture(PNG), final=True, prompt="a cat", status="completed"
    )
    waiting = {"type": "image_generation_call", "status": "generating"}
    block = blocks({"output": [waiting], "status": "in_progress"}, previews={0: Preview(2, PNG)})[0]
    assert block == Image(key=Key(0, "image"), done=False, picture=read_picture(PNG), preview=2, status="generating")
    response = Response({"output": [item, waiting, waiting]}, partial_images=[PNG, GIF])
    pictures = [block.picture for block in blocks(response) if isinstance(block, Image)]
    assert pictures == [read_picture(PNG), read_picture(PNG), read_picture(GIF)]
    response = Response({"output": [item, waiting]}, partial_images=[PNG, GIF])
    assert [block.picture for block in blocks(response) if isinstance(block, Image)] == [
        read_picture(PNG),
        read_picture(GIF),
    ]
    assert only({**item, "result": "PHN2Zz4="}).error == "the image is of a type that cannot be shown"
    assert only({**item, "result": None, "error": {"message": "blocked"}}).error == "blocked"


def test_audio_stands_after_the_items() -> None:
    wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEA"
    found = blocks(Response({"output": []}, ending="completed", audio=wav, audio_transcript="hi"))
    assert found == [Audio(key=Key(-1, "audio"), transcript="hi", data=wav, mime="audio/wav")]
    live = blocks(Response({"output": []}, audio=wav))
    assert (live[0].done, live[0].mime) == (False, "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "completed"}, []),
        ({"status": "in_progress"}, []),
        ({"status": "failed"}, ["The server gave no reason."]),
        ({"status": "failed", "error": {"code": "c", "message": "m"}}, ["m"]),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            ["Incomplete: it reached the limit of output tokens."],
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "new_reason"}}, ["Incomplete: new_reason."]),
        ({"status": "incomplete", "incomplete_details": None}, ["Incomplete."]),
        ({"status": "cancelled"}, ["Cancelled: the response was stopped on the server."]),
    ],
)
def test_how_it_ended(fields: dict[str, Any], expected: list[str]) -> None:
    found = blocks({**fields, "output": []})
    assert [block.message if isinstance(block, Error) else block.text for block in found] == expected  # type: ignore[attr-defined]
    assert all(block.key.output_index == -1 for block in found)


@pytest.mark.parametrize("ending", ["cut_off", "interrupted"])
def test_an_ending_of_ours_is_told(ending: str) -> None:
    found = blocks(Response({"output": [message(said("part"))]}, ending=ending))
    assert isinstance(found[0], Text)
    assert isinstance(found[1], Notice)
    assert found[0].done
    failed = blocks(Response({}, ending=ending, error={"code": "c", "message": "m"}))
    assert [type(block) for block in failed] == [Error, Notice]


def test_only_what_may_still_grow_is_open() -> None:
    first = {"type": "function_call", "name": "f", "arguments": '{"a":1}', "status": "in_progress"}
    second = message(said("one"), said("two"), status="in_progress")
    found = blocks(
        {"status": "in_progress", "output": [{"type": "reasoning", "summary": [{"text": "r"}]}, first, second]}
    )
    assert [(block.key, block.done) for block in found] == [
        (Key(0, "reasoning"), True),
        (Key(1, "tool"), False),
        (Key(2, "text", 0), True),
        (Key(2, "text", 1), False),
    ]
    assert found[1].arguments == '{"a":1}'  # type: ignore[attr-defined]
    ended = blocks(Response({"output": [first, second]}, ending="interrupted"))
    assert all(block.done for block in ended)


def test_keys_stay_while_a_response_grows() -> None:
    seen: list[Key] = []
    text = ""
    for word in ("a", " b", " c"):
        text += word
        response = Response({"output": [{"type": "reasoning", "summary": []}, message(said(text))]})
        found = blocks(response)
        assert (
            next(block for block in found if isinstance(block, Text))
            == item_blocks(response.output[1], 1, live=True)[0]
        )
        seen += [block.key for block in found if isinstance(block, Text)]
    assert set(seen) == {Key(1, "text", 0)}
