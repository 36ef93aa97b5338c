"""Columns of messages → DataFrames. Knows no capture and no file; pandas is imported when a frame is asked for.

Every frame has the columns of its schema (schema.py), always all of them, in that order, of those types.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns, Words
    from nbresponses.capture.messages import Columns

__all__ = ["events_frame"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def events_frame(columns: Columns, *, source: str = "", payload: bool = False) -> pd.DataFrame:
    """One row per event received, in order: `schema.EVENTS`, and with `payload` the JSON text as received."""
    import pandas as pd

    from nbresponses.capture.event_columns import EventColumns, batches

    filled = EventColumns()
    texts: list[str] = []
    for batch in batches(columns):
        filled.extend(batch)
        if payload:
            texts += [each.decode("utf-8", "replace") for each in batch.payloads]
    data = _event_data(filled, columns.started)
    if payload:
        data["payload"] = pd.array(texts, dtype="str")
    frame = pd.DataFrame(data, copy=False)
    frame.attrs = {"frame": "events", "source": source, "started": columns.started.astimezone(UTC).isoformat()}
    return frame


def _event_data(filled: EventColumns, started: datetime) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    from nbresponses.capture.event_columns import NO_INDEX
    from nbresponses.capture.rows import NO_NUMBER

    times = filled.column("time")
    gaps = np.diff(times, prepend=times[:1]).view("m8[us]")
    gaps[:1] = np.timedelta64("NaT")
    began = (started - _EPOCH) // timedelta(microseconds=1)
    return {
        "sequence_number": _nullable(filled.column("sequence_number"), NO_NUMBER),
        "type": _categories(filled.column("type"), filled.types),
        "lane": _categories(filled.column("lane"), filled.lanes),
        "response_id": _categories(filled.response_numbers(), filled.responses),
        "item_id": _categories(filled.column("item_id"), filled.items),
        "output_index": _nullable(filled.column("output_index"), NO_INDEX),
        "content_index": _nullable(filled.column("content_index"), NO_INDEX),
        "summary_index": _nullable(filled.column("summary_index"), NO_INDEX),
        "delta": pd.array(filled.deltas(), dtype="str"),
        "time": pd.DatetimeIndex((times + began).view("M8[us]"), tz="UTC"),
        "gap": gaps,
        "bytes": filled.column("bytes"),
        "error_code": _categories(filled.column("error_code"), filled.codes),
        "error_message": _categories(filled.column("error_message"), filled.messages),
    }


def _nullable(values: NDArray[Any], missing: int) -> Any:
    import pandas as pd

    return pd.arrays.IntegerArray(values, values == missing)


def _categories(numbers: NDArray[Any], words: Words) -> pd.Categorical:
    import pandas as pd

    kinds = pd.CategoricalDtype(pd.Index(words.listed(), dtype="str"))
    return pd.Categorical.from_codes(numbers, dtype=kinds, validate=False)
