"""What each frame's columns are called, hold, and are measured in. Data only; docs/captures.md says the same.

Types are chosen so that frames can be kept, joined and written without surprises: no column of Python objects, the same
types for an empty frame, missing numbers as <NA> (never as floats). Words that repeat in every row (types, ids, lanes)
are categories and cost a byte or two; texts are Arrow strings.
"""

from __future__ import annotations

from typing import NamedTuple

from nbresponses.core.events import EVENT_TYPES

__all__ = ["EVENTS", "KNOWN_TYPES", "Column"]


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
