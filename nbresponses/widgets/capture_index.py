"""A capture as the event inspector sees it: a row per message, found by type, lane and text; its items over time. Pure.

Rules
1. Rows are the messages in order of arrival, named by their place, from 0. A capture that grows adds rows at the end.
2. Little is kept of a row, in arrays; what is shown of it is read from its payload when it is asked for.
3. A response begins with response.created, or with the first event after a request for one.
   What has a lane counts by lane, and so does the gap: the time since the message before it on the same lane.
4. Everything that goes out is cleaned and cut to a length that a page can show.
"""

from __future__ import annotations

import bisect
import json
from array import array
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.core.decode import decode_kept
from nbresponses.render import clean
from nbresponses.render.untrusted import one_line
from nbresponses.widgets.capture_words import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbresponses.capture.messages import Channel
    from nbresponses.capture.record import Capture

__all__ = ["CaptureIndex", "Filter"]

_BINS = 200  # of the density over time
_ITEMS = 400  # of the timeline
_TYPES = 200  # in the list to choose from
_FILTERS = 4  # whose rows are kept
_LARGEST = 2**62
_BEGIN = 10_000  # bytes of a request in which its type stands


class _Head(msgspec.Struct, gc=False):
    """What a row shows of an event, of whatever type the server wrote it."""

    type: object = None
    sequence_number: object = None
    output_index: object = None
    item: msgspec.Raw = msgspec.Raw(b"")


class _Named(msgspec.Struct, gc=False):
    type: object = None
    name: object = None


