"""One output item while it streams: its parts as lists of pieces, joined when asked for. Knows no other item.

What the server announced or finished stays in its event (`source`) and is opened anew for each snapshot, so a snapshot
never shares anything with another one. Pieces lie over it while the item is open; once it is closed, the finished item
wins, and pieces only fill what it leaves out.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from nbresponses.core.kinds import INDEXED, ITEM_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbresponses.core.wire import Event

__all__ = ["Item", "Part", "implied_type", "joined"]

_KNOWN_TYPES = frozenset(type_ for types in ITEM_TYPES.values() for type_ in types)

_CONTENT = {
    "text": ("output_text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning_text", "text"),
}
"""Kind of content part → its type on the wire and the field that holds its text."""


def implied_type(kind: str) -> str:
    """The type of an item that is known only by a part of this kind."""
    return ITEM_TYPES.get(kind, (kind,))[0]


def joined(pieces: list[str]) -> str:
    """The whole text. A character that was cut into two surrogates over two pieces is put together again."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


class Part:
    """A growing text. `pieces` only ever grows: a done event makes a new part, so old lengths stay true of this one."""

    __slots__ = ("content_index", "index", "item", "kind", "notes", "output_index", "pieces", "scored", "source")

    def __init__(self, kind: str, index: int | None, item: Item | None, pieces: list[str] | None = None) -> None:
        self.kind = kind
        self.index = index
        self.item = item
        self.output_index: int | None = None
        self.content_index: int | None = None
        """The indexes as the last text delta gave them (a server may leave them out)."""
        self.pieces: list[str] = [] if pieces is None else pieces
        self.scored: list[Event] = []
        """Text events that brought log probabilities."""
        self.notes: list[Event] = []
        """Events that add to the part without being text: annotations, and the pieces of a command's output."""
        self.source: Event | None = None
        """The event that announced or finished the part."""

    def restarted(self, text: str) -> Part:
        """The part with the whole text in place of its pieces, as a done event gives it."""
        part = Part(self.kind, self.index, self.item, [text])
        part.scored, part.notes, part.source = self.scored, self.notes, self.source
        return part

    def text(self, length: int | None = None) -> str:
        """The text up to a number of pieces (None: all)."""
        pieces = self.pieces if length is None else self.pieces[:length]
        return _whole_base64(pieces) if self.kind == "audio" else joined(pieces)

    def entry(self) -> dict[str, Any]:
        """A content or summary part in wire shape."""
        type_, field = _CONTENT.get(self.kind, ("summary_text", "text"))
        entry: dict[str, Any] = {"type": type_}
        if self.source is not None:
            entry = dict(self.source.to_dict()["part"])
        elif self.kind == "text":
            entry["annotations"] = []
        entry[field] = self.text()
        if self.scored and not entry.get("logprobs"):
            entry["logprobs"] = [logprob for event in self.scored for logprob in event.to_dict()["logprobs"]]
        if self.notes and not entry.get("annotations"):
            entry["annotations"] = self.annotations()
        return entry

    def annotations(self) -> list[Any]:
        """The annotations that came as events, by their index where they have one, else in order of arrival."""
        indexes = (getattr(note, "annotation_index", None) for note in self.notes)
        order = sorted((place if index is None else index, place) for place, index in enumerate(indexes))
        return [self.notes[place].to_dict()["annotation"] for _, place in order]

    def output(self) -> list[dict[str, Any]]:
        """The output of a shell command in wire shape."""
        if self.source is not None:
            return list(self.source.to_dict()["output"])
        deltas = [note.to_dict()["delta"] for note in self.notes]
        texts = {name: joined([str(delta.get(name) or "") for delta in deltas]) for name in ("stdout", "stderr")}
        return [texts]


def _whole_base64(pieces: list[str]) -> str:
    """Each piece is base64 of its own; together they are base64 of the bytes in a row."""
    try:
        return base64.b64encode(b"".join(base64.b64decode(piece) for piece in pieces)).decode()
    except (binascii.Error, ValueError):
        return joined(pieces)


