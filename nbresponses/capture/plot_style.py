"""The look of the plots: readable on white and on dark pages. matplotlib is imported when an Axes is asked for.

The background is left out, and every colour has a contrast of at least 3 : 1 against white and against nearly black.
What models and users wrote is drawn as plain text: no mathematics, nothing that the font lacks.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nbresponses.capture.many import Captures, load
from nbresponses.capture.record import Capture
from nbresponses.errors import MissingExtra
from nbresponses.render.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = [
    "COLOURS",
    "GREY",
    "Record",
    "add_legend",
    "drawable",
    "labels_of",
    "new_axes",
    "nothing",
    "opened",
    "plain",
    "styled",
]

GREY = "#7a7a7a"
COLOURS = ("#2f7fd1", "#c8680a", "#2b8a5a", "#a45fc4", "#d6494a", "#128a94", "#a07c00", "#c9528f")

_LABEL = 40  # characters


class HasCapture(Protocol):
    """A stream, for instance."""

    @property
    def capture(self) -> Capture: ...


Record = Capture | Captures | HasCapture | str | os.PathLike[str]


def opened(record: Record) -> Capture | Captures:
    """What a plot was given, as something that has frames."""
    if isinstance(record, (Capture, Captures)):
        return record
    if isinstance(record, (str, os.PathLike)):
        return load(record)
    kept = getattr(record, "capture", None)
    if not isinstance(kept, (Capture, Captures)):
        raise TypeError(f"a capture, several, a stream or a capture file can be drawn, not {type(record).__name__}")
    return kept


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The Axes to draw on: the one given, or one in a new figure without a background (inches)."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("plot", "matplotlib") from error
    if ax is not None:
        return ax
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    return ax


def add_legend(ax: Axes) -> None:
    """A legend below the plot where the figure is this plot's own, else inside."""
    figure = ax.get_figure(root=True)
    if figure is not None and len(figure.axes) == 1 and figure.get_layout_engine() is not None:
        options: dict[str, Any] = {"loc": "outside lower center", "ncols": 6, "fontsize": 9, "frameon": False}
        plain(figure.legend(*ax.get_legend_handles_labels(), labelcolor=GREY, **options).get_texts())
    else:
        ax.legend(loc="best", fontsize=9)


def nothing(ax: Axes, what: str) -> None:
    """Say in a plot without data what there is none of."""
    ax.text(0.5, 0.5, what, transform=ax.transAxes, ha="center", va="center", color=GREY)


def labels_of(frame: pd.DataFrame) -> pd.Series[str]:
    """What the rows' responses are called: by lane and the end of their id; of several captures by file first, and by
    more only where a file has several responses."""
    lanes, ids = (frame[name].astype("str").fillna("") for name in ("lane", "response_id"))
    short = (lanes + " " + ids.str[-6:]).str.strip()
    if "source" not in frame or frame["source"].nunique() < 2:
        return short
    files = frame["source"].astype("str").map(lambda name: re.sub(r"\.jsonl(\.gz)?$", "", Path(name).name))
    several = ids.groupby(frame["source"].astype("str")).transform("nunique") > 1
    return (files + (" " + short).where(several, "")).str.strip()


def styled(ax: Axes, *, title: str, x: str, y: str, grid: str = "x") -> Axes:
    """Title, labels, and the look of all that is not data. `grid` is "x", "y", "both" or ""."""
    ax.patch.set_alpha(0.0)
    ax.set_title(title, color=GREY, loc="left", fontsize=11)
    ax.set_xlabel(x, color=GREY)
    ax.set_ylabel(y, color=GREY)
    ax.tick_params(colors=GREY, which="both")
    for side, spine in ax.spines.items():
        spine.set_color(GREY)
        spine.set_visible(side in {"left", "bottom"})
    if grid:
        ax.grid(axis=grid, color=GREY, alpha=0.25, linewidth=0.6)  # type: ignore[arg-type]  # one of its words
        ax.set_axisbelow(True)
    legend = ax.get_legend()
    if legend is not None:
        plain(legend.get_texts())
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(GREY)
        legend.set_frame_on(False)
    plain([*ax.get_xticklabels(), *ax.get_yticklabels()])
    return ax


def plain(texts: Iterable[Text]) -> None:
    """No dollar sign in these begins mathematics."""
    for text in texts:
        text.set_parse_math(False)


def drawable(value: object, limit: int = _LABEL, *, monospace: bool = False) -> str:
    """A text on one line as the font can draw it; each character that it lacks is a box."""
    known = _known("DejaVu Sans Mono" if monospace else "DejaVu Sans")
    return "".join(letter if ord(letter) in known else "□" for letter in one_line(str(value), limit))


@cache
def _known(family: str) -> Any:
    """The characters that matplotlib's own font has."""
    from matplotlib import font_manager

    path = font_manager.findfont(font_manager.FontProperties(family=family))
    return font_manager.get_font(path).get_charmap().keys()
