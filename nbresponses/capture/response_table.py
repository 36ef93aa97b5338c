"""What became of each response: the columns of `responses()`. Imported when that frame is asked for.

A response's start is the moment its request was sent: the oldest request on its lane that is not yet answered by
another response or an error. Where none was recorded (a resumed stream, a foreign capture) it is the first event. An
error that comes when no response is in progress is a row of its own: the answer to a request that never became a
response.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow.compute as pc

from nbresponses.capture.messages import dump_json
from nbresponses.capture.rows import NO_NUMBER, well_formed
from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.messages import Columns

__all__ = ["response_table"]

_ENDINGS = {f"response.{word}": word for word in ("completed", "incomplete", "failed", "cancelled")}
_ANSWER = "response.output_text.delta"


class _Facts(msgspec.Struct):
    """The fields of a response object that the table shows. Any value is taken; what it is worth is decided later."""

    model: Any = None
    status: Any = None
    previous_response_id: Any = None
    usage: Any = None
    error: Any = None
    incomplete_details: Any = None
    metadata: Any = None


class _Holder(msgspec.Struct):
    response: _Facts


_decode = msgspec.json.Decoder(_Holder).decode
_NAMES = _Facts.__struct_fields__


def response_table(columns: Columns, events: EventColumns, began: int) -> dict[str, list[Any]]:
    """The columns, not yet typed; `began` is the capture's start in microseconds since the epoch."""
    table: dict[str, list[Any]] = defaultdict(list)
    groups = _groups(events)
    facts = _facts(events, groups)
    ids = events.responses.listed()
    measure = _Measure(columns, events)
    for number, rows in _rows_of(groups):
        row = {
            "response_id": ids[number] if number < len(ids) else None,
            **_described(facts[number]),
            **measure.response(rows),
        }
        row["started"] += began
        seconds = row.pop("streamed") / 1e6
        row["tokens_per_second"] = row["output_tokens"] / seconds if row["output_tokens"] and seconds > 0 else None
        for name, value in row.items():
            table[name].append(value)
    return table


def _groups(events: EventColumns) -> NDArray[np.int32]:
    """For each row the number of its response; an error outside of any response gets a number of its own."""
    groups = events.response_numbers()
    alone = np.flatnonzero((groups < 0) & (events.column("type") == events.types["error"]))
    groups[alone] = len(events.responses.listed()) + np.arange(len(alone), dtype=np.int32)
    return groups


def _rows_of(groups: NDArray[np.int32]) -> list[tuple[int, NDArray[np.intp]]]:
    """(number, its rows), in order of the first row."""
    order = np.argsort(groups, kind="stable")
    found = [rows for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(rows)]
    return sorted(((int(groups[rows[0]]), rows) for rows in found if groups[rows[0]] >= 0), key=lambda each: each[1][0])


def _facts(events: EventColumns, groups: NDArray[np.int32]) -> dict[int, _Facts]:
    """What the response objects say; of each field the latest value that isn't null."""
    facts: dict[int, _Facts] = defaultdict(_Facts)
    for mark in events.marks:
        known = facts[int(groups[mark.row])]
        try:
            told = _decode(mark.payload).response
        except (msgspec.MsgspecError, RecursionError):
            inside = open_json(mark.payload).get("response")
            told = _Facts(**{name: inside.get(name) for name in _NAMES}) if isinstance(inside, dict) else _Facts()
        for name in _NAMES:
            value = getattr(told, name)
            if value is not None:
                setattr(known, name, value)
    return facts


def _described(facts: _Facts) -> dict[str, Any]:
    usage = facts.usage
    metadata = facts.metadata
    return {
        "model": _word(facts.model),
        "status": _word(facts.status),
        "previous_response_id": _word(facts.previous_response_id),
        "input_tokens": _whole(_inside(usage, "input_tokens")),
        "cached_tokens": _whole(_inside(usage, "input_tokens_details", "cached_tokens")),
        "output_tokens": _whole(_inside(usage, "output_tokens")),
        "reasoning_tokens": _whole(_inside(usage, "output_tokens_details", "reasoning_tokens")),
        "total_tokens": _whole(_inside(usage, "total_tokens")),
        "incomplete_reason": _word(_inside(facts.incomplete_details, "reason")),
        "metadata": None if metadata is None else dump_json(metadata).decode(),
    }


