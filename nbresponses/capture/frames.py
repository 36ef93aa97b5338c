"""Event columns → the frames of events and of pieces of text. Knows no capture and no file.

Every frame has the columns of its schema (schema.py), always all of them, in that order, of those types, and says in
`frame.attrs` what it is, where it comes from and when that started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from nbresponses.capture.event_columns import NO_INDEX
from nbresponses.capture.rows import NO_NUMBER
from nbresponses.capture.schema import DELTA_KINDS, DELTAS, EVENTS, PAYLOAD
from nbresponses.capture.typed import typed_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["attrs", "deltas_frame", "deltas_parts", "events_frame", "events_parts", "halves"]

_INDEXES = ("output_index", "content_index", "summary_index")


def attrs(frame: str, events: EventColumns) -> dict[str, Any]:
    """What a frame says of itself."""
    return {"frame": frame, "source": events.source, "started": events.started.isoformat()}


def events_frame(events: EventColumns, payloads: Sequence[bytes] | None = None) -> pd.DataFrame:
    """One row per event received, in order of arrival: `schema.EVENTS`, with payloads also `schema.PAYLOAD`."""
    return next(events_parts(events, payloads=payloads))


def events_parts(
    events: EventColumns, size: int | None = None, payloads: Sequence[bytes] | None = None
) -> Iterator[pd.DataFrame]:
    """The same frame in parts of `size` rows (None: in one), so that no more than a part is in memory."""
    for first, end in _parts(events, size):
        times = events.column("time", max(first - 1, 0), end)
        gaps = np.diff(times, prepend=times[:1])[1 if first else 0 :]
        gaps[: 0 if first else 1] = NO_NUMBER
        data: dict[str, Any] = {
            **{name: events.column(name, first, end) for name in ("sequence_number", "bytes", *_INDEXES)},
            "type": (events.column("type", first, end), events.types.listed()),
            "lane": (events.column("lane", first, end), events.lanes.listed()),
            "response_id": (events.response_numbers()[first:end], events.response_ids()),
            "item_id": (events.column("item_id", first, end), events.items.listed()),
            "delta": events.deltas().slice(first, end - first),
            "time": times[1 if first else 0 :] + events.began,
            "gap": gaps,
            "error_code": (events.column("error_code", first, end), events.codes.listed()),
            "error_message": (events.column("error_message", first, end), events.messages.listed()),
        }
        says = {**attrs("events", events), "repaired": halves(events)}
        if payloads is None:
            yield typed_frame(EVENTS, data, says)
        else:
            data["payload"] = [payload.decode("utf-8", "replace") for payload in payloads[first:end]]
            yield typed_frame((*EVENTS, PAYLOAD), data, says)


def _parts(events: EventColumns, size: int | None) -> Iterator[tuple[int, int]]:
    """(first row, end) of each part; one where there are no rows."""
    size = size or max(len(events), 1)
    for first in range(0, max(len(events), 1), size):
        yield first, min(first + size, len(events))


def deltas_frame(events: EventColumns) -> pd.DataFrame:
    """One row per piece of text, in order of arrival: `schema.DELTAS`."""
    return next(deltas_parts(events))


def deltas_parts(events: EventColumns, size: int | None = None) -> Iterator[pd.DataFrame]:
    """The same frame in parts, each from `size` rows of events (None: in one)."""
    kinds = list(dict.fromkeys(DELTA_KINDS.values()))
    numbers = np.array([kinds.index(DELTA_KINDS[t]) if t in DELTA_KINDS else -1 for t in events.types.listed()])
    before: dict[_Part, tuple[int, int | None]] = {}
    for first, end in _parts(events, size):
        texts = events.deltas().slice(first, end - first)
        rows = np.flatnonzero(texts.is_valid().to_numpy())
        pieces = texts.take(rows)
        data: dict[str, Any] = {
            "response_id": (events.response_numbers()[first:end][rows], events.response_ids()),
            "lane": (events.column("lane", first, end)[rows], events.lanes.listed()),
            "item_id": (events.column("item_id", first, end)[rows], events.items.listed()),
            "output_index": events.column("output_index", first, end)[rows],
            "kind": (numbers[events.column("type", first, end)[rows]], kinds),
            "part_index": _part_index(events, first, end)[rows],
            "delta": pieces,
            "tokens": events.column("tokens", first, end)[rows],
        }
        times = events.column("time", first, end)[rows]
        lengths = pc.utf8_length(pieces).to_numpy().astype(np.int64)
        turns = events.turn_numbers()[first:end][rows]
        data["start"], data["gap"] = _within_parts(data, turns, lengths, times, before)
        data["time"] = times + events.began
        yield typed_frame(DELTAS, data, {**attrs("deltas", events), "repaired": halves(events)})


def halves(events: EventColumns) -> int:
    """How many halves of characters came; in the frame each is part of its character again, or U+FFFD."""
    return sum("\ud800" <= character <= "\udfff" for text in events.halves.values() for character in text)


def _part_index(events: EventColumns, first: int, end: int) -> NDArray[np.int32]:
    content, summary = events.column("content_index", first, end), events.column("summary_index", first, end)
    index = np.where(content != NO_INDEX, content, summary)
    for row, command in events.commands.items():
        if first <= row < end:
            index[row - first] = command if command is not None and NO_INDEX < command < -NO_INDEX else NO_INDEX
    return index


_Part = tuple[int, ...]
"""What tells one text from another, in numbers."""


def _within_parts(
    data: dict[str, Any],
    turns: NDArray[np.int32],
    lengths: NDArray[np.int64],
    times: NDArray[np.int64],
    before: dict[_Part, tuple[int, int | None]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each piece: the characters, and the microseconds, since what came before it in its part.

    `before` has the same of each part's latest piece in earlier rows, in characters and as a time; it is brought up to
    date.
    """
    # Some servers change an item's id from event to event: where there is an index, it says which item is meant.
    items = np.where(data["output_index"] == NO_INDEX, data["item_id"][0], -1)
    keys = [items, data["part_index"], data["output_index"], data["kind"][0], data["lane"][0], turns]
    order = np.lexsort(keys)  # each part's pieces side by side, in order of arrival
    begins = np.zeros(len(order), bool)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[order[1:]] != key[order[:-1]]
    heads = np.flatnonzero(begins)
    sizes = np.diff(heads, append=len(order))
    ends = heads + sizes - 1
    parts = list(zip(*(key[order[heads]].tolist() for key in keys), strict=True))
    told = [before.get(part, (0, None)) for part in parts]

    sums, firsts = np.cumsum(lengths[order]), times[order[heads]].tolist()
    bases = np.array([known for known, _ in told], np.int64) - (sums - lengths[order])[heads]
    starts, gaps = np.empty_like(lengths), np.empty_like(times)
    starts[order] = sums - lengths[order] + np.repeat(bases, sizes)
    spans = np.diff(times[order], prepend=0)
    spans[heads] = [NO_NUMBER if at is None else first - at for first, (_, at) in zip(firsts, told, strict=True)]
    gaps[order] = spans
    before.update(zip(parts, zip((sums[ends] + bases).tolist(), times[order[ends]].tolist(), strict=True), strict=True))
    return starts, gaps
