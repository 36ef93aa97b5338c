"""Events as columns of numbers and words, filled a batch at a time. Keeps no row. Imported when a frame is asked for.

What a row needs from its neighbours is worked out at the end, over whole columns: the response in progress on its lane.
That begins with the first event that names it and ends with its terminal event. Rows before the first event that names
one belong to it too (a resumed stream starts in the middle), unless it says that the response was only then created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nbresponses.capture.rows import NO_NUMBER, Row, RowError, read_rows
from nbresponses.capture.schema import KNOWN_TYPES
from nbresponses.core.events import EVENT_TYPES
from nbresponses.core.wire import NestedEvent, open_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbresponses.capture.messages import Channel, Columns

__all__ = ["Batch", "EventColumns", "Mark", "Words", "batches", "filled"]

_NO_INDEX = -(2**31)  # stands for a missing number in a column of 32 bits, as NO_NUMBER in one of 64
_ROWS = 8192  # of a batch: enough to spread the cost of a step, few enough to stay in the cache
_CARRY, _NOTHING = -2, -1  # in a column of word numbers: as in the row before; null
_BEGINS = frozenset({"response.created", "response.queued"})
_ENDS = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})
_SHELL = "response.shell_call"
_FLAT = frozenset(
    type_
    for type_, cls in EVENT_TYPES.items()
    if not issubclass(cls, NestedEvent) and not type_.startswith(_SHELL) and not type_.endswith("audio.delta")
)
"""Types whose rows need no closer look."""


class Words(dict["str | None", int]):
    """Word → its number, by first appearance; None is -1. For columns that hold few words in many rows."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        super().__init__()
        self[None] = _NOTHING
        for word in known:
            self[word] = len(self) - 1

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self) - 1
        return number

    def numbers(self, words: Sequence[str | None]) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))

    def listed(self) -> list[str]:
        return [word for word in self if word is not None]


class Batch(NamedTuple):
    """Some received events. `lanes` and `names` are None where no row has one; `too_large` lists rows by number."""

    payloads: list[bytes]
    times: NDArray[np.float64]
    lanes: list[str | None] | None = None
    names: list[str | None] | None = None
    too_large: Sequence[int] = ()


def batches(columns: Columns) -> Iterator[Batch]:
    """The events among the messages, in order, some thousand at a time."""
    channels, payloads = columns.channels, columns.payloads
    codes = np.array(columns.codes, np.uint32)
    times = np.array(columns.times, np.float64)
    chosen = np.flatnonzero(_which(channels, lambda c: c.direction == "in" and c.kind in ("event", "too_large"))[codes])
    with_lane = _which(channels, lambda c: c.lane is not None)
    with_name = _which(channels, lambda c: c.name is not None)
    too_large = _which(channels, lambda c: c.kind == "too_large")
    for first in range(0, len(chosen), _ROWS):
        rows = chosen[first : first + _ROWS]
        used = codes[rows]
        yield Batch(
            [payloads[row] for row in rows.tolist()],
            times[rows],
            [channels[code].lane for code in used.tolist()] if with_lane[used].any() else None,
            [channels[code].name for code in used.tolist()] if with_name[used].any() else None,
            np.flatnonzero(too_large[used]).tolist(),
        )


def _which(channels: list[Channel], holds: Callable[[Channel], bool]) -> NDArray[np.bool_]:
    return np.fromiter(map(holds, channels), np.bool_, len(channels))


class Mark(NamedTuple):
    """An event that holds a response object. `response` is the number of its id, -2 where it has none."""

    row: int
    response: int
    type: str
    payload: bytes


def filled(columns: Columns) -> EventColumns:
    """The event columns of all messages."""
    events = EventColumns()
    for batch in batches(columns):
        events.extend(batch)
    return events


