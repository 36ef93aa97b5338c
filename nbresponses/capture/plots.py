"""Plots of captures: one function each, all return the matplotlib Axes. They read frames and change nothing.

Each takes a capture, several (`load`), a stream, or a capture file, and `ax` to draw on (None: a new figure). All six
are here; two of them are written in modules of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbresponses.capture.lineage_plot import plot_lineage
from nbresponses.capture.logprobs_plot import plot_logprobs
from nbresponses.capture.plot_style import (
    COLOURS,
    GREY,
    Record,
    add_legend,
    drawable,
    labels_of,
    new_axes,
    nothing,
    opened,
    styled,
)
from nbresponses.capture.schema import SPAN_KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nbresponses.capture.many import Captures
    from nbresponses.capture.record import Capture

__all__ = ["plot_first_text", "plot_gaps", "plot_lineage", "plot_logprobs", "plot_timeline", "plot_tokens"]

_SPAN_COLOURS = dict(zip(SPAN_KINDS, (GREY, COLOURS[6], COLOURS[3], COLOURS[1], COLOURS[0], COLOURS[2]), strict=True))
_HEIGHTS = {"queued": 0.3, "waiting": 0.08}  # of a span, where it is not a full bar
_ROWS = 60  # of a timeline
_LINES = 8  # with names of their own


# ── Timeline ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plot_timeline(record: Record, ax: Axes | None = None) -> Axes:
    """What each response was doing when: one row per response, by lane, from its request to its end.

    Time is in seconds since the first span; of captures that lie apart each begins at 0. Of more than 60 responses the
    first are drawn.
    """
    frame = _timeline(opened(record))
    rows = list(dict.fromkeys(frame["row"]))[:_ROWS]
    frame = frame[frame["row"].isin(rows)]
    ax = new_axes(ax, 8, 1.6 + 0.3 * len(rows))
    places = {row: len(rows) - 1 - number for number, row in enumerate(rows)}
    for kind, own in frame.groupby("kind", observed=True, sort=False):
        colour = _SPAN_COLOURS[str(kind)]
        height = _HEIGHTS.get(str(kind), 0.7)
        ax.barh(own["row"].map(places), own["seconds"], height, own["start"], color=colour, label=str(kind))
        left_open = own[~own["closed"]]
        ends = left_open["start"] + left_open["seconds"]
        ax.plot(ends, left_open["row"].map(places), ">", color=colour, markersize=5)
    ax.set_yticks(list(places.values()), [drawable(row[1]) for row in places])
    ax.margins(x=0.02)
    ax.set_xlim(left=0)
    if len(frame):
        add_legend(ax)
    else:
        nothing(ax, "no response")
    return styled(ax, title="Timeline", x="time since the start (s)", y="lane, response")


def _timeline(record: Capture | Captures) -> pd.DataFrame:
    frame = record.timeline()
    if "source" not in frame:
        frame.insert(0, "source", "")
    starts = frame.groupby("source", observed=True)["started"].transform("min")
    ids = frame["response_id"].astype("str").fillna("")
    rows = pd.Series([*zip(frame["source"].astype("str") + ids, labels_of(frame), strict=True)])
    frame = frame.assign(
        start=(frame["started"] - starts).dt.total_seconds(), seconds=frame["duration"].dt.total_seconds(), row=rows
    )
    return frame.sort_values("start", kind="stable")


# ── Tokens over time ─────────────────────────────────────────────────────────────────────────────────────────────────


def plot_tokens(record: Record, ax: Axes | None = None) -> Axes:
    """How the text grew: the pieces of each response over the time since its request. A piece is about a token.

    Where log probabilities tell how many tokens a piece is, tokens are counted. Level stretches are stalls.
    """
    record = opened(record)
    deltas, responses = record.deltas(), record.responses()
    ax = new_axes(ax, 8, 4)
    deltas = deltas.assign(label=labels_of(deltas))
    keys = [name for name in ("source", "response_id") if name in deltas]
    deltas["response_id"] = deltas["response_id"].astype("str").fillna("")  # some servers give none
    starts = responses.fillna({"response_id": ""}).groupby(keys, observed=True)["started"].first()
    groups = [(key, own) for key, own in deltas.groupby(keys, observed=True, sort=False) if len(own)]
    for number, (key, own) in enumerate(groups):
        start = starts.get(key if len(keys) > 1 else key[0], own["time"].iloc[0])
        seconds = (own["time"] - start).dt.total_seconds()
        grown = own["tokens"].fillna(1).astype(int).cumsum()
        name = "_" if number >= _LINES else drawable(own["label"].iloc[0] or "(no id)")
        ax.step(seconds, grown, where="post", color=COLOURS[number % len(COLOURS)], linewidth=1.6, label=name)
    if groups:
        more = f"{len(groups)} responses, of which:" if len(groups) > _LINES else None
        ax.legend(loc="best", fontsize=9, title=more, title_fontsize=9, alignment="left")
    else:
        nothing(ax, "no text")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    counted = len(deltas) > 0 and bool(deltas["tokens"].notna().all())
    unit = "tokens (count)" if counted else "pieces of text, about one token each (count)"
    return styled(ax, title="Text over time", x="time since the request (s)", y=unit, grid="both")


# ── Gaps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def plot_gaps(record: Record, ax: Axes | None = None) -> Axes:
    """The time between two pieces of one text: a histogram, and the share of pieces that came within a time (line).

    Pieces that arrived together with the one before them have no bar; the line begins at their share. The Axes
    returned is that of the histogram; the line has its own (`ax.figure.axes[-1]`).
    """
    gaps = opened(record).deltas()["gap"].dropna().dt.total_seconds().to_numpy() * 1000
    ax = new_axes(ax, 8, 4)
    shares = ax.twinx()
    apart = np.sort(gaps[gaps > 0])
    together = len(gaps) - len(apart)
    if len(apart):
        low, high = np.log10(apart[0]), np.log10(apart[-1])
        bins = np.logspace(low - 0.05, high + 0.05, 41)
        ax.hist(apart, bins.tolist(), color=COLOURS[0], alpha=0.75)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_formatter("")
        steps = (together + np.arange(1, len(apart) + 1)) / len(gaps)
        shares.step(apart, steps, where="post", color=COLOURS[1], linewidth=1.8)
    elif not together:
        nothing(ax, "no two pieces of one text")
    shares.set_ylim(0, 1.02)
    styled(shares, title="", x="", y="share of pieces (0 to 1)", grid="")
    shares.yaxis.label.set_color(COLOURS[1])
    shares.tick_params(axis="y", colors=COLOURS[1])
    shares.spines["right"].set_visible(True)
    if together:
        words = f"{together / len(gaps):.0%} came together with the piece before"
        ax.text(0.01, 0.97, words, transform=ax.transAxes, va="top", color=GREY, fontsize=9)
    return styled(
        ax, title="Time between pieces of text", x="time between two pieces (ms)", y="pieces (count)", grid="both"
    )


# ── Time to first text ───────────────────────────────────────────────────────────────────────────────────────────────


def plot_first_text(record: Record, ax: Axes | None = None) -> Axes:
    """The time to the first text by model: a dot per response, a bar at the median; models in order of it."""
    frame = opened(record).responses()
    frame = frame.assign(seconds=frame["to_first_text"].dt.total_seconds(), model=frame["model"].fillna("(unknown)"))
    frame = frame.dropna(subset=["seconds"])
    medians = frame.groupby("model")["seconds"].median().sort_values(ascending=False)
    ax = new_axes(ax, 8, 1.6 + 0.4 * len(medians))
    for place, (model, median) in enumerate(medians.items()):
        seconds = frame[frame["model"] == model]["seconds"].to_numpy()
        spread = (np.arange(len(seconds)) * 0.618 % 1 - 0.5) * 0.5 if len(seconds) > 1 else np.zeros(len(seconds))
        ax.plot(seconds, place + spread, "o", color=COLOURS[0], alpha=0.65, markersize=5)
        ax.plot([median, median], [place - 0.35, place + 0.35], color=COLOURS[1], linewidth=2.5)
    if not len(medians):
        nothing(ax, "no response with text")
    labels = [f"{drawable(model)} ({(frame['model'] == model).sum()})" for model in medians.index]
    ax.set_yticks(range(len(medians)), labels)
    ax.set_ylim(-0.6, max(len(medians) - 0.4, 0.6))
    ax.margins(x=0.05)
    ax.set_xlim(left=0)
    return styled(
        ax, title="Time to first text by model", x="from the request to the first text (s)", y="model (responses)"
    )
