"""What each frame's columns are called, hold, and are measured in. Data only; docs/frames.md says the same.

Types are chosen so that frames can be kept, joined and written without surprises: no column of Python objects, the same
types for an empty frame, missing numbers as <NA> (never as floats). Words that repeat in every row (types, ids, lanes)
are categories and cost a byte or two; texts are Arrow strings.
"""

from __future__ import annotations

from typing import NamedTuple

from nbresponses.core.events import EVENT_TYPES

__all__ = [
    "ALTERNATIVES",
    "DELTAS",
    "DELTA_KINDS",
    "DIFFERENCES",
    "EVENTS",
    "FRAMES",
    "GAPS",
    "GAP_KINDS",
    "ITEMS",
    "KNOWN_TYPES",
    "LANES",
    "LATENCIES",
    "LINEAGE",
    "LOGPROBS",
    "PAYLOAD",
    "RESPONSES",
    "SPAN_KINDS",
    "SUMMARY",
    "TIMELINE",
    "TOOLS",
    "TOOL_ARGUMENTS",
    "USAGE",
    "Column",
]


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
    Column("tokens", "Int32", "tokens", "How many it is; null unless log probabilities came with it."),
    Column("time", TIME, "", "When the piece arrived."),
    Column("gap", SPAN, "", "Time since the piece before it in its part; null in the first."),
)
"""`deltas()`: one row per piece of text."""

ITEMS = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("output_index", "Int32", "", "The item's place in the output."),
    Column("item_id", "str", "", "Its id as the item itself has it; some servers send another with each event."),
    Column("type", "category", "", "`message`, `reasoning`, `function_call` …"),
    Column("name", "str", "", "The tool or function that it calls."),
    Column("status", "category", "", "The server's last word about it."),
    Column("started", TIME, "", "Its first event; null if only the terminal event lists it."),
    Column("to_first_delta", SPAN, "", "From there to its first piece of text."),
    Column("ended", TIME, "", "Its `output_item.done`; null if none came."),
    Column("duration", SPAN, "", "From start to end."),
    Column("events", "Int64", "", "Number of events about it."),
    Column("bytes", "Int64", "bytes", "Size of their payloads."),
    Column("deltas", "Int64", "", "Number of pieces of text."),
    Column("characters", "Int64", "characters", "Length of these pieces."),
    Column("encrypted_bytes", "Int64", "bytes", "Size of its encrypted content, as sent; null if it has none."),
    Column("previews", "Int32", "", "Number of partial images."),
    Column("media_bytes", "Int64", "bytes", "Size of its finished picture; null if it has none."),
    Column("media_sha256", "str", "", "SHA-256 of that picture, in hexadecimal."),
)
"""`items()`: one row per output item, in order of their first events."""

RESPONSES = (
    Column(
        "response_id",
        "str",
        "",
        "Null where the server gave none, as for a request that was answered by an error only.",
    ),
    Column("lane", "str", "", "As in `events()`."),
    Column("model", "str", "", "As the server names it."),
    Column("status", "str", "", "The server's last word."),
    Column("ending", "str", "", "How it ended: `completed`, `failed`, `cut_off` …; null while it runs."),
    Column("previous_response_id", "str", "", "The response it continues."),
    Column("started", TIME, "", "When the request was sent; the first event where none was recorded."),
    Column("to_first_byte", SPAN, "", "From the start to the answer's headers; null on lanes."),
    Column("to_first_event", SPAN, "", "From the start to the first event."),
    Column("to_first_token", SPAN, "", "From the start to the first piece of any text, reasoning included."),
    Column("to_first_text", SPAN, "", "From the start to the first piece of answer text."),
    Column("duration", SPAN, "", "From the start to the last event."),
    Column("events", "Int64", "", "Number of events."),
    Column("bytes", "Int64", "bytes", "Size of their payloads."),
    Column("characters", "Int64", "characters", "Length of the answer text that was streamed."),
    Column("longest_gap", SPAN, "", "The longest time between two events; null with fewer than two."),
    Column("stalls", "Int64", "", "How often nothing came for `stall` seconds or more, between two events."),
    Column("stalled", SPAN, "", "How long these took together."),
    Column("retries", "Int64", "", "How often the request was repeated, or its stream resumed."),
    Column("input_tokens", "Int64", "tokens", "Of `usage`; null where the server sent none, as below."),
    Column("cached_tokens", "Int64", "tokens", "Input tokens that came from the cache."),
    Column("output_tokens", "Int64", "tokens", "Reasoning included."),
    Column("reasoning_tokens", "Int64", "tokens", "Output tokens that were reasoning."),
    Column("total_tokens", "Int64", "tokens", "Input and output."),
    Column("tokens_per_second", "Float64", "tokens/s", "Output tokens over the time from first to last event."),
    Column("cost", "Float64", "as `prices`", "By the price table given; null without one, or without usage."),
    Column("incomplete_reason", "str", "", "Why the response is incomplete."),
    Column("error_code", "str", "", "Of the response's error, as text."),
    Column("error_message", "str", "", "Its message."),
    Column("metadata", "str", "", "The request's own metadata, as JSON text."),
)
"""`responses()`: one row per response, in order of their first events."""

