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
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["attrs", "deltas_frame", "events_frame"]


def attrs(frame: str, events: EventColumns) -> dict[str, Any]:
    """What a frame says of itself."""
    return {"frame": frame, "source": events.source, "started": events.started.isoformat()}


def events_frame(events: EventColumns, payloads: Sequence[bytes] | None = None) -> pd.DataFrame:
    """One row per event received, in order of arrival: `schema.EVENTS`, with payloads also `schema.PAYLOAD`."""
    times = events.column("time")
    data: dict[str, Any] = {
        **{name: events.column(name) for name in ("sequence_number", "output_index", "content_index", "summary_index")},
        "type": (events.column("type"), events.types.listed()),
        "lane": (events.column("lane"), events.lanes.listed()),
        "response_id": (events.response_numbers(), events.response_ids()),
        "item_id": (events.column("item_id"), events.items.listed()),
        "delta": events.deltas(),
        "time": times + events.began,
        "gap": _gaps(times),
        "bytes": events.column("bytes"),
        "error_code": (events.column("error_code"), events.codes.listed()),
        "error_message": (events.column("error_message"), events.messages.listed()),
    }
    says = {**attrs("events", events), "repaired": _halves(events)}
    if payloads is None:
        return typed_frame(EVENTS, data, says)
    data["payload"] = [payload.decode("utf-8", "replace") for payload in payloads]
    return typed_frame((*EVENTS, PAYLOAD), data, says)


def deltas_frame(events: EventColumns) -> pd.DataFrame:
    """One row per piece of text, in order of arrival: `schema.DELTAS`."""
    texts = events.deltas()
    rows = np.flatnonzero(texts.is_valid().to_numpy())
    pieces = texts.take(rows)
    kinds = list(dict.fromkeys(DELTA_KINDS.values()))
    numbers = np.array([kinds.index(DELTA_KINDS[t]) if t in DELTA_KINDS else -1 for t in events.types.listed()])
    data: dict[str, Any] = {
        "response_id": (events.response_numbers()[rows], events.response_ids()),
        "lane": (events.column("lane")[rows], events.lanes.listed()),
        "item_id": (events.column("item_id")[rows], events.items.listed()),
        "output_index": events.column("output_index")[rows],
        "kind": (numbers[events.column("type")[rows]], kinds),
        "part_index": _part_index(events)[rows],
        "delta": pieces,
        "tokens": events.column("tokens")[rows],
    }
    times = events.column("time")[rows]
    lengths = pc.utf8_length(pieces).to_numpy().astype(np.int64)
    data["start"], data["gap"] = _within_parts(data, events.turn_numbers()[rows], lengths, times)
    data["time"] = times + events.began
    return typed_frame(DELTAS, data, {**attrs("deltas", events), "repaired": _halves(events)})


def _halves(events: EventColumns) -> int:
    """How many halves of characters came; in the frame each is part of its character again, or U+FFFD."""
    return sum("\ud800" <= character <= "\udfff" for text in events.halves.values() for character in text)


def _gaps(times: NDArray[np.int64]) -> NDArray[np.int64]:
    gaps = np.diff(times, prepend=times[:1])
    gaps[:1] = NO_NUMBER
    return gaps


def _part_index(events: EventColumns) -> NDArray[np.int32]:
    content, summary = events.column("content_index"), events.column("summary_index")
    index = np.where(content != NO_INDEX, content, summary)
    for row, command in events.commands.items():
        index[row] = command if command is not None and NO_INDEX < command < -NO_INDEX else NO_INDEX
    return index


def _within_parts(
    data: dict[str, Any], turns: NDArray[np.int32], lengths: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each piece: the characters, and the microseconds, since what came before it in its part."""
    # Some servers change an item's id from event to event: where there is an index, it says which item is meant.
    items = np.where(data["output_index"] == NO_INDEX, data["item_id"][0], -1)
    keys = [items, data["part_index"], data["output_index"], data["kind"][0], data["lane"][0], turns]
    order = np.lexsort(keys)  # each part's pieces side by side, in order of arrival
    begins = np.zeros(len(order), bool)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[order[1:]] != key[order[:-1]]
    before = np.cumsum(lengths[order]) - lengths[order]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    starts, gaps = np.empty_like(lengths), np.empty_like(times)
    starts[order] = before - before[first]
    gaps[order] = np.where(begins, NO_NUMBER, np.diff(times[order], prepend=0))
    return starts, gaps
