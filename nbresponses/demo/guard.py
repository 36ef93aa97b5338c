"""Who may talk to the server: programs of this machine that address it by a loopback name, and no web page. ASGI.

A page of another site can make a browser send requests to 127.0.0.1. It cannot hide its `Origin`, and where it got
here by a rebound DNS name, the `Host` is that name: both are checked before anything else is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nbresponses.demo.streaming import error_answer
from nbresponses.demo.wire import ApiError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def guarded(app: ASGIApp, *, port: int) -> ASGIApp:
    """The application, for loopback callers only."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        error = refused(scope, port) if scope["type"] in {"http", "websocket"} else None
        if error is None:
            await app(scope, receive, send)
        else:  # of a WebSocket this is the answer to its handshake
            await error_answer(error)(scope, receive, send)

    return guard


def refused(scope: Scope, port: int) -> ApiError | None:
    """Why this request is not served, None if it is."""
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    hosts = [value for name, value in headers if name == "host"]
    if len(hosts) != 1 or not _is_loopback(f"//{hosts[0]}", port):
        message = f"This demo server answers only to a loopback name with its port, such as 127.0.0.1:{port}, as Host."
        return ApiError(421, message, code="host_not_allowed")
    if any(name == "origin" and not _is_loopback(value, None) for name, value in headers):
        message = "This demo server answers no page of another origin; only loopback origins are allowed."
        return ApiError(403, message, code="origin_not_allowed")
    return None


def _is_loopback(address: str, port: int | None) -> bool:
    try:
        parts = urlsplit(address)
        named = parts.port or 80
    except ValueError:  # no number as port, or brackets that do not match
        return False
    return parts.hostname in _LOOPBACK and port in {None, named} and parts.username is None