_head = msgspec.json.Decoder(_Head).decode
_named = msgspec.json.Decoder(_Named).decode
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown: of one type, of one lane (by number), that hold a text in any case. Empty: all."""

    type: str = ""
    lane: int = -1
    text: str = ""

    @classmethod
    def read(cls, given: Any) -> Filter:
        """From what a page sent, whatever that is."""
        given = given if isinstance(given, dict) else {}
        kind, lane, text = given.get("type"), given.get("lane"), given.get("text")
        return cls(
            type=kind if isinstance(kind, str) else "",
            lane=lane if type(lane) is int and lane >= 0 else -1,
            text=text if isinstance(text, str) else "",
        )


@dataclass(slots=True)
class _Item:
    """An output item on the timeline."""

    label: str
    lane: int
    begun: float
    ended: float
    events: int = 0


@dataclass(slots=True)
class _LaneEnd:
    """Where a lane stands: its last row, its response, and whether another one was asked for since."""

    row: int = -1
    response: int = 0
    asked: bool = True


class CaptureIndex:
    """Rows of one capture. `extend` takes what came since."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.times = array("d")
        self.responses = array("I")
        """Row → the response that it belongs to or comes after, counted from 1 in order of arrival; 0: none yet."""
        self._types = array("I")
        self._numbers = array("q")
        self._items = array("i")
        self._before = array("q")
        self._lane_of = array("I")
        self._type_names: list[str] = []
        self._type_codes: dict[str, int] = {}
        self._lane_names: list[str | None] = []
        self._ends: list[_LaneEnd] = []
        self._timeline: list[_Item] = []
        self._by_place: dict[tuple[int, int], int] = {}
        self._responses = 0
        self._found: OrderedDict[Filter, array[int]] = OrderedDict()
        self._searched: dict[Filter, int] = {}
        self.extend()

    def __len__(self) -> int:
        return len(self.times)

    # ── reading the capture ──

    def extend(self) -> bool:
        """Take the messages that came since; whether there were any."""
        first = len(self)
        if first == len(self.capture):
            return False
        columns = self.capture.columns()
        lanes = [self._lane(channel.lane) for channel in columns.channels]
        parts = zip(columns.times[first:], columns.codes[first:], columns.payloads[first:], strict=True)
        for row, (at, code, payload) in enumerate(parts, first):
            channel, lane = columns.channels[code], lanes[code]
            end = self._ends[lane]
            if channel.kind == "event":
                number, belongs, item = self._event(at, lane, channel, payload)
            else:
                number, item = -1, -1
                belongs = end.response or self._responses
                end.asked = end.asked or _asks(channel, payload)
                self._types.append(self._type(_label(channel)))
            self._items.append(item)
            self._numbers.append(number)
            self._before.append(end.row)
            self._lane_of.append(lane)
            self.responses.append(belongs)
            self.times.append(at)
            end.row = row
        return True

    def _lane(self, name: str | None) -> int:
        if name not in self._lane_names:
            self._lane_names.append(name)
            self._ends.append(_LaneEnd())
        return self._lane_names.index(name)

    def _event(self, at: float, lane: int, channel: Channel, payload: bytes) -> tuple[int, int, int]:
        """Take an event: its sequence number (-1: none), its response, its item (-1: none)."""
        try:
            head = _head(payload)
        except _UNREADABLE:
            head = _Head(type=decode_kept(payload, channel.name).type)
        label = head.type if isinstance(head.type, str) and head.type else channel.name or "(no type)"
        end, code = self._ends[lane], self._type_codes.get(label)
        self._types.append(self._type(label) if code is None else code)
        if end.asked or label == "response.created":
            self._responses += 1
            end.response, end.asked = self._responses, False
        number, place = head.sequence_number, _count(head.output_index)
        item = -1
        if place >= 0:
            item = self._by_place.get((end.response, place), -1)
            if item < 0:
                item = self._by_place[end.response, place] = len(self._timeline)
                self._timeline.append(_Item(_item_label(bytes(head.item)), lane, at, at))
            known = self._timeline[item]
            known.ended = at
            known.events += 1
        return _count(number), end.response, item

    def _type(self, label: str) -> int:
        code = self._type_codes.get(label)
        if code is None:
            code = self._type_codes[label] = len(self._type_names)
            self._type_names.append(label)
        return code

    # ── what is shown ──

    def overview(self) -> dict[str, Any]:
        """What a page needs to begin with: counts, names, the density and the items over time."""
        counts = Counter(self._types)
        types = sorted((one_line(self._type_names[code], 100), self._type_names[code], n) for code, n in counts.items())
        return {
            "total": len(self),
            "begun": min(self.times, default=0.0),
            "ended": max(self.times, default=0.0),
            "types": [[shown, clean(name), count] for shown, name, count in types[:_TYPES]],
            "lanes": [one_line(name, 60) if name is not None else "(default)" for name in self._lane_names],
            "density": self._density(),
            "items": [[item.label, item.lane, item.begun, item.ended, item.events] for item in self._timeline[:_ITEMS]],
            "more_items": max(0, len(self._timeline) - _ITEMS),
        }

    def types(self) -> list[tuple[str, int]]:
        """Each type and how many rows have it, the most frequent first."""
        return [(self._type_names[code], count) for code, count in Counter(self._types).most_common()]

    def _density(self) -> list[int]:
        counts = [0] * _BINS
        begun = min(self.times, default=0.0)
        span = max(self.times, default=0.0) - begun
        scale = (_BINS - 1) / span if span > 0 else 0.0
        for at, number in Counter(int((at - begun) * scale) for at in self.times).items():
            counts[at] = number
        return counts

    def shown(self, only: Filter) -> Sequence[int]:
        """The rows that a filter lets through, in order."""
        if only == Filter():
            return range(len(self))
        found = self._found.setdefault(only, array("q"))
        self._found.move_to_end(only)
        if len(self._found) > _FILTERS:
            self._searched.pop(self._found.popitem(last=False)[0], None)
        first = self._searched.get(only, 0)
        self._searched[only] = len(self)
        found.extend(self._matches(only, range(first, len(self))))
        return found

    def _matches(self, only: Filter, rows: range) -> Sequence[int]:
        kept: Sequence[int] = rows
        if only.type:
            codes = {code for name, code in self._type_codes.items() if clean(name) == only.type}
            kept = [row for row in kept if self._types[row] in codes]
        if only.lane >= 0:
            kept = [row for row in kept if self._lane_of[row] == only.lane]
        if only.text:
            needles = _needles(only.text)
            payloads = self.capture.columns().payloads
            if len(needles) == 1:
                kept = [row for row in kept if needles[0] in payloads[row].lower()]
            else:
                kept = [row for row in kept if any(needle in payloads[row].lower() for needle in needles)]
        return kept

    def rows(self, only: Filter, first: int, count: int) -> list[list[Any]]:
        """Shown rows from a place on: [row, sequence number, time, gap, type, item, lane, what it says]."""
        shown = self.shown(only)
        return [self._row(row) for row in shown[max(0, first) : max(0, first) + count]]

    def _row(self, row: int) -> list[Any]:
        message, at, before = self.capture[row], self.times[row], self._before[row]
        item = self._items[row]
        return [
            row,
            self._numbers[row] if self._numbers[row] >= 0 else None,
            at,
            at - self.times[before] if before >= 0 else None,
            one_line(self._type_names[self._types[row]], 100),
            self._timeline[item].label if item >= 0 else "",
            self._lane_of[row] if message.lane is not None else None,
            summary(message),
        ]

    def row_at(self, seconds: float) -> int:
        """The last row that had arrived at this time; the first where none had."""
        return max(0, bisect.bisect_right(self.times, seconds) - 1)

    def place_of(self, only: Filter, row: int) -> int:
        """Where a row stands among those shown; of one that is not shown, where the last one before it stands."""
        return max(0, bisect.bisect_right(self.shown(only), row) - 1)


def _label(channel: Channel) -> str:
    """How a message that is no event is listed: what was sent with an arrow, what was noted with a dot."""
    return {"out": "→ request", "note": f"· {channel.kind}"}.get(channel.direction, channel.kind)


def _asks(channel: Channel, payload: bytes) -> bool:
    """Whether the message asks for a response; steering, sent on the same connection, doesn't begin another one."""
    return channel.direction == "out" and (channel.transport != "websocket" or b'"response.create"' in payload[:_BEGIN])


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < _LARGEST else -1


def _item_label(announced: bytes) -> str:
    try:
        item = _named(announced) if announced else _Named()
    except _UNREADABLE:
        item = _Named()
    kind = item.type if isinstance(item.type, str) and item.type else "item"
    return one_line(f"{item.name} · {kind}" if isinstance(item.name, str) and item.name else kind, 60)


def _needles(text: str) -> list[bytes]:
    """How a text may stand in JSON, in small letters (of ASCII; others count as they are)."""
    escaped = json.dumps(text)[1:-1]
    plain = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    return list({escaped.encode().lower(), plain.lower(), text.encode("utf-8", "replace").lower()})
