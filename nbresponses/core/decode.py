"""Bytes → typed events: server-sent events and JSON in one pass, the hot path. Never raises on what a server sent.

Most of a stream looks like `event: NAME\\ndata: JSON\\n\\n`. One regular expression finds all payloads of a piece at
once; the result counts only if the line count proves that nothing else was there. Everything else (comments, ids,
several data lines …) goes through `parse_block`, block by block, to the same events.

The JSON is read by one msgspec decoder for the tagged union of all classes. What that refuses is opened leniently
(`open_json`) and converted; what then fits no class becomes an `UnknownEvent`, what is no object an `InvalidEvent`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.core.events import EVENT_TYPES, AnyEvent
from nbresponses.core.sse import DEFAULT_MAX_EVENT_BYTES, BlockReader, ServerSentEvent, parse_block, too_large
from nbresponses.core.wire import Event, InvalidEvent, UnknownEvent, open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EventDecoder", "decode_event", "decode_kept"]

_named_payloads = re.compile(rb"^event: .*\ndata: (.*)\n\n", re.MULTILINE).findall
_bare_payloads = re.compile(rb"^data: (.*)\n\n", re.MULTILINE).findall
_LARGE = 256 * 1024  # above this a run is mostly one payload, and searching lines beats matching characters

_decode: Callable[[bytes], Event] = msgspec.json.Decoder(AnyEvent).decode
_attach = msgspec.structs.force_setattr  # events are frozen for everyone but their maker
_NOT_TYPED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class EventDecoder:
    """Bytes of one stream → events, in pieces of any size.

    Data that is empty is no event. Data that is exactly `[DONE]` ends the decoder, and so does an event above
    `max_event_bytes`, which comes back as an `InvalidEvent`; what follows is ignored (`done` says so).
    """

    __slots__ = ("_blocks", "_max_bytes", "done", "remainder")

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._blocks = BlockReader(max_event_bytes)
        self._max_bytes = max_event_bytes
        self.done = False
        self.remainder = b""
        """After `finish()`: the bytes of a last block that was cut in mid-JSON, and so is no event."""

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events they complete, in order."""
        if self.done:
            return []
        run = self._blocks.feed(data)
        events = self._events(run) if run else []
        if self._blocks.oversize and not self.done:
            self.done = True
            events.append(InvalidEvent(error=too_large(self._blocks.oversize, self._max_bytes)))
        return events

    def finish(self) -> list[Event]:
        """The end of the stream: a last block that lacks only its blank line is still an event."""
        if self.done:
            return []
        self.done = True
        rest = self._blocks.rest()
        payload, name, _, _ = parse_block(rest)
        event = _event(payload, name) if payload and payload.strip() != b"[DONE]" else None
        if isinstance(event, InvalidEvent):
            self.remainder = rest
            return []
        return [event] if event is not None else []

    def _events(self, run: bytes) -> list[Event]:
        if len(run) < _LARGE:
            payloads = _named_payloads(run)
            lines = 3 * len(payloads)
            if not lines:
                payloads = _bare_payloads(run)
                lines = 2 * len(payloads)
            if lines == run.count(b"\n"):
                try:
                    events = [_decode(payload) for payload in payloads]
                except _NOT_TYPED:
                    pass
                else:
                    for event, payload in zip(events, payloads, strict=True):
                        _attach(event, "payload", payload)
                    return events
        return self._events_by_block(run)

    def _events_by_block(self, run: bytes) -> list[Event]:
        events: list[Event] = []
        for block in run.split(b"\n\n"):
            payload, name, _, _ = parse_block(block)
            if payload is None:
                continue
            if payload.strip() == b"[DONE]":
                self.done = True
                break
            event = _event(payload, name)
            if event is not None:
                events.append(event)
        return events


def decode_event(data: str | bytes | ServerSentEvent) -> Event:
    """One payload → its event. Raises DecodeError unless it is a JSON object; no other failure.

    A `ServerSentEvent` brings its event name, which counts only where the JSON has no type.
    """
    name: bytes | None = None
    if isinstance(data, ServerSentEvent):
        name = data.event.encode("utf-8", "replace") if data.event else None
        data = data.data
    # A lone surrogate in a str cannot be written in UTF-8; as its JSON escape it means the same.
    payload = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else bytes(data)
    event = _event(payload, name)
    if event is None:
        raise _nothing(payload)
    if isinstance(event, InvalidEvent) and event.error is not None:
        raise event.error
    return event


def decode_kept(payload: bytes, name: str | None = None) -> Event:
    """A payload that was received once → the same event again. Never raises: what is no JSON object is an InvalidEvent.

    `name` is the SSE event name it came with, which counts only where the JSON has no type.
    """
    event = _event(payload, name.encode("utf-8", "replace") if name else None)
    return InvalidEvent(error=_nothing(payload)) if event is None else event


def _nothing(payload: bytes) -> DecodeError:
    return DecodeError("the payload is empty, not a JSON object", offset=0, length=len(payload))


def _event(payload: bytes, name: bytes | None) -> Event | None:
    """The event of one payload; None where there is nothing but white space."""
    try:
        event = _decode(payload)
    except _NOT_TYPED:
        if not payload.strip():
            return None
        event = _event_leniently(payload, name)
    _attach(event, "payload", payload)
    return event


def _event_leniently(payload: bytes, name: bytes | None) -> Event:
    try:
        fields = open_json(payload)
    except DecodeError as error:
        return InvalidEvent(error=error)
    type_ = fields.get("type")
    if not isinstance(type_, str):
        type_ = _type_of_untyped(fields, name)
    cls = EVENT_TYPES.get(type_)
    if cls is not None:
        try:
            return msgspec.convert({**fields, "type": type_}, cls)
        except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):  # the last: half a pair, refused
            pass
    return UnknownEvent(
        type=type_,
        sequence_number=_of_type(fields.get("sequence_number"), int),
        stream_id=_of_type(fields.get("stream_id"), str),
    )


def _type_of_untyped(fields: dict[str, Any], name: bytes | None) -> str:
    if isinstance(fields.get("error"), dict):
        return "error"
    return name.decode("utf-8", "replace") if name else "message"


def _of_type(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None
