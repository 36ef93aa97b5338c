"""The lane board's state: messages of a capture, the lanes' status and lineage → what changed for a page. Pure.

Rules
1. A text belongs to a response and only grows for the page: ["add", response, text], or ["set", …] where that is wrong.
2. A lane's row goes out field by field, where it differs from what was sent; the tree goes out whole when it changed.
3. A lane that is at rest ends what is still read on it: what a server sends on after a stop is no part of the answer.
4. Why a lane's latest request failed is what its status says, else what its last events say.
5. Time is an argument, in seconds since the capture began. A status is older than the messages that are read with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.response import Response
from nbresponses.render import blocks, clean
from nbresponses.render.blocks import Error, Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbresponses.capture.messages import Message
    from nbresponses.core.accumulator import Change

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
_AT_REST = {"idle", "stopped"}
_NO_FAILURE = {None, "completed", "interrupted", "steered"}
_LABEL = 400  # characters of a prompt in a row
_LONGEST_WHY = 1000


@dataclass(slots=True)
class Reading:
    """One response as it is read: its text by parts, in order of arrival."""

    id: str
    begun: float
    prompt: str = ""
    ended: float | None = None
    why: str = ""
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

    def end(self, at: float, ending: str = "cut_off") -> None:
        """Nothing more is read; what ended it by itself stays."""
        self.accumulator.finish(ending)
        self.ended, self.activity = self.ended or at, ""
        response = self.accumulator.response
        self.tokens = response.usage.get("output_tokens") if response.usage is not None else None
        self.why = _why(response)


@dataclass(slots=True)
class _Line:
    """One lane: what it was asked last and when, and what is read on it; `waiting` for an answer's first event."""

    asked: str = ""
    at: float = 0.0
    reading: Reading | None = None
    waiting: bool = False


class BoardState:
    """All lanes of one manager, as a page knows them."""

    def __init__(self) -> None:
        self.responses: dict[str, Reading] = {}
        self._lines: dict[str | None, _Line] = {}
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
        """What a page does not know yet: `texts`, `rows`, `meters`, `tree`; empty where it knows all.

        `now` is the time at which the status was taken.
        """
        self._end_at_rest(status, now)
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
        sendable: dict[str, Any] = _sendable(news)
        return sendable

    def _told(self, id_: str, pieces: list[str] | None) -> list[str]:
        if pieces is None:
            return ["set", id_, clean(self.responses[id_].text)]
        return ["add", id_, clean("".join(pieces))]

    def snapshot(self) -> dict[str, Any]:
        """Everything, for a page that comes anew."""
        texts = [["set", reading.id, clean(reading.text)] for reading in self.responses.values()]
        whole = {"texts": texts, "rows": self._rows, "meters": self._meters, "tree": self._tree}
        sendable: dict[str, Any] = _sendable(whole)
        return sendable

    def latest(self) -> list[tuple[str | None, Response]]:
        """The latest response of each lane."""
        return [(lane, line.reading.accumulator.response) for lane, line in self._lines.items() if line.reading]

    def prompt(self, response_id: str) -> str:
        """The whole text that a response answers, "" where it is not known."""
        reading = self.responses.get(response_id)
        return clean(reading.prompt) if reading is not None else ""

    # ── messages ──

    def _sent(self, message: Message) -> None:
        asked = message.facts()
        if asked.get("type") != "response.create":
            return
        line = self._lines.setdefault(message.lane, _Line())
        line.asked, line.at, line.waiting = _question(asked.get("input")), message.at, True
        if line.reading is not None and line.reading.ended is None:  # it is asked again
            line.reading.end(message.at)

    def _received(self, message: Message, event: Any) -> None:
        line = self._lines.setdefault(message.lane, _Line())
        reading = line.reading
        if reading is None or line.waiting or (reading.ended is not None and event.type == "response.created"):
            reading = self._begin(line, message, event)
        for change in reading.accumulator.apply(event):
            appended = reading.take(change)
            if appended is None:
                self._texts[reading.id] = None
            elif appended and (pieces := self._texts.setdefault(reading.id, [])) is not None:
                pieces.append(appended)
            if reading.accumulator.ending is not None:
                reading.end(message.at)

    def _begin(self, line: _Line, message: Message, event: Any) -> Reading:
        given = getattr(event, "response", None)
        id_ = str((given or {}).get("id") or f"{message.lane or ''}#{len(self.responses)}")
        reading = Reading(id_, message.at, line.asked if line.waiting else "")
        line.reading = self.responses[id_] = reading
        line.waiting = False
        return reading

    def _end_at_rest(self, status: Mapping[str, Any], now: float) -> None:
        for lane in status["lanes"]:
            line = self._lines.get(lane["lane"])
            reading = line.reading if line is not None else None
            if lane["state"] in _AT_REST and reading is not None and reading.ended is None and reading.begun <= now:
                reading.end(now, lane.get("ending") or "cut_off")

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
        name, state = lane["lane"], str(lane["state"])
        line = self._lines.get(name, _Line())
        row: dict[str, Any] = {
            "key": "default" if name is None else f"lane {name}",
            "name": clean(name or "(default)"),
            "lane": name,
            "state": "in flight" if state in _RUNNING else state,
            "queued": lane["queued"],
            "latest": lane["latest"],
            "asked": clean(line.asked[:_LABEL]),
            "why": "",
        }
        if state in _AT_REST:
            row["state"], row["why"] = _outcome(lane, line.reading, lineage)
        elif line.waiting:  # the answer before it is not this one's
            return row | {"response": None, "activity": "", "begun": line.at, "ended": None, "tokens": None}
        return row if line.reading is None else row | _facts(line.reading)


