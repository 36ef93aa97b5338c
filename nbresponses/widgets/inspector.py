"""The event inspector: a capture in a widget, event by event. Only what is on the screen is sent.

Rules
1. A page asks for rows, for one event, or for the response at a row or a time; each question has one answer.
2. Nothing is sent by itself, and nothing is written: the capture stays as it is.
3. `settle` puts a table of the event types in the inspector's place, and closes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from nbresponses.render.text_html import markdown_html
from nbresponses.widgets.displayed import Displayed
from nbresponses.widgets.inspector_index import InspectorIndex

if TYPE_CHECKING:
    from collections.abc import Collection

    from nbresponses.capture.record import Capture

__all__ = ["EventInspector"]

_STATIC = Path(__file__).parent / "static"
_FIRST = 60  # rows that come with the widget
_MOST = 400  # rows in one answer


class EventInspector(Displayed):
    """A capture event by event: `EventInspector(capture)` as a cell's last line, or `show(capture)`.

    It shows what had been captured when it was made; `refresh` takes what came since.
    """

    _esm = _STATIC / "inspector.js"
    _css = _STATIC / "inspector.css"
    overview = traitlets.Dict({}).tag(sync=True)

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._index = InspectorIndex(capture)
        super().__init__(overview=self._overview())
        self.on_msg(self._asked)

    def refresh(self) -> None:
        """Take what was captured since."""
        self._index = InspectorIndex(self._capture)
        self.overview = self._overview()

    def filter(self, *types: str, lane: str | None = None, text: str = "") -> int:
        """Show only events of these types, of this lane, that hold the text; returns how many."""
        found = self._index.filter(types, lane, text)
        self.overview = self._overview()
        return found

    def seek(self, row: int) -> str:
        """Select the event at this row; returns the response as it was then, as plain text."""
        snapshot = self._index.snapshot(range(len(self._index))[row])
        self.send({"snapshot": snapshot})
        return str(snapshot["text"])

    def _overview(self) -> dict[str, Any]:
        return {**self._index.overview(), "rows": self._index.rows(0, _FIRST)}

    def static(self) -> dict[str, str]:
        """The event types and how many of each."""
        overview = self._index.overview()
        lines = [f"{overview['total']:,} events in {overview['duration']:.1f} s", "", "| type | events |", "|---|--:|"]
        lines += [f"| `{kind.replace('`', '').replace('|', '')}` | {count:,} |" for kind, count in overview["types"]]
        markdown = "\n".join(lines)
        plain = "\n".join([lines[0], *(f"{count:8,}  {kind}" for kind, count in overview["types"])])
        return {"text/html": markdown_html(markdown), "text/markdown": markdown, "text/plain": plain}

    # ── what a page asks for ──

    def _asked(self, _widget: Any, content: Any, _buffers: Any) -> None:
        answer = self._answer(content) if isinstance(content, dict) else None
        if answer is not None:
            self.send(answer)

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        op, last = asked.get("op"), len(self._index) - 1
        if op == "filter":
            types, lane, text = asked.get("types"), asked.get("lane"), asked.get("text")
            shown = self._index.filter(_words(types), lane if isinstance(lane, str) else None, str(text or ""))
            return {"shown": shown, "first": 0, "rows": self._index.rows(0, _FIRST)}
        if op == "rows":
            first, count = _number(asked.get("first")), min(_number(asked.get("count")), _MOST)
            return {"first": first, "rows": self._index.rows(first, count)}
        return self._about_one(op, asked, last) if last >= 0 else None

    def _about_one(self, op: Any, asked: dict[str, Any], last: int) -> dict[str, Any] | None:
        row = min(_number(asked.get("row")), last)
        if op == "event":
            return {"event": {"row": row, "raw": self._index.payload(row), "decoded": self._index.decoded(row)}}
        if op == "snapshot":
            return {"snapshot": self._index.snapshot(row)}
        if op == "seek":
            at = asked.get("at")
            return {"snapshot": self._index.snapshot(self._index.row_at(at if isinstance(at, int | float) else 0.0))}
        return None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _words(value: Any) -> Collection[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