class EventColumns:
    """The columns of `events()` while they grow. `extend` takes batches in order of arrival."""

    def __init__(self) -> None:
        self.types = Words(KNOWN_TYPES)
        self.lanes = Words()
        self.responses = Words()
        self.items = Words()
        self.codes = Words()
        self.messages = Words()
        self._pieces: dict[str, list[NDArray[Any]]] = {}
        self._deltas: list[pa.Array] = []
        self.marks: list[Mark] = []
        self.commands: dict[int, int | None] = {}
        """Row → the index of a shell command, for the few rows that have one."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, batch: Batch) -> None:
        rows = read_rows(batch.payloads, batch.names)
        sizes = np.fromiter(map(len, batch.payloads), np.int64, len(rows))
        for index in batch.too_large:
            rows[index], sizes[index] = _given_up(batch.payloads[index])
        types = self.types.numbers([row.type for row in rows])
        self._closer_look(rows, types, batch.payloads)
        lanes: list[str | None] = [row.stream_id for row in rows]
        if batch.lanes is not None:
            lanes = [given if given is not None else own for given, own in zip(batch.lanes, lanes, strict=True)]
        self._add("type", types)
        self._add("lane", self.lanes.numbers(lanes))
        self._add("item_id", self.items.numbers([row.item_id for row in rows]))
        self._add("sequence_number", _numbers([row.sequence_number for row in rows]))
        self._add("output_index", _small(_numbers([row.output_index for row in rows])))
        self._add("content_index", _small(_numbers([row.content_index for row in rows])))
        self._add("summary_index", _small(_numbers([row.summary_index for row in rows])))
        self._add("time", np.rint(batch.times * 1e6).astype(np.int64))
        self._add("bytes", np.minimum(sizes, -_NO_INDEX - 1).astype(np.int32))
        self._deltas.append(pa.array([row.delta for row in rows], pa.large_string()))
        self._count += len(rows)

    def _closer_look(self, rows: list[Row], types: NDArray[np.int32], payloads: list[bytes]) -> None:
        """The few rows that have something inside: an item, a response, an error."""
        errors = np.full((2, len(rows)), _NOTHING, np.int32)
        flat = np.array([word in _FLAT for word in self.types.listed()], bool)
        for index in np.flatnonzero(~flat[types]).tolist():
            row = rows[index]
            if row.item is not None and row.item_id is None:
                row.item_id = row.item.id
            if row.type.endswith("audio.delta"):  # base64
                row.delta = None
            elif row.type.startswith(_SHELL):
                self.commands[self._count + index] = row.command_index
            if row.response is not None:
                number = _CARRY if row.response.id is None else self.responses[row.response.id]
                self.marks.append(Mark(self._count + index, number, row.type, payloads[index]))
            code, message = _error(row)
            errors[:, index] = self.codes[code], self.messages[message]
        self._add("error_code", errors[0])
        self._add("error_message", errors[1])

    def _add(self, name: str, values: NDArray[Any]) -> None:
        self._pieces.setdefault(name, []).append(values)

    # ── What has been filled ─────────────────────────────────────────────────────────────────────────────────────────

    def column(self, name: str) -> NDArray[Any]:
        """A column of numbers; for one of words, the words' numbers."""
        return np.concatenate([np.empty(0, np.int64 if name in _WIDE else np.int32), *self._pieces.get(name, ())])

    def deltas(self) -> pa.ChunkedArray:
        return pa.chunked_array(self._deltas, pa.large_string())

    def response_numbers(self) -> NDArray[np.int32]:
        """For each row the number of the response in progress on its lane, -1 where there is none."""
        state = np.full(self._count, _CARRY, np.int32)
        if not self._count:
            return state
        lanes = self.column("lane")
        order = np.argsort(lanes, kind="stable")  # each lane's rows side by side
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        starts = np.flatnonzero(np.diff(lanes[order], prepend=lanes[order[0]] - 1))
        state[starts] = _NOTHING
        self._enter_marks(state, place, starts)
        latest = np.maximum.accumulate(np.where(state == _CARRY, 0, np.arange(len(state))))
        return state[latest][place]

    def _enter_marks(self, state: NDArray[np.int32], place: NDArray[np.intp], starts: NDArray[np.intp]) -> None:
        begun: set[int] = set()
        is_start = set(starts.tolist())
        for row, number, type_, _ in self.marks:
            at = int(place[row])
            start = int(starts[np.searchsorted(starts, at, side="right") - 1])
            if start not in begun and type_ not in _BEGINS and number != _CARRY:
                state[start] = number
            begun.add(start)
            if number != _CARRY:
                state[at] = number
            if type_ in _ENDS and at + 1 < len(state) and at + 1 not in is_start:
                state[at + 1] = _NOTHING


_WIDE = frozenset({"sequence_number", "time"})


def _numbers(values: list[int | None]) -> NDArray[np.int64]:
    try:
        return np.fromiter(values, np.int64, len(values))
    except (TypeError, OverflowError):  # null, or beyond 64 bits: no number that a column could hold
        limit = -NO_NUMBER
        kept = (value if value is not None and -limit < value < limit else NO_NUMBER for value in values)
        return np.fromiter(kept, np.int64, len(values))


def _small(values: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.where((values > _NO_INDEX) & (values < -_NO_INDEX), values, _NO_INDEX).astype(np.int32)


def _given_up(payload: bytes) -> tuple[Row, int]:
    """The row of an event above the size limit, of which only facts were kept, and its size as far as it was read."""
    facts = open_json(payload)
    return Row(type="invalid", error=RowError(message=facts.get("reason"))), facts.get("bytes") or 0


def _error(row: Row) -> tuple[str | None, str | None]:
    error = row.error
    if error is None and row.response is not None:
        error = row.response.error
    if error is None:
        if row.type != "error":
            return None, None
        error = RowError(row.code, row.message)
    if isinstance(error, str):
        return None, error
    return None if error.code is None else str(error.code), error.message
