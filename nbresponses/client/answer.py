"""The first look at an answer: refused, an event stream, a JSON object, or something else. Reads no event.

Servers label streams as text/plain or not at all, send JSON where a stream was asked for, and proxies send pages; so
the label is compared without parameters and case, and the first characters of the body decide together with it.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from nbresponses.core.failures import error_of_body, judge
from nbresponses.errors import NBResponsesError, ProtocolError, Rejected

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from nbresponses.transports.http import Reply

__all__ = ["body_kind", "read_body", "rejection", "request_id_of"]

_LONGEST_ERROR_BODY = 64 * 1024  # bytes
_EVENT_STREAM = re.compile(rb"(?:data|event|id|retry|)(?::|\r|\n)")
_BOM = b"\xef\xbb\xbf"
_BLANK = _BOM + b" \t\r\n"


def request_id_of(headers: Mapping[str, str], *, scrub: Callable[[str], str]) -> str | None:
    """The id under which the server knows this request."""
    for name in ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id", "cf-ray"):
        if headers.get(name):
            return scrub(headers[name])
    return None


async def rejection(
    reply: Reply, read: Callable[[], Awaitable[bytes]], *, url: str, scrub: Callable[[str], str]
) -> Rejected:
    """The error of an answer with an error status. Its body is read up to a limit; if it is cut, as far as it came."""
    body = bytearray()
    with suppress(NBResponsesError):
        while len(body) < _LONGEST_ERROR_BODY and (piece := await read()):
            body += piece
    text = scrub(bytes(body[:_LONGEST_ERROR_BODY]).decode("utf-8", "replace"))
    error = error_of_body(text.encode())
    verdict = judge(error, status=reply.status, headers=reply.headers, now=time.time())
    return Rejected(
        reply.status,
        error=error,
        body=text,
        request_id=request_id_of(reply.headers, scrub=scrub),
        retry_after=verdict.wait,
        retryable=verdict.retryable,
        url=url,
    )


async def read_body(start: bytes, limit: int, read: Callable[[], Awaitable[bytes]]) -> bytes:
    """The whole body, which begins with `start`; ProtocolError above `limit` bytes. `read` gives its next piece."""
    body = bytearray(start)
    while piece := await read():
        body += piece
        if len(body) > limit:
            raise ProtocolError(f"the answer is larger than the limit of {limit} bytes (max_event_bytes)")
    return bytes(body).removeprefix(_BOM)


def body_kind(headers: Mapping[str, str], start: bytes, *, url: str) -> Literal["stream", "json"] | None:
    """What the body is, judged by its label and its first bytes; None while they are too few to tell.

    ProtocolError for what is neither.
    """
    label = headers.get("content-type", "").partition(";")[0].strip().lower()
    seen = start.lstrip(_BLANK)
    if not seen:
        return "stream" if start and label == "text/event-stream" else None
    if seen[:1] == b"{":
        return "json"
    if seen[:1] != b"<" and (label == "text/event-stream" or _EVENT_STREAM.match(seen)):
        return "stream"
    if len(seen) < 6 and label != "text/html":
        return None
    what = label or ("text/html" if seen[:1] == b"<" else "no content type")
    raise ProtocolError(
        f"{url} answered with {what}, not with an event stream (text/event-stream) or JSON: is base_url right?"
    )
