"""`show`: an answer in any cell, as often as wanted. A stream that still runs is followed to its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbresponses.core.response import Response
from nbresponses.display.bundles import settled
from nbresponses.display.updating import publish
from nbresponses.display.view import choose_view, follow

if TYPE_CHECKING:
    from nbresponses.client.stream import ResponseStream

__all__ = ["show"]


def show(shown: ResponseStream | Response) -> None:
    """Show a response, or the response of a stream, with its text, reasoning, images, calls and how it ended.

    In a notebook the cell's output gets the settled bundle; elsewhere its plain text is printed. A running
    `ResponseStream` is shown live until it ends; an interrupt stops it.

    Raises:
        TypeError: it is neither a stream nor a response.
    """
    from nbresponses.client.stream import AsyncResponseStream, ResponseStream

    shell = _shell()
    if isinstance(shown, ResponseStream) and shown.ending is None and shown.error is None:
        follow(shown, choose_view(shell))
    elif isinstance(shown, (Response, ResponseStream, AsyncResponseStream)):
        data, metadata = settled(shown)
        if shell is None:
            sys.stdout.write(f"{data['text/plain']}\n")
        else:
            publish((data, metadata))
    else:
        raise TypeError(f"show() takes a ResponseStream or a Response, not {type(shown).__name__}")


def _shell() -> object | None:
    """The IPython shell of this process, None where there is none; IPython is not imported for the answer."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell: object | None = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
    return shell
