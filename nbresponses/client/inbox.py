"""What has arrived for one stream and waits to be taken: filled by the loop, emptied by the reader. Reads no event.

One side writes (the loop's thread), one reads; they share a deque, a few flags, and `wake`, which tells the reader that
there is news. A reader that is slower than the network finds everything here: nothing is dropped, so what waits takes
memory until it is read.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbresponses.core.wire import Event

__all__ = ["Inbox", "News", "Timing"]

_VISIBLE = frozenset({"response.output_text.delta", "response.refusal.delta", "response.audio.delta"})


@dataclass(frozen=True, slots=True)
class Timing:
    """When things happened. `started` is a `time.monotonic()`, the others are seconds since then, None if not yet.

    The request was sent at `started`, its latest attempt if there were several. `first_byte` is that of the answer's
    body, `first_event` any event, `first_text` the first piece of answer text, `ended` the end.
    """

    started: float | None = None
    first_byte: float | None = None
    first_event: float | None = None
    first_text: float | None = None
    ended: float | None = None

    def elapsed(self, now: float | None = None) -> float:
        """Seconds from the start to the end, or to `now` (a `time.monotonic()`) while it runs."""
        if self.ended is not None:
            return self.ended
        if self.started is None:
            return 0.0
        return max(0.0, (time.monotonic() if now is None else now) - self.started)


class News:
    """Wakes a thread that waits. Telling twice before anyone listened is telling once."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[None] = queue.SimpleQueue()

    def tell(self) -> None:
        if self._queue.empty():
            self._queue.put(None)

    def wait(self, seconds: float) -> None:
        """Until there is news, at most this long."""
        with suppress(queue.Empty):
            self._queue.get(timeout=max(0.0, seconds))


class Inbox:
    """Written by whoever brings the events; `arrived` is emptied by whoever takes them."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self.arrived: deque[Event | None] = deque()
        """What waits to be taken. None: the request goes to the server anew, and what came so far counts no more."""
        self.notices: list[str] = []
        self.request_id: str | None = None
        self.last_sequence_number: int | None = None
        self.opened = False
        self.finished = False
        self.error: BaseException | None = None
        self.ending = "cut_off"
        self.taken_bytes = 0  # the reader's count
        self._put_bytes = 0
        self._wake = wake
        self._times: dict[str, float] = {}

    @property
    def began(self) -> bool:
        """Whether an event has come."""
        return "first_event" in self._times

    @property
    def waiting_bytes(self) -> int:
        """Bytes of events that nobody has taken yet."""
        return self._put_bytes - self.taken_bytes

    @property
    def timing(self) -> Timing:
        times = dict(self._times)
        started = times.pop("started", None)
        if started is None:
            return Timing()
        return Timing(started=started, **{name: max(0.0, at - started) for name, at in times.items()})

    @property
    def ended_at(self) -> float | None:
        """When it ended, a `time.monotonic()`; None while it runs."""
        return self._times.get("ended")

    # ── the loop's side; `at` is a time.monotonic() ──

    def sent(self, at: float) -> None:
        if not self.began:
            self._times = {"started": at}

    def open(self, request_id: str | None) -> None:
        self.request_id = request_id or self.request_id
        self.opened = True
        self._wake()

    def byte(self, at: float) -> None:
        self._times.setdefault("first_byte", at)

    def put(self, events: Sequence[Event], at: float) -> None:
        if not events:
            return
        self._times.setdefault("first_event", at)
        if "first_text" not in self._times and any(event.type in _VISIBLE for event in events):
            self._times["first_text"] = at
        self._put_bytes += sum([len(event.payload) for event in events])
        self.arrived.extend(events)
        self._wake()

    def repeat(self) -> None:
        """The request is sent once more: its snapshot begins anew."""
        self.last_sequence_number = None
        self.arrived.append(None)
        self._wake()

    def note(self, text: str) -> None:
        self.notices.append(text)

    def finish(self, at: float, *, error: BaseException | None = None, ending: str = "cut_off") -> None:
        """The end. `ending` counts where no event brought one. Only the first call counts."""
        if self.finished:
            return
        self._times.setdefault("ended", at)
        self.error = error
        self.ending = ending
        self.finished = True
        self._wake()
