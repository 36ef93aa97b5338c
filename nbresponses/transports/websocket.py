"""Text frames over one WebSocket. Maps foreign exceptions; knows no lane, follows no redirect, prints no header.

Source: RFC 6455, and the Responses API's WebSocket mode (`/v1/responses`, one JSON object to a text frame).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidProxy, InvalidStatus, WebSocketException

from nbresponses.core.response import error_of
from nbresponses.core.wire import open_json
from nbresponses.errors import (
    ConnectionFailed,
    DecodeError,
    Disconnected,
    NBResponsesError,
    Rejected,
    RequestError,
    TimedOut,
)
from nbresponses.transports.http import plain_url

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

__all__ = ["Socket", "SocketOptions", "open_socket", "socket_url"]

_TOO_BIG = 1009


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketOptions:
    """Limits of one connection; times in seconds, None is no limit.

    max_message_bytes   a larger message closes the connection; never unlimited, because it is held in memory
    open_timeout        until the handshake is done
    ping_interval       between two pings; a long cell that blocks Python does not break the connection, because the
                        pings are answered in a thread of their own
    ping_timeout        until the answer to a ping; then the connection counts as lost
    close_timeout       until the other side has answered a close
    compression         permessage-deflate where the server offers it
    """

    max_message_bytes: int = 64 * 1024 * 1024
    open_timeout: float | None = 10.0
    ping_interval: float | None = 20.0
    ping_timeout: float | None = 60.0
    close_timeout: float | None = 5.0
    compression: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name != "compression" and not value > 0:
                raise RequestError(field.name, f"must be above 0, or None for no limit: {value!r}")
        if self.max_message_bytes is None:
            raise RequestError("max_message_bytes", "must be a number of bytes: a message is held in memory")


def socket_url(base_url: str, query: Mapping[str, Any]) -> str:
    """The WebSocket address of a server that has its HTTP interface at `base_url`."""
    parts = urlsplit(base_url)
    scheme = {"http": "ws", "https": "wss"}[parts.scheme]
    return urlunsplit((scheme, parts.netloc, f"{parts.path}/responses", urlencode(dict(query)), ""))


class _Connect(connect):
    """A handshake that takes no redirect: the headers hold the key."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


async def open_socket(
    url: str,
    *,
    headers: Callable[[], Mapping[str, str]],
    options: SocketOptions,
    loopback: bool = False,
    user_agent: str = "nbresponses",
    scrub: Callable[[str], str] = str,
) -> Socket:
    """A connection that is open. Raises ConnectionFailed, TimedOut or Rejected.

    `headers` is a function, because a traceback shows what stands in a variable here. Proxies come from the
    environment, except for a server on this machine.
    """
    opening = _Connect(
        url,
        additional_headers=dict(headers()),
        user_agent_header=user_agent,
        compression="deflate" if options.compression else None,
        max_size=options.max_message_bytes,
        open_timeout=options.open_timeout,
        ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout,
        close_timeout=options.close_timeout,
        proxy=None if loopback else True,
        logger=_silent_logger(),
    )
    where = plain_url(url)
    connection = await _translated(_opened(opening), lambda error: _opening_failure(error, where, options, scrub))
    return Socket(connection, where, options)


async def _opened(opening: _Connect) -> ClientConnection:
    return await opening


class Socket:
    """One open connection: frames out, frames in. One task reads, one writes."""

    def __init__(self, connection: ClientConnection, url: str, options: SocketOptions) -> None:
        self._connection = connection
        self._options = options
        self.url = url

    def __repr__(self) -> str:
        return f"<Socket {self.url}>"

    async def send(self, text: bytes) -> None:
        """One text frame. Raises Disconnected."""
        await _translated(self._connection.send(text, text=True), self._failure)

    async def receive(self) -> bytes:
        """The payload of the next message. Raises Disconnected, with the close code, when there is none."""
        message: bytes = await _translated(self._connection.recv(decode=False), self._failure)
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, waiting for the other side at most `close_timeout`."""
        await self._connection.close(code, reason[:120])

    def _failure(self, error: Exception) -> NBResponsesError:
        if not isinstance(error, ConnectionClosed):
            return Disconnected(_reason(error), url=self.url)
        close = error.rcvd or error.sent
        if close is None:
            return Disconnected("the connection was lost without a close frame", code=1006, url=self.url)
        reason = close.reason or "the connection was closed"
        if error.sent is not None and error.sent.code == _TOO_BIG:
            limit = self._options.max_message_bytes
            reason = f"a message was larger than max_message_bytes={limit}"
        return Disconnected(reason, code=close.code, url=self.url)


async def _translated(work: Coroutine[Any, Any, Any], failure: Callable[[Exception], NBResponsesError]) -> Any:
    """The result of `work`; a foreign exception as ours, raised out here so that nothing foreign hangs on it."""
    try:
        return await work
    except (WebSocketException, OSError, EOFError) as error:  # TimeoutError is an OSError
        ours = failure(error)
    raise ours


def _opening_failure(
    error: Exception, url: str, options: SocketOptions, scrub: Callable[[str], str]
) -> NBResponsesError:
    if isinstance(error, TimeoutError):
        return TimedOut("open", options.open_timeout or 0.0, url=url)
    if isinstance(error, InvalidStatus):
        reply = error.response
        body = scrub(bytes(reply.body or b"").decode("utf-8", "replace"))
        return Rejected(
            reply.status_code,
            error=_error_in(body),
            body=body,
            request_id=scrub(", ".join(reply.headers.get_all("x-request-id"))) or None,  # a proxy may add its own
            url=url,
        )
    if isinstance(error, InvalidProxy):  # its text has the proxy's address, password included
        return ConnectionFailed("the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) names no usable proxy", url=url)
    return ConnectionFailed(scrub(_reason(error)), url=url)


def _error_in(body: str) -> dict[str, Any]:
    try:
        fields = open_json(body.encode("utf-8", "surrogateescape"))
    except DecodeError:
        return {}
    return error_of(fields.get("error") or fields) or {}


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _silent_logger() -> logging.Logger:
    """websockets writes the headers of its handshake to its log, the key among them."""
    logger = logging.Logger("nbresponses.websocket", level=logging.CRITICAL)
    logger.addHandler(logging.NullHandler())
    return logger
