"""Which event touches which kind of part, and which items have such parts. Tables only; source: the event reference."""

from __future__ import annotations

from nbresponses.core.events import EVENT_TYPES
from nbresponses.core.tool_events import ItemStatusEvent

__all__ = ["DELTAS", "DONES", "INDEXED", "ITEM_TYPES", "KIND_OF_PART", "KIND_OF_STATUS", "PARTS", "STATUSES"]

DELTAS = {
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning_text", "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning_summary", "summary_index"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.mcp_call_arguments.delta": ("arguments", ""),
    "response.code_interpreter_call_code.delta": ("code", ""),
    "response.custom_tool_call_input.delta": ("input", ""),
    "response.shell_call_command.delta": ("shell_command", "command_index"),
}
"""Event that appends its `delta` → (kind, field of the part's index)."""

DONES = {
    "response.refusal.done": ("refusal", "refusal", "content_index"),
    "response.reasoning_text.done": ("reasoning_text", "text", "content_index"),
    "response.reasoning_summary_text.done": ("reasoning_summary", "text", "summary_index"),
    "response.function_call_arguments.done": ("arguments", "arguments", ""),
    "response.mcp_call_arguments.done": ("arguments", "arguments", ""),
    "response.code_interpreter_call_code.done": ("code", "code", ""),
    "response.custom_tool_call_input.done": ("input", "input", ""),
    "response.shell_call_command.added": ("shell_command", "command", "command_index"),
    "response.shell_call_command.done": ("shell_command", "command", "command_index"),
}
"""Event that holds a whole text → (kind, field of the text, field of the part's index)."""

PARTS = (
    "response.content_part.added",
    "response.content_part.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
)

KIND_OF_PART = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "reasoning_text",
    "summary_text": "reasoning_summary",
}
"""Type of a content or summary part → kind."""

STATUSES = tuple(type_ for type_, cls in EVENT_TYPES.items() if issubclass(cls, ItemStatusEvent))
"""Events that say only what an item is doing: `response.TYPE_OF_ITEM.STATUS`."""

KIND_OF_STATUS = {"image_generation_call": "image", "code_interpreter_call": "code", "mcp_call": "arguments"}
"""Type of an item in a status event → the kind that such items have; elsewhere the type itself stands for it."""

ITEM_TYPES = {
    "text": ("message",),
    "refusal": ("message",),
    "reasoning_text": ("reasoning",),
    "reasoning_summary": ("reasoning",),
    "arguments": ("function_call", "mcp_call"),
    "code": ("code_interpreter_call",),
    "input": ("custom_tool_call",),
    "image": ("image_generation_call",),
    "shell_command": ("shell_call",),
    "shell_output": ("shell_call_output",),
    "diff": ("apply_patch_call",),
    "web_search_call": ("web_search_call",),
    "file_search_call": ("file_search_call",),
    "mcp_list_tools": ("mcp_list_tools",),
    "compaction": ("compaction",),
}
"""Kind → types of the items that it belongs in. The first is assumed for an item that nobody announced."""

INDEXED = frozenset({"text", "refusal", "reasoning_text", "reasoning_summary", "shell_command", "shell_output"})
"""Kinds of which an item can have several parts."""
