"""Captures that don't fit into one machine's memory, as Dask DataFrames: the same frames with the same columns.

`scan` looks at names only. Files are read when something is computed, wherever Dask computes it: each partition is one
file, or some small ones, read by itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses.capture.asked import FrameMethods
from nbresponses.capture.many import files_of
from nbresponses.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import dask.dataframe as dd
    import pandas as pd

    from nbresponses.capture.many import Paths

__all__ = ["Scan", "bundles", "scan"]

CAPTURE_BUNDLE = 64 << 20  # bytes of capture files in a partition
PARQUET_BUNDLE = 1 << 20  # of Parquet files, which are that much smaller
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)
_DEFAULTS = {"stall": 1.0, "prices": None}


def scan(paths: Paths | Iterable[Paths], *, model: str | Iterable[str] | None = None, date: str | None = None) -> Scan:
    """Dask DataFrames over a Parquet dataset (its folder), or over capture files (paths and patterns).

    `model` keeps the rows of some models only, `date` (`"2026-01-31"`, or a month, `"2026-01"`) those of responses that
    started then; over a dataset the other files are not even opened. Raises FileNotFoundError where nothing is found,
    ValueError for another `date`, MissingExtra where Dask is not installed.
    """
    try:
        import dask.dataframe  # noqa: F401
    except ImportError as error:
        raise MissingExtra("dask", "dask[dataframe]") from error
    if date is not None and not _DATE.fullmatch(str(date)):
        raise ValueError(f"date: a day or a month is expected, such as 2026-01-31 or 2026-01, not {date!r}")
    date = None if date is None else str(date)
    models = None if model is None else frozenset([model] if isinstance(model, str) else model)
    if isinstance(paths, (str, os.PathLike)) and Path(paths).is_dir():
        return Scan(Path(paths), (), models, date)
    return Scan(None, tuple(files_of(paths)), models, date)


class Scan(FrameMethods):
    """What was found: `folder` of a dataset, or capture `files`. Its frames are Dask DataFrames, not yet computed."""

    def __init__(
        self, folder: Path | None, files: tuple[str, ...], models: frozenset[str] | None, date: str | None
    ) -> None:
        self.folder = folder
        self.models = models
        self.date = date
        self.files = files
        if folder is not None and not (folder / "events").is_dir() and not (folder / "responses").is_dir():
            raise FileNotFoundError(f"{folder}: no Parquet dataset of frames. Was it written by to_parquet?")

    def __repr__(self) -> str:
        what = self.folder if self.folder is not None else f"{len(self.files)} capture files"
        return f"<Scan: {what}>"

    def stored(self, name: str) -> list[str]:
        """The dataset's files of a frame, of the models and dates that are wanted."""
        root = Path(self.folder or "") / name
        return sorted(str(path) for path in root.glob("date=*/model=*/*.parquet") if self._wanted(path))

    def _wanted(self, path: Path) -> bool:
        from nbresponses.capture.dataset import path_name

        model, date = path.parent.name, path.parent.parent.name
        named = self.models is None or any(model == f"model={path_name(each)}" for each in self.models)
        return named and (self.date is None or date.startswith(f"date={self.date}"))

    def _frame(self, name: str, **options: Any) -> dd.DataFrame:
        import dask

        with dask.config.set({"dataframe.convert-string": False}):  # the columns have their types already
            return self._lazily(name, **options)

    def _lazily(self, name: str, **options: Any) -> dd.DataFrame:
        import dask.dataframe as dd
        import pyarrow.parquet as pq

        options = {key: value for key, value in options.items() if value != _DEFAULTS.get(key, object())}
        meta = _meta(name, payload="payload" in options)
        if self.folder is None:
            parts = bundles(self.files, CAPTURE_BUNDLE)
            keep = {"models": self.models, "date": self.date}
            return dd.from_map(_read_captures, parts, name=name, options=options, keep=keep, meta=meta)
        if options.keys() - {"payload"}:
            given = ", ".join(options)
            raise ValueError(f"{given}: a dataset has its frames as they were written; scan the capture files for that")
        if not (self.folder / name).is_dir():
            raise ValueError(f"{self.folder} has no frame {name}: it was written without it")
        parts = bundles(self.stored(name), PARQUET_BUNDLE)
        if not parts:
            return dd.from_pandas(meta, npartitions=1)
        if "payload" in meta and "payload" not in pq.read_schema(parts[0][0]).names:
            raise ValueError(f"{self.folder} has no payloads: they are written by to_parquet(payload=True)")
        return dd.from_map(_read_stored, parts, whole=list(meta.columns), meta=meta)


def bundles(files: Sequence[str], size: int) -> list[list[str]]:
    """Files in order, small ones together up to this many bytes."""
    found: list[list[str]] = []
    room = 0
    for path in files:
        room -= (took := Path(path).stat().st_size)
        if room < 0 or not found:
            found.append([])
            room = size - took
        found[-1].append(path)
    return found


# ── What runs in a worker ────────────────────────────────────────────────────────────────────────────────────────────


def _read_captures(paths: list[str], *, name: str, options: dict[str, Any], keep: dict[str, Any]) -> pd.DataFrame:
    from nbresponses.capture.asked import make_frame
    from nbresponses.capture.export import concat_frames
    from nbresponses.capture.reading import read_columns

    frames = []
    for path in paths:
        payloads: list[bytes] | None = [] if options.get("payload") else None
        events = read_columns(path, payloads)
        rest = {key: value for key, value in options.items() if key != "payload"}
        frame = make_frame(name, events, **rest, **({} if payloads is None else {"payloads": payloads}))
        frames.append(_kept(frame, events, **keep))
    return concat_frames(frames, sources=paths)


def _kept(frame: pd.DataFrame, events: Any, *, models: frozenset[str] | None, date: str | None) -> pd.DataFrame:
    """The rows of the models and dates that are wanted: the same as a dataset's paths would leave."""
    if models is None and date is None:
        return frame
    import numpy as np

    from nbresponses.capture.dataset import Places

    rows = [
        rows
        for (day, model), rows in Places(events).of(frame)
        if (models is None or model in models) and (date is None or day.startswith(date))
    ]
    return frame.take(np.sort(np.concatenate(rows)) if rows else [])


def _read_stored(paths: list[str], *, whole: list[str], columns: list[str] | None = None) -> pd.DataFrame:
    """Files of one frame, with the columns that Dask needs (None: `whole`, all)."""
    import pandas as pd

    from nbresponses.capture.export import concat_frames

    wanted = whole if columns is None else columns
    stored = [name for name in wanted if name != "model"] or ["source"]
    frames = []
    for path in paths:
        frame = pd.read_parquet(path, engine="pyarrow", columns=stored, partitioning=None)
        if "model" in wanted:  # it is in the path, and in the file's metadata in full
            model = pd.Series([frame.attrs.get("model")] * len(frame), dtype="str")
            frame["model"] = model.astype("category") if Path(path).parts[-4] == "usage" else model
        frames.append(frame[wanted])
    return concat_frames(frames)


def _meta(name: str, *, payload: bool) -> pd.DataFrame:
    """The frame without rows, with categories that are yet to be known."""
    from datetime import UTC, datetime

    from dask.dataframe.utils import clear_known_categories

    from nbresponses.capture.asked import make_frame
    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.export import concat_frames

    events = EventColumns(datetime(1970, 1, 1, tzinfo=UTC))
    options: dict[str, Any] = {"payloads": []} if payload else {}
    frame: pd.DataFrame = clear_known_categories(concat_frames([make_frame(name, events, **options)], sources=[""]))
    return frame
