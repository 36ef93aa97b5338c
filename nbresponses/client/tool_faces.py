"""How a run of tools waits: in the caller's thread, or by awaiting. Decides nothing, keeps nothing but its loop."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from nbresponses.client.stream import AsyncResponseStream, ResponseStream
    from nbresponses.core.response import Response

    Done = Callable[[int, Any], None]

__all__ = ["AsyncFace", "Face", "SyncFace"]

_STOPPED = "the function raised StopIteration"
_CLEANING_UP = 2.0  # seconds for an async function to end after an interrupt


class Progress(Protocol):
    """Who is told of the stream that runs."""

    stream: AsyncResponseStream | ResponseStream | None


class Face(Protocol):
    """`ask` opens a stream, says which in `progress`, and waits for its response. `start` calls a function.

    `wait` brings the result of each awaitable, or the exception instead; `done(place, result)` is told of each at once.
    """

    async def ask(self, fields: dict[str, Any], progress: Progress) -> Response: ...

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    async def wait(
        self, awaitables: Sequence[Awaitable[Any]], limit: float | None, done: Done | None = None
    ) -> list[Any]: ...


async def _all(awaitables: Sequence[Awaitable[Any]], limit: float | None, done: Done | None) -> list[Any]:
    outer = asyncio.current_task()

    async def one(place: int, awaitable: Awaitable[Any]) -> Any:
        value: Any
        try:
            async with asyncio.timeout(limit):
                value = await awaitable
        except Exception as error:  # whatever the user's function raises: the model is told
            value = error
        except asyncio.CancelledError as error:
            if outer is not None and outer.cancelling():
                raise
            value = error  # the function's own: nobody has cancelled the run
        if done is not None:
            done(place, value)
        return value

    return list(await asyncio.gather(*(one(place, awaitable) for place, awaitable in enumerate(awaitables))))


class SyncFace:
    """Waits in the caller's thread. An interrupt ends the stream, or the function, that it finds."""

    def __init__(self, stream: Callable[..., ResponseStream], watch: Callable[..., Any] | None) -> None:
        self._stream = stream
        self._watch = watch
        self._runner: asyncio.Runner | None = None

    async def ask(self, fields: dict[str, Any], progress: Progress) -> Response:
        with self._stream(**fields) as stream:
            progress.stream = stream
            if self._watch is not None:
                self._watch(stream)
            return stream.get_final_response()

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    async def wait(
        self, awaitables: Sequence[Awaitable[Any]], limit: float | None, done: Done | None = None
    ) -> list[Any]:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._runner = self._runner or asyncio.Runner()  # one for the run: functions may share connections
            return self._runner.run(_all(awaitables, limit, done))
        return _nested(loop, awaitables, limit, done)

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


def _nested(
    loop: asyncio.AbstractEventLoop, awaitables: Sequence[Awaitable[Any]], limit: float | None, done: Done | None
) -> list[Any]:
    """In the running loop, from blocking code: what a user's coroutine is bound to works there and nowhere else."""
    import nest_asyncio2

    nest_asyncio2.apply(loop)
    task = loop.create_task(_all(awaitables, limit, done))
    try:
        return loop.run_until_complete(task)
    except BaseException:
        task.cancel()
        with suppress(BaseException):
            loop.run_until_complete(asyncio.wait({task}, timeout=_CLEANING_UP))
        raise


def _made(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The call, in a thread. A future cannot hold StopIteration: who awaits it would wait for ever."""
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError(_STOPPED) from error


class AsyncFace:
    """Awaits. Functions that are no coroutines get a thread each."""

    def __init__(self, stream: Callable[..., AsyncResponseStream], watch: Callable[..., Any] | None) -> None:
        self._stream = stream
        self._watch = watch

    async def ask(self, fields: dict[str, Any], progress: Progress) -> Response:
        async with self._stream(**fields) as stream:
            progress.stream = stream
            if self._watch is not None and inspect.isawaitable(watching := self._watch(stream)):
                await watching
            return await stream.get_final_response()

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return function(*args, **kwargs)
        return self._in_thread(function, *args, **kwargs)

    @staticmethod
    async def _in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = await asyncio.to_thread(_made, function, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    async def wait(
        self, awaitables: Sequence[Awaitable[Any]], limit: float | None, done: Done | None = None
    ) -> list[Any]:
        return await _all(awaitables, limit, done)
