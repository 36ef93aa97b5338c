"""How the acts that use tools look on the wire: calls of the client's tools and of the hosted ones. Pure.

Each function plays one act and yields its events; `sequence_number` is put on by `script.py`.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

from nbresponses.demo.images import landscape, sharpening
from nbresponses.demo.messages import fill

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from nbresponses.demo.acts import (
        Code,
        CustomCall,
        FileSearch,
        FunctionCall,
        McpApproval,
        McpCall,
        McpList,
        Patch,
        Picture,
        Shell,
        WebSearch,
    )
    from nbresponses.demo.stage import Stage
    from nbresponses.demo.wire import Json


def play_function(stage: Stage, act: FunctionCall) -> Iterator[Json]:
    item = _item(stage, "fc", "function_call", call_id=stage.ids.call(), name=act.name, arguments="")
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    arguments = yield from _told(stage, "response.function_call_arguments.delta", act.arguments, where)
    yield {"type": "response.function_call_arguments.done", **where, "name": act.name, "arguments": arguments}
    yield stage.close(index, {**item, "status": stage.status, "arguments": arguments})


def play_custom(stage: Stage, act: CustomCall) -> Iterator[Json]:
    item = _item(stage, "ctc", "custom_tool_call", call_id=stage.ids.call(), name=act.name, input="")
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    given = yield from _told(stage, "response.custom_tool_call_input.delta", act.input, where)
    yield {"type": "response.custom_tool_call_input.done", **where, "input": given}
    yield stage.close(index, {**item, "status": stage.status, "input": given})


def play_code(stage: Stage, act: Code) -> Iterator[Json]:
    container = stage.ids.new("cntr")
    item = _item(stage, "ci", "code_interpreter_call", code="", container_id=container, outputs=None)
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    yield {"type": "response.code_interpreter_call.in_progress", **where}
    code = yield from _told(stage, "response.code_interpreter_call_code.delta", act.code, where)
    yield {"type": "response.code_interpreter_call_code.done", **where, "code": code}
    if stage.finished:
        yield stage.close(index, {**item, "status": stage.status, "code": code})
        return
    yield {"type": "response.code_interpreter_call.interpreting", **where}
    outputs: list[Json] = [{"type": "logs", "logs": act.logs}]
    if act.picture:
        picture = base64.b64encode(landscape(size=96, seed=40)).decode()
        outputs.append({"type": "image", "url": f"data:image/png;base64,{picture}"})
    yield {"type": "response.code_interpreter_call.completed", **where}
    yield stage.close(index, {**item, "status": "completed", "code": code, "outputs": outputs})


def play_web_search(stage: Stage, act: WebSearch) -> Iterator[Json]:
    query = fill(act.query, stage.ask)
    action: Json = {"type": "search", "query": query, "queries": [query]}
    item = _item(stage, "ws", "web_search_call", action=action)
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    for state in ("in_progress", "searching", "completed"):
        yield {"type": f"response.web_search_call.{state}", **where}
    if "web_search_call.action.sources" in stage.ask.include:
        action = {**action, "sources": [{"type": "url", "url": url} for url in act.sources]}
    yield stage.close(index, {**item, "status": "completed", "action": action})


def play_file_search(stage: Stage, act: FileSearch) -> Iterator[Json]:
    item = _item(stage, "fs", "file_search_call", queries=[], results=None)
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    for state in ("in_progress", "searching", "completed"):
        yield {"type": f"response.file_search_call.{state}", **where}
    results = list(act.results) if "file_search_call.results" in stage.ask.include else None
    yield stage.close(index, {**item, "status": "completed", "queries": list(act.queries), "results": results})


def play_picture(stage: Stage, act: Picture) -> Iterator[Json]:
    tool = next((tool for tool in stage.ask.tools if tool.get("type") == "image_generation"), None)
    partials = act.partials if tool is None else min(max(int(tool.get("partial_images") or 0), 0), 3)
    item = _item(stage, "ig", "image_generation_call")
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    yield {"type": "response.image_generation_call.in_progress", **where}
    yield {"type": "response.image_generation_call.generating", **where}
    look = {"size": f"{act.size}x{act.size}", "quality": "low", "background": "opaque", "output_format": "png"}
    *early, final = sharpening(partials, size=act.size, seed=zlib.crc32(stage.ask.prompt.encode()))
    for number, picture in enumerate(early):
        encoded = base64.b64encode(picture).decode()
        kind = "response.image_generation_call.partial_image"
        yield {"type": kind, **where, **look, "partial_image_index": number, "partial_image_b64": encoded}
    yield {"type": "response.image_generation_call.completed", **where}
    result = base64.b64encode(final).decode()
    said = f"A landscape drawn by the demo server for “{stage.ask.prompt[:120]}”."
    done = {**item, "status": "completed", **look, "action": "generate", "revised_prompt": said, "result": result}
    yield stage.close(index, done)


def play_mcp_list(stage: Stage, act: McpList) -> Iterator[Json]:
    item: Json = {"id": stage.ids.new("mcpl"), "type": "mcp_list_tools", "server_label": act.server, "tools": []}
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    yield {"type": "response.mcp_list_tools.in_progress", **where}
    if act.error is None:
        yield {"type": "response.mcp_list_tools.completed", **where}
        yield stage.close(index, {**item, "tools": list(act.tools)})
    else:
        yield {"type": "response.mcp_list_tools.failed", **where}
        yield stage.close(index, {**item, "error": act.error})


def play_mcp_call(stage: Stage, act: McpCall) -> Iterator[Json]:
    known = {"approval_request_id": act.approval, "name": act.name, "server_label": act.server}
    item = _item(stage, "mcp", "mcp_call", **known, arguments="", error=None, output=None)
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    yield {"type": "response.mcp_call.in_progress", **where}
    arguments = yield from _told(stage, "response.mcp_call_arguments.delta", act.arguments, where)
    yield {"type": "response.mcp_call_arguments.done", **where, "arguments": arguments}
    status = stage.status if act.error is None else "failed"
    if not stage.finished:
        yield {"type": f"response.mcp_call.{status}", **where}
    result = {"output": act.output, "error": act.error, "arguments": arguments}
    yield stage.close(index, {**item, **result, "status": status})


def play_mcp_approval(stage: Stage, act: McpApproval) -> Iterator[Json]:
    item: Json = {
        "id": stage.ids.new("mcpr"),
        "type": "mcp_approval_request",
        "server_label": act.server,
        "name": act.name,
        "arguments": act.arguments,
    }
    index, added = stage.open(item)
    yield added
    yield stage.close(index, item)


def play_shell(stage: Stage, act: Shell) -> Iterator[Json]:
    call_id = stage.ids.call()
    action: Json = {"commands": [], "max_output_length": None, "timeout_ms": None}
    item = _item(stage, "sh", "shell_call", action=action, call_id=call_id, environment={"type": "local"})
    index, added = stage.open(item)
    yield added
    lines = []
    for number, command in enumerate(act.commands):
        where = {"output_index": index, "command_index": number}
        yield {"type": "response.shell_call_command.added", **where, "command": ""}
        line = yield from _told(stage, "response.shell_call_command.delta", command.line, where)
        yield {"type": "response.shell_call_command.done", **where, "command": line}
        lines.append(line)
    yield stage.close(index, {**item, "status": stage.status, "action": {**action, "commands": lines}})
    if not stage.finished:
        yield from _shell_output(stage, act, call_id)


def _shell_output(stage: Stage, act: Shell, call_id: str) -> Iterator[Json]:
    item = _item(stage, "sho", "shell_call_output", call_id=call_id, max_output_length=None, output=[])
    index, added = stage.open(item)
    yield added
    outputs = []
    for number, command in enumerate(act.commands):
        where = {**_where(item, index), "command_index": number}
        kind = "response.shell_call_output_content.delta"
        for text in command.stdout:
            yield {"type": kind, **where, "delta": {"stdout": text}}
        if command.stderr:
            yield {"type": kind, **where, "delta": {"stderr": command.stderr}}
        outcome = {"type": "exit", "exit_code": command.exit_code}
        output = {"outcome": outcome, "stderr": command.stderr, "stdout": "".join(command.stdout)}
        yield {"type": "response.shell_call_output_content.done", **where, "output": [output]}
        outputs.append(output)
    yield stage.close(index, {**item, "status": "completed", "output": outputs})


def play_patch(stage: Stage, act: Patch) -> Iterator[Json]:
    operation = {"type": act.kind, "diff": "", "path": act.path}
    item = _item(stage, "apc", "apply_patch_call", call_id=stage.ids.call(), operation=operation)
    index, added = stage.open(item)
    yield added
    where = _where(item, index)
    diff = yield from _told(stage, "response.apply_patch_call_operation_diff.delta", act.diff, where)
    yield {"type": "response.apply_patch_call_operation_diff.done", **where, "diff": diff}
    yield stage.close(index, {**item, "status": stage.status, "operation": {**operation, "diff": diff}})


def _item(stage: Stage, prefix: str, kind: str, **fields: Any) -> Json:
    return {"id": stage.ids.new(prefix), "type": kind, "status": "in_progress", **fields}


def _where(item: Json, index: int) -> Json:
    return {"item_id": item["id"], "output_index": index}


def _told(stage: Stage, kind: str, text: str, where: Json) -> Generator[Json, None, str]:
    """The deltas of a text; returns as much of it as was told."""
    said = ""
    for piece in stage.pieces(text):
        said += piece
        yield stage.delta(kind, piece, **where)
    return said
