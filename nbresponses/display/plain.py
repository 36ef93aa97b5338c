"""Plain text: the answer as it comes, for terminals and pipes; and the view that shows nothing.

Only what is new is printed, nothing is taken back. Control characters of the answer never reach a terminal, and a pipe
gets no escape codes at all: reasoning is dim on a terminal and quoted with "> " elsewhere.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TextIO

from nbresponses.display.bundles import closing_lines, item_text, never_began, plain_text
from nbresponses.render import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbresponses.client.stream import ResponseStream
    from nbresponses.core.accumulator import Change

__all__ = ["PlainView", "QuietView", "WholeView"]

_ASIDE = frozenset({"reasoning_text", "reasoning_summary"})
_FLOWING = frozenset({"text", "refusal", "transcript", *_ASIDE})
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"

# A control sequence or line end that the next piece may complete; printed apart, its rest would be left as text.
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]{0,32}[ -/]{0,8})?|\x9b[0-?]{0,32}|\r)\Z")

Place = tuple[int | None, str, int | None]


class PlainView:
    """Prints to `out`, by default the standard output of the moment."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._stream: ResponseStream | None = None
        self._place: Place | None = None
        self._piece: list[str] = []
        """What the place got since it was last written: one batch is dimmed as one."""
        self._printed: dict[Place, int] = {}
        self._held: dict[Place, str] = {}
        self._line_open = False
        self._anything = False

    def start(self, stream: ResponseStream) -> None:
        self._stream = stream
        self._out = self._out or sys.stdout

    def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.part[0] in _FLOWING:
                self._flow(change)
            elif change.part[0] == "item" and change.event is not None:
                self._item(change)
        self._say()
        self._flush()

    def tick(self) -> None:
        """Plain text has no clock."""

    def settle(self) -> None:
        if self._stream is None or never_began(self._stream):
            return
        self._break()
        if not self._anything and (text := plain_text(self._stream.response)):
            self._write(f"{text}\n")
        for line in closing_lines(self._stream):
            self._write(f"{line}\n")
        self._flush()

    # ── pieces ──

    def _flow(self, change: Change) -> None:
        kind, index = change.part
        place = (change.output_index, kind, index)
        text = self._news(place, change)
        if not text:
            return
        if place != self._place:
            self._break()
            if self._anything:
                self._write("\n")
            self._place = place
        self._piece.append(text)
        self._anything = True

    def _say(self) -> None:
        text = "".join(self._piece)
        self._piece.clear()
        if text:
            aside = self._place is not None and self._place[1] in _ASIDE
            self._write(self._dimmed(text) if aside else text)
            self._line_open = not text.endswith("\n")

    def _news(self, place: Place, change: Change) -> str:
        """What of a part is not printed yet. A done event may bring text that no delta brought."""
        before = self._printed.get(place, 0)
        news = change.delta if change.delta is not None else change.snapshot[before:]
        self._printed[place] = before + len(news)
        news = self._held.pop(place, "") + news
        cut = _UNFINISHED.search(news)
        if cut is not None:
            self._held[place], news = cut[0], news[: cut.start()]
        return clean(news)

    def _item(self, change: Change) -> None:
        """An item that is no text, when it is done."""
        event = change.event
        if event is None or event.type != "response.output_item.done":
            return
        item = event.to_dict().get("item")
        if not isinstance(item, dict) or item.get("type") == "reasoning":
            return
        text = item_text(item)
        if text:
            self._break()
            self._write(f"\n{text}\n" if self._anything else f"{text}\n")
            self._place, self._anything = None, True

    def _dimmed(self, text: str) -> str:
        if self._out is not None and self._out.isatty():
            return f"{_DIM}{text}{_PLAIN}"
        start = "" if self._line_open else "> "
        body = text.removesuffix("\n")
        return start + body.replace("\n", "\n> ") + ("\n" if body != text else "")

    def _break(self) -> None:
        self._say()
        if self._line_open:
            self._write("\n")
            self._line_open = False

    def _write(self, text: str) -> None:
        if self._out is None:
            return
        try:
            self._out.write(text)
        except UnicodeEncodeError:  # a terminal of another age
            encoding = self._out.encoding or "ascii"
            self._out.write(text.encode(encoding, "replace").decode(encoding))

    def _flush(self) -> None:
        if self._out is not None:
            self._out.flush()


class WholeView(PlainView):
    """Prints the answer when it is whole: for streams that run beside others, whose pieces would be mixed."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Nothing yet."""


class QuietView:
    """Shows nothing but the notices that a reader must not miss."""

    def __init__(self) -> None:
        self._stream: ResponseStream | None = None

    def start(self, stream: ResponseStream) -> None:
        self._stream = stream

    def apply(self, changes: Sequence[Change]) -> None:
        """Nothing to show."""

    def tick(self) -> None:
        """Nothing to show."""

    def settle(self) -> None:
        if self._stream is not None and self._stream.ending == "incomplete":
            sys.stdout.write("\n".join([*closing_lines(self._stream, status=False), ""]))
