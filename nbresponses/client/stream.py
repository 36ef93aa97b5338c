"""The two faces of a response in flight: ResponseStream (waits) and AsyncResponseStream (awaits), over one state.

What they do is the same and stands in `StreamState`, with its rules; here is how each of them waits for news.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import TYPE_CHECKING, Any, Self

from nbresponses.client.stream_state import StreamState
from nbresponses.client.waking import WAKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
    from types import TracebackType

    from nbresponses.capture.record import Capture
    from nbresponses.client.inbox import Inbox, News
    from nbresponses.core.accumulator import Change
    from nbresponses.core.response import Response
    from nbresponses.core.wire import Event

__all__ = ["AsyncResponseStream", "ResponseStream"]

_SLICE = 0.1  # seconds; an interrupt of a waiting main thread is noticed at least this often
_CLOSING = 2.0  # seconds for a connection to close; then it is left to itself


class ResponseStream(StreamState):
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


class AsyncResponseStream(StreamState):
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
