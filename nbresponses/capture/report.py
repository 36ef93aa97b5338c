"""A capture at a glance: counts, ending, times and a small chart of when its events came. Text and HTML; no pandas.

The chart is made of block characters, so it needs no picture and is selectable text. What servers and users named is
escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbresponses.render.escaping import html_text
from nbresponses.render.styles import BODY, CODE, MUTED
from nbresponses.render.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbresponses.capture.record import Capture

__all__ = ["Glance", "captures_html", "glance", "sparkline", "to_html", "to_text"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH = 40  # characters
_TEXT = b'"response.output_text.delta"'
_LISTED = 20  # captures


class Glance(NamedTuple):
    """Times in seconds since the request (or the first message); None for what did not happen."""

    received: int
    sent: int
    noted: int
    ending: str | None
    lanes: int
    first_event: float | None
    first_text: float | None
    duration: float
    chart: str


def glance(capture: Capture) -> Glance:
    """What there is to say in a line."""
    columns = capture.columns()
    ways = [channel.direction for channel in columns.channels]
    events = [channel.direction == "in" for channel in columns.channels]
    at = [time for time, code in zip(columns.times, columns.codes, strict=True) if events[code]]
    counts = dict.fromkeys(("in", "out", "note"), 0)
    for code in columns.codes:
        counts[ways[code]] += 1
    asked = next((t for t, code in zip(columns.times, columns.codes, strict=True) if ways[code] == "out"), None)
    start = asked if asked is not None else columns.times[0] if columns.times else 0.0
    return Glance(
        received=counts["in"],
        sent=counts["out"],
        noted=counts["note"],
        ending=capture.ending,
        lanes=len({channel.lane for channel in columns.channels if channel.direction != "note"}),
        first_event=at[0] - start if at else None,
        first_text=_first_text(capture, start),
        duration=capture.duration,
        chart=sparkline(at),
    )


def _first_text(capture: Capture, start: float) -> float | None:
    messages = (message for message in capture if message.direction == "in" and _TEXT in message.payload[:400])
    return next((message.at - start for message in messages), None)


def sparkline(times: Sequence[float], width: int = _WIDTH) -> str:
    """How many of these moments lie in each of `width` equal parts of their time, as blocks; "" without any."""
    if not times:
        return ""
    first, span = min(times), max(times) - min(times)
    counts = [0] * width
    for time in times:
        counts[min(int((time - first) / span * width), width - 1) if span > 0 else 0] += 1
    most = max(counts)
    return "".join(_BLOCKS[-(-count * (len(_BLOCKS) - 1) // most)] for count in counts)


def to_text(capture: Capture) -> str:
    """What there is to say on one line of a terminal: its repr, and the times and the chart."""
    told = glance(capture)
    times = [f"{name} {value:.3f} s" for name, value in _times(told)[:-1] if value is not None]
    more = "; ".join([*times, *([f"|{told.chart}|"] if told.chart else [])])
    return f"{str(capture)[:-1]}; {more}>" if more else str(capture)


def _times(told: Glance) -> list[tuple[str, float | None]]:
    return [("first event", told.first_event), ("first text", told.first_text), ("all", told.duration)]


def to_html(capture: Capture) -> str:
    """The same as one block of HTML."""
    told = glance(capture)
    counts = f"{told.received} received · {told.sent} sent · {told.noted} noted"
    if told.lanes > 1:
        counts += f" · {told.lanes} lanes"
    listed = " · ".join(f"{name} {value:.3f} s" for name, value in _times(told) if value is not None)
    ending = html_text(one_line(str(told.ending or "no ending")))
    cut = " · <b>truncated</b>" if capture.truncated else ""
    chart = f'<code style="{CODE};white-space:pre" title="events over time">{told.chart}</code>' if told.chart else ""
    source = html_text(one_line(capture.source, 120))
    return (
        f'<div style="{BODY}"><b>Capture</b> · {ending}{cut} · {counts}<br>{chart} {listed}'
        f'<br><span style="{MUTED}">{source} · {capture.started:%Y-%m-%d %H:%M:%S} UTC</span></div>'
    )


def captures_html(captures: Sequence[Capture], sources: Sequence[str]) -> str:
    """Many at a glance: a line each, the first ones."""
    lines = [
        f"{html_text(one_line(source, 80))} · {len(capture)} messages · {html_text(str(capture.ending or 'no ending'))}"
        for capture, source in zip(captures[:_LISTED], sources, strict=False)
    ]
    if len(captures) > _LISTED:
        lines.append(f"and {len(captures) - _LISTED} more")
    return f'<div style="{BODY}"><b>{len(captures)} captures</b><br>{"<br>".join(lines)}</div>'
