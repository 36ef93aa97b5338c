"""What a page is told of a response: blocks and changes → operations, as few and as small as they can be. Pure.

Rules
1. A piece of text that a page can append goes out as it came (`add`); no text is sent twice because of it.
2. Anything else is found by comparing the response's blocks with what was sent: `look` says when that is due. Where a
   text then differs from the pieces sent, it is replaced (`set`).
3. Bytes of pictures and sound go out as buffers, once.
4. A snapshot holds all that was sent, so that a page which missed something, or comes anew, catches up.

Operations are lists: ["item", key, facts] · ["add", key, part, text] · ["set", key, part, text] · ["gone", key]
· ["notes", key, [note]] · ["image", key, slot, facts, buffer index] · ["audio", key, facts, buffer index].
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from nbresponses.display.live_items import LiveItem, item_of
from nbresponses.render import Preview, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbresponses.core.accumulator import Change
    from nbresponses.render import Block, Picture

__all__ = ["LiveState"]

Op = list[Any]

_APPENDED = {
    "text": ("text", "text", True),
    "refusal": ("refusal", "text", True),
    "reasoning_summary": ("reasoning", "summary", False),
    "reasoning_text": ("reasoning", "text", False),
    "arguments": ("tool", "arguments", True),
    "input": ("tool", "arguments", True),
    "code": ("code", "code", True),
    "diff": ("patch", "diff", True),
    "shell_command": ("shell", "shell_command", False),
    "transcript": ("audio", "transcript", True),
}
"""Kind of part → (kind of block, name of its text, whether that block has one such text only)."""

_HIGH = ("\ud800", "\udbff")


class _Sent:
    """What a page has of one item."""

    __slots__ = ("audio", "facts", "held", "notes", "pictures", "texts")

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.texts: dict[str, list[str]] = {}
        self.held: dict[str, str] = {}
        """The first half of a character that was cut in two: it waits for the other half."""
        self.notes: list[dict[str, str]] = []
        self.pictures: dict[int, tuple[Picture, dict[str, Any]]] = {}
        self.audio: tuple[str, str] | None = None

    def text(self, part: str) -> str:
        """A text as far as a page has it."""
        return _sendable("".join(self.texts[part]).removesuffix(self.held.get(part, "")))


class LiveState:
    """One response, as a page knows it. `now` is a `time.monotonic()`; it measures how long reasoning takes."""

    def __init__(self) -> None:
        self.look = True
        """Whether something changed that only a look at the blocks can tell."""
        self.previews: dict[int, Preview] = {}
        """The latest partial image by output index: `blocks` asks for it."""
        self.seconds: dict[int, float] = {}
        """How long finished reasoning took, by output index."""
        self._begun: dict[int, float] = {}
        self._sent: dict[str, _Sent] = {}
        self._ops: list[Op] = []
        self._buffers: list[bytes] = []

    def apply(self, changes: Iterable[Change], now: float) -> None:
        """Take changes: pieces of text become operations, all else asks for a look."""
        for change in changes:
            kind, index = change.part
            place = change.output_index
            if kind.startswith("reasoning") and place is not None:
                self._begun.setdefault(place, now)
            if kind == "image" and place is not None and change.snapshot:
                self.previews[place] = Preview(index, change.snapshot)
            if change.delta is None or not self._append(kind, place, index, change.delta):
                self.look = True

    def compare(self, blocks: Sequence[Block], now: float) -> None:
        """Take the response's blocks: what differs from what was sent becomes operations."""
        self.look = False
        shown = [item_of(block) for block in blocks]
        for item in shown:
            self._compare(item, now)
        for key in self._sent.keys() - {item.key for item in shown}:
            del self._sent[key]
            self._ops.append(["gone", key])

    def take(self) -> tuple[list[Op], list[bytes]]:
        """The operations since the last time, and the buffers that they name by index."""
        taken = self._ops, self._buffers
        self._ops, self._buffers = [], []
        return taken

    def snapshot(self, now: float) -> tuple[list[dict[str, Any]], list[bytes]]:
        """All items as they are now, and their buffers."""
        buffers: list[bytes] = []
        items = []
        for key, sent in self._sent.items():
            images = [[slot, facts, _add(buffers, picture.data)] for slot, (picture, facts) in sent.pictures.items()]
            begun = self._begun.get(_place(key))
            items.append(
                {
                    "key": key,
                    "facts": sent.facts | ({"elapsed": now - begun} if begun is not None else {}),
                    "texts": [[part, sent.text(part)] for part in sent.texts],
                    "notes": sent.notes,
                    "images": images,
                    "audio": [{"mime": sent.audio[0]}, _add(buffers, sent.audio[1])] if sent.audio else None,
                }
            )
        return items, buffers

    # ── pieces ──

    def _append(self, kind: str, place: int | None, index: int | None, delta: str) -> bool:
        """Whether the piece belongs to a block that the page has already."""
        if kind not in _APPENDED:
            return False
        block, part, only = _APPENDED[kind]
        number = index or 0 if block in {"text", "refusal"} else 0
        key = f"{-1 if place is None else place}.{block}.{number}"
        sent = self._sent.get(key)
        if sent is None:
            return False
        self._add_text(sent, key, part if only else f"{part}:{index or 0}", delta)
        return True

    def _add_text(self, sent: _Sent, key: str, part: str, delta: str) -> None:
        sent.texts.setdefault(part, []).append(delta)
        text = sent.held.pop(part, "") + delta
        if _HIGH[0] <= text[-1:] <= _HIGH[1]:
            text, sent.held[part] = text[:-1], text[-1]
        last = self._ops[-1] if self._ops else None
        if last is not None and last[:3] == ["add", key, part]:
            last[3] += _sendable(text)
        elif text:
            self._ops.append(["add", key, part, _sendable(text)])

    # ── blocks ──

    def _compare(self, item: LiveItem, now: float) -> None:
        sent = self._sent.setdefault(item.key, _Sent())
        facts = item.facts | self._duration(item, now)
        if changed := {name: value for name, value in facts.items() if sent.facts.get(name) != value}:
            sent.facts |= changed
            self._ops.append(["item", item.key, changed])
        for part, text in item.texts.items():
            self._compare_text(sent, item.key, part, text)
        for part in sent.texts.keys() - item.texts.keys():
            self._compare_text(sent, item.key, part, "")
        if item.notes != sent.notes:
            sent.notes = item.notes
            self._ops.append(["notes", item.key, item.notes])
        for slot, (picture, words) in enumerate(item.pictures):
            self._compare_picture(sent, item.key, slot, picture, words)
        if item.audio is not None and item.audio != sent.audio:
            sent.audio = item.audio
            self._ops.append(["audio", item.key, {"mime": item.audio[0]}, _add(self._buffers, item.audio[1])])

    def _compare_text(self, sent: _Sent, key: str, part: str, text: str) -> None:
        before = "".join(sent.texts.get(part, ()))
        if before == text or clean(before) == text:
            return
        sent.texts[part] = [text]
        sent.held.pop(part, None)
        if before and text.startswith(before):
            self._ops.append(["add", key, part, _sendable(text[len(before) :])])
        else:
            self._ops.append(["set", key, part, _sendable(text)])

    def _compare_picture(self, sent: _Sent, key: str, slot: int, picture: Picture, words: str) -> None:
        facts = {"mime": picture.mime, "words": words}
        if sent.pictures.get(slot) != (picture, facts):
            sent.pictures[slot] = (picture, facts)
            self._ops.append(["image", key, slot, facts, _add(self._buffers, picture.data)])

    def _duration(self, item: LiveItem, now: float) -> dict[str, float]:
        if item.facts["kind"] != "reasoning":
            return {}
        place = _place(item.key)
        begun = self._begun.setdefault(place, now)
        if item.facts["done"]:
            self.seconds.setdefault(place, now - begun)
        return {"seconds": self.seconds[place]} if place in self.seconds else {}


def _place(key: str) -> int:
    return int(key.partition(".")[0])


def _add(buffers: list[bytes], data: str) -> int:
    """The index of base64 data among the buffers."""
    try:
        buffers.append(base64.b64decode(data))
    except (binascii.Error, ValueError):
        buffers.append(b"")
    return len(buffers) - 1


def _sendable(text: str) -> str:
    """Half a character cannot be sent as UTF-8: it becomes U+FFFD. Two halves become one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
