"""The lane board: the lanes of one connection in a widget, followed as they run, with what a reader can do to them.

Rules
1. The board follows the lanes' capture and status: what code does to the lanes shows as what its own buttons do.
2. At most twenty messages a second for all lanes together, numbered; a page that misses one gets everything anew.
3. What a page asks for may arrive on another thread (a subshell's).
   Each request of a page is answered under its number: done, or why it cannot be done.
4. `settle` puts a table of the lanes and their latest answers in the board's place, and closes it. The lanes go on.
"""

from __future__ import annotations

import contextvars
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from nbresponses.errors import LaneError, NBResponsesError, RequestError
from nbresponses.render import clean
from nbresponses.widgets.board_settled import board_bundle
from nbresponses.widgets.board_state import BoardState
from nbresponses.widgets.displayed import Displayed

if TYPE_CHECKING:
    from nbresponses.client.lane_driver import Steer
    from nbresponses.client.lanes import LaneManager
    from nbresponses.client.stream import ResponseStream

__all__ = ["LaneBoard"]

_STATIC = Path(__file__).parent / "static"
_PAUSE = 0.05  # seconds between two looks, and so between two messages
_LONGEST = 100_000  # characters of a prompt that a page may send


class LaneBoard(Displayed):
    """The lanes of a `LaneManager`, live: `LaneBoard(lanes)` as a cell's last line, or `show(lanes)`.

    Its buttons are methods too: `ask`, `fork`, `steer`, `stop`; `settle` leaves a static copy.
    """

    _esm = _STATIC / "board.js"
    _css = _STATIC / "board.css"
    snapshot = traitlets.Dict({}).tag(sync=True)

    def __init__(self, lanes: LaneManager) -> None:
        self._lanes = lanes
        self._state = BoardState()
        self._streams: list[ResponseStream] = []  # a stream that nobody holds is stopped
        self._number = self._seen = 0
        self._lock = threading.RLock()
        self._over = threading.Event()
        super().__init__()
        self.on_msg(self._asked)
        self._follow()

    # ── what can be done ──

    def ask(self, lane: str | None, text: str) -> ResponseStream:
        """Continue a lane with a prompt. A name that is new begins a lane, as a conversation of its own."""
        return self._keep(self._lanes[lane].stream(text))

    def fork(self, lane: str, text: str, *, at: str) -> ResponseStream:
        """Continue the response `at` in another lane, with a prompt."""
        forked = self._lanes[lane]
        forked.continue_from(at)
        return self._keep(forked.stream(text))

    def steer(self, lane: str | None, text: str) -> Steer:
        """Send a message to what runs in a lane; what became of it."""
        return self._lanes[lane].steer(text)

    def stop(self, lane: str | None) -> None:
        """Stop what runs and waits in a lane; what came is kept."""
        self._lanes[lane].stop()

    def static(self) -> dict[str, str]:
        """A table of the lanes, and their latest answers."""
        self._look()
        return board_bundle(self._state.snapshot()["rows"].values(), self._state.latest())

    def summary(self) -> str:
        return f"A board of {len(self._state.snapshot()['rows'])} lanes. settle() leaves a static copy here."

    def close(self) -> None:
        """End the board; a static copy stays in its place. The lanes go on."""
        self._over.set()
        super().close()

    # ── what a page gets ──

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        if key is None:
            state["snapshot"] = self._whole()
        return state

    def _whole(self) -> dict[str, Any]:
        with self._lock:
            return {"n": self._number, "now": self._now(), **self._state.snapshot()}

    def _follow(self) -> None:
        """Look again and again, until the board is closed or forgotten."""
        board, over = weakref.ref(self), self._over

        def run() -> None:
            while not over.wait(_PAUSE):
                present = board()
                if present is None:
                    return
                present._look()  # noqa: SLF001  its own
                del present

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(run,), name="nbresponses-board", daemon=True).start()

    def _look(self) -> None:
        with self._lock:
            now = self._now()
            try:  # the status first: what a lane at rest has brought is then in the capture
                status, lineage = self._lanes.status(), self._lanes.lineage()
            except RuntimeError:  # a lane came just now, in the loop's thread: the next look sees it
                return
            capture = self._lanes.capture
            end = len(capture)
            self._state.take(capture[self._seen : end])
            self._seen = end
            news = self._state.look(status, lineage, now)
            self._streams = [stream for stream in self._streams if stream.ending is None]
            if news:
                self._number += 1
                self.send({"n": self._number, "now": self._now(), **news})

    def _now(self) -> float:
        return time.monotonic() - self._lanes.capture.origin

    def _keep(self, stream: ResponseStream) -> ResponseStream:
        with self._lock:
            self._streams.append(stream)
        return stream

    # ── what a page asks for ──

    def _asked(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if content.get("op") == "snapshot":
            self.send({"snapshot": self._whole()})
            return
        answer: dict[str, Any] = {"re": str(content.get("id"))[:100]}
        try:
            answer["text"] = self._do(content)
        except NBResponsesError as error:
            answer["failed"] = clean(str(error))
        self.send(answer)

    def _do(self, asked: dict[str, Any]) -> str:
        """Do what a page asks for. What it asks back: the prompt of a response, "" for all else."""
        op, lane, text, at = (asked.get(name) for name in ("op", "lane", "text", "at"))
        if not (isinstance(lane, str | None) and isinstance(text, str | None) and isinstance(at, str | None)):
            return ""
        if len(text or "") > _LONGEST:
            raise RequestError(
                "input", f"a prompt from the board takes {_LONGEST:,} characters, not {len(text or ''):,}"
            )
        if op == "ask" and text:
            self.ask(lane, text)
        elif op == "fork" and text and lane and at:
            self.fork(lane, text, at=at)
        elif op == "steer" and text:
            _check_steered(self.steer(lane, text))
        elif op == "stop":
            self.stop(lane)
        elif op == "prompt" and at:
            with self._lock:
                return self._state.prompt(at)
        return ""


def _check_steered(steer: Steer) -> None:
    if steer.state in {"failed", "lost"}:
        said = (steer.error or {}).get("message") or "its response ended before"
        raise LaneError(f"not steered ({steer.state}): {said}")
