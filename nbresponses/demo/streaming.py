"""Answers on the wire: an event stream with its faults, and JSON with the headers of the real API. ASGI, no routes."""

from __future__ import annotations

import asyncio
import secrets
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nbresponses.demo.faults import Fault, StreamWriter
from nbresponses.demo.wire import ApiError, Json

T = TypeVar("T")
Abort = Callable[[Scope], Awaitable[None]]

_HTML = "<html><head><title>{0} Bad Gateway</title></head><body><center><h1>{0} Bad Gateway</h1></center></body></html>"


def api_headers() -> dict[str, str]:
    return {
        "x-request-id": f"req_{secrets.token_hex(16)}",
        "openai-processing-ms": "12",
        "openai-version": "2020-10-01",
        "openai-organization": "nbresponses-demo",
    }


def answer(content: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = msgspec.json.encode(content)
    return Response(body, status, headers=api_headers() | (headers or {}), media_type="application/json")


def error_answer(error: ApiError, *, headers: dict[str, str] | None = None) -> Response:
    return answer({"error": error.error}, status=error.status, headers=headers)


_REFUSALS = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    429: ("Rate limit reached for requests. Please try again later.", "requests", "rate_limit_exceeded"),
    503: ("The server is overloaded. Please try again later.", "server_error", "service_unavailable"),
}


def refusal_error(fault: Fault) -> ApiError | None:
    """The error that a fault has instead of an answer."""
    if fault.status is None:
        return None
    default = ("The server had an error while processing your request (a demo fault).", "server_error", None)
    message, kind, code = _REFUSALS.get(fault.status, default)
    return ApiError(fault.status, message, code=code, kind=kind)


def refusal(fault: Fault) -> Response | None:
    """The answer that a fault gives instead of the real one."""
    if fault.redirect is not None:
        return Response(b"", 307, headers=api_headers() | {"location": fault.redirect})
    error = refusal_error(fault)
    if error is None or fault.status is None:
        return None
    headers = {} if fault.retry_after is None else {"retry-after": fault.retry_after}
    if fault.body == "json":
        return error_answer(error, headers=headers)
    if fault.body == "flat":
        flat = {"code": error.code, "message": error.message, "param": None}
        return answer(flat, status=fault.status, headers=headers)
    text = {"html": _HTML.format(fault.status), "text": error.message}.get(fault.body, "")
    kind = "text/html" if fault.body == "html" else "text/plain"
    return Response(text, fault.status, headers=api_headers() | headers, media_type=kind)


class EventStream:
    """An ASGI answer: the events as an event stream. When the client leaves, the events are closed at once."""

    def __init__(self, events: AsyncGenerator[Json, None], fault: Fault, abort: Abort) -> None:
        self._events = events
        self._fault = fault
        self._writer = StreamWriter(fault)
        self._abort = abort
        self._squeeze = zlib.compressobj(wbits=31) if fault.gzip else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await unless_gone(receive, self._send(send))
        if self._writer.cut:
            await self._abort(scope)
            # The server reports an answer that is left unfinished, unless the client is known to be gone.
            await gone(receive)

    async def _send(self, send: Send) -> None:
        headers = api_headers() | {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        if self._squeeze is not None:
            headers["content-encoding"] = "gzip"
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        async for event in self._events:
            await self._write(send, self._writer.write(event))
            if self._writer.cut or self._writer.stalled:
                break
        if self._writer.cut:
            return
        if not self._writer.stalled:
            await self._write(send, self._writer.finish())
        if self._writer.stalled or self._fault.stay_open:
            await asyncio.Event().wait()  # until the client leaves
        last = b"" if self._squeeze is None else self._squeeze.flush()
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _write(self, send: Send, chunks: list[bytes]) -> None:
        for chunk in chunks:
            data = chunk
            if self._squeeze is not None:
                data = self._squeeze.compress(chunk) + self._squeeze.flush(zlib.Z_SYNC_FLUSH)
            await send({"type": "http.response.body", "body": data, "more_body": True})


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work, or None when the client left before it was done."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        finished = working.done()
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
    return working.result() if finished else None


async def gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
