"""Which response came from which: a tree, drawn over time and lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.capture.plot_style import (
    COLOURS,
    GREY,
    Record,
    add_legend,
    drawable,
    new_axes,
    nothing,
    opened,
    plain,
    styled,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_lineage"]

_COLOURS = {"completed": COLOURS[2], "incomplete": COLOURS[6], "running": COLOURS[0]}
_FAILED = COLOURS[4]
_DEFAULT_LANE = "(default lane)"


def plot_lineage(record: Record, ax: Axes | None = None) -> Axes:
    """A dot per response where it began, a line from the response that it continues; dashed where it left its lane.

    One row per lane, time in seconds since the first response. Colours tell the endings.
    """
    frame = opened(record).lineage()
    if "source" in frame and frame["source"].nunique() > 1:
        frame["lane"] = frame["source"].astype("str") + " " + frame["lane"].fillna("")
    frame = frame.assign(lane=frame["lane"].fillna(_DEFAULT_LANE))
    lanes = list(dict.fromkeys(frame.sort_values("started", kind="stable")["lane"]))
    ax = new_axes(ax, 8, 1.6 + 0.6 * len(lanes))
    places = {lane: len(lanes) - 1 - number for number, lane in enumerate(lanes)}
    start = frame["started"].min()
    points = {row.response_id: ((row.started - start).total_seconds(), places[row.lane]) for row in frame.itertuples()}
    for row in frame.itertuples():
        if row.parent_id in points:
            _line(ax, points[row.parent_id], points[row.response_id], dashed=bool(row.fork))
    _dots(ax, frame, points)
    ax.set_yticks(list(places.values()), [drawable(lane) for lane in places])
    ax.set_ylim(-0.7, max(len(lanes) - 0.3, 0.7))
    ax.margins(x=0.08)
    if len(frame):
        add_legend(ax)
    else:
        nothing(ax, "no response")
    return styled(ax, title="Lineage", x="time since the first response (s)", y="lane")


def _line(ax: Axes, parent: tuple[float, int], child: tuple[float, int], *, dashed: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    bend = "arc3,rad=0.25" if dashed and parent[1] == child[1] else "arc3,rad=0"
    arrow = FancyArrowPatch(
        parent,
        child,
        arrowstyle="-|>",
        mutation_scale=10,
        linestyle="--" if dashed else "-",
        color=GREY,
        linewidth=1.2,
        shrinkA=6,
        shrinkB=6,
        connectionstyle=bend,
    )
    ax.add_patch(arrow)


def _dots(ax: Axes, frame: pd.DataFrame, points: dict[Any, tuple[float, int]]) -> None:
    endings = frame["ending"].astype("str").fillna("running")
    for ending in dict.fromkeys(endings):
        own = frame[endings == ending]
        places = [points[id_] for id_ in own["response_id"]]
        colour = _COLOURS.get(ending, _FAILED)
        ax.plot([x for x, _ in places], [y for _, y in places], "o", color=colour, markersize=9, label=ending, zorder=3)
        for (x, y), id_ in zip(places, own["response_id"], strict=True):
            style: dict[str, Any] = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center", "fontsize": 8}
            plain([ax.annotate(drawable(str(id_)[-6:]), (x, y), color=GREY, **style)])