def _facts(reading: Reading) -> dict[str, Any]:
    return {
        "response": reading.id,
        "activity": reading.activity,
        "begun": reading.begun,
        "ended": reading.ended,
        "tokens": reading.tokens,
    }


def _outcome(
    lane: Mapping[str, Any], reading: Reading | None, lineage: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str]:
    """How the latest request of a lane at rest ended, and why it failed ("" where it did not)."""
    error, ending = lane.get("error"), lane.get("ending")
    if error is not None and ending is not None:
        return str(ending), clean(str(error)[:_LONGEST_WHY])
    if reading is None:
        return str(ending or lane["state"]), ""
    known = lineage.get(reading.id, {}).get("state")
    return str(known if known not in (None, "running") else reading.accumulator.ending or "idle"), reading.why


def _why(response: Response) -> str:
    """Why a response is not whole, in one text."""
    if response.ending in _NO_FAILURE:
        return ""
    alone = Response({"incomplete_details": response.incomplete_details}, ending=response.ending, error=response.error)
    said = [_said(block) for block in blocks(alone) if isinstance(block, Error | Notice)]
    return clean(said[0][:_LONGEST_WHY]) if said else ""


def _said(block: Error | Notice) -> str:
    if isinstance(block, Notice):
        return block.text
    return f"{block.message} ({block.code})" if block.code else block.message


def _call(change: Change) -> str:
    """A finished call of a function or tool, in Markdown on a line of its own."""
    if change.event is None or change.event.type != "response.output_item.done":
        return ""
    item = change.event.to_dict().get("item")
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return ""
    given = item.get("arguments") or item.get("input") or ""
    return f"→ {_code(item['name'] + (f'({given})' if isinstance(given, str) else '()'))}"


def _code(text: str) -> str:
    """Inline code for a page's Markdown, which knows no HTML: more backquotes around it than it has in a row."""
    line = " ".join(clean(text).split("\n"))
    marks = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{marks} {line} {marks}" if line.startswith("`") or line.endswith("`") else f"{marks}{line}{marks}"


def _question(asked: Any) -> str:
    """What was asked last, as one text."""
    if isinstance(asked, str):
        return asked
    for item in reversed(asked if isinstance(asked, list) else []):
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, str):
            return content
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return str(part["text"])
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
        "failures": sum(connection["failures"] for connection in status["connections"]),
        "since": round(now - max(ages), 1) if ages else None,
        "max_age": MAX_AGE,
    }


def _node(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "parent": row["parent"], "lane": clean(row["lane"] or "(default)"), "state": row["state"]}


def _sendable(value: Any) -> Any:
    """The same without halves of characters: a server may put one into an id, and no message can hold it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_sendable(name): _sendable(each) for name, each in value.items()}
    return [_sendable(each) for each in value] if isinstance(value, list) else value
