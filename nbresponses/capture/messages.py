"""One message of a capture, and where it belongs. Values only: no list of them, no file.

A message is one of three directions, and `kind` says what it is:

    direction   kind          payload
    in          event         the JSON text of one event, as received
    in          remainder     the bytes of a block that was cut off in mid-JSON; no event
    in          too_large     an event above the size limit, which was not kept: {"reason": …, "bytes": …}
    out         request       the request body (HTTP) or message (WebSocket), secrets masked
    note        status, retry, resumed, opened, closed, ended …      the facts, a JSON object
"""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nbresponses.core.decode import decode_kept
from nbresponses.core.wire import InvalidEvent, open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from nbresponses.core.wire import Event

__all__ = ["LONGEST", "Channel", "Columns", "Message", "columns_of", "dump_json"]

LONGEST = 1e10
"""Seconds: no `at` is further from the start. Longer than any capture, short enough for a time stamp."""


class Channel(NamedTuple):
    """Everything about a message but its time and its text. Messages of a stream share very few of these."""

    direction: str
    kind: str
    transport: str
    lane: str | None
    name: str | None


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message. `at` is in seconds since the capture started, `payload` its bytes as they went over the wire.

    `direction` is "in", "out" or "note", `transport` "sse", "http" or "websocket"; docs/captures.md lists each `kind`.
    `lane` is its stream_id, `name` the SSE event name of a JSON without a type; both are None where there is none.
    """

    at: float
    direction: str
    kind: str
    transport: str
    lane: str | None
    name: str | None
    payload: bytes

    @property
    def channel(self) -> Channel:
        """All of it but its time and its payload."""
        return Channel(self.direction, self.kind, self.transport, self.lane, self.name)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are not UTF-8 become U+FFFD."""
        return self.payload.decode("utf-8", "replace")

    def facts(self) -> dict[str, Any]:
        """The payload as a JSON object. DecodeError where it is none (a remainder, an invalid event)."""
        return open_json(self.payload)

    def event(self) -> Event | None:
        """The typed event that was received, decoded anew; None for a message that is no event."""
        if self.direction != "in":
            return None
        if self.kind == "too_large":
            facts = self.facts()
            return InvalidEvent(error=DecodeError(str(facts.get("reason")), length=facts.get("bytes") or 0))
        return decode_kept(self.payload, self.name) if self.kind == "event" else None

    def __repr__(self) -> str:
        lane = f" lane {self.lane!r}" if self.lane is not None else ""
        what = f"{self.direction} {self.kind} at {self.at:.3f} s, {self.transport}{lane}"
        return f"<Message {what}, {len(self.payload)} bytes>"


class Columns(NamedTuple):
    """Messages side by side: message i came `times[i]` seconds after `started`, on `channels[codes[i]]`."""

    started: datetime
    times: array[float]
    codes: array[int]
    payloads: list[bytes]
    channels: list[Channel]


def columns_of(messages: Sequence[Message], started: datetime) -> Columns:
    """Messages side by side."""
    numbers: dict[Channel, int] = {}
    codes = array("I", [numbers.setdefault(message.channel, len(numbers)) for message in messages])
    times = array("d", [message.at for message in messages])
    return Columns(started, times, codes, [message.payload for message in messages], list(numbers))


def dump_json(value: object) -> bytes:
    """JSON of facts or of a request body, in UTF-8. What JSON has no word for is written as its text."""
    try:
        return msgspec.json.encode(value, enc_hook=str)
    except (UnicodeEncodeError, OverflowError, TypeError, msgspec.MsgspecError):
        return json.dumps(value, default=str, separators=(",", ":")).encode()  # lone surrogates, very large integers
