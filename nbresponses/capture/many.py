"""Many captures as one set, with the same frames as one has. Holds them in memory; `scan` is for what doesn't fit.

Every frame has a column `source` first: the file that a row comes from. Responses of different captures stay apart,
whatever their ids.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from nbresponses.capture.asked import FrameMethods
from nbresponses.capture.progress import progress_bar
from nbresponses.capture.record import Capture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pandas import DataFrame

    from nbresponses.capture.dataset import Written
    from nbresponses.capture.media import CapturedImage

__all__ = ["Captures", "files_of", "load"]

_LONG = 32 << 20  # bytes to read, from which on a progress bar is worth its room
_MANY = 50  # files

Paths = str | os.PathLike[str]


def load(paths: Paths | Iterable[Paths], *, progress: bool | None = None) -> Captures:
    """Read capture files: a path, a pattern (`"captures/**/*.jsonl"`), or several of these.

    `progress` shows a bar (tqdm); None: only where it takes long. Raises FileNotFoundError where nothing is found,
    CaptureError (file, line) as `Capture.load` does.
    """
    found = files_of(paths)
    sizes = [Path(path).stat().st_size for path in found]
    hidden = not (sum(sizes) >= _LONG or len(found) >= _MANY if progress is None else progress)
    captures = []
    with progress_bar(sum(sizes), unit="B", unit_scale=True, desc="captures", disable=hidden) as bar:
        for path in found:
            captures.append(Capture.load(path, progress=bar.update))
    return Captures(captures, found)


def files_of(paths: Paths | Iterable[Paths]) -> list[str]:
    """The files that paths and patterns name, each once, patterns in the order of names. FileNotFoundError for none."""
    found: dict[str, None] = {}
    for each in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        name = os.fspath(each)
        is_pattern = has_magic(name) and not Path(name).exists()
        files = sorted(glob(name, recursive=True)) if is_pattern else [name]  # noqa: PTH207  absolute patterns too
        if not is_pattern and Path(name).is_dir():
            raise IsADirectoryError(f"{name or '.'} is a folder; its captures are {Path(name) / '*.jsonl'}")
        if not files:
            raise FileNotFoundError(f"{name}: no file has such a name")
        found |= dict.fromkeys(files)
    if not found:
        raise FileNotFoundError("no paths given")
    return list(found)


class Captures(FrameMethods, Sequence[Capture]):
    """A sequence of captures. `sources` names each, in the column `source` of every frame."""

    __slots__ = ("_captures", "sources")

    def __init__(self, captures: Iterable[Capture], sources: Iterable[str] | None = None) -> None:
        self._captures = tuple(captures)
        given = [capture.source for capture in self._captures] if sources is None else list(sources)
        self.sources = tuple(given)
        if len(self.sources) != len(self._captures):
            raise ValueError(f"sources: {len(self.sources)} names for {len(self._captures)} captures")

    def __len__(self) -> int:
        return len(self._captures)

    @overload
    def __getitem__(self, index: int) -> Capture: ...
    @overload
    def __getitem__(self, index: slice) -> Captures: ...
    def __getitem__(self, index: int | slice) -> Capture | Captures:
        if isinstance(index, slice):
            return Captures(self._captures[index], self.sources[index])
        return self._captures[index]

    def __repr__(self) -> str:
        received = sum(len(capture) for capture in self._captures)
        return f"<Captures: {len(self)} captures, {received} messages>"

    def _repr_html_(self) -> str:
        from nbresponses.capture.report import captures_html

        return captures_html(self._captures, self.sources)

    def images(self, *, previews: bool = False) -> list[CapturedImage]:
        """The pictures of all captures, in order."""
        return [image for capture in self._captures for image in capture.images(previews=previews)]

    def to_parquet(self, folder: Paths, *, frames: Iterable[str] | None = None, payload: bool = False) -> Written:
        """All captures, as `Capture.to_parquet` writes one."""
        from nbresponses.capture.dataset import Written

        written = Written()
        for capture, source in zip(self._captures, self.sources, strict=True):
            written += capture._to_parquet(folder, source, frames, payload=payload)  # noqa: SLF001  of one kind
        return written

    def redacted(self) -> Captures:
        """Copies for sharing, as `Capture.redacted`. An id that stands in several is the same in all of them."""
        from nbresponses.capture.redaction import Redaction

        redaction = Redaction()
        names = [f"capture {number}" for number in range(1, len(self) + 1)]
        return Captures((capture.redacted(redaction) for capture in self._captures), names)

    def _frame(self, name: str, **options: Any) -> DataFrame:
        from nbresponses.capture.export import concat_frames

        if not self._captures:
            raise ValueError("there are no captures, and so no frames")
        frames = [capture._frame(name, **options) for capture in self._captures]  # noqa: SLF001  of one kind
        return concat_frames(frames, sources=self.sources)
