"""What each frame's columns are called, hold, and are measured in. Data only; docs/captures.md says the same.

Types are chosen so that frames can be kept, joined and written without surprises: no column of Python objects, the same
types for an empty frame, missing numbers as <NA> (never as floats). Words that repeat in every row (types, ids, lanes)
are categories and cost a byte or two; texts are Arrow strings.
"""

from __future__ import annotations

from typing import NamedTuple

from nbresponses.core.events import EVENT_TYPES

__all__ = ["DELTAS", "DELTA_KINDS", "EVENTS", "KNOWN_TYPES", "PAYLOAD", "RESPONSES", "Column"]


class Column(NamedTuple):
    """`dtype` as pandas prints it; `unit` is "" where there is none."""

    name: str
    dtype: str
    unit: str
    meaning: str


TIME = "datetime64[us, UTC]"
SPAN = "timedelta64[us]"

EVENTS = (
    Column("sequence_number", "Int64", "", "The server's number of the event."),
    Column("type", "category", "", "The event's type; `invalid` for a payload that is no JSON object."),
    Column("lane", "category", "", "The lane (`stream_id`); null on the default lane and without lanes."),
    Column("response_id", "category", "", "The response in progress on that lane."),
    Column("item_id", "category", "", "The output item the event is about."),
    Column("output_index", "Int32", "", "The item's place in the output."),
    Column("content_index", "Int32", "", "The place of the content part in its item."),
    Column("summary_index", "Int32", "", "The place of the reasoning summary part in its item."),
    Column("delta", "str", "", "The text that the event appends; null where it has none, or base64."),
    Column("time", TIME, "", "When the event arrived."),
    Column("gap", SPAN, "", "Time since the row before; null in the first."),
    Column("bytes", "int32", "bytes", "Size of the payload."),
    Column("error_code", "category", "", "Code of the error that the event reports, as text."),
    Column("error_message", "category", "", "Its message; for `invalid`, what is wrong with the payload."),
)
"""`events()`: one row per event received, in order of arrival."""

PAYLOAD = Column("payload", "str", "", "The JSON text as received, base64 included.")
"""The column that `events(payload=True)` adds."""

DELTAS = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("item_id", "category", "", "As in `events()`."),
    Column("output_index", "Int32", "", "As in `events()`."),
    Column("kind", "category", "", "What the text is a piece of: `text`, `refusal`, `arguments` …; null if unknown."),
    Column("part_index", "Int32", "", "Its content, summary or command index."),
    Column("delta", "str", "", "The piece."),
    Column("start", "int64", "characters", "What was received of its part before it."),
    Column("time", TIME, "", "When the piece arrived."),
    Column("gap", SPAN, "", "Time since the piece before it in its part; null in the first."),
)
"""`deltas()`: one row per piece of text."""

RESPONSES = (
    Column("response_id", "str", "", "Null for a request that was answered by an error only."),
    Column("lane", "str", "", "As in `events()`."),
    Column("model", "str", "", "As the server names it."),
    Column("status", "str", "", "The server's last word."),
    Column("ending", "str", "", "How it ended: `completed`, `failed`, `cut_off` …; null while it runs."),
    Column("previous_response_id", "str", "", "The response it continues."),
    Column("started", TIME, "", "When the request was sent; the first event where none was recorded."),
    Column("to_first_event", SPAN, "", "From the start to the first event."),
    Column("to_first_text", SPAN, "", "From the start to the first piece of answer text."),
    Column("duration", SPAN, "", "From the start to the last event."),
    Column("events", "Int64", "", "Number of events."),
    Column("bytes", "Int64", "bytes", "Size of their payloads."),
    Column("characters", "Int64", "characters", "Length of the answer text that was streamed."),
    Column("input_tokens", "Int64", "tokens", "Of `usage`; null where the server sent none, as below."),
    Column("cached_tokens", "Int64", "tokens", "Input tokens that came from the cache."),
    Column("output_tokens", "Int64", "tokens", "Reasoning included."),
    Column("reasoning_tokens", "Int64", "tokens", "Output tokens that were reasoning."),
    Column("total_tokens", "Int64", "tokens", "Input and output."),
    Column("tokens_per_second", "Float64", "tokens/s", "Output tokens over the time from first to last event."),
    Column("incomplete_reason", "str", "", "Why the response is incomplete."),
    Column("error_code", "str", "", "Of the response's error, as text."),
    Column("error_message", "str", "", "Its message."),
    Column("metadata", "str", "", "The request's own metadata, as JSON text."),
)
"""`responses()`: one row per response, in order of their first events."""

DELTA_KINDS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning_summary_text.delta": "reasoning_summary",
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
    "response.custom_tool_call_input.delta": "input",
    "response.audio.transcript.delta": "transcript",
    "response.shell_call_command.delta": "shell_command",
    "response.shell_call_output_content.delta": "shell_output",
    "response.apply_patch_call_operation_diff.delta": "diff",
}
"""Type of a delta event → the kind of text it appends to, as changes name it."""

_UNLISTED_TYPES = (
    "codex.rate_limits",
    "codex.response.metadata",
    "invalid",
    "keepalive",
    "message",
    "response.apply_patch_call_operation_diff.delta",
    "response.apply_patch_call_operation_diff.done",
    "response.cancelled",
    "response.reasoning_part.added",
    "response.reasoning_part.done",
)

KNOWN_TYPES = (*EVENT_TYPES, *_UNLISTED_TYPES)
"""Categories of every `type` column, so that joined frames keep the category. Types seen beyond these follow them."""
