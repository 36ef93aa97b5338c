"""`show`: an answer in any cell, as often as wanted. A stream that still runs is followed to its end."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from nbresponses.core.response import Response
from nbresponses.display.bundles import settled
from nbresponses.display.updating import publish
from nbresponses.display.view import choose_view, follow, follow_apart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from nbresponses.client.stream import ResponseStream
    from nbresponses.display.view import LiveView

__all__ = ["show"]


def show(shown: Any, *, allow_remote_images: bool = False) -> Awaitable[None] | None:
    """Show a response, or the response of a stream, with its text, reasoning, images, calls and how it ended.

    In a notebook the cell's output gets the settled bundle; elsewhere its plain text is printed. A running
    `ResponseStream` is shown live until it ends; an interrupt stops it. So is a stream of the `openai` package, and an
    iterable of dicts or SSE lines. An asynchronous stream that still runs is awaited: `await show(stream)`. A picture
    that the answer names by its address is a link; `allow_remote_images` loads it from there.

    Raises:
        TypeError: it is neither a stream nor a response.
        Exception: what another client's stream raised, once what came before it is shown.
    """
    from nbresponses.client.foreign import is_stream, watch
    from nbresponses.client.stream import AsyncResponseStream, ResponseStream

    shell = _shell()
    view = partial(choose_view, shell, allow_remote_images=allow_remote_images)
    ours = isinstance(shown, (ResponseStream, AsyncResponseStream))
    running = ours and shown.ending is None and shown.error is None
    if running and isinstance(shown, ResponseStream):
        follow(shown, view())
    elif isinstance(shown, Response) or (ours and not running):
        data, metadata = settled(shown, allow_remote_images=allow_remote_images)  # type: ignore[arg-type, unused-ignore]
        if shell is None:
            sys.stdout.write(f"{data['text/plain']}\n")
        else:
            publish((data, metadata))
        return _Shown() if isinstance(shown, AsyncResponseStream) else None
    elif hasattr(shown, "__aiter__"):
        return _show_async(shown, view())
    elif is_stream(shown):
        stream = watch(shown)
        follow(stream, view())
        _raise_foreign(stream)
    else:
        raise TypeError(f"show() takes a stream, a response, a capture or lanes, not {type(shown).__name__}")
    return None


class _Shown:
    """What `show` returns of an asynchronous stream that has ended: it may be awaited like one that runs."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def _ipython_display_(self) -> None:
        """Nothing, as the last line of a cell."""


async def _show_async(shown: Any, view: LiveView) -> None:
    """An asynchronous stream, read in the running loop, drawn in a thread."""
    import asyncio

    from nbresponses.client.foreign import feed_async

    stream, feeding = feed_async(shown)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    follow_apart(stream, view, done=lambda: loop.call_soon_threadsafe(done.set))
    try:
        await feeding
    finally:
        await done.wait()
    _raise_foreign(stream)


def _raise_foreign(stream: ResponseStream) -> None:
    """What another client raised in mid-stream, unless it is shown as the response's own error."""
    if stream.ending == "cut_off" and stream.error is not None:
        raise stream.error


def _shell() -> object | None:
    """The IPython shell of this process, None where there is none; IPython is not imported for the answer."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell: object | None = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
    return shell