class _Measure:
    """What the events say about a response: times, sizes, errors, how it ended. Takes responses in order."""

    def __init__(self, columns: Columns, events: EventColumns) -> None:
        self._times = events.column("time")
        self._types = events.column("type")
        self._sizes = events.column("bytes")
        self._lanes = events.column("lane")
        self._codes = events.column("error_code")
        self._messages = events.column("error_message")
        self._words = (events.types.listed(), events.lanes.listed(), events.codes.listed(), events.messages.listed())
        lengths = pc.fill_null(pc.utf8_length(events.deltas()), 0).to_numpy().astype(np.int64)
        self._answer = np.where(self._types == events.types[_ANSWER], lengths, 0)
        self._requests, self._endings = _requests_and_endings(columns)

    def response(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        times, answer = self._times[rows], self._answer[rows]
        lane = _at(self._words[1], self._lanes[rows[0]])
        waiting = self._requests[lane]
        start = waiting.popleft() if waiting and waiting[0] <= times[0] else int(times[0])
        texts = np.flatnonzero(answer)
        failed = rows[np.flatnonzero((self._codes[rows] >= 0) | (self._messages[rows] >= 0))[:1]]
        return {
            "lane": lane,
            "ending": self._ending(lane, rows),
            "started": start,
            "to_first_event": int(times[0]) - start,
            "to_first_text": int(times[texts[0]]) - start if len(texts) else NO_NUMBER,
            "duration": int(times[-1]) - start,
            "streamed": int(times[-1] - times[0]),
            "events": len(rows),
            "bytes": int(self._sizes[rows].sum()),
            "characters": int(answer.sum()),
            "error_code": _at(self._words[2], self._codes[failed[0]]) if len(failed) else None,
            "error_message": _at(self._words[3], self._messages[failed[0]]) if len(failed) else None,
        }

    def _ending(self, lane: str | None, rows: NDArray[np.intp]) -> str | None:
        types = [self._words[0][number] for number in np.unique(self._types[rows])]
        for type_ in types:
            if type_ in _ENDINGS:
                return _ENDINGS[type_]
        noted = (ending for at, ending in self._endings[lane] if at >= self._times[rows[-1]])
        return "error" if "error" in types else next(noted, None)


def _requests_and_endings(
    columns: Columns,
) -> tuple[dict[str | None, deque[int]], dict[str | None, list[tuple[int, str]]]]:
    """Lane → times of its requests; lane → (time, ending) as noted. Times in microseconds."""
    requests: dict[str | None, deque[int]] = defaultdict(deque)
    endings: dict[str | None, list[tuple[int, str]]] = defaultdict(list)
    wanted = {
        number: channel
        for number, channel in enumerate(columns.channels)
        if (channel.direction, channel.kind) in {("out", "request"), ("note", "ended")}
    }
    codes = np.array(columns.codes, np.int64)
    for row in np.flatnonzero(np.isin(codes, list(wanted))).tolist():
        channel = wanted[int(codes[row])]
        at = round(columns.times[row] * 1e6)
        try:
            fields = open_json(columns.payloads[row])
        except DecodeError:
            fields = {}
        if channel.direction == "note":
            endings[channel.lane].append((at, str(fields.get("ending"))))
        elif fields.get("type") != "response.steer":  # that joins a response instead of asking for one
            requests[channel.lane].append(at)
    return requests, endings


def _at(words: list[str], number: int) -> str | None:
    return words[number] if number >= 0 else None


def _inside(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _word(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < -NO_NUMBER else None