TIMELINE = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("kind", "category", "", "`queued`, `waiting`, `reasoning`, `tool`, `text` or `other`."),
    Column("name", "str", "", "The item's type, or the tool or function that it calls."),
    Column("output_index", "Int32", "", "The item's place in the output; null where the span is no item's."),
    Column("started", TIME, "", "Where the span begins."),
    Column("ended", TIME, "", "Where it ends; the response's last event if it was not closed."),
    Column("duration", SPAN, "", "From start to end."),
    Column("closed", "bool", "", "Whether its end was told."),
)
"""`timeline()`: one row per span, by start within each response."""

LOGPROBS = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("item_id", "category", "", "As in `events()`."),
    Column("output_index", "Int32", "", "As in `events()`."),
    Column("content_index", "Int32", "", "As in `events()`."),
    Column("position", "int64", "tokens", "The token's place in its part, from 0."),
    Column("token", "str", "", "The token's text."),
    Column("time", TIME, "", "When it arrived."),
    Column("logprob", "Float64", "nats", "Natural logarithm of its probability; `-inf` is kept."),
    Column("probability", "Float64", "", "That probability, 0 to 1."),
    Column("entropy", "Float64", "bits", "Of the alternatives and, as one more, all the rest: a lower bound."),
    Column("rank", "Int32", "", "Its place among the alternatives, from 1; null if it is not among them."),
    Column("alternatives", "Int32", "", "How many alternatives the server sent."),
)
"""`logprobs()`: one row per token that came with its log probability."""

ALTERNATIVES = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("output_index", "Int32", "", "As in `events()`."),
    Column("content_index", "Int32", "", "As in `events()`."),
    Column("position", "int64", "tokens", "The place of the token that was chosen, as in `logprobs()`."),
    Column("rank", "int32", "", "The alternative's place by probability, from 1."),
    Column("token", "str", "", "The alternative's text."),
    Column("logprob", "Float64", "nats", "Natural logarithm of its probability."),
    Column("probability", "Float64", "", "That probability, 0 to 1."),
    Column("chosen", "bool", "", "Whether it is the token that was chosen."),
)
"""`logprobs(alternatives=True)`: one row per alternative."""

TOOLS = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("output_index", "Int32", "", "The call's place in the output."),
    Column("item_id", "str", "", "The id of its item."),
    Column("call_id", "str", "", "The id that its result names."),
    Column("type", "category", "", "`function_call`, `mcp_call`, `web_search_call` …"),
    Column("name", "str", "", "The tool or function; null where the type says all."),
    Column("server_label", "str", "", "The MCP server."),
    Column("status", "category", "", "The server's last word about the call."),
    Column("arguments", "str", "", "As sent, or what else the call is made with (code, queries, commands) as text."),
    Column("arguments_valid", "boolean", "", "Whether they are whole JSON; null for what is not meant to be JSON."),
    Column("started", TIME, "", "The call's first event."),
    Column("called", TIME, "", "When it was complete."),
    Column("answered", TIME, "", "When its result was sent to the server, or came from there."),
    Column("latency", SPAN, "", "From the complete call to its result."),
    Column("answered_by", "category", "", "`client` or `server`; null without a result."),
    Column("result", "str", "", "The result as text; pictures in it as their type and size."),
    Column("result_bytes", "Int64", "bytes", "Size of the result as sent."),
    Column("error", "str", "", "What the server says went wrong."),
)
"""`tools()`: one row per call of a tool, in order of their first events."""

