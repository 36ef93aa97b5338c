"""Messages as columns of numbers and words, filled a batch at a time. What all frames are made from; keeps no row.

Of the events that hold objects (items, responses, errors, log probabilities) the payload is kept too, for the frames
that look inside. What was sent and noted is kept beside, each with the number of events before it.

A column whose rows are all the same, as most are while a text streams, takes no room.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nbresponses.capture.in_progress import NOTHING, Mark, in_progress, unnamed
from nbresponses.capture.rows import NO_NUMBER, Row, RowError, read_rows, well_formed
from nbresponses.capture.schema import KNOWN_TYPES
from nbresponses.core.events import EVENT_TYPES
from nbresponses.core.wire import NestedEvent, open_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbresponses.capture.messages import Channel, Columns

__all__ = ["NO_INDEX", "Batch", "EventColumns", "Other", "Words", "batches", "microseconds"]

NO_INDEX = -(2**31)  # stands for a missing number in a column of 32 bits, as NO_NUMBER in one of 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS = 8192  # of a batch: enough to spread the cost of a step, few enough to stay in the cache
_SHELL = "response.shell_call"
_AUDIO = "audio.delta"
_PREVIEW = "response.image_generation_call.partial_image"
_FLAT = frozenset(
    type_
    for type_, cls in EVENT_TYPES.items()
    if not issubclass(cls, NestedEvent) and not type_.startswith(_SHELL) and not type_.endswith(_AUDIO)
)
"""Types whose rows need no closer look."""
_PART = ("lane", "type", "output_index", "content_index", "summary_index")
"""What pieces of one text have in common."""
_HIGH, _LOW = frozenset(map(chr, range(0xD800, 0xDC00))), frozenset(map(chr, range(0xDC00, 0xE000)))
"""First and second halves of a character in UTF-16, as JSON escapes them."""
_WIDE = frozenset({"sequence_number", "time"})


class Words(dict["str | None", int]):
    """Word → its number, by first appearance; None is -1. For columns that hold few words in many rows."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__()
        self[None] = NOTHING
        for word in known:
            self[word] = len(self) - 1

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self) - 1
        return number

    def numbers(self, words: Sequence[str | None]) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))

    def listed(self) -> list[str]:
        return [word for word in self if word is not None]


class Other(NamedTuple):
    """A message that is no event: a request or a note. `row` is the number of events before it, `time` in µs."""

    row: int
    time: int
    channel: Channel
    payload: bytes


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
    chosen = np.flatnonzero(_which(channels, _is_event)[codes])
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


def _is_event(channel: Channel) -> bool:
    return channel.direction == "in" and channel.kind in {"event", "too_large"}


def _which(channels: list[Channel], holds: Callable[[Channel], bool]) -> NDArray[np.bool_]:
    return np.fromiter(map(holds, channels), np.bool_, len(channels))


