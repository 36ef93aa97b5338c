"""Values → pandas columns of the types a schema names. Imported when a frame is asked for.

Numbers come as NumPy arrays in which the smallest value of the type stands for a missing one, or as lists with None;
times and spans as microseconds, the same way; categories as (numbers, words), or as a list of words with None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbresponses.capture.rows import NO_NUMBER
from nbresponses.capture.schema import SPAN, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbresponses.capture.schema import Column

__all__ = ["frame_of_rows", "typed_frame"]

_NULLABLE = {"Int64": pd.arrays.IntegerArray, "Int32": pd.arrays.IntegerArray, "Float64": pd.arrays.FloatingArray}


def typed_frame(schema: Iterable[Column], data: Mapping[str, Any], attrs: Mapping[str, Any]) -> pd.DataFrame:
    """A frame with exactly the columns of `schema`, in its order."""
    frame = pd.DataFrame({column.name: _typed(column.dtype, data[column.name]) for column in schema}, copy=False)
    frame.attrs.update(attrs)
    return frame


def frame_of_rows(
    schema: Sequence[Column], rows: Sequence[Mapping[str, Any]], attrs: Mapping[str, Any]
) -> pd.DataFrame:
    """The same from rows (a few; many go in as columns). What a row leaves out is null."""
    return typed_frame(schema, {column.name: [row.get(column.name) for row in rows] for column in schema}, attrs)


def _typed(dtype: str, values: Any) -> Any:
    if dtype == "category":
        numbers, words = values if isinstance(values, tuple) else _numbered(values)
        # Without any category Parquet forgets that these are texts, and joining what it gives back makes objects.
        kinds = pd.CategoricalDtype(pd.Index(list(words) or [""], dtype="str"))
        return pd.Categorical.from_codes(numbers, dtype=kinds, validate=False)
    if dtype == TIME:
        return pd.DatetimeIndex(_whole(values).view("M8[us]"), tz="UTC")
    if dtype == SPAN:
        return _whole(values).view("m8[us]")
    if isinstance(values, np.ndarray):
        if dtype not in _NULLABLE:
            return values
        missing = values == np.iinfo(values.dtype).min if values.dtype.kind == "i" else np.isnan(values)
        return _NULLABLE[dtype](values, missing)
    return pd.array(values, dtype=dtype)


def _whole(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(values, list):
        values = [NO_NUMBER if value is None else value for value in values]
    return np.asarray(values, np.int64)


def _numbered(values: Iterable[str | None]) -> tuple[list[int], list[str]]:
    words: dict[str | None, int] = {None: -1}
    numbers = [words.setdefault(value, len(words) - 1) for value in values]
    return numbers, [word for word in words if word is not None]
