"""The loop thread: one for the process, shared by everything synchronous, there as long as somebody holds a lease.

It is anyio's blocking portal. What is started in it runs in a copy of the caller's context, so what the caller set
(the cell that output belongs to) holds there too. A lease is given back by `release()` or, if its owner is forgotten,
by a finalizer that holds no reference to the owner.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    _Started = tuple[BlockingPortal, asyncio.AbstractEventLoop, AbstractContextManager[BlockingPortal]]

__all__ = ["Lease", "apart", "finalize_apart"]

T = TypeVar("T")

_SLICE = 0.1  # seconds; waits are cut up so that an interrupt is noticed where a lock cannot be interrupted


class _LoopThread:
    """The portal and how many hold it. The thread starts with the first lease and ends with the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases = 0
        self._ending: AbstractContextManager[BlockingPortal] | None = None
        self._portal: BlockingPortal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def acquire(self) -> tuple[BlockingPortal, asyncio.AbstractEventLoop]:
        with self._lock:
            if self._portal is None or self._loop is None:
                self._portal, self._loop, self._ending = _started()
                atexit.register(self.end)
            self._leases += 1
            return self._portal, self._loop

    def release(self) -> None:
        with self._lock:
            self._leases -= 1
            # A loop cannot stop itself. It is only asked to while the process ends, and then `end` stops it.
            taken = None if self._leases or _runs_here(self._loop) else self._taken()
        self._stop(taken)

    def end(self) -> None:
        """Ends the thread with the process: later it would be stopped anywhere, and who waits for it would hang."""
        with self._lock:
            taken = self._taken()
        self._stop(taken)

    def _taken(self) -> tuple[BlockingPortal, AbstractContextManager[BlockingPortal]] | None:
        """What has to be stopped, by whoever takes it. Stopped without the lock: a task that ends may ask for it."""
        portal, ending = self._portal, self._ending
        self._portal = self._loop = self._ending = None
        atexit.unregister(self.end)
        return (portal, ending) if portal is not None and ending is not None else None

    @staticmethod
    def _stop(taken: tuple[BlockingPortal, AbstractContextManager[BlockingPortal]] | None) -> None:
        if taken is None:
            return
        portal, ending = taken
        portal.call(portal.stop, True)
        ending.__exit__(None, None, None)


def _started() -> _Started:
    """A loop thread that runs. Started from a thread apart, because an interrupt of the one that starts it would have
    it wait for the end of the new thread, which nobody would stop.
    """
    started: Future[_Started] = Future()

    def start() -> None:
        try:
            ending = start_blocking_portal()
            portal = ending.__enter__()
            started.set_result((portal, portal.call(_running_loop), ending))
        except BaseException as error:
            started.set_exception(error)

    try:
        threading.Thread(target=start, name="nbresponses-start", daemon=True).start()
        return started.result()
    except BaseException:
        started.add_done_callback(_unwanted)
        raise


def _unwanted(started: Future[_Started]) -> None:
    if started.exception() is None:
        portal, _, ending = started.result()
        _LoopThread._stop((portal, ending))  # noqa: SLF001  its own


def _runs_here(loop: asyncio.AbstractEventLoop | None) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _running_loop() -> asyncio.AbstractEventLoop:
    threading.current_thread().name = "nbresponses-loop"
    return asyncio.get_running_loop()


@functools.cache
def _loop_thread_of(_process: int) -> _LoopThread:
    """By process, because a fork copies the object but not its thread."""
    return _LoopThread()


class Lease:
    """The right to use the loop thread, which it keeps alive. Taken on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: int | None = None
        self._held: tuple[BlockingPortal, asyncio.AbstractEventLoop] | None = None

    @property
    def held(self) -> bool:
        return self._held is not None and self._process == os.getpid() and not self._held[1].is_closed()

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of a coroutine function that runs in the loop thread. An interrupt here cancels it there."""
        future = self.start(work)
        try:
            while True:
                try:
                    return future.result(_SLICE)
                except TimeoutError:
                    if future.done():
                        return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Callable[[], Awaitable[T]]) -> Future[T]:
        """Starts a coroutine function in the loop thread."""
        return self._taken()[0].start_task_soon(work)

    def soon(self, function: Callable[[], Any]) -> None:
        """Has the loop thread call a function, without waiting. Does nothing if the loop has ended."""
        if not self.held or self._held is None:
            return
        with suppress(RuntimeError):  # the loop has ended, and everything in it
            self._held[1].call_soon_threadsafe(function)

    def release(self) -> None:
        """Gives the lease back; the last one ends the thread. Once is enough, more do nothing."""
        with self._lock:
            held, process = self._held, self._process
            self._held = None
        if held is not None and process == os.getpid():
            _loop_thread_of(os.getpid()).release()

    def _taken(self) -> tuple[BlockingPortal, asyncio.AbstractEventLoop]:
        with self._lock:
            if self._held is None or self._process != os.getpid():
                self._held, self._process = _loop_thread_of(os.getpid()).acquire(), os.getpid()
            return self._held


def finalize_apart(owner: object, function: Callable[[], Any]) -> None:
    """Calls a function, which may wait for the loop thread, when `owner` is forgotten or the interpreter ends."""
    weakref.finalize(owner, apart, function)


def apart(function: Callable[[], Any]) -> None:
    """Calls a function in a thread of its own: a finalizer runs in any thread, the loop's too, amid anything."""
    if threading.main_thread().is_alive():
        threading.Thread(target=function, name="nbresponses-end", daemon=True).start()
    else:
        function()  # the interpreter is shutting down: no new threads, and nothing to be amid of
