"""Latencies, throughput and endings, by model and day: the same from captures in memory and from a scan on Dask.

Each capture, or file, gives a part: counts and sums, which add up, and summaries of times, from which quantiles are
taken. In memory quantiles are exact; on Dask they are within half a percent in rank, by the method of quantiles.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbresponses.capture.asked import make_frame
from nbresponses.capture.dataset import Places
from nbresponses.capture.quantiles import Quantiles, quantiles_of
from nbresponses.capture.reading import read_columns
from nbresponses.capture.record import Capture
from nbresponses.capture.scanning import CAPTURE_BUNDLE, PARQUET_BUNDLE, Scan, bundles
from nbresponses.capture.schema import SUMMARY
from nbresponses.capture.typed import frame_of_rows

if TYPE_CHECKING:
    from nbresponses.capture.comparing import HasCapture
    from nbresponses.capture.event_columns import EventColumns

__all__ = ["Part", "summarize"]

_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_ENDINGS = ("completed", "incomplete", "failed", "cancelled", "error", "cut_off", "interrupted")
_SUMS = (
    *("events", "bytes", "characters", "stalls", "retries"),
    *("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "total_tokens"),
)
_TIMES = ("to_first_event", "to_first_text", "duration")

_AT_ONCE = 16  # parts that are joined in one task

Place = tuple[str | None, str]  # model, date


@dataclass
class Part:
    """What is known of some responses: numbers by (place, name), and summaries of times in µs."""

    numbers: Counter[tuple[Place, str]] = field(default_factory=Counter)
    longest: dict[Place, int] = field(default_factory=dict)
    times: dict[tuple[Place, str], list[Quantiles]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def joined(cls, parts: Iterable[Part]) -> Part:
        """One part of all."""
        whole = cls()
        for part in parts:
            whole.numbers.update(part.numbers)
            for place, gap in part.longest.items():
                whole.longest[place] = max(gap, whole.longest.get(place, 0))
            for key, summaries in part.times.items():
                whole.times[key] += summaries
        return whole

    def of(self, models: frozenset[str] | None, date: str | None) -> Part:
        """The part of these models and this date."""

        def wanted(place: Place) -> bool:
            return (models is None or place[0] in models) and (date is None or place[1].startswith(date))

        numbers = Counter({key: number for key, number in self.numbers.items() if wanted(key[0])})
        longest = {place: gap for place, gap in self.longest.items() if wanted(place)}
        times = {key: summaries for key, summaries in self.times.items() if wanted(key[0])}
        return Part(numbers, longest, defaultdict(list, times))

    def condensed(self, *, exact: bool = False) -> Part:
        """The same with one summary of each time; an `exact` one keeps all values."""
        times = {key: [Quantiles.joined(summaries, exact=exact)] for key, summaries in self.times.items()}
        return Part(self.numbers, self.longest, defaultdict(list, times))

    def add_responses(self, frame: pd.DataFrame, *, exact: bool) -> None:
        dates = frame["started"].dt.strftime("%Y-%m-%d")
        for key, own in frame.groupby([frame["model"].fillna(""), dates], sort=False):
            place: Place = (str(key[0]) or None, str(key[1]))
            streamed = (own["duration"] - own["to_first_event"])[own["output_tokens"].notna()]
            self.numbers.update({(place, name): int(own[name].sum()) for name in _SUMS})
            self.numbers.update({(place, str(ending)): n for ending, n in own["ending"].value_counts().items()})
            self.numbers[place, "responses"] += len(own)
            self.numbers[place, "running"] += int(own["ending"].isna().sum())
            self.numbers[place, "µs"] += int(_whole(own["duration"]).sum())
            self.numbers[place, "µs streamed"] += int(_whole(streamed).sum())
            gap = own["longest_gap"].max()
            told = 0 if gap is pd.NaT else round(gap.total_seconds() * 1e6)
            self.longest[place] = max(told, self.longest.get(place, 0))
            for name in _TIMES:
                self.times[place, name].append(quantiles_of(_whole(own[name].dropna()), exact=exact))

    def add_gaps(self, place: Place, gaps: pd.Series[Any], *, exact: bool) -> None:
        """The times between pieces of text."""
        self.times[place, "gap"].append(quantiles_of(_whole(gaps.dropna()), exact=exact))

    def add_columns(self, events: EventColumns, *, exact: bool) -> None:
        self.add_responses(make_frame("responses", events), exact=exact)
        deltas = make_frame("deltas", events)
        for (date, model), rows in Places(events).of(deltas):
            self.add_gaps((model, date), deltas["gap"].take(rows), exact=exact)


def _whole(spans: pd.Series[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return spans.to_numpy("m8[us]").view(np.int64)


def summarize(record: Capture | HasCapture | Iterable[Capture] | Scan) -> pd.DataFrame:
    """One row per model and day: `schema.SUMMARY`, in order of both.

    `record` is a capture, a stream, several (`load`), or a `scan`, which Dask computes where it computes (with the
    client that is in force, else here). A response belongs to the UTC day on which it started.
    """
    if isinstance(record, Scan):
        return _table(_scanned(record))
    part = Part()
    for capture in _captures(record):
        capture.with_columns(lambda events: part.add_columns(events, exact=True))
    return _table(part.condensed(exact=True))


def _captures(record: Any) -> list[Capture]:
    """What there is to sum up, in memory. TypeError for anything else."""
    if isinstance(record, Capture):
        return [record]
    kept = getattr(record, "capture", None)  # a stream's
    listed = [kept] if isinstance(kept, Capture) else None
    if listed is None and isinstance(record, Iterable) and not isinstance(record, (str, bytes, pd.DataFrame)):
        listed = list(record)
    if listed is None or not all(isinstance(each, Capture) for each in listed):
        given = f"{type(record).__name__} {record!r}" if isinstance(record, str) else type(record).__name__
        raise TypeError(f"a capture, a stream, several captures (load) or a scan can be summed up, not {given}")
    return listed


def _table(part: Part) -> pd.DataFrame:
    places = sorted({place for place, _ in part.numbers}, key=lambda place: (place[0] or "", place[1]))
    rows = [_row(part, place) for place in places]
    return frame_of_rows(SUMMARY, rows, {"frame": "summary"})


def _row(part: Part, place: Place) -> dict[str, Any]:
    row: dict[str, Any] = {"model": place[0], "date": place[1], "longest_gap": part.longest.get(place)}
    for name in (*_SUMS, *_ENDINGS, "responses", "running"):
        row[name] = part.numbers[place, name]
    row["seconds"] = part.numbers[place, "µs"] / 1e6
    streamed = part.numbers[place, "µs streamed"] / 1e6
    row["tokens_per_second"] = row["output_tokens"] / streamed if streamed > 0 else None
    row["events_per_second"] = row["events"] / row["seconds"] if row["seconds"] > 0 else None
    for name in (*_TIMES, "gap"):
        [summary] = part.times.get((place, name)) or [quantiles_of(())]
        for label, share in _SHARES.items():
            found = summary.at(share)
            row[f"{name}_{label}"] = None if found is None else round(found)
    return row


# ── On Dask ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scanned(scan: Scan) -> Part:
    from dask import delayed

    if scan.folder is None:
        keep = (scan.models, scan.date)
        parts = [delayed(_of_captures)(paths, *keep) for paths in bundles(scan.files, CAPTURE_BUNDLE)]
    else:
        parts = [delayed(_of_responses)(paths) for paths in bundles(scan.stored("responses"), PARQUET_BUNDLE)]
        parts += [delayed(_of_gaps)(paths) for paths in bundles(scan.stored("deltas"), PARQUET_BUNDLE)]
    while len(parts) > 1:
        parts = [delayed(_joined)(parts[first : first + _AT_ONCE]) for first in range(0, len(parts), _AT_ONCE)]
    whole: Part = parts[0].compute() if parts else Part()
    return whole.condensed()


def _joined(parts: list[Part]) -> Part:
    return Part.joined(parts).condensed()


def _of_captures(paths: list[str], models: frozenset[str] | None, date: str | None) -> Part:
    part = Part()
    for path in paths:
        part.add_columns(read_columns(path), exact=False)
    return part.of(models, date).condensed()


def _of_responses(paths: list[str]) -> Part:
    part = Part()
    for path in paths:
        frame = pd.read_parquet(path, engine="pyarrow", partitioning=None)
        part.add_responses(frame.assign(model=pd.Series([frame.attrs["model"]] * len(frame), dtype="str")), exact=False)
    return part.condensed()


def _of_gaps(paths: list[str]) -> Part:
    part = Part()
    for path in paths:
        frame = pd.read_parquet(path, engine="pyarrow", columns=["gap"], partitioning=None)
        date = Path(path).parts[-3].removeprefix("date=")
        part.add_gaps((frame.attrs["model"], date), frame["gap"], exact=False)
    return part.condensed()
