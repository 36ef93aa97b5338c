"""The two faces of a response in flight: ResponseStream (waits) and AsyncResponseStream (awaits), over one inbox.

Rules
1. Events are applied to the snapshot as they are taken. `response` shows all that was taken; before anything was taken
   by iterating, all that has arrived.
2. What happened before the first event is raised: by entering `with`, by iterating, by `get_final_response()`. After it
   iterating never raises: `ending` and `error` say what happened.
3. Iterating again goes on where the last one stopped. After `close()` nothing more is delivered; what had arrived is in
   the snapshot.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from nbresponses.client.outcome import final
from nbresponses.client.waking import WAKING
from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.errors import TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
    from types import TracebackType

    from nbresponses.capture.record import Capture
    from nbresponses.client.inbox import Inbox, News, Timing
    from nbresponses.core.response import Response
    from nbresponses.core.wire import Event

__all__ = ["AsyncResponseStream", "ResponseStream"]

_SLICE = 0.1  # seconds; an interrupt of a waiting main thread is noticed at least this often
_CLOSING = 2.0  # seconds for a connection to close; then it is left to itself


class _StreamState:
    """What both faces share: everything but the waiting."""

    def __init__(self, inbox: Inbox, *, request: Mapping[str, Any], capture: Capture) -> None:
        self.capture = capture
        self.request = dict(request)
        self._inbox = inbox
        self._accumulator = Accumulator()
        self._applied: deque[tuple[Event | None, list[Change]]] = deque()  # taken for a look, not yet delivered
        self._lock = threading.RLock()
        self._iterated = False
        self._settled = False
        self._closed = False

    # ── what is known ──

    @property
    def response(self) -> Response:
        """The response so far, a copy."""
        with self._lock:
            self._look()
            return self._accumulator.response

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
        return self.response.id

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
        return self._inbox.timing

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id or self.request.get('model') or ''} {self.ending or 'running'}>"

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
        self.capture.noted("ended", time.monotonic(), ending=self._accumulator.ending, error=error)
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
            response = self._accumulator.response
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


class ResponseStream(_StreamState):
    """A response in flight, for synchronous code. Made by `client.stream()`; the request is under way already.

    Iterate it for events. Waiting is cut into slices, so an interrupt (Ctrl-C, the stop button of a notebook) is clean.
    """

    def __init__(
        self,
        inbox: Inbox,
        news: News,
        *,
        request: Mapping[str, Any],
        capture: Capture,
        stop: Callable[[str], None],
        owner: object = None,
    ) -> None:
        super().__init__(inbox, request=request, capture=capture)
        self._news = news
        self._stop = stop
        self._owner = owner  # keeps the client, and so its connections, as long as this stream is used
        self._forgotten = weakref.finalize(self, stop, "interrupted")

    def __enter__(self) -> Self:
        try:
            while not (self._inbox.opened or self._inbox.finished):
                self._wait(None)
            self._raise_submission()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        while True:
            taken = self._take()
            if taken is None:
                if self._over():
                    self._raise_submission()
                    raise StopIteration
                self._wait(None)
            elif taken[0] is not None:
                return taken[0]

    def changes(self) -> Iterator[Change]:
        """What each event changed. Shares its place with the iteration of events."""
        while not self._over():
            taken = self._take()
            if taken is None:
                self._wait(None)
            else:
                yield from taken[1]
        self._raise_submission()

    def batches(self, interval: float = 0.05) -> Iterator[list[Change]]:
        """Changes for a view: at most one list per interval (seconds), an empty one where there is no news."""
        for step in self._paced(interval):
            if isinstance(step, list):
                yield step
            else:
                self._wait(step)

    def until_done(self, timeout: float | None = None) -> Self:
        """Waits for the end and returns the stream. TimedOut after `timeout` seconds; the stream then goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._inbox.finished:
            self._check_in_time(until, timeout)
            self._wait(until)
            self._look()
        with self._lock:
            self._apply_all()
        return self

    def get_final_response(self) -> Response:
        """The response when it has ended, completed or incomplete. Raises ResponseFailed, ResponseCancelled or
        ResponseCutOff (with the partial response) for the other endings, and what kept the request from being sent.
        """
        return self.until_done()._final()  # noqa: SLF001  its own

    def close(self, ending: str = "interrupted") -> None:
        """Stops: the connection is closed, what came is kept. Does nothing to a stream that has ended by itself."""
        if not self._inbox.finished:
            self._stop(ending)
            until = time.monotonic() + _CLOSING
            while not self._inbox.finished and time.monotonic() < until:
                self._wait(until)
            self._inbox.finish(time.monotonic(), ending=ending)
        self._settle()
        self._forgotten.detach()
        self._owner = None

    def _wait(self, until: float | None) -> None:
        """Until there is news, at most until that time, at most one slice."""
        left = _SLICE if until is None else min(_SLICE, until - time.monotonic())
        self._news.wait(left)


class AsyncResponseStream(_StreamState):
    """A response in flight, for asynchronous code. Made by `client.stream()`; the request is sent on entering.

    An `await` that is cancelled loses nothing: the reading goes on until the stream is closed.
    """

    def __init__(
        self,
        inbox: Inbox,
        news: asyncio.Event,
        *,
        request: Mapping[str, Any],
        capture: Capture,
        run: Callable[[], Coroutine[Any, Any, None]],
        stop: Callable[[str], None],
    ) -> None:
        super().__init__(inbox, request=request, capture=capture)
        self._news = news
        self._run = run
        self._stop = stop
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            self._start()
            while not (self._inbox.opened or self._inbox.finished):
                await self._wait(None)
            self._raise_submission()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            taken = self._take()
            if taken is None:
                if self._over():
                    self._raise_submission()
                    raise StopAsyncIteration
                await self._wait(None)
            elif taken[0] is not None:
                return taken[0]

    async def changes(self) -> AsyncIterator[Change]:
        """What each event changed. Shares its place with the iteration of events."""
        while not self._over():
            taken = self._take()
            if taken is None:
                await self._wait(None)
            else:
                for change in taken[1]:
                    yield change
        self._raise_submission()

    async def batches(self, interval: float = 0.05) -> AsyncIterator[list[Change]]:
        """Changes for a view: at most one list per interval (seconds), an empty one where there is no news."""
        for step in self._paced(interval):
            if isinstance(step, list):
                yield step
            else:
                await self._wait(step)

    async def until_done(self, timeout: float | None = None) -> Self:  # noqa: ASYNC109  as in the synchronous face
        """Waits for the end and returns the stream. TimedOut after `timeout` seconds; the stream then goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._inbox.finished:
            self._check_in_time(until, timeout)
            await self._wait(until)
            self._look()
        with self._lock:
            self._apply_all()
        return self

    async def get_final_response(self) -> Response:
        """As `ResponseStream.get_final_response`."""
        await self.until_done()
        return self._final()

    async def close(self, ending: str = "interrupted") -> None:
        """Stops: the connection is closed, what came is kept. Does nothing to a stream that has ended by itself."""
        self._stop(ending)
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=_CLOSING)
            self._task.cancel()
        self._inbox.finish(time.monotonic(), ending=ending)
        self._settle()

    aclose = close

    def _start(self) -> None:
        if self._task is None and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="nbresponses-stream")

    async def _wait(self, until: float | None) -> None:
        """Until there is news, at most until that time, at most one slice (see `waking`)."""
        self._start()
        slice_ = time.monotonic() + WAKING
        try:
            async with asyncio.timeout_at(slice_ if until is None else min(until, slice_)):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()
