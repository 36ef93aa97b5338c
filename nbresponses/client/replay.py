"""A capture, played again through the same machinery as a live stream. Opens no connection.

The messages that were received are put on the wire again as server-sent events, at their original pace times `speed`
(None: without waiting); the end is the one that was recorded.
"""

from __future__ import annotations

import asyncio
import functools
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nbresponses.capture.record import Capture
from nbresponses.client.exchange import Exchange
from nbresponses.client.inbox import Inbox, News
from nbresponses.client.loop import Lease, apart
from nbresponses.client.patience import Stopped
from nbresponses.client.stream import ResponseStream
from nbresponses.core.sse import encode_sse
from nbresponses.errors import Disconnected, RequestError
from nbresponses.transports.http import HttpCall
from nbresponses.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from nbresponses.capture.messages import Message

__all__ = ["replay"]

_BURST = 256  # messages that are put out at once where there is no waiting


def replay(capture: Capture, speed: float | None = 1.0) -> ResponseStream:
    """A stream of what `capture` holds. `speed` 2.0 is twice as fast; None waits for nothing."""
    if speed is not None and (isinstance(speed, bool) or not isinstance(speed, (int, float)) or not speed > 0):
        raise RequestError("speed", f"must be a number above 0, or None for no waiting: {speed!r}")
    news = News()
    record = Capture(datetime.now(UTC), time.monotonic(), source=f"replay of {capture.source}")
    exchange = Exchange(
        HttpCall("GET", "replay:"),
        connect=functools.partial(_player, list(capture), speed),
        inbox=Inbox(news.tell),
        capture=record,
        timeouts=Timeouts(connect=None, first_byte=None, idle=None, total=None),
    )
    lease = Lease()
    lease.start(functools.partial(_run, exchange, lease))
    return ResponseStream(
        exchange.inbox,
        news,
        request=_request_in(capture),
        capture=record,
        stop=lambda ending: lease.soon(functools.partial(exchange.stop, ending)),
    )


async def _run(exchange: Exchange, lease: Lease) -> None:
    try:
        await exchange.run()
    finally:
        apart(lease.release)  # the loop thread cannot end itself


async def _player(messages: list[Message], speed: float | None) -> _Player:
    return _Player(messages, speed)


class _Player:
    """Transport and answer in one: plays the messages that were received."""

    status = 200
    headers: dict[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, messages: list[Message], speed: float | None) -> None:
        self._received = [message for message in messages if message.direction == "in"]
        self._recorded_end = next((m for m in reversed(messages) if m.direction == "note" and m.kind == "ended"), None)
        self._sent_at = next((m.at for m in messages if m.direction == "out"), messages[0].at if messages else 0.0)
        self._speed = speed
        self._began = time.monotonic()
        self._place = 0

    async def send(self, _call: HttpCall, *, connect: float | None = None) -> _Player:  # noqa: ARG002  as a Transport
        return self

    async def piece(self) -> bytes:
        if self._place == len(self._received):
            return self._end()
        if self._speed is not None:
            due = self._began + (self._received[self._place].at - self._sent_at) / self._speed
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        else:
            await asyncio.sleep(0)
        start = self._place
        self._place = self._due_until()
        return b"".join(_on_the_wire(message) for message in self._received[start : self._place])

    def _due_until(self) -> int:
        """The place after the last message that goes out now."""
        last = min(len(self._received), self._place + _BURST)
        place = self._place + 1
        if self._speed is None:
            return last
        now = self._sent_at + (time.monotonic() - self._began) * self._speed
        while place < last and self._received[place].at <= now:
            place += 1
        return place

    def _end(self) -> bytes:
        facts: dict[str, Any] = self._recorded_end.facts() if self._recorded_end is not None else {}
        if facts.get("ending") == "interrupted":
            raise Stopped
        if facts.get("ending") == "cut_off":
            raise Disconnected(str(facts.get("error") or "the stream ended without a terminal event"))
        return b""

    async def aclose(self) -> None:
        self._place = len(self._received)


def _on_the_wire(message: Message) -> bytes:
    if message.kind == "remainder":
        return message.payload
    return encode_sse(message.payload, event=message.name)


def _request_in(capture: Capture) -> dict[str, Any]:
    for message in capture:
        if message.direction == "out":
            return message.facts()
    return {}
