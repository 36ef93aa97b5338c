"""Payloads → rows: the one decode pass that all frames share. Reads what columns are made of and skips the rest.

A row is flatter and cheaper than a typed event: nothing that a column doesn't hold is built (no log probabilities, no
items, no base64). It says the same as the event would, also where the server was careless: what strict decoding refuses
is opened leniently, and a field that has the wrong type is null.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.core.decode import decode_kept
from nbresponses.core.wire import InvalidEvent, open_json

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NO_NUMBER", "Row", "read_rows", "well_formed"]

NO_NUMBER = -(2**63)
"""Stands for a missing number, so that a column of numbers is read in one step."""

_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class RowError(msgspec.Struct, gc=False):
    code: str | int | float | None = None
    message: str | None = None


class RowItem(msgspec.Struct, gc=False):
    id: str | None = None


class RowResponse(msgspec.Struct, gc=False):
    id: str | None = None
    error: RowError | str | None = None


class RowToken(msgspec.Struct, gc=False):
    """Counted, not read."""


class Row(msgspec.Struct, gc=False):
    """One event. `type` is the event's, whatever it took to find it."""

    type: str = ""
    sequence_number: int | None = NO_NUMBER
    stream_id: str | None = None
    item_id: str | None = None
    output_index: int | None = NO_NUMBER
    content_index: int | None = NO_NUMBER
    summary_index: int | None = NO_NUMBER
    command_index: int | None = None
    delta: str | None = None
    response: RowResponse | None = None
    item: RowItem | None = None
    error: RowError | str | None = None
    code: str | int | float | None = None
    message: str | None = None
    logprobs: tuple[RowToken, ...] | None = ()


_type_of = attrgetter("type")
_decode_row = msgspec.json.Decoder(Row).decode


def read_rows(
    payloads: Sequence[bytes],
    names: Sequence[str | None] | None = None,
    halves: dict[int, str] | None = None,
    first: int = 0,
) -> list[Row]:
    """The rows of payloads. `names` are their SSE event names, needed only for JSON without a type.

    Where half a character stands in a delta, it is U+FFFD in the row, and the delta as it came is put into `halves`
    under the row's number, counted from `first`.
    """
    if names is None:
        try:
            rows = list(map(_decode_row, payloads))
        except _REFUSED:
            pass
        else:
            if all(map(_type_of, rows)):
                return rows
    rows = [_row(payload, name) for payload, name in zip(payloads, names or [None] * len(payloads), strict=True)]
    for number, row in enumerate(rows, first):
        if row.delta is not None and (whole := well_formed(row.delta)) != row.delta:
            if halves is not None:
                halves[number] = row.delta
            row.delta = whole
    return rows


def _row(payload: bytes, name: str | None) -> Row:
    try:
        row = _decode_row(payload)
    except _REFUSED:
        return _row_leniently(payload, name)
    return row if row.type else _row_leniently(payload, name)


def _row_leniently(payload: bytes, name: str | None) -> Row:
    event = decode_kept(payload, name)
    if isinstance(event, InvalidEvent):
        return Row(type=event.type, error=RowError(message=str(event.error) if event.error else None))
    fields = open_json(payload)
    error = fields.get("error")
    return Row(
        type=well_formed(event.type),
        sequence_number=_number(fields.get("sequence_number")),
        stream_id=_text(fields.get("stream_id")),
        item_id=_text(fields.get("item_id")),
        output_index=_number(fields.get("output_index")),
        content_index=_number(fields.get("content_index")),
        summary_index=_number(fields.get("summary_index")),
        command_index=_number(fields.get("command_index")),
        delta=_delta(fields.get("delta")),
        response=_response(fields.get("response")),
        item=RowItem(_text(_of(fields.get("item"), "id"))) if isinstance(fields.get("item"), dict) else None,
        error=_error(error) if error is not None else None,
        code=_error(fields).code,
        message=_text(fields.get("message")),
        logprobs=_tokens(fields.get("logprobs")),
    )


def _response(value: Any) -> RowResponse | None:
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    return RowResponse(_text(value.get("id")), _error(error) if error is not None else None)


def _error(value: Any) -> RowError:
    if not isinstance(value, dict):
        return RowError(message=_text(value))
    code = value.get("code")
    known = isinstance(code, (str, int, float)) and not isinstance(code, bool)
    return RowError(well_formed(str(code)) if known else None, _text(value.get("message")))


def _delta(value: Any) -> str | None:
    """A delta's text. A shell's output comes as an object: what it printed, then what it complained about."""
    if isinstance(value, dict):
        parts = [text for name in ("stdout", "stderr") if (text := _text(value.get(name)))]
        return "".join(parts) if parts else None
    return value if isinstance(value, str) else None


def _tokens(value: Any) -> tuple[RowToken, ...]:
    return tuple(RowToken() for entry in value if isinstance(entry, dict)) if isinstance(value, list) else ()


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else NO_NUMBER


def well_formed(text: str) -> str:
    """The text as UTF-8 can hold it: surrogate pairs joined, a surrogate that stands alone becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
