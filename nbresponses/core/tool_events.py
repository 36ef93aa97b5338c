"""The typed events of tool calls and of media. Classes only; the table of all events is in `events`."""

from __future__ import annotations

from typing import Any

from nbresponses.core.wire import NestedEvent, TypedEvent, WireObject

# ── Tool calls: what the model writes ────────────────────────────────────────────────────────────────────────────────


class ItemDeltaEvent(TypedEvent, frozen=True, tag=""):
    """Parent of the deltas that belong to an item as a whole."""

    delta: str = ""
    item_id: str | None = None
    output_index: int | None = None


class ArgumentsDoneEvent(TypedEvent, frozen=True, tag=""):
    """Parent of the events that hold a call's whole arguments (JSON text)."""

    arguments: str = ""
    item_id: str | None = None
    output_index: int | None = None


class ResponseFunctionCallArgumentsDeltaEvent(
    ItemDeltaEvent, frozen=True, tag="response.function_call_arguments.delta"
):
    """The next piece of a function call's arguments (JSON text)."""


class ResponseFunctionCallArgumentsDoneEvent(
    ArgumentsDoneEvent, frozen=True, tag="response.function_call_arguments.done"
):
    """A function call's whole arguments; some servers send the function's `name` too."""

    name: str | None = None


class ResponseMcpCallArgumentsDeltaEvent(ItemDeltaEvent, frozen=True, tag="response.mcp_call_arguments.delta"):
    """The next piece of an MCP call's arguments (JSON text)."""


class ResponseMcpCallArgumentsDoneEvent(ArgumentsDoneEvent, frozen=True, tag="response.mcp_call_arguments.done"):
    """An MCP call's whole arguments."""


class ResponseCodeInterpreterCallCodeDeltaEvent(
    ItemDeltaEvent, frozen=True, tag="response.code_interpreter_call_code.delta"
):
    """The next piece of the code that the interpreter will run."""


class ResponseCodeInterpreterCallCodeDoneEvent(TypedEvent, frozen=True, tag="response.code_interpreter_call_code.done"):
    """The whole code."""

    code: str = ""
    item_id: str | None = None
    output_index: int | None = None


class ResponseCustomToolCallInputDeltaEvent(ItemDeltaEvent, frozen=True, tag="response.custom_tool_call_input.delta"):
    """The next piece of a custom tool's input (free text)."""


class ResponseCustomToolCallInputDoneEvent(TypedEvent, frozen=True, tag="response.custom_tool_call_input.done"):
    """A custom tool's whole input."""

    input: str = ""
    item_id: str | None = None
    output_index: int | None = None


# ── Tool calls: what becomes of them ─────────────────────────────────────────────────────────────────────────────────


class ItemStatusEvent(TypedEvent, frozen=True, tag=""):
    """Parent of the events that say only what an item is doing now; the last word of the type is its status."""

    item_id: str | None = None
    output_index: int | None = None


class ResponseMcpCallInProgressEvent(ItemStatusEvent, frozen=True, tag="response.mcp_call.in_progress"):
    """An MCP call runs."""


class ResponseMcpCallCompletedEvent(ItemStatusEvent, frozen=True, tag="response.mcp_call.completed"):
    """An MCP call has succeeded."""


class ResponseMcpCallFailedEvent(ItemStatusEvent, frozen=True, tag="response.mcp_call.failed"):
    """An MCP call has failed; the error is in the finished item."""


class ResponseMcpListToolsInProgressEvent(ItemStatusEvent, frozen=True, tag="response.mcp_list_tools.in_progress"):
    """The tools of an MCP server are being listed."""


class ResponseMcpListToolsCompletedEvent(ItemStatusEvent, frozen=True, tag="response.mcp_list_tools.completed"):
    """The tools of an MCP server are listed."""


class ResponseMcpListToolsFailedEvent(ItemStatusEvent, frozen=True, tag="response.mcp_list_tools.failed"):
    """The tools of an MCP server could not be listed."""


class ResponseWebSearchCallInProgressEvent(ItemStatusEvent, frozen=True, tag="response.web_search_call.in_progress"):
    """A web search begins."""


class ResponseWebSearchCallSearchingEvent(ItemStatusEvent, frozen=True, tag="response.web_search_call.searching"):
    """A web search runs."""


class ResponseWebSearchCallCompletedEvent(ItemStatusEvent, frozen=True, tag="response.web_search_call.completed"):
    """A web search is finished."""


class ResponseFileSearchCallInProgressEvent(ItemStatusEvent, frozen=True, tag="response.file_search_call.in_progress"):
    """A file search begins."""


