"""The lane board's state: messages of a capture, the lanes' status and lineage → what changed for a page. Pure.

Rules
1. A text belongs to a response and only grows for the page: ["add", response, text], or ["set", …] where that is wrong.
2. A lane's row goes out field by field, where it differs from what was sent; the tree goes out whole when it changed.
3. Time is an argument, in seconds since the capture began.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.core.accumulator import Accumulator
from nbresponses.render import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbresponses.capture.messages import Message
    from nbresponses.core.accumulator import Change
    from nbresponses.core.response import Response

__all__ = ["MAX_AGE", "BoardState", "Reading"]

MAX_AGE = 3600.0
"""Seconds that a server keeps a connection open."""

_ACTIVITIES = {
    "reasoning_text": "reasoning",
    "reasoning_summary": "reasoning",
    "arguments": "calling",
    "input": "calling",
    "code": "coding",
    "image": "drawing",
}
_TEXTS = {"text", "refusal", "transcript"}
_RUNNING = {"sent", "created", "running"}


@dataclass(slots=True)
class Reading:
    """One response as it is read: its text by parts, in order of arrival."""

    id: str
    begun: float
    ended: float | None = None
    activity: str = ""
    tokens: int | None = None
    accumulator: Accumulator = field(default_factory=Accumulator)
    parts: dict[tuple[Any, ...], list[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(text for pieces in self.parts.values() if (text := "".join(pieces)))

    def take(self, change: Change) -> str | None:
        """The text that the change appends at the end, "" for none; None where the whole text is to be told anew."""
        kind, index = change.part
        self.activity = _ACTIVITIES.get(kind, "" if kind == "text" else self.activity)
        key = (change.output_index, kind, index)
        pieces = self.parts.get(key)
        if kind in _TEXTS and pieces is not None and change.delta is not None:  # the usual case costs the piece only
            pieces.append(change.delta)
            return change.delta if next(reversed(self.parts)) == key or not change.delta else None
        after = (change.delta or change.snapshot) if kind in _TEXTS else _call(change) if kind == "item" else ""
        before = "".join(pieces or ())
        if kind not in _TEXTS and not after:
            return ""
        self.parts[key] = [after]
        if pieces is None or next(reversed(self.parts)) != key or not after.startswith(before):
            return None if after != before else ""
        return after[len(before) :]


class BoardState:
    """All lanes of one manager, as a page knows them."""

    def __init__(self) -> None:
        self.responses: dict[str, Reading] = {}
        self._current: dict[str | None, Reading] = {}
        self._asked: dict[str | None, str] = {}
        self._texts: dict[str, list[str] | None] = {}  # what was appended since the last look; None: tell it anew
        self._rows: dict[str, dict[str, Any]] = {}
        self._meters: dict[str, Any] = {}
        self._tree: list[dict[str, Any]] = []

    def take(self, messages: Iterable[Message]) -> None:
        """Read what was sent and received on the lanes."""
        for message in messages:
            if message.direction == "out":
                self._sent(message)
            elif message.direction == "in" and (event := message.event()) is not None:
                self._received(message, event)

    def look(self, status: Mapping[str, Any], lineage: Sequence[Mapping[str, Any]], now: float) -> dict[str, Any]:
        """What a page does not know yet: `texts`, `rows`, `meters`, `tree`; empty where it knows all."""
        news: dict[str, Any] = {}
        if self._texts:
            news["texts"] = [self._told(id_, pieces) for id_, pieces in self._texts.items()]
            self._texts = {}
        if rows := self._changed_rows(status, {row["id"]: row for row in lineage}):
            news["rows"] = rows
        if (meters := _meters(status, now)) != self._meters:
            self._meters = news["meters"] = meters
        if (tree := [_node(row) for row in lineage]) != self._tree:
            self._tree = news["tree"] = tree
        return news

    def _told(self, id_: str, pieces: list[str] | None) -> list[str]:
        if pieces is None:
            return ["set", id_, clean(self.responses[id_].text)]
        return ["add", id_, clean("".join(pieces))]

    def snapshot(self) -> dict[str, Any]:
        """Everything, for a page that comes anew."""
        texts = [["set", reading.id, clean(reading.text)] for reading in self.responses.values()]
        return {"texts": texts, "rows": self._rows, "meters": self._meters, "tree": self._tree}

    def latest(self) -> list[tuple[str | None, Response]]:
        """The latest response of each lane."""
        return [(lane, reading.accumulator.response) for lane, reading in self._current.items()]

    # ── messages ──

    def _sent(self, message: Message) -> None:
        asked = message.facts()
        if asked.get("type") == "response.create":
            self._asked[message.lane] = _question(asked.get("input"))

    def _received(self, message: Message, event: Any) -> None:
        reading = self._current.get(message.lane)
        if reading is None or (reading.ended is not None and event.type == "response.created"):
            reading = self._begin(message, event)
        for change in reading.accumulator.apply(event):
            appended = reading.take(change)
            if appended is None:
                self._texts[reading.id] = None
            elif appended and (pieces := self._texts.setdefault(reading.id, [])) is not None:
                pieces.append(appended)
        if reading.accumulator.ending is not None and reading.ended is None:
            reading.ended, reading.activity = message.at, ""
            usage = reading.accumulator.response.usage
            reading.tokens = usage.get("output_tokens") if usage is not None else None

    def _begin(self, message: Message, event: Any) -> Reading:
        given = getattr(event, "response", None)
        id_ = str((given or {}).get("id") or f"{message.lane or ''}#{len(self.responses)}")
        reading = Reading(id_, message.at)
        self._current[message.lane] = self.responses[id_] = reading
        return reading

    # ── rows ──

    def _changed_rows(
        self, status: Mapping[str, Any], lineage: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        changed: dict[str, dict[str, Any]] = {}
        for lane in status["lanes"]:
            row = self._row(lane, lineage)
            known = self._rows.setdefault(row["key"], {})
            if news := {name: value for name, value in row.items() if known.get(name, known) != value}:
                known |= news
                changed[row["key"]] = news
        return changed

    def _row(self, lane: Mapping[str, Any], lineage: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        name = lane["lane"]
        reading = self._current.get(name)
        state = str(lane["state"])
        row: dict[str, Any] = {
            "key": "default" if name is None else f"lane {name}",
            "name": clean(name or "(default)"),
            "lane": name,
            "state": "in flight" if state in _RUNNING else state,
            "queued": lane["queued"],
            "latest": lane["latest"],
            "asked": clean(self._asked.get(name, "")),
        }
        if reading is None:
            return row
        if row["state"] == "idle":
            known = lineage.get(reading.id, {}).get("state")
            row["state"] = str(known if known not in (None, "running") else reading.accumulator.ending or "idle")
        return row | {
            "response": reading.id,
            "activity": reading.activity,
            "begun": reading.begun,
            "ended": reading.ended,
            "tokens": reading.tokens,
        }


def _call(change: Change) -> str:
    """A finished call of a function or tool, on a line of its own."""
    if change.event is None or change.event.type != "response.output_item.done":
        return ""
    item = change.event.to_dict().get("item")
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return ""
    given = item.get("arguments") or item.get("input") or ""
    return f"→ {item['name']}({given if isinstance(given, str) else ''})"


def _question(asked: Any) -> str:
    """What was asked last, as one short text."""
    if isinstance(asked, str):
        return asked[:400]
    for item in reversed(asked if isinstance(asked, list) else []):
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, str):
            return content[:400]
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return str(part["text"])[:400]
    return ""


def _meters(status: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The connection's meters. Its beginning instead of its age, which would change with each look."""
    ages = [connection["age"] for connection in status["connections"] if connection["age"] is not None]
    return {
        "transport": status["transport"],
        "in_flight": status["in_flight"],
        "queued": status["queued"],
        "names": sum(connection["names_used"] for connection in status["connections"]),
        "connections": len(ages),
        "since": round(now - max(ages), 1) if ages else None,
        "max_age": MAX_AGE,
    }


def _node(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "parent": row["parent"], "lane": clean(row["lane"] or "(default)"), "state": row["state"]}
