"""What both faces of a stream share: everything but the waiting. Takes from an inbox, applies, ends; never waits.

Rules
1. Events are applied to the snapshot as they are taken. `response` shows all that was taken; before anything was taken
   by iterating, all that has arrived.
2. What happened before the first event is raised: by entering `with`, by iterating, by `get_final_response()`. After it
   iterating never raises: `ending` and `error` say what happened.
3. Iterating again goes on where the last one stopped. After `close()` nothing more is delivered; what had arrived is in
   the snapshot.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from nbresponses.client.outcome import final
from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.errors import TimedOut

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from nbresponses.capture.record import Capture
    from nbresponses.client.inbox import Inbox, Timing
    from nbresponses.core.formats import Format
    from nbresponses.core.response import Response
    from nbresponses.core.wire import Event

__all__ = ["StreamState"]


class StreamState:
    """What both faces share: everything but the waiting."""

    def __init__(self, inbox: Inbox, *, request: Mapping[str, Any], capture: Capture) -> None:
        self.capture = capture
        self.request = dict(request)
        self._inbox = inbox
        self._accumulator = Accumulator()
        self.format: Format | None = None
        """What `text_format` asked for."""
        self._applied: deque[tuple[Event | None, list[Change]]] = deque()  # taken for a look, not yet delivered
        self._lock = threading.RLock()
        self._iterated = False
        self._settled = False
        self._closed = False
        self._id: str | None = None  # kept, because a whole response is made to look it up

    # ── what is known ──

    @property
    def response(self) -> Response:
        """The response so far, a copy."""
        with self._lock:
            self._look()
            return self._snapshot()

    @property
    def ending(self) -> str | None:
        """How it ended; None while it runs, or while there is more to take."""
        with self._lock:
            self._look()
            ending = self._accumulator.ending
            return ending if self._settled or ending != "error" else None  # response.failed may follow an error

    @property
    def error(self) -> BaseException | None:
        """Why it ended otherwise than by a terminal event; None else."""
        return self._inbox.error

    @property
    def id(self) -> str | None:
        """The response's id, once the server has told it."""
        if self._id is None:
            self._id = self.response.id
        return self._id

    @property
    def request_id(self) -> str | None:
        """The id of the HTTP request, for the server's support."""
        return self._inbox.request_id

    @property
    def last_sequence_number(self) -> int | None:
        """That of the last event received: what a resume starts after."""
        return self._inbox.last_sequence_number

    @property
    def notices(self) -> list[str]:
        """What else happened: retries, resumes, gaps."""
        return list(self._inbox.notices)

    @property
    def timing(self) -> Timing:
        """When what happened: the start, the first byte, event and text, the end."""
        return self._inbox.timing

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id or self.request.get('model') or ''} {self.ending or 'running'}>"

    def _snapshot(self) -> Response:
        response = self._accumulator.response
        response.format = self.format
        return response

    # ── taking ──

    def _take(self) -> tuple[Event | None, list[Change]] | None:
        """The next event and what it changed; None if nothing is there. After the last event: (None, changes)."""
        with self._lock:
            self._iterated = True
            if self._closed:
                return None
            return self._applied.popleft() if self._applied else self._apply_next()

    def _apply_next(self) -> tuple[Event | None, list[Change]] | None:
        inbox = self._inbox
        finished = inbox.finished  # before the look at what arrived: nothing arrives after it
        if inbox.arrived:
            event = inbox.arrived.popleft()
            if event is None:
                self._id = None
                return None, self._accumulator.restart()
            inbox.taken_bytes += len(event.payload)
            return event, self._accumulator.apply(event)
        if finished and not self._settled:
            self._settled = True
            changes = self._accumulator.finish(inbox.ending)
            self._record_ending()
            return None, changes
        return None

    def _record_ending(self) -> None:
        error = str(self._inbox.error) if self._inbox.error is not None else None
        ended = self._inbox.ended_at
        at = time.monotonic() if ended is None else ended  # it may have ended long before anybody looks
        self.capture.noted("ended", at, ending=self._accumulator.ending, error=error)
        self.capture.close()

    def _look(self) -> None:
        """Applies what has arrived without delivering it, unless an iteration is the one that applies."""
        if not self._iterated or (self._inbox.finished and not self._inbox.arrived):
            self._apply_all()

    def _apply_all(self) -> None:
        while (taken := self._apply_next()) is not None:
            self._applied.append(taken)

    def _over(self) -> bool:
        """Whether there is nothing more to take, now and later."""
        with self._lock:
            return self._closed or (self._settled and not self._applied)

    def _has_news(self) -> bool:
        return bool(self._inbox.arrived or self._applied or self._inbox.finished)

    def _settle(self) -> None:
        """After the inbox is finished: everything is applied and nothing more delivered."""
        with self._lock:
            self._apply_all()
            self._applied.clear()
            self._closed = True

    def _take_changes(self) -> list[Change]:
        """All changes that are there."""
        changes: list[Change] = []
        while (taken := self._take()) is not None:
            changes += taken[1]
        return changes

    def _raise_submission(self) -> None:
        error = self._inbox.error
        if error is not None and not self._inbox.began:
            raise error

    def _final(self) -> Response:
        with self._lock:
            self._apply_all()
            self._raise_submission()
            response = self._snapshot()
        return final(response, cause=self._inbox.error, last_sequence_number=self._inbox.last_sequence_number)

    def _check_in_time(self, until: float | None, limit: float | None) -> None:
        if until is not None and limit is not None and time.monotonic() >= until and not self._inbox.finished:
            raise TimedOut("until_done", limit)

    # ── the pace of views ──

    def _paced(self, interval: float) -> Generator[float | list[Change], None, None]:
        """Times to wait until (a `time.monotonic()`), and lists of changes, at most one per interval."""
        due = time.monotonic()
        while not self._over():
            while not self._has_news() and time.monotonic() < due + interval:
                yield due + interval
            # News that comes early waits until a list is due; the end does not.
            while time.monotonic() < due and not self._inbox.finished:
                yield due
            changes = self._take_changes()
            due = time.monotonic() + interval
            if changes or not self._over():
                yield changes
        self._raise_submission()
