"""Columns of messages → DataFrames. Knows no capture and no file; pandas is imported when a frame is asked for.

Every frame has the columns of its schema (schema.py), always all of them, in that order, of those types, and says in
`frame.attrs` what it is, where it comes from and when that started.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from nbresponses.capture.schema import DELTA_KINDS, DELTAS, EVENTS, PAYLOAD, RESPONSES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.messages import Columns

__all__ = ["deltas_frame", "events_frame", "responses_frame"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def events_frame(columns: Columns, *, source: str = "", payload: bool = False) -> pd.DataFrame:
    """One row per event received, in order of arrival: `schema.EVENTS`, and `schema.PAYLOAD` if asked for."""
    from nbresponses.capture.event_columns import batches, filled
    from nbresponses.capture.typed import typed_frame

    events = filled(columns)
    times = events.column("time")
    data: dict[str, Any] = {
        **{name: events.column(name) for name in ("sequence_number", "output_index", "content_index", "summary_index")},
        "type": (events.column("type"), events.types.listed()),
        "lane": (events.column("lane"), events.lanes.listed()),
        "response_id": (events.response_numbers(), events.responses.listed()),
        "item_id": (events.column("item_id"), events.items.listed()),
        "delta": events.deltas(),
        "time": times + _began(columns),
        "gap": _gaps(times),
        "bytes": events.column("bytes"),
        "error_code": (events.column("error_code"), events.codes.listed()),
        "error_message": (events.column("error_message"), events.messages.listed()),
    }
    if not payload:
        return typed_frame(EVENTS, data, _attrs("events", columns, source))
    data["payload"] = [each.decode("utf-8", "replace") for batch in batches(columns) for each in batch.payloads]
    return typed_frame((*EVENTS, PAYLOAD), data, _attrs("events", columns, source))


def deltas_frame(columns: Columns, *, source: str = "") -> pd.DataFrame:
    """One row per piece of text, in order of arrival: `schema.DELTAS`."""
    import numpy as np
    import pyarrow.compute as pc

    from nbresponses.capture.event_columns import filled
    from nbresponses.capture.typed import typed_frame

    events = filled(columns)
    texts = events.deltas()
    rows = np.flatnonzero(texts.is_valid().to_numpy())
    pieces = texts.take(rows)
    kinds = list(dict.fromkeys(DELTA_KINDS.values()))
    numbers = np.array([kinds.index(DELTA_KINDS[t]) if t in DELTA_KINDS else -1 for t in events.types.listed()])
    data: dict[str, Any] = {
        "response_id": (events.response_numbers()[rows], events.responses.listed()),
        "lane": (events.column("lane")[rows], events.lanes.listed()),
        "item_id": (events.column("item_id")[rows], events.items.listed()),
        "output_index": events.column("output_index")[rows],
        "kind": (numbers[events.column("type")[rows]], kinds),
        "part_index": _part_index(events)[rows],
        "delta": pieces,
    }
    times = events.column("time")[rows]
    lengths = pc.utf8_length(pieces).to_numpy().astype(np.int64)
    data["start"], data["gap"] = _within_parts(data, lengths, times)
    data["time"] = times + _began(columns)
    return typed_frame(DELTAS, data, _attrs("deltas", columns, source))


def responses_frame(columns: Columns, *, source: str = "") -> pd.DataFrame:
    """One row per response, in order of their first events: `schema.RESPONSES`."""
    from nbresponses.capture.event_columns import filled
    from nbresponses.capture.response_table import response_table
    from nbresponses.capture.typed import typed_frame

    data = response_table(columns, filled(columns), _began(columns))
    return typed_frame(RESPONSES, data, _attrs("responses", columns, source))


def _attrs(frame: str, columns: Columns, source: str) -> dict[str, str]:
    return {"frame": frame, "source": source, "started": columns.started.astimezone(UTC).isoformat()}


def _began(columns: Columns) -> int:
    """Microseconds from the epoch to the capture's start."""
    return (columns.started - _EPOCH) // timedelta(microseconds=1)


def _gaps(times: NDArray[np.int64]) -> NDArray[np.int64]:
    import numpy as np

    gaps = np.diff(times, prepend=times[:1])
    gaps[:1] = np.iinfo(np.int64).min
    return gaps


def _part_index(events: EventColumns) -> NDArray[np.int32]:
    import numpy as np

    missing = np.iinfo(np.int32).min
    content, summary = events.column("content_index"), events.column("summary_index")
    index = np.where(content != missing, content, summary)
    for row, command in events.commands.items():
        index[row] = command if command is not None and missing < command < -missing else missing
    return index


def _within_parts(
    data: dict[str, Any], lengths: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each piece: the characters, and the microseconds, since what came before it in its part."""
    import numpy as np
    import pandas as pd

    no_index = np.iinfo(np.int32).min
    keys = pd.DataFrame({name: data[name][0] for name in ("response_id", "lane", "kind")})
    keys["output_index"], keys["part_index"] = data["output_index"], data["part_index"]
    # Some servers change an item's id from event to event: where there is an index, it says which item is meant.
    keys["item_id"] = np.where(data["output_index"] == no_index, data["item_id"][0], -1)
    part = keys.groupby(list(keys.columns), sort=False).ngroup()
    starts = pd.Series(lengths).groupby(part).cumsum().to_numpy() - lengths
    gaps = pd.Series(times.view("m8[us]")).groupby(part).diff().to_numpy().view(np.int64)
    return starts, gaps
