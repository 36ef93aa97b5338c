"""A stream or a response as what a front end shows: the live form, the settled form, and the lines that end plain text.

Makes no markup itself (`render` does), publishes nothing, and reads times only from the stream's own clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.core.response import Response
from nbresponses.render import (
    StatusLine,
    block_text,
    blocks,
    bundle,
    item_blocks,
    metadata,
    to_html,
    to_text,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.client.stream import ResponseStream
    from nbresponses.render import Block

__all__ = [
    "Bundle",
    "closing_lines",
    "item_text",
    "kept",
    "live",
    "never_began",
    "plain_text",
    "settled",
    "status_line",
]

Bundle = tuple[dict[str, str], dict[str, Any]]
"""Texts by media type, and metadata."""

_WHOLE = -1  # the output index of blocks that belong to the response as a whole
_IN_PAYLOAD = 200  # bytes in which an event's type stands, in every server's writing seen so far


def settled(shown: ResponseStream | Response, *, allow_remote_images: bool = False) -> Bundle:
    """The final form, which says the same in a saved file, a converted page and a new session."""
    if isinstance(shown, Response):
        response, status, seconds = shown, status_line(shown), None
    else:
        response = _told(shown)
        status, seconds = status_line(response, shown), _reasoning_seconds(shown)
    data = bundle(response, status, seconds=seconds, allow_remote_images=allow_remote_images)
    return data, metadata(response)


def live(stream: ResponseStream, now: float, *, allow_remote_images: bool = False) -> Bundle:
    """The form while it runs: what front ends show first, and plain text; `now` is a `time.monotonic()`."""
    response = stream.response
    found, status = blocks(response), status_line(response, stream, now)
    html = to_html(found, status, allow_remote_images=allow_remote_images)
    return {"text/html": html, "text/plain": to_text(found, status)}, metadata(response)


def kept(stream: ResponseStream, now: float, *, mark: str) -> Bundle:
    """What a file that is saved meanwhile holds; `mark` is the class by which the live view finds its place."""
    response = stream.response
    return unfinished(blocks(response), status_line(response, stream, now), mark=mark), metadata(response)


def status_line(response: Response, stream: ResponseStream | None = None, now: float | None = None) -> StatusLine:
    """The facts below an answer; times only where there is a stream, which has them."""
    usage: Mapping[str, Any] = response.usage or {}
    tokens = usage.get("output_tokens")
    tokens = tokens if isinstance(tokens, int) else None
    if stream is None:
        state = response.ending or response.status or ""
        return StatusLine(model=response.model or "", state=state, output_tokens=tokens)
    timing = stream.timing
    return StatusLine(
        model=response.model or str(stream.request.get("model") or ""),
        state=_state(stream, response),
        elapsed=timing.elapsed(now),
        first_token=timing.first_text,
        output_tokens=tokens,
        tokens_per_second=_rate(tokens, timing.first_event, timing.ended),
        notes=tuple(
            notice.partition(": ")[0] for notice in stream.notices
        ),  # why is told by the error, or in `notices`
    )


def never_began(stream: ResponseStream) -> bool:
    """Whether the request failed before its first event, so that there is no response to show, only an error."""
    return stream.error is not None and stream.timing.first_event is None


def _told(stream: ResponseStream) -> Response:
    return Response() if never_began(stream) else stream.response


def _state(stream: ResponseStream, response: Response) -> str:
    if never_began(stream):
        return "failed"
    if stream.ending is not None:
        return stream.ending
    if stream.timing.first_event is None:
        return "waiting"
    return "queued" if response.status == "queued" else "streaming"


def _rate(tokens: int | None, first: float | None, last: float | None) -> float | None:
    """Output tokens per second, reasoning included, from the first event to the end."""
    if not tokens or first is None or last is None or last - first < 0.001:
        return None
    return tokens / (last - first)


def _reasoning_seconds(stream: ResponseStream) -> dict[int, float]:
    """How long each reasoning item took, by output index: from its first to its last event in the capture."""
    begun: dict[int, float] = {}
    took: dict[int, float] = {}
    for message in stream.capture:
        if message.kind != "event" or b"response.output_item." not in message.payload[:_IN_PAYLOAD]:
            continue
        event = message.event()
        data = event.to_dict() if event is not None else {}
        index, item = data.get("output_index"), data.get("item")
        if not isinstance(index, int) or not isinstance(item, dict) or item.get("type") != "reasoning":
            continue
        if data.get("type") == "response.output_item.added":
            begun[index] = message.at
        elif index in begun:
            took[index] = message.at - begun[index]
    return took


# ── plain text ──


def plain_text(response: Response) -> str:
    """The whole answer as plain text, without what is said about the response as a whole."""
    return to_text(block for block in blocks(response) if block.key.output_index != _WHOLE)


def item_text(item: Mapping[str, Any]) -> str:
    """One finished output item as plain text; of a message only what it cites, since its text was printed before."""
    found = item_blocks(item, 0)
    if item.get("type") != "message":
        return "\n\n".join(block_text(block) for block in found)
    sources = [source for block in found for source in getattr(block, "citations", ())]
    return "\n".join(
        f"[{number}] {source.title}" + (f" <{source.url}>" if source.url else "")
        for number, source in enumerate(sources, 1)
    )


def closing_lines(stream: ResponseStream, *, status: bool = True) -> list[str]:
    """What is said after the answer: why it is not whole, what failed, and the status line."""
    response = _told(stream)
    found: list[Block] = [block for block in blocks(response) if block.key.output_index == _WHOLE]
    lines = [block_text(block) for block in found]
    return [*lines, f"[{status_line(response, stream).text()}]"] if status else lines
