"""Foreign exceptions → ours, one table for each library. Nothing foreign leaves a transport.

The translation is made to be raised outside the `except` block (see `translated`), so it carries no context: a
traceback that runs through the HTTP library shows local variables, and headers with keys are among them.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import anyio
import h11
import httpcore
import httpx

from nbresponses.errors import ConnectionFailed, Disconnected, NBResponsesError, ProtocolError, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FOREIGN", "failure_of"]

FOREIGN: tuple[type[Exception], ...] = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.CookieConflict,
    httpx.StreamError,
    httpcore.ConnectionNotAvailable,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    anyio.BrokenResourceError,
    anyio.BusyResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    h11.ProtocolError,
    UnicodeError,  # a host name that has no IDNA form
    OSError,  # sockets and TLS
)
"""What the HTTP libraries can raise. Everything else is a mistake in this package and stays as it is."""

_BEFORE_A_CONNECTION = (
    httpx.ConnectError,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    httpcore.ConnectError,
    httpcore.ConnectionNotAvailable,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    ssl.SSLError,
    UnicodeError,
    ConnectionRefusedError,
)
_BEFORE_SENDING = (httpx.ConnectTimeout, httpx.PoolTimeout, httpcore.ConnectTimeout, httpcore.PoolTimeout)
_OUT_OF_TIME = (httpx.TimeoutException, httpcore.TimeoutException, TimeoutError)
_UNREADABLE = (httpx.DecodingError, httpx.CookieConflict)


def failure_of(
    error: Exception,
    *,
    url: str,
    connect: float | None,
    answered: bool,
    scrub: Callable[[str], str] = str,
) -> NBResponsesError:
    """What a foreign exception means here.

    `answered`: the status line had come. `connect`: the limit that a connect timeout ran into. `scrub` takes secrets
    out of a foreign text (a header that cannot be sent is quoted by the library that refuses it).
    """
    reason = scrub(_reason(error))
    if isinstance(error, _BEFORE_SENDING):
        return TimedOut("connect", connect or 0.0, url=url)
    if isinstance(error, _OUT_OF_TIME):
        return Disconnected(f"the connection timed out ({reason})", url=url)
    if isinstance(error, _UNREADABLE):
        return ProtocolError(f"the answer of {url} cannot be read: {reason}")
    if not answered and isinstance(error, _BEFORE_A_CONNECTION):
        return ConnectionFailed(reason, url=url)
    return Disconnected(reason, url=url)


def _reason(error: Exception) -> str:
    """The exception's text, or that of what caused it: some wrappers have none of their own."""
    cause: BaseException | None = error
    while cause is not None:
        if str(cause):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
