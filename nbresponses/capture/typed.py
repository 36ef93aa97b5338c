"""Values → pandas columns of the types a schema names. Imported when a frame is asked for.

Numbers come as NumPy arrays in which the smallest value of the type stands for a missing one, or as lists with None;
times and spans as microseconds; categories as (numbers, words).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbresponses.capture.schema import SPAN, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbresponses.capture.schema import Column

__all__ = ["typed_frame"]


def typed_frame(schema: Iterable[Column], data: Mapping[str, Any], attrs: Mapping[str, str]) -> pd.DataFrame:
    """A frame with exactly the columns of `schema`, in its order."""
    frame = pd.DataFrame({column.name: _typed(column.dtype, data[column.name]) for column in schema}, copy=False)
    frame.attrs.update(attrs)
    return frame


def _typed(dtype: str, values: Any) -> Any:
    if dtype == "category":
        numbers, words = values
        # Without any category Parquet forgets that these are texts, and joining what it gives back makes objects.
        kinds = pd.CategoricalDtype(pd.Index(list(words) or [""], dtype="str"))
        return pd.Categorical.from_codes(numbers, dtype=kinds, validate=False)
    if dtype == TIME:
        return pd.DatetimeIndex(np.asarray(values, np.int64).view("M8[us]"), tz="UTC")
    if dtype == SPAN:
        return np.asarray(values, np.int64).view("m8[us]")
    if isinstance(values, np.ndarray):
        missing = values == np.iinfo(values.dtype).min if values.dtype.kind == "i" else np.isnan(values)
        whole = {"Int64": pd.arrays.IntegerArray, "Int32": pd.arrays.IntegerArray, "Float64": pd.arrays.FloatingArray}
        return whole[dtype](values, missing) if dtype in whole else values
    return pd.array(values, dtype=dtype)
