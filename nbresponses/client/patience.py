"""How long one request is waited for and how often it is tried: limits, stop, retries. Sends nothing itself.

Rules
1. A request is tried again only before its first event, because what was shown cannot be taken back: after a failed
   connection, a connection cut before the first event, and the statuses 408, 409, 429 and 5xx, unless the error says
   that it will stay (`core.failures`). A first byte that never came is not: the server may be working on it.
2. The server's wish to wait counts if it is at most `LONGEST_WAIT`; else 0.5 s, 1 s, 2 s … 8 s, with jitter.
3. No attempt starts that the total limit forbids.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbresponses.errors import ConnectionFailed, Disconnected, NBResponsesError, Rejected, TimedOut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from nbresponses.transports.timeouts import Timeouts

__all__ = ["LONGEST_WAIT", "Limit", "Stopped", "Watch", "pause_before_retry", "persist"]

T = TypeVar("T")

LONGEST_WAIT = 60.0  # seconds that a server can have us wait before a retry
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0


class Stopped(Exception):  # noqa: N818  not an error: somebody asked for it
    """The request was stopped here. Never leaves the client."""


class Limit(NamedTuple):
    """`until` is a `time.monotonic()`; `phase` and `seconds` name the limit as the user set it."""

    until: float
    phase: str
    seconds: float


class Watch:
    """The time limits of one request, and its stop. `stop` is called in the loop's thread."""

    def __init__(self, timeouts: Timeouts, url: str) -> None:
        self.timeouts = timeouts
        self.stopped = False
        self._url = url
        self._began = time.monotonic()
        self._waiting: asyncio.Timeout | None = None

    def begin(self) -> None:
        """The total limit counts from here."""
        self._began = time.monotonic()

    def stop(self) -> None:
        """Ends what is being waited for, and everything after it."""
        self.stopped = True
        if self._waiting is not None and not self._waiting.expired():
            self._waiting.reschedule(0.0)

    def limit(self, phase: str, since: float) -> Limit | None:
        """One of the user's limits, counted from `since`; None where there is none."""
        seconds: float | None = getattr(self.timeouts, phase)
        return None if seconds is None else Limit(since + seconds, phase, seconds)

    async def within(self, work: Coroutine[Any, Any, T], *limits: Limit | None) -> T:
        """The result of `work`. TimedOut names the limit that ran out first; Stopped after a stop."""
        nearest = min((limit for limit in (*limits, self._total()) if limit is not None), default=None)
        if self.stopped:
            work.close()
            raise Stopped
        try:
            async with asyncio.timeout_at(nearest.until if nearest else None) as waiting:
                self._waiting = waiting
                return await work
        except TimeoutError:
            if not waiting.expired():
                raise
        finally:
            self._waiting = None
        # Raised out here: in the block above, the libraries' frames (and a key in them) would hang on it.
        if self.stopped or nearest is None:
            raise Stopped
        raise TimedOut(nearest.phase, nearest.seconds, url=self._url)

    async def pause(self, seconds: float) -> bool:
        """Waits before a retry; False, at once, if the total limit would run out meanwhile."""
        total = self._total()
        if total is not None and time.monotonic() + seconds >= total.until:
            return False
        await self.within(asyncio.sleep(seconds))
        return True

    def _total(self) -> Limit | None:
        return self.limit("total", self._began)


async def persist(
    attempt: Callable[[], Awaitable[T]], pause: Callable[[NBResponsesError, int], float | None], watch: Watch
) -> T:
    """The result of the first attempt that succeeds; the failure after which `pause` allows no other one."""
    for number in itertools.count(1):
        try:
            return await attempt()
        except NBResponsesError as error:
            failure = error
        seconds = pause(failure, number)
        if seconds is None or not await watch.pause(seconds):
            raise failure
    raise AssertionError  # the count has no end


def pause_before_retry(failure: NBResponsesError, attempt: int, *, max_retries: int) -> float | None:
    """Seconds until the request may be sent again; None where it may not. `attempt` counts from 1."""
    if attempt > max_retries or not _retryable(failure):
        return None
    wished = failure.retry_after if isinstance(failure, Rejected) else None
    if wished is not None:
        return wished if wished <= LONGEST_WAIT else None
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (attempt - 1))
    return pause * random.uniform(0.75, 1.0)


def _retryable(failure: NBResponsesError) -> bool:
    if isinstance(failure, Rejected):
        return failure.retryable
    if isinstance(failure, TimedOut):
        return failure.phase == "connect"
    return isinstance(failure, (ConnectionFailed, Disconnected))