class Item:
    """One output item. `order` is its place in arrival, `index` the server's output_index (None where none came)."""

    __slots__ = ("done", "id", "index", "order", "partial_image", "parts", "source", "status", "type")

    def __init__(self, order: int, index: int | None, type_: str) -> None:
        self.order = order
        self.index = index
        self.type = type_
        self.id: str | None = None
        self.done = False
        self.status: str | None = None
        self.source: Event | None = None
        self.parts: dict[tuple[str, int | None], Part] = {}
        self.partial_image = ""

    @property
    def place(self) -> int:
        """Where it stands in the output."""
        return self.order if self.index is None else self.index

    def holds(self, kind: str) -> bool:
        """Whether parts of this kind belong in items of this type. Items of unknown types take anything."""
        return self.type in ITEM_TYPES.get(kind, ()) or self.type not in _KNOWN_TYPES

    def may_be(self, type_: str) -> bool:
        """Whether an item that nobody announced, but of which parts came, can be announced as this type."""
        kinds = {kind for kind, _ in self.parts}
        fits = type_ not in _KNOWN_TYPES or all(type_ in ITEM_TYPES[kind] for kind in kinds)
        return self.source is None and bool(kinds) and fits

    def part(self, kind: str, index: int | None) -> Part:
        """The part with this index, made if it is new. Without an index: the newest of its kind, else number 0."""
        if index is None and kind in INDEXED:
            index = next((i for k, i in reversed(self.parts) if k == kind), 0)
        part = self.parts.get((kind, index))
        if part is None:
            part = self.parts[kind, index] = Part(kind, index, self)
        return part

    def announce(self, event: Event, item: dict[str, Any]) -> None:
        """Take what output_item.added or .done says of the item."""
        self.source = event
        self.status = None
        if isinstance(item.get("id"), str):
            self.id = item["id"]
        if isinstance(item.get("type"), str):
            self.type = item["type"]

    def snapshot(self) -> dict[str, Any]:
        """The item in wire shape, as of now. Shares nothing with what was or will be."""
        data: dict[str, Any]
        if self.source is not None:
            data = self.source.to_dict()["item"]
            if self.type:
                data.setdefault("type", self.type)
        else:
            data = {"id": self.id, "type": self.type, "status": "in_progress"}
            if self.type == "message":
                data["role"] = "assistant"
        if self.status is not None and (self.source is None or "status" in data):
            data["status"] = self.status
        full = _filled(data) if self.done else set()
        for part in sorted(self.parts.values(), key=lambda part: part.index or 0):
            if part.kind in _MERGE:
                _MERGE[part.kind](data, part, full)
        return data


def _filled(data: dict[str, Any]) -> set[str]:
    """The names of the fields that have a value, those inside an action or operation too."""
    inner = [value for name in ("action", "operation") if isinstance(value := data.get(name), dict)]
    return {name for holder in (data, *inner) for name, value in holder.items() if value}


# ── A part's place in its item ───────────────────────────────────────────────────────────────────────────────────────
# (item data, part, full): `full` names the fields that the finished item brought; pieces stand in for all others.


def _merge_content(data: dict[str, Any], part: Part, full: set[str]) -> None:
    _merge_entry(data, "content", part, full)


def _merge_summary(data: dict[str, Any], part: Part, full: set[str]) -> None:
    _merge_entry(data, "summary", part, full)


def _merge_entry(data: dict[str, Any], field: str, part: Part, full: set[str]) -> None:
    entries = data.get(field)
    if not isinstance(entries, list):
        entries = data[field] = []
    index = part.index or 0
    entry = entries[index] if 0 <= index < len(entries) else None
    streamed = part.entry()
    if not isinstance(entry, dict) or entry.get("type", streamed["type"]) != streamed["type"]:
        entry = None
    if field in full:
        if entry is not None and len(entries) == _entries(part, field):
            entry.update({name: value for name, value in streamed.items() if value and not entry.get(name)})
    elif entry is not None:
        entry.update(streamed)
    else:
        entries.append(streamed)  # no holes: some servers count parts across items


def _entries(part: Part, field: str) -> int:
    """How many entries of this field were streamed."""
    parts = part.item.parts if part.item is not None else {}
    return sum((kind in _CONTENT) == (field == "content") for kind, _ in parts)


def _merge_field(field: str) -> Callable[[dict[str, Any], Part, set[str]], None]:
    def merge(data: dict[str, Any], part: Part, full: set[str]) -> None:
        if field not in full:
            data[field] = part.text()

    return merge


def _merge_command(data: dict[str, Any], part: Part, full: set[str]) -> None:
    if "commands" in full:
        return
    action = data.get("action")
    if not isinstance(action, dict):
        action = data["action"] = {}
    commands = action.get("commands")
    if not isinstance(commands, list):
        commands = action["commands"] = []
    index = part.index or 0
    if 0 <= index < len(commands):
        commands[index] = part.text()
    else:
        commands.append(part.text())


def _merge_shell_output(data: dict[str, Any], part: Part, full: set[str]) -> None:
    if "output" not in full:
        if not isinstance(data.get("output"), list):
            data["output"] = []
        data["output"] += part.output()


def _merge_diff(data: dict[str, Any], part: Part, full: set[str]) -> None:
    if "diff" in full:
        return
    operation = data.get("operation")
    if not isinstance(operation, dict):
        operation = data["operation"] = {}
    operation["diff"] = part.text()


_MERGE: dict[str, Callable[[dict[str, Any], Part, set[str]], None]] = {
    "text": _merge_content,
    "refusal": _merge_content,
    "reasoning_text": _merge_content,
    "reasoning_summary": _merge_summary,
    "arguments": _merge_field("arguments"),
    "code": _merge_field("code"),
    "input": _merge_field("input"),
    "shell_command": _merge_command,
    "shell_output": _merge_shell_output,
    "diff": _merge_diff,
}
