"""A capture as the event inspector sees it: one row per message, filters, and the response as it was at any row. Pure.

Nothing is copied out of the capture but what a row shows; payloads are read again when they are asked for.
"""

from __future__ import annotations

import bisect
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbresponses.core.accumulator import Accumulator
from nbresponses.render import blocks, clean, to_text
from nbresponses.render.untrusted import pretty_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nbresponses.capture.messages import Message
    from nbresponses.capture.record import Capture

__all__ = ["InspectorIndex"]

_LONGEST = 200_000  # characters of a payload, and of a snapshot, that a page is sent
_BARS = 400  # items in the timeline


@dataclass(slots=True)
class _Bar:
    lane: str | None
    item: int
    type: str
    begun: float
    ended: float


class InspectorIndex:
    """Rows of a capture, all in order of arrival. Rows are named by their place, from 0."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._times: list[float] = []
        self._types: list[str] = []
        self._lanes: list[str | None] = []
        self._facts: list[tuple[str, int | None, int | None]] = []  # direction, sequence number, output index
        self._bars: dict[tuple[str | None, int, int], _Bar] = {}
        self._turns: Counter[str | None] = Counter()
        for message in capture:
            self._add(message)
        self.shown: Sequence[int] = range(len(self._times))
        """The rows that the filter lets through."""
        self._replayed = _Replay(capture)

    def __len__(self) -> int:
        return len(self._times)

    def overview(self) -> dict[str, Any]:
        """What a page needs to begin: counts by type, lanes, the duration, the timeline."""
        lanes = sorted({clean(lane) for lane in self._lanes if lane is not None})
        bars = list(self._bars.values())[:_BARS]
        return {
            "total": len(self),
            "shown": len(self.shown),
            "types": sorted(Counter(self._types).items()),
            "lanes": lanes,
            "duration": self._times[-1] if self._times else 0.0,
            "timeline": [[bar.lane or "", bar.item, bar.type, bar.begun, bar.ended] for bar in bars],
        }

    def filter(self, types: Collection[str] = (), lane: str | None = None, text: str = "") -> int:
        """Let through the rows of these types (none: all), of this lane, whose payload holds the text; how many."""
        wanted, needle = set(types), text.lower().encode()
        if not wanted and lane is None and not needle:
            self.shown = range(len(self))
        else:
            self.shown = [
                row
                for row in range(len(self))
                if (not wanted or self._types[row] in wanted)
                and (lane is None or clean(self._lanes[row] or "") == lane)
                and (not needle or needle in self._capture[row].payload.lower())
            ]
        return len(self.shown)

    def rows(self, first: int, count: int) -> list[list[Any]]:
        """Filtered rows: [row, direction, sequence number, time, gap to the one shown before, type, item, lane]."""
        found = []
        for place in range(max(0, first), min(first + count, len(self.shown))):
            row = self.shown[place]
            direction, number, item = self._facts[row]
            before = self._times[self.shown[place - 1]] if place else self._times[row]
            at = self._times[row]
            lane = clean(self._lanes[row] or "")
            found.append([row, direction, number, at, at - before, self._types[row], item, lane])
        return found

    def row_at(self, seconds: float) -> int:
        """The last row that had arrived at this time."""
        return max(0, bisect.bisect_right(self._times, seconds) - 1)

    def time_of(self, row: int) -> float:
        return self._times[row]

    def place_of(self, row: int) -> int:
        """Where a row stands among those shown (the next one, where it is not shown itself)."""
        return bisect.bisect_left(self.shown, row)

    def payload(self, row: int) -> str:
        """The raw text of a message, indented where it is JSON, numbers and keys as they came."""
        return _cut(clean(pretty_json(self._capture[row].text)))

    def decoded(self, row: int) -> str:
        """What the message was read as: the class of its event and its fields."""
        event = self._capture[row].event()
        if event is None:
            return "no event"
        fields = json.dumps(event.to_dict(), ensure_ascii=False, indent=2, default=str)
        return _cut(clean(f"{type(event).__name__}\n{fields}"))

    def snapshot(self, row: int) -> dict[str, Any]:
        """The response that the row belongs to, as it was then."""
        response = self._replayed.to(row, self._lanes[row])
        text = to_text(blocks(response)) if response is not None else ""
        return {"row": row, "at": self._times[row], "text": _cut(text), "place": self.place_of(row)}

    def _add(self, message: Message) -> None:
        event = message.event()
        item = getattr(event, "output_index", None)
        number = getattr(event, "sequence_number", None)
        self._times.append(message.at)
        self._types.append(clean(event.type) if event is not None else _type_of(message))
        self._lanes.append(message.lane)
        self._facts.append((message.direction, number, item if isinstance(item, int) else None))
        if event is not None and event.type == "response.created":
            self._turns[message.lane] += 1
        if event is not None and isinstance(item, int):
            self._extend(message, event, item)

    def _extend(self, message: Message, event: Any, item: int) -> None:
        key = (message.lane, self._turns[message.lane], item)
        bar = self._bars.get(key)
        if bar is None:
            announced = getattr(event, "item", None)
            kind = announced.get("type") if isinstance(announced, dict) else None
            bar = self._bars[key] = _Bar(message.lane, item, clean(str(kind or "item")), message.at, message.at)
        bar.ended = message.at


class _Replay:
    """The accumulator at a row; going forward goes on from there, going back begins anew."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._begin(None)

    def _begin(self, lane: str | None) -> None:
        self._lane = lane
        self._next = 0
        self._accumulator = Accumulator()

    def to(self, row: int, lane: str | None) -> Any:
        """The response of the lane, after the row."""
        if lane != self._lane or row < self._next - 1:
            self._begin(lane)
        for message in self._capture[self._next : row + 1]:
            if message.lane == lane and (event := message.event()) is not None:
                if event.type == "response.created" and self._accumulator.ending is not None:
                    self._accumulator = Accumulator()
                self._accumulator.apply(event)
        self._next = max(self._next, row + 1)
        return self._accumulator.response


def _type_of(message: Message) -> str:
    if message.direction == "out":
        try:
            return clean(str(message.facts().get("type") or "request"))
        except ValueError:
            return "request"
    return clean(message.kind)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} characters more"
