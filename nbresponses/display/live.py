"""The live view: one widget per cell that is told what changes, shown in the output's place until the answer settles.

Rules
1. Messages are numbered: a page that misses one asks for a snapshot. Each is one batch of changes: at first all that
   come (twenty a second), after two seconds ten a second, which still read as smooth and cost half.
2. The page's state is a trait that is made when somebody asks for it (a page that is reloaded, a second window), so it
   is always up to date and costs nothing on the wire.
3. The cell's output is never the widget: it is text, with a mark beside which the page shows the widget, hiding the
   text. So a file that is saved in mid-stream holds what had come by then, and no widget that it cannot show again. The
   text is brought up to date at a pace that falls with its size: its cost grows with time, not with the square of it.
4. `settle` makes the settled bundle the output; without a mark in it, it is shown and the widget hidden. The widget is
   closed when a page says that it saw that. It stays for pages that no display update reaches: one that came later
   (reloaded, a second window), one whose cell was moved.
5. What a page asks for may arrive on another thread (a subshell's): it only stops the stream or sends under the lock.

Stopping: the button's message reaches a busy kernel where it has subshells; where not, the page interrupts the kernel
through the Jupyter Server.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from nbresponses.display.bundles import kept, settled, status_line
from nbresponses.display.live_state import LiveState
from nbresponses.display.updating import publish
from nbresponses.render import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbresponses.client.stream import ResponseStream
    from nbresponses.core.accumulator import Change

__all__ = ["LiveView", "LiveWidget"]

_EAGER = 2.0  # seconds
_PACE = 0.09  # seconds between two messages then: every other batch

_KEPT_AFTER = 2.5  # seconds between two states of the text that a saved file holds, at least
_KEPT_RATE = 1200  # bytes of it a second, at most: a tenth of what a fast stream's messages cost

_STATIC = Path(__file__).parent / "static"


class LiveWidget(anywidget.AnyWidget):
    """The widget of one live view. `snapshot` is made anew whenever the whole state is asked for; `seen_late` says
    that a page did, which has come since the widget was made."""

    _esm = _STATIC / "live.js"
    _css = _STATIC / "live.css"
    mark = traitlets.Unicode("").tag(sync=True)
    kernel_id = traitlets.Unicode("").tag(sync=True)
    allow_remote_images = traitlets.Bool(False).tag(sync=True)
    snapshot = traitlets.Dict({}).tag(sync=True)

    def __init__(self, take_snapshot: Callable[[], dict[str, Any]], **traits: Any) -> None:
        self._take_snapshot = take_snapshot
        self._opened = self.seen_late = False
        super().__init__(**traits)
        self._opened = True
        # From ipykernel 7.4 on a message to a comm goes to the shell that published on it last, which a running cell
        # keeps busy; None lets the front end's subshell have it.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = None  # noqa: SLF001  there is no public way yet

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        if key is None:
            self.seen_late = self._opened
            state["snapshot"] = self._take_snapshot()
        return state


class LiveView:
    """Shows one stream in one widget. All methods are the view protocol's; they run on the caller's thread."""

    def __init__(self, *, kernel_id: str = "", allow_remote_images: bool = False) -> None:
        self._kernel_id = kernel_id
        self._allow_remote_images = allow_remote_images
        token = secrets.token_hex(8)
        self._display_id = f"nbresponses-{token}"
        self._mark = f"nbr-{token}"
        self._state = LiveState()
        self._lock = threading.RLock()
        self._number = 0
        self._waiting = False
        self._begun = self._sent = time.monotonic()
        self._kept_next = self._begun + _KEPT_AFTER
        self._kept_stale = False
        self._told: dict[str, Any] = {}
        self._ended = False
        self._stream: ResponseStream | None = None
        self._widget: LiveWidget | None = None

    def start(self, stream: ResponseStream) -> None:
        self._stream = stream
        widget = LiveWidget(
            self._snapshot,
            mark=self._mark,
            kernel_id=self._kernel_id,
            allow_remote_images=self._allow_remote_images,
        )
        widget.on_msg(self._asked)
        self._widget = widget
        self._keep(time.monotonic(), update=False)
        self._send()

    def apply(self, changes: Sequence[Change]) -> None:
        with self._lock:
            self._state.apply(changes, time.monotonic())
            self._waiting = self._kept_stale = True
        self.tick()

    def tick(self) -> None:
        """What waits goes out when it is due. The page has a clock of its own."""
        now = time.monotonic()
        if self._waiting and (now < self._begun + _EAGER or now >= self._sent + _PACE):
            self._send()
        if self._kept_stale and now >= self._kept_next:
            self._keep(now, update=True)

    def settle(self) -> None:
        if self._stream is None or self._widget is None:
            return
        bundle = settled(self._stream, allow_remote_images=self._allow_remote_images)
        publish(bundle, display_id=self._display_id, update=True)
        with self._lock:
            self._ended = True
            self._state.look = True
            self._send(last=True)

    def _keep(self, now: float, *, update: bool) -> None:
        """Bring the text that a saved file holds up to date."""
        if self._stream is None:
            return
        bundle = kept(self._stream, now, mark=self._mark)
        publish(bundle, display_id=self._display_id, update=update)
        size = sum(map(len, bundle[0].values()))
        self._kept_stale, self._kept_next = False, now + max(_KEPT_AFTER, size / _KEPT_RATE)

    # ── what the page is told ──

    def _send(self, *, last: bool = False, look: bool = True) -> None:
        self._waiting, self._sent = not look and self._state.look, time.monotonic()
        with self._lock:
            told = self._look() if look and self._state.look else {}
            ops, buffers = self._state.take()
            if told:
                ops.append(["state", told])
            if ops or last:
                self._number += 1
                self._deliver({"n": self._number, "ops": ops} | ({"last": True} if last else {}), buffers)

    def _deliver(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        if self._widget is not None and self._widget.comm is not None:
            self._widget.send(message, buffers=buffers)

    def _look(self) -> dict[str, Any]:
        """Compare the response with what was sent; return what changed in the status line."""
        stream, now = self._stream, time.monotonic()
        if stream is None:
            return {}
        response = stream.response
        found = blocks(response, seconds=self._state.seconds, previews=self._state.previews)
        self._state.compare(found, now)
        line = status_line(response, stream, now)
        rest = replace(line, model="", state="", elapsed=None).facts()
        facts = {"model": line.model, "state": line.state, "rest": rest, "ended": self._ended}
        told = {name: value for name, value in facts.items() if self._told.get(name) != value}
        self._told |= told
        return told | {"elapsed": line.elapsed} if told else {}

    def _snapshot(self) -> dict[str, Any]:
        """All that is known, with its buffers in place: for a page that comes anew."""
        with self._lock:
            if self._widget is not None:
                # What waits is in the state already: sent later, it would be added to it a second time. No look: this
                # can be another thread, and the response further than the changes that were applied.
                self._send(look=False)
            items, buffers = self._state.snapshot(time.monotonic())
            elapsed = self._stream.timing.elapsed(time.monotonic()) if self._stream is not None else None
            return {"n": self._number, "state": self._told | {"elapsed": elapsed}, "items": items, "buffers": buffers}

    # ── what the page asks for ──

    def _asked(self, _widget: Any, content: Any, _buffers: Any) -> None:
        asked = content.get("op") if isinstance(content, dict) else None
        if asked == "stop" and self._stream is not None:
            self._deliver({"ack": "stop"}, [])
            self._stream.close()
        elif asked == "snapshot":
            with self._lock:
                snapshot = self._snapshot()
                self._deliver({"snapshot": snapshot}, snapshot.pop("buffers"))
        elif asked == "at" and content.get("n") != self._number:
            self._asked(_widget, {"op": "snapshot"}, [])  # the page has heard nothing for a while: something was lost
        elif asked == "seen" and self._ended:
            self._close()

    def _close(self) -> None:
        if self._widget is not None and not self._widget.seen_late:
            self._widget.close()
            self._widget = None
