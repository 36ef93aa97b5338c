"""Frames for other programs: CSV that a spreadsheet may open, times without a zone, frames joined. Changes no frame."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pandas as pd

__all__ = ["concat_frames", "naive_times", "write_csv"]

_FORMULA = re.compile(
    r"[\s\ufeff\u200b-\u200f\u2060\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]"  # noqa: RUF001  read as formulas too
)
"""How a text begins that a spreadsheet may run; some leave out blanks, and what is not seen, before they look."""


def write_csv(frame: pd.DataFrame, target: str | PathLike[str] | IO[str], *, spreadsheet: bool = True) -> None:
    """Write a frame as CSV, UTF-8, one header line, no index. All texts are quoted, so line ends in them survive.

    `spreadsheet` (the default) puts an apostrophe before texts that a spreadsheet would run as a formula (those that
    begin with = + - @, also after blanks, or with a tab or a line end), names of columns included: what a model wrote
    must not run when the file is opened. Switch it off for programs that should read the very same texts. Numbers are
    written as numbers either way.
    """
    import csv

    (_without_formulas(frame) if spreadsheet else frame).to_csv(
        target, index=False, quoting=csv.QUOTE_NONNUMERIC, encoding="utf-8", lineterminator="\n"
    )


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

    def holds_texts(dtype: Any) -> bool:
        kinds = (is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype)
        return not any(is_kind(dtype) for is_kind in kinds)

    harmless = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):  # by place: two columns can have one name
        if holds_texts(dtype):
            harmless.isetitem(place, _harmless(frame.iloc[:, place]))
    harmless.columns = [_harmless_text(name) for name in frame.columns]
    return harmless


def _harmless(column: pd.Series[Any]) -> Any:
    texts = column if column.dtype == object else column.astype("str")
    return texts.map(_harmless_text, na_action="ignore")


def _harmless_text(value: Any) -> Any:
    return "'" + value if isinstance(value, str) and _FORMULA.match(value) else value


def naive_times(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with times in UTC but without their zone, for writers that refuse one (Excel's)."""
    import pandas as pd

    zoned = frame.select_dtypes(include=["datetimetz"])
    return frame.assign(**{str(name): pd.DatetimeIndex(column).tz_localize(None) for name, column in zoned.items()})


def concat_frames(frames: Sequence[pd.DataFrame], *, sources: Sequence[str] | None = None) -> pd.DataFrame:
    """One frame under the other, with categories still categories (plain `pd.concat` makes texts of those that differ).

    The rows are numbered anew. A column `source` comes first: what `sources` names for each frame; where none are
    given, the sources that the frames name themselves, unless it is the same for all. ValueError for no frames.
    """
    import numpy as np
    import pandas as pd
    from pandas.api.types import union_categoricals

    if not frames:
        raise ValueError("frames: at least one is needed")
    names = [str(frame.attrs.get("source", "")) for frame in frames] if sources is None else list(sources)
    kept = [index for index, frame in enumerate(frames) if len(frame)] or [0]  # read from a file, empty ones lack types
    frames, named = [frames[index] for index in kept], [names[index] for index in kept]
    joined = pd.concat(frames, ignore_index=True)
    for name, column in frames[0].items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            joined[name] = union_categoricals([frame[name] for frame in frames])
    if "source" not in joined and (sources is not None or len(set(named)) > 1):
        kinds = pd.CategoricalDtype(pd.Index(dict.fromkeys(names), dtype="str"))
        places = {name: number for number, name in enumerate(dict.fromkeys(names))}
        numbers: Any = np.repeat(np.array([places[name] for name in named]), [len(frame) for frame in frames])
        joined.insert(0, "source", pd.Series(pd.Categorical.from_codes(numbers, dtype=kinds)))
    joined.attrs.clear()
    joined.attrs.update({"frame": frames[0].attrs.get("frame", ""), "source": ", ".join(dict.fromkeys(names))})
    return joined