def microseconds(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Seconds → microseconds."""
    return np.rint(times * 1e6).astype(np.int64)


class EventColumns:
    """The columns of `events()` while they grow. `extend` takes messages, `extend_batch` events, in order of arrival.

    `began` is the capture's start in microseconds since the epoch; the `time` column counts from there.
    """

    def __init__(self, started: datetime, source: str = "") -> None:
        self.started = started.astimezone(UTC)
        self.source = source
        self.began: int = (started - _EPOCH) // timedelta(microseconds=1)
        self.types = Words(KNOWN_TYPES)
        self.lanes = Words()
        self.responses = Words()
        self.items = Words()
        self.codes = Words()
        self.messages = Words()
        self.marks: list[Mark] = []
        """The events that hold a response object."""
        self.kept: dict[int, bytes] = {}
        """Row → payload, of the events that hold anything but flat fields, or log probabilities."""
        self.halves: dict[int, str] = {}
        """Row → delta as it came, where half a character stood in it."""
        self.commands: dict[int, int | None] = {}
        """Row → the index of a shell command, for the few rows that have one."""
        self.others: list[Other] = []
        """What was sent and noted."""
        self._pieces: dict[str, list[NDArray[Any]]] = {}
        self._deltas: list[pa.Array] = []
        self._ends: list[int] = []
        """The number of events after each batch; a batch is a piece of every column."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, columns: Columns) -> None:
        """Take messages of any kind, later than those before."""
        others = np.flatnonzero(~_which(columns.channels, _is_event)[np.array(columns.codes, np.uint32)])
        rows = self._count + others - np.arange(len(others))
        for index, row in zip(others.tolist(), rows.tolist(), strict=True):
            time = round(columns.times[index] * 1e6)
            self.others.append(Other(row, time, columns.channels[columns.codes[index]], columns.payloads[index]))
        for batch in batches(columns):
            self.extend_batch(batch)

    def extend_batch(self, batch: Batch) -> None:
        rows = read_rows(batch.payloads, batch.names, self.halves, self._count)
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
        self._add("tokens", self._tokens(rows, batch.payloads))
        self._add("time", microseconds(batch.times))
        self._add("bytes", np.minimum(sizes, -NO_INDEX - 1).astype(np.int32))
        self._deltas.append(pa.array([row.delta for row in rows], pa.large_string()))
        self._count += len(rows)
        self._ends.append(self._count)
        for name in ("_in_progress", "_turns", "_texts"):
            self.__dict__.pop(name, None)

    def _closer_look(self, rows: list[Row], types: NDArray[np.int32], payloads: list[bytes]) -> None:
        """The few rows that have something inside: an item, a response, an error."""
        errors = np.full((2, len(rows)), NOTHING, np.int32)
        flat = np.array([word in _FLAT for word in self.types.listed()], bool)
        for index in np.flatnonzero(~flat[types]).tolist():
            row = rows[index]
            if row.item is not None and row.item_id is None:
                row.item_id = row.item.id
            if row.type.endswith(_AUDIO):  # base64
                row.delta = None
                continue
            self.kept[self._count + index] = payloads[index]
            if row.type.startswith(_SHELL):
                self.commands[self._count + index] = row.command_index
            if row.response is not None:
                number = self.responses[row.response.id]
                self.marks.append(Mark(self._count + index, number, row.type, payloads[index]))
            code, message = _error(row)
            errors[:, index] = self.codes[code], self.messages[message]
        self._add("error_code", errors[0])
        self._add("error_message", errors[1])

    def _tokens(self, rows: list[Row], payloads: list[bytes]) -> NDArray[np.int32]:
        try:
            counts = np.fromiter(map(len, [row.logprobs for row in rows]), np.int32, len(rows))  # type: ignore[arg-type]
        except TypeError:  # null
            counts = np.fromiter((len(row.logprobs or ()) for row in rows), np.int32, len(rows))
        for index in np.flatnonzero(counts).tolist():
            self.kept[self._count + index] = payloads[index]
        return np.where(counts > 0, counts, NO_INDEX).astype(np.int32)

    def _add(self, name: str, values: NDArray[Any]) -> None:
        if len(values) and (values == values[0]).all():
            values = np.broadcast_to(values[:1].copy(), len(values))
        self._pieces.setdefault(name, []).append(values)

    # ── What has been filled ─────────────────────────────────────────────────────────────────────────────────────────

    def column(self, name: str, first: int = 0, end: int | None = None) -> NDArray[Any]:
        """A column of numbers, or some rows of it; for one of words, the words' numbers."""
        end = self._count if end is None else end
        from_, to = bisect_right(self._ends, first), bisect_left(self._ends, end) + 1
        none = np.empty(0, np.int64 if name in _WIDE else np.int32)
        before = self._ends[from_ - 1] if from_ else 0
        return np.concatenate([none, *self._pieces.get(name, ())[from_:to]])[first - before : end - before]

    def deltas(self) -> pa.ChunkedArray:
        """The pieces of text. A character that was cut in two between pieces is whole, in the first of them."""
        return self._texts

    def lengths(self) -> NDArray[np.int32]:
        """Of these pieces, in characters; 0 where there is none."""
        counted = [pc.fill_null(pc.utf8_length(chunk), 0).to_numpy().astype(np.int32) for chunk in self._texts.chunks]
        return np.concatenate([np.empty(0, np.int32), *counted])

    @cached_property
    def _texts(self) -> pa.ChunkedArray:
        chunks = list(self._deltas)
        ends = np.cumsum([0, *map(len, chunks)])
        repaired = self._repaired()
        numbers = np.searchsorted(ends, list(repaired), side="right") - 1
        for number in np.unique(numbers).tolist():
            texts = chunks[number].to_pylist()
            for row in compress(repaired, numbers == number):
                texts[row - int(ends[number])] = repaired[row]
            chunks[number] = pa.array(texts, pa.large_string())
        return pa.chunked_array(chunks, pa.large_string())

    def _repaired(self) -> dict[int, str]:
        halves = dict(self.halves)
        rows = sorted(halves)
        following = self._following(rows) if rows else {}
        for row in rows:
            after = following.get(row)
            if halves[row][-1:] in _HIGH and after in halves and halves[after][:1] in _LOW:
                halves[row] += halves[after][0]
                halves[after] = halves[after][1:]
        return {row: well_formed(text) for row, text in halves.items()}

    def _following(self, rows: list[int]) -> dict[int, int]:
        """For each of these rows that of the next piece of the same text, up to the last of them."""
        parts = [self.column(name, rows[0], rows[-1] + 1) for name in _PART]
        order = np.lexsort(parts)
        wanted = np.logical_and.reduce([part[order[1:]] == part[order[:-1]] for part in parts])
        wanted &= np.isin(order[:-1], np.array(rows) - rows[0])
        before, after = order[:-1][wanted] + rows[0], order[1:][wanted] + rows[0]
        return dict(zip(before.tolist(), after.tolist(), strict=True))

    def response_numbers(self) -> NDArray[np.int32]:
        """For each row the number of the response in progress on its lane, -1 where there is none."""
        return self._in_progress[0]

    def response_ids(self) -> list[str]:
        """The id of each of these numbers: the last that the server gave it."""
        return self._in_progress[1]

    def response_id(self, number: int) -> str | None:
        """The id of a turn; None where it has none."""
        ids = self.response_ids()
        return ids[number] if 0 <= number < len(ids) else None

    def turn_numbers(self) -> NDArray[np.int32]:
        """The same as `response_numbers`, with numbers also for responses without an id, and for errors without one."""
        return self._turns

    @cached_property
    def _turns(self) -> NDArray[np.int32]:
        types, words = self.column("type"), self.types.listed()
        return unnamed(self.response_numbers(), self.column("lane"), types, words, len(self.response_ids()))

    @cached_property
    def _in_progress(self) -> tuple[NDArray[np.int32], list[str]]:
        return in_progress(self.column("lane"), self.marks, self.responses.listed())


def _numbers(values: list[int | None]) -> NDArray[np.int64]:
    try:
        return np.fromiter(values, np.int64, len(values))
    except (TypeError, OverflowError):  # null, or beyond 64 bits: no number that a column could hold
        limit = -NO_NUMBER
        kept = (value if value is not None and -limit < value < limit else NO_NUMBER for value in values)
        return np.fromiter(kept, np.int64, len(values))


def _small(values: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.where((values > NO_INDEX) & (values < -NO_INDEX), values, NO_INDEX).astype(np.int32)


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