class ResponseFileSearchCallSearchingEvent(ItemStatusEvent, frozen=True, tag="response.file_search_call.searching"):
    """A file search runs."""


class ResponseFileSearchCallCompletedEvent(ItemStatusEvent, frozen=True, tag="response.file_search_call.completed"):
    """A file search is finished."""


class ResponseCodeInterpreterCallInProgressEvent(
    ItemStatusEvent, frozen=True, tag="response.code_interpreter_call.in_progress"
):
    """A code interpreter call begins."""


class ResponseCodeInterpreterCallInterpretingEvent(
    ItemStatusEvent, frozen=True, tag="response.code_interpreter_call.interpreting"
):
    """The interpreter runs the code."""


class ResponseCodeInterpreterCallCompletedEvent(
    ItemStatusEvent, frozen=True, tag="response.code_interpreter_call.completed"
):
    """A code interpreter call is finished."""


class ResponseCompactionCompactingEvent(ItemStatusEvent, frozen=True, tag="response.compaction.compacting"):
    """The server compacts the context."""


# ── Images and audio ─────────────────────────────────────────────────────────────────────────────────────────────────


class ResponseImageGenCallInProgressEvent(
    ItemStatusEvent, frozen=True, tag="response.image_generation_call.in_progress"
):
    """An image generation call begins."""


class ResponseImageGenCallGeneratingEvent(
    ItemStatusEvent, frozen=True, tag="response.image_generation_call.generating"
):
    """The image is being made."""


class ResponseImageGenCallCompletedEvent(ItemStatusEvent, frozen=True, tag="response.image_generation_call.completed"):
    """The image is made; it comes in the finished item's `result`."""


class ResponseImageGenCallPartialImageEvent(
    TypedEvent, frozen=True, tag="response.image_generation_call.partial_image"
):
    """A preview of the image: base64, index from 0, sharper with each."""

    background: str | None = None
    item_id: str | None = None
    output_format: str | None = None
    output_index: int | None = None
    partial_image_b64: str = ""
    partial_image_index: int | None = None
    quality: str | None = None
    size: str | None = None


class ResponseAudioDeltaEvent(TypedEvent, frozen=True, tag="response.audio.delta"):
    """The next piece of audio, base64 of its own. Audio belongs to the response, not to an item."""

    delta: str = ""


class ResponseAudioDoneEvent(TypedEvent, frozen=True, tag="response.audio.done"):
    """The audio is finished."""


class ResponseAudioTranscriptDeltaEvent(TypedEvent, frozen=True, tag="response.audio.transcript.delta"):
    """The next piece of what the audio says."""

    delta: str = ""


class ResponseAudioTranscriptDoneEvent(TypedEvent, frozen=True, tag="response.audio.transcript.done"):
    """The transcript is finished."""


# ── Shell ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class ResponseShellCallCommandAddedEvent(TypedEvent, frozen=True, tag="response.shell_call_command.added"):
    """A command of a shell call begins. These events carry no item id."""

    command: str = ""
    command_index: int | None = None
    output_index: int | None = None


class ResponseShellCallCommandDeltaEvent(TypedEvent, frozen=True, tag="response.shell_call_command.delta"):
    """The next piece of a command."""

    command_index: int | None = None
    delta: str = ""
    obfuscation: str | None = None
    output_index: int | None = None


class ResponseShellCallCommandDoneEvent(TypedEvent, frozen=True, tag="response.shell_call_command.done"):
    """The whole command."""

    command: str = ""
    command_index: int | None = None
    output_index: int | None = None


class ShellOutputEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the two shell output events."""

    command_index: int | None = None
    item_id: str | None = None
    output_index: int | None = None


class ResponseShellCallOutputContentDeltaEvent(
    ShellOutputEvent, frozen=True, kw_only=True, tag="response.shell_call_output_content.delta"
):
    """More output of a command: `delta` is an object with `stdout` and / or `stderr`."""

    @property
    def delta(self) -> WireObject:
        """What came now: `stdout` and / or `stderr`, each a text."""
        return self._object("delta")


class ResponseShellCallOutputContentDoneEvent(
    ShellOutputEvent, frozen=True, kw_only=True, tag="response.shell_call_output_content.done"
):
    """The whole output of a command: a list of objects with `stdout`, `stderr` and `outcome`."""

    @property
    def output(self) -> list[Any]:
        """All of it: objects with `stdout`, `stderr` and `outcome`."""
        return self._objects("output")
