"""The event inspector: a capture in a widget, event by event. Only what is on the screen is sent.

Rules
1. A page asks for rows, for one event, or for the response at a row or a time. Each question carries its filter, so
   that pages do not disturb each other, and gets one answer under its own number.
2. While the capture grows a page is told so twice a second; nothing else is sent by itself. The capture is only read.
3. Questions may arrive on another thread (a subshell's): one is answered at a time.
4. `settle` puts a table of the event types and the answers in the inspector's place, and closes it.
"""

from __future__ import annotations

import contextvars
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from nbresponses.display.bundles import status_line
from nbresponses.render import blocks, to_html, to_text
from nbresponses.widgets.capture_index import CaptureIndex, Filter
from nbresponses.widgets.capture_replay import Replay
from nbresponses.widgets.capture_words import decoded, raw
from nbresponses.widgets.displayed import Displayed
from nbresponses.widgets.inspector_settled import TOO_DEEP, inspector_bundle

if TYPE_CHECKING:
    from nbresponses.capture.record import Capture
    from nbresponses.core.response import Response

__all__ = ["EventInspector"]

_STATIC = Path(__file__).parent / "static"
_FIRST = 60  # rows that come with the widget
_MOST = 400  # rows in one answer
_LONG = 40_000  # characters of an answer of which only the end is shown while time moves
_END = 8_000  # characters of that end
_LARGEST = 8_000_000  # characters of HTML
_PAUSE = 0.5  # seconds between two looks at a capture that grows
_PATIENCE = 60.0  # seconds without news after which nobody looks any more, until a page asks for something


class EventInspector(Displayed):
    """A capture event by event: `EventInspector(capture)` as a cell's last line, or `show(capture)`.

    A capture that is still being written is followed.
    """

    _esm = _STATIC / "inspector.js"
    _css = _STATIC / "inspector.css"
    overview = traitlets.Dict({}).tag(sync=True)

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._follower: threading.Thread | None = None
        self._index = CaptureIndex(capture)
        self._replay = Replay(self._index)
        super().__init__()
        self.on_msg(self._asked)
        if capture.ending is None:
            self._follow()

    def seek(self, row: int) -> Response | None:
        """Select the message at this place of the capture; returns the response as it was then (None: there was none).

        Raises:
            IndexError: the capture has no such message; it says which there are.
        """
        with self._lock:
            self._index.extend()
            place = self._place(row)
            self.send({"seek": place})
            return self._replay.at(place)

    def _place(self, row: int) -> int:
        count = len(self._index)
        if not count:
            raise IndexError(f"there is no message {row}: the capture has none yet")
        if not -count <= row < count:
            raise IndexError(
                f"there is no message {row}: the capture has {count:,}, so 0 to {count - 1} (or -{count} to -1)"
            )
        return range(count)[row]

    def static(self) -> dict[str, str]:
        """How many events of each type came, and the responses as they ended."""
        with self._lock:
            self._index.extend()
            return inspector_bundle(self._index, self._replay)

    def summary(self) -> str:
        return f"An inspector of {len(self._index):,} messages. settle() leaves a static copy here."

    def close(self) -> None:
        """End the inspector; a static copy stays in its place. The capture stays as it is."""
        self._over.set()
        super().close()

    # ── what a page gets ──

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        if key is None:
            with self._lock:
                state["overview"] = {**self._index.overview(), "rows": self._index.rows(Filter(), 0, _FIRST)}
        return state

    def _follow(self) -> None:
        if self._follower is not None and self._follower.is_alive():
            return
        context = contextvars.copy_context()
        self._follower = threading.Thread(
            target=context.run, args=(self._watch,), name="nbresponses-inspector", daemon=True
        )
        self._follower.start()

    def _watch(self) -> None:
        latest = time.monotonic()
        while time.monotonic() < latest + _PATIENCE and not self._over.wait(_PAUSE):
            if self._grow():
                latest = time.monotonic()

    def _grow(self) -> bool:
        """Take what came since, and tell the pages."""
        with self._lock:
            grown = self._index.extend()
            if grown and not self._over.is_set():
                self.send({"overview": self._index.overview()})
            return grown

    # ── what a page asks for ──

    def _asked(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        with self._lock:
            if self._grow() and self._capture.ending is None:
                self._follow()
            answer = self._answer(content)
            if answer is not None:
                self.send({"re": str(content.get("id"))[:100], **answer})

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        op, only = asked.get("op"), Filter.read(asked.get("only"))
        if op == "rows":
            first, count = _number(asked.get("first")), min(_number(asked.get("count")), _MOST)
            shown = len(self._index.shown(only))
            return {"first": first, "shown": shown, "rows": self._index.rows(only, first, count)}
        if not len(self._index):
            return None
        row = min(_number(asked.get("row")), len(self._index) - 1)
        if op == "event":
            message = self._capture[row]
            return {"row": row, "raw": raw(message), **decoded(message)}
        if op == "seek":
            at = asked.get("at")
            row = self._index.row_at(at) if isinstance(at, int | float) else row
            place = self._index.place_of(only, row)
            rows = self._index.shown(only)
            of = min(rows[place], row) if only.lane >= 0 and rows else row  # a lane was chosen: it is what is watched
            try:
                response = self._shown(of, rough=bool(asked.get("rough")))
            except RecursionError:
                response = {"text": TOO_DEEP}
            return {"row": row, "at": self._index.times[row], "place": place, **response}
        return None

    def _shown(self, row: int, *, rough: bool) -> dict[str, str]:
        """The response at a row, as HTML; of a long one, while time moves, the end of its text."""
        response = self._replay.at(row)
        if response is None:
            return {"html": ""}
        found = blocks(response)
        if rough and (len(response.output_text) > _LONG or response.images or response.partial_images):
            return {"text": to_text(found)[-_END:]}
        html = to_html(found, status_line(response))
        return {"html": html} if len(html) <= _LARGEST else {"text": to_text(found)[-_LONG:]}


def _number(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