TOOL_ARGUMENTS = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("call_id", "str", "", "As in `tools()`."),
    Column("type", "category", "", "As in `tools()`."),
    Column("name", "str", "", "As in `tools()`."),
    Column("argument", "str", "", "The argument's name."),
    Column("kind", "category", "", "`string`, `number`, `boolean`, `null`, `object` or `array`."),
    Column("value", "str", "", "Its value: a string as it is, all else as JSON text."),
)
"""`tools(arguments=True)`: one row per argument of the calls whose arguments are a JSON object."""

USAGE = (
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("model", "category", "", "As in `responses()`."),
    Column("counter", "category", "", "The path in `usage`, such as `input_tokens_details.cached_tokens`."),
    Column("count", "Int64", "", "The value where it is a whole number, with all its digits."),
    Column("value", "Float64", "", "The value as a floating-point number."),
)
"""`usage()`: one row per number that the server counted, its own extras included."""

LANES = (
    Column("lane", "str", "", "The lane (`stream_id`); null for the default lane."),
    Column("requests", "Int64", "", "Requests that were sent."),
    Column("responses", "Int64", "", "Responses that began, those that nobody asked for (steering) included."),
    Column("completed", "Int64", "", "Of these, completed."),
    Column("failed", "Int64", "", "Ended otherwise; errors without a response included."),
    Column("running", "Int64", "", "Without an ending."),
    Column("forked_from", "str", "", "The lane whose response its first response continues, if another."),
    Column("latest_response_id", "str", "", "The last response that completed."),
    Column("started", TIME, "", "The first message, either way."),
    Column("ended", TIME, "", "The last one."),
    Column("busy", SPAN, "", "How long a response was in progress."),
    Column("sent_bytes", "Int64", "bytes", "Size of the requests."),
    Column("events", "Int64", "", "Events received."),
    Column("bytes", "Int64", "bytes", "Size of their payloads."),
    Column("characters", "Int64", "characters", "Answer text received."),
    Column("input_tokens", "Int64", "tokens", "Sum of `usage`; null where no response had any."),
    Column("output_tokens", "Int64", "tokens", "As above."),
)
"""`lanes()`: one row per lane, in order of their first messages."""

LINEAGE = (
    Column("response_id", "str", "", "The response."),
    Column("parent_id", "str", "", "The response it continues; null where it began anew."),
    Column("root_id", "str", "", "The first response of its conversation, as far as this capture knows."),
    Column("depth", "Int32", "", "Steps from there."),
    Column("lane", "str", "", "As in `events()`."),
    Column(
        "parent_lane", "str", "", "The parent's lane; null on the default lane and where it is not in this capture."
    ),
    Column("continued_by", "category", "", "`anew`, `id`, or `context`: its request repeated the parent's output."),
    Column(
        "fork", "bool", "", "Whether it left its parent's lane, or another response there continued the parent before."
    ),
    Column("children", "Int32", "", "How many responses of this capture continue it."),
    Column("ending", "category", "", "As in `responses()`."),
    Column("started", TIME, "", "As in `responses()`."),
    Column("ended", TIME, "", "Its last event."),
)
"""`lineage()`: one row per response, parents before their children."""

GAPS = (
    Column("kind", "category", "", "`gap`, `repeat`, `backwards` (in the numbers) or `stall` (in time)."),
    Column("response_id", "category", "", "As in `events()`."),
    Column("lane", "category", "", "As in `events()`."),
    Column("row", "int64", "", "The row in `events()` before which it is."),
    Column("type", "category", "", "The type of that event."),
    Column("after", "Int64", "", "The sequence number before it."),
    Column("before", "Int64", "", "The sequence number of that event."),
    Column("missing", "Int64", "", "How many numbers are left out; null unless it is a `gap`."),
    Column("time", TIME, "", "When that event arrived."),
    Column("duration", SPAN, "", "Time since the event before it."),
)
"""`gaps()`: one row per irregularity within a response, by row."""

