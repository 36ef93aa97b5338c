"""Items of tools → blocks: one function per item type, in the table `TOOL_ITEMS`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nbresponses.render.blocks import (
    Block,
    Code,
    Hit,
    Image,
    Key,
    Patch,
    Search,
    Shell,
    ShellOutput,
    Source,
    ToolCall,
    ToolList,
)
from nbresponses.render.pictures import Picture, read_picture
from nbresponses.render.untrusted import fields, items, number, objects, one_line, pretty_json, text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TOOL_ITEMS", "Item", "Preview"]

_LANGUAGES = {"code_interpreter_call": "python", "program": "javascript"}


class Preview(NamedTuple):
    """The latest partial image of an item: its number (None where not known) and its base64."""

    number: int | None
    data: str


@dataclass(frozen=True, slots=True)
class Item:
    """One output item, and what is known of it from elsewhere."""

    index: int
    data: dict[str, Any]
    done: bool = True
    answer: dict[str, Any] | None = None  # the output item that holds this call's result
    result: str = ""  # the result that the caller's own code gave
    seconds: float | None = None
    preview: Preview | None = None

    def key(self, kind: str) -> Key:
        return Key(self.index, kind)

    def line(self, name: str) -> str:
        """A field that is a name or a word, on one line."""
        return one_line(text(self.data.get(name)))

    def text(self, name: str) -> str:
        return text(self.data.get(name))

    @property
    def status(self) -> str:
        return self.line("status").replace("_", " ")


def _call(item: Item, label: str, name: str, arguments: str, **more: Any) -> list[Block]:
    result, pictures = _output_of((item.answer or {}).get("output"))
    call = ToolCall(
        key=item.key("tool"),
        done=item.done,
        label=label,
        name=name,
        arguments=pretty_json(arguments) if item.done else arguments,
        status=item.status,
        result=more.pop("result", "") or result or item.result,
        pictures=pictures,
        **more,
    )
    return [call]


def _function(item: Item) -> list[Block]:
    space = item.line("namespace")
    name = f"{space}.{item.line('name')}" if space else item.line("name")
    return _call(item, "function call", name, item.text("arguments"))


def _custom(item: Item) -> list[Block]:
    return _call(item, "custom tool call", item.line("name"), item.text("input"))


def _mcp(item: Item) -> list[Block]:
    error = item.data.get("error")
    said = text(fields(error).get("message")) or text(error)
    result = pretty_json(item.text("output"))
    arguments = item.text("arguments")
    return _call(
        item, "MCP call", item.line("name"), arguments, server=item.line("server_label"), error=said, result=result
    )


def _approval(item: Item) -> list[Block]:
    return _call(
        item, "MCP approval asked", item.line("name"), item.text("arguments"), server=item.line("server_label")
    )


def _approved(item: Item) -> list[Block]:
    label = "MCP call approved" if item.data.get("approve") is True else "MCP call not approved"
    return _call(item, label, "", "", result=item.text("reason"))


def _computer(item: Item) -> list[Block]:
    actions = items(item.data.get("actions")) or [item.data.get("action")]
    done = text(actions[0] if len(actions) == 1 else actions)
    checks = "; ".join(text(check.get("message")) for check in objects(item.data.get("pending_safety_checks")))
    return _call(item, "computer use", "", done, error=f"to be confirmed first: {checks}" if checks else "")


def _tool_search(item: Item) -> list[Block]:
    return _call(item, "tool search", "", item.text("arguments"))


def _answer(item: Item) -> list[Block]:
    """A result whose call is not in this response."""
    name = item.line("name") or item.line("call_id")
    data = item.data.get("output", item.data.get("result"))
    result, pictures = _output_of(data)
    return [
        ToolCall(
            key=item.key("tool"),
            done=item.done,
            label="tool result",
            name=name,
            status=item.status,
            result=result,
            pictures=pictures,
        )
    ]


def _output_of(output: object) -> tuple[str, tuple[Picture, ...]]:
    """The result of a call: a text, or a list of text and image parts, or a screenshot."""
    parts = [output] if isinstance(output, dict) else objects(output)
    pictures = tuple(picture for part in parts if (picture := read_picture(part.get("image_url"))))
    texts = [text(part["text"]) for part in parts if part.get("text") is not None]
    if texts or pictures:
        return "\n".join(texts), pictures
    return pretty_json(text(output)) if output not in ([], {}) else "", ()


def _tools(item: Item) -> list[Block]:
    tools = tuple(
        (one_line(text(tool.get("name") or tool.get("type"))), one_line(text(tool.get("description"))))
        for tool in objects(item.data.get("tools"))
    )
    label = {"mcp_list_tools": "MCP tools", "tool_search_output": "tools found"}.get(item.line("type"), "tools added")
    error = item.data.get("error")
    said = text(fields(error).get("message")) or text(error)
    server = item.line("server_label")
    return [ToolList(key=item.key("tools"), done=item.done, label=label, server=server, tools=tools, error=said)]


def _code(item: Item) -> list[Block]:
    outputs: list[str | Picture] = []
    for output in objects(item.data.get("outputs")):
        picture = read_picture(output.get("url"))
        if picture:
            outputs.append(picture)
        elif said := text(output.get("logs") or output.get("url")).rstrip("\n"):
            outputs.append(said)
    answer = item.answer or {}
    if result := text(answer.get("result") or answer.get("output")):
        outputs.append(pretty_json(result))
    return [
        Code(
            key=item.key("code"),
            done=item.done,
            code=item.text("code"),
            language=_LANGUAGES.get(item.line("type"), ""),
            status=item.status,
            outputs=tuple(outputs),
        )
    ]


def _web_search(item: Item) -> list[Block]:
    action = fields(item.data.get("action"))
    queries = [one_line(text(query)) for query in items(action.get("queries")) or [action.get("query")] if query]
    kind = one_line(text(action.get("type"))).replace("_", " ")
    address = one_line(text(action.get("url")))
    sources = [
        Source(one_line(text(source.get("title") or source.get("url") or source.get("name"))), text(source.get("url")))
        for source in objects(action.get("sources")) + objects(item.data.get("results"))
    ]
    if address:
        sources.insert(0, Source(address, address))
    if pattern := one_line(text(action.get("pattern"))):
        queries.append(pattern)
    return [
        Search(
            key=item.key("search"),
            done=item.done,
            where="web",
            queries=tuple(queries),
            action="" if kind == "search" else kind,
            sources=tuple(dict.fromkeys(sources)),
            status=item.status,
        )
    ]


def _file_search(item: Item) -> list[Block]:
    hits = tuple(
        Hit(
            one_line(text(hit.get("filename") or hit.get("file_id"))),
            text(hit.get("text")),
            number(hit.get("score")),
        )
        for hit in objects(item.data.get("results"))
    )
    queries = tuple(one_line(text(query)) for query in items(item.data.get("queries")))
    return [
        Search(key=item.key("search"), done=item.done, where="file", queries=queries, hits=hits, status=item.status)
    ]


def _shell(item: Item) -> list[Block]:
    action = fields(item.data.get("action"))
    words = items(action.get("command"))
    commands = [_joined(words)] if words else [text(command) for command in items(action.get("commands"))]
    return [
        Shell(
            key=item.key("shell"),
            done=item.done,
            commands=tuple(commands),
            outputs=_shell_outputs((item.answer or {}).get("output")) or _shell_outputs(item.result),
            status=item.status,
        )
    ]


def _joined(words: list[Any]) -> str:
    return shlex.join(text(word) for word in words)


def _shell_output(item: Item) -> list[Block]:
    """Output whose commands are not in this response."""
    outputs = _shell_outputs(item.data.get("output"))
    return [Shell(key=item.key("shell"), done=item.done, outputs=outputs, status=item.status)]


def _shell_outputs(output: object) -> tuple[ShellOutput, ...]:
    if not isinstance(output, list):
        return (ShellOutput(text(output)),) if output else ()
    return tuple(
        ShellOutput(
            text(entry.get("stdout")).rstrip("\n"),
            text(entry.get("stderr")).rstrip("\n"),
            _outcome(fields(entry.get("outcome"))),
        )
        for entry in objects(output)
    )


def _outcome(outcome: dict[str, Any]) -> str:
    code = outcome.get("exit_code")
    kind = one_line(text(outcome.get("type")))
    return f"exit code {one_line(text(code))}" if code is not None else kind


def _patch(item: Item) -> list[Block]:
    operation = fields(item.data.get("operation"))
    return [
        Patch(
            key=item.key("patch"),
            done=item.done,
            operation=one_line(text(operation.get("type"))).replace("_", " "),
            path=one_line(text(operation.get("path"))),
            diff=text(operation.get("diff")),
            status=item.status,
            result=text((item.answer or {}).get("output")) or item.result,
        )
    ]


def _image(item: Item) -> list[Block]:
    final = read_picture(item.data.get("result"))
    preview = item.preview or Preview(None, "")
    error = item.data.get("error")
    said = text(fields(error).get("message")) or text(error)
    if item.data.get("result") and not final:
        said = said or "the image is of a type that cannot be shown"
    return [
        Image(
            key=item.key("image"),
            done=item.done,
            picture=final or read_picture(preview.data),
            final=final is not None,
            preview=None if final else preview.number,
            prompt=one_line(item.text("revised_prompt") or item.text("prompt"), 2000),
            status=item.status,
            error=said,
        )
    ]


TOOL_ITEMS: dict[str, Callable[[Item], list[Block]]] = {
    "function_call": _function,
    "custom_tool_call": _custom,
    "mcp_call": _mcp,
    "mcp_approval_request": _approval,
    "mcp_approval_response": _approved,
    "computer_call": _computer,
    "tool_search_call": _tool_search,
    "mcp_list_tools": _tools,
    "tool_search_output": _tools,
    "additional_tools": _tools,
    "code_interpreter_call": _code,
    "program": _code,
    "web_search_call": _web_search,
    "file_search_call": _file_search,
    "shell_call": _shell,
    "local_shell_call": _shell,
    "shell_call_output": _shell_output,
    "local_shell_call_output": _shell_output,
    "apply_patch_call": _patch,
    "image_generation_call": _image,
    "function_call_output": _answer,
    "custom_tool_call_output": _answer,
    "computer_call_output": _answer,
    "apply_patch_call_output": _answer,
    "program_output": _answer,
}
