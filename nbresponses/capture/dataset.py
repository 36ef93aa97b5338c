"""Frames as a Parquet dataset: written file by file, from captures of any length. Reads none back (scanning.py does).

    FOLDER/responses/date=2026-01-31/model=gpt-5.6/answer-1f0c…-0000.parquet

A row lies where its response does: under the UTC date on which that started, and its model. Rows of no response lie
under the capture's own date and no model. Each file holds rows of one capture (`source`) with the columns of the
frame's schema and says the rest of the frame in its metadata. `model` is no column of the files, since it is in the
path. Writing a capture again replaces its files.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from nbresponses.capture.asked import make_frame
from nbresponses.capture.frames import deltas_parts, events_parts, halves
from nbresponses.capture.reading import read_columns
from nbresponses.capture.schema import FRAMES
from nbresponses.capture.turns import found_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["MODEL", "NO_MODEL", "STORED", "Places", "Written", "path_name", "write_columns", "write_files"]

MODEL = "model"
NO_MODEL = "__HIVE_DEFAULT_PARTITION__"
"""What stands for null in a path, as other programs understand it."""

STORED = (*FRAMES, "alternatives", "tool_arguments")
"""The frames that a dataset can have."""

_ROWS = 500_000  # of a file
_LONGEST = 100  # characters of a model's name in a path


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the files, rows of each frame, and how many halves of characters became whole or U+FFFD."""

    files: tuple[Path, ...] = ()
    rows: Counter[str] = field(default_factory=Counter)
    repaired: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(self.files + other.files, self.rows + other.rows, self.repaired + other.repaired)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(path.stat().st_size for path in self.files)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {count}" for name, count in self.rows.items())
        return f"<Written: {len(self.files)} files, {self.bytes} bytes; rows: {rows}; {self.repaired} repaired>"


def write_files(
    paths: Iterable[str | os.PathLike[str]], folder: str | os.PathLike[str], frames: Iterable[str] | None = None
) -> Written:
    """Capture files → a dataset, one after the other, so that one at a time is in memory (reading.py says how much)."""
    written = Written()
    for path in paths:
        written += write_columns(read_columns(path), folder, source=os.fspath(path), frames=frames)
    return written


def write_columns(
    events: EventColumns,
    folder: str | os.PathLike[str],
    *,
    source: str,
    frames: Iterable[str] | None = None,
    payloads: list[bytes] | None = None,
) -> Written:
    """The frames of one capture → a dataset. `frames` are names (None: all); with `payloads` the events have them."""
    names = list(STORED if frames is None else [frames] if isinstance(frames, str) else frames)
    unknown = set(names) - set(STORED)
    if unknown:
        raise ValueError(f"frames: no frame is called {', '.join(sorted(unknown))}; there are {', '.join(STORED)}")
    stem = _file_stem(source)
    places = Places(events)
    written = Written()
    for name in names:
        root = Path(folder) / name
        root.mkdir(parents=True, exist_ok=True)  # a frame without rows was written too
        files: list[Path] = []
        numbers: Counter[Path] = Counter()
        for part in _parts(name, events, payloads):
            written += Written(rows=Counter({name: len(part)}))
            files += _write(part, places, root, source, numbers)
        for old in set(root.glob(f"*/*/{stem}-*.parquet")) - set(files):
            old.unlink()
        written += Written(tuple(files), repaired=halves(events) if name == "events" else 0)
    return written


def _parts(name: str, events: EventColumns, payloads: list[bytes] | None) -> Iterator[pd.DataFrame]:
    """A frame; the long ones in parts, of which one at a time is in memory."""
    if name == "events":
        return events_parts(events, _ROWS, payloads)
    return deltas_parts(events, _ROWS) if name == "deltas" else iter([make_frame(name, events)])


def _write(frame: pd.DataFrame, places: Places, root: Path, source: str, numbers: Counter[Path]) -> Iterator[Path]:
    """Write rows where they lie. `numbers` counts the files of each place."""
    for (date, model), rows in places.of(frame):
        folder = root / f"date={date}" / f"{MODEL}={path_name(model)}"
        folder.mkdir(parents=True, exist_ok=True)
        for first in range(0, len(rows), _ROWS):
            part = frame.take(rows[first : first + _ROWS])
            path = folder / f"{_file_stem(source)}-{numbers[folder]:04}.parquet"
            numbers[folder] += 1
            _write_file(_with_source(part, source, model), path)
            yield path


def _with_source(frame: pd.DataFrame, source: str, model: str | None) -> pd.DataFrame:
    frame = frame.drop(columns=[MODEL], errors="ignore").reset_index(drop=True)
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype) and name not in {"type", "kind"}:
            used = column.cat.remove_unused_categories()  # else each file lists the ids of all
            frame[name] = used if len(used.cat.categories) else used.cat.add_categories([""])  # see typed.py
    kinds = pd.CategoricalDtype(pd.Index([source], dtype="str"))
    frame.insert(0, "source", pd.Series(pd.Categorical([source] * len(frame), dtype=kinds)))
    frame.attrs.update({"source": source, MODEL: model})
    return frame


def _write_file(frame: pd.DataFrame, path: Path) -> None:
    """The file appears complete or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        frame.to_parquet(part, engine="pyarrow", compression="zstd", index=False)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class Places:
    """Where rows lie: (date, model), by the response that they belong to."""

    def __init__(self, events: EventColumns) -> None:
        turns = found_turns(events)
        models: dict[str, str] = dict(
            make_frame("responses", events)[["response_id", MODEL]].dropna().itertuples(index=False)
        )
        started = {
            turn.response_id: turn.asked.time if turn.asked is not None else int(events.column("time")[turn.rows[0]])
            for turn in turns
        }
        self._nowhere: tuple[str, str | None] = (events.started.date().isoformat(), None)
        self._of = {
            response_id: (_date(events.began + time), models.get(response_id))
            for response_id, time in started.items()
            if response_id is not None
        }

    def of(self, frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str | None], np.ndarray[Any, Any]]]:
        """(date, model) and its rows."""
        ids = frame["response_id"] if "response_id" in frame else pd.Series([None] * len(frame), dtype="str")
        words = ids.astype("category").cat
        codes = words.codes.to_numpy(np.int64)
        places = [self._of.get(word, self._nowhere) for word in words.categories]
        if MODEL in frame:  # a response without an id has a model all the same
            own = frame[MODEL].astype("category").cat
            numbers = own.codes.to_numpy(np.int64)
            codes = np.where((codes < 0) & (numbers >= 0), len(places) + numbers, codes)
            places += [(self._nowhere[0], model) for model in own.categories]
        places.append(self._nowhere)
        listed = {place: number for number, place in enumerate(dict.fromkeys(places))}
        numbers = np.array([listed[place] for place in places])[codes]
        for place, number in listed.items():
            rows = np.flatnonzero(numbers == number)
            if len(rows):
                yield place, rows


def _date(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us").astype("M8[D]"))


def path_name(model: str | None) -> str:
    """A model's name as part of a path. What would be too long is cut, and told apart by a hash."""
    if model is None:
        return NO_MODEL
    name = quote(model, safe="")
    if len(name) > _LONGEST or not name:
        name = f"{name[:_LONGEST]}-{_short_hash(model)}"
    return name


def _file_stem(source: str) -> str:
    readable = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in Path(source).name)
    return f"{readable[:_LONGEST] or 'capture'}-{_short_hash(source)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