DIFFERENCES = (
    Column("op", "category", "", "`equal`, `delete` (only in a), `insert` (only in b) or `replace`."),
    Column("a", "str", "", "What stands in a."),
    Column("b", "str", "", "What stands in b."),
    Column("a_start", "Int64", "characters", "Where it begins in a."),
    Column("b_start", "Int64", "characters", "Where it begins in b."),
    Column("a_tokens", "Int64", "tokens", "How many tokens it has in a (or words, or pieces)."),
    Column("b_tokens", "Int64", "tokens", "And in b."),
)
"""`compare().text`: one row per stretch of text."""

LATENCIES = (
    Column("response", "Int32", "", "Which response of each, counted from 0."),
    Column("metric", "category", "", "A column of `responses()`."),
    Column("unit", "category", "", "Its unit; times are in seconds here."),
    Column("a", "Float64", "as `unit`", "Its value in a."),
    Column("b", "Float64", "as `unit`", "Its value in b."),
    Column("difference", "Float64", "as `unit`", "b - a."),
)
"""`compare().latency`: one row per response and measure."""

_QUANTILES = tuple(
    Column(f"{name}_{share}", SPAN, "", f"{meaning}: {words}.")
    for name, meaning in (
        ("to_first_event", "From the start to the first event"),
        ("to_first_text", "From the start to the first piece of answer text"),
        ("duration", "From the start to the last event"),
        ("gap", "Between two pieces of one text"),
    )
    for share, words in (("p50", "the median"), ("p90", "nine tenths are at most this"), ("p99", "99 % are"))
)

SUMMARY = (
    Column("model", "str", "", "As in `responses()`; null where no server named one."),
    Column("date", "str", "", "The UTC day on which the responses started."),
    Column("responses", "Int64", "", "Responses, errors without one included."),
    Column("completed", "Int64", "", "Of these, completed; and so on:"),
    Column("incomplete", "Int64", "", "incomplete,"),
    Column("failed", "Int64", "", "failed,"),
    Column("cancelled", "Int64", "", "cancelled,"),
    Column("error", "Int64", "", "ended by an error,"),
    Column("cut_off", "Int64", "", "cut off,"),
    Column("interrupted", "Int64", "", "stopped by their user,"),
    Column("running", "Int64", "", "without an ending."),
    Column("events", "Int64", "", "Sums, from here on: events,"),
    Column("bytes", "Int64", "bytes", "size of their payloads,"),
    Column("characters", "Int64", "characters", "answer text,"),
    Column("stalls", "Int64", "", "stalls of a second or more,"),
    Column("retries", "Int64", "", "repeated requests,"),
    Column("input_tokens", "Int64", "tokens", "and what `usage` counts, where there is one."),
    Column("cached_tokens", "Int64", "tokens", "As above."),
    Column("output_tokens", "Int64", "tokens", "As above."),
    Column("reasoning_tokens", "Int64", "tokens", "As above."),
    Column("total_tokens", "Int64", "tokens", "As above."),
    Column("seconds", "Float64", "s", "Durations together."),
    Column("tokens_per_second", "Float64", "tokens/s", "Output tokens over the time from first to last event, of all."),
    Column("events_per_second", "Float64", "events/s", "Events over durations, of all."),
    *_QUANTILES,
    Column("longest_gap", SPAN, "", "The longest time between two events of a response."),
)
"""`summarize()`: one row per model and day."""

FRAMES = {
    "events": EVENTS,
    "deltas": DELTAS,
    "items": ITEMS,
    "responses": RESPONSES,
    "timeline": TIMELINE,
    "logprobs": LOGPROBS,
    "tools": TOOLS,
    "usage": USAGE,
    "lanes": LANES,
    "lineage": LINEAGE,
    "gaps": GAPS,
}
"""Name of the method → its columns."""

GAP_KINDS = ("gap", "repeat", "backwards", "stall")
SPAN_KINDS = ("queued", "waiting", "reasoning", "tool", "text", "other")
"""Categories of these `kind` columns, in this order."""

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
