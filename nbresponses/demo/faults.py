"""What can go wrong, as data: a fault is a value, and the bytes of a stream are damaged as it says. Pure.

A fault is written as names with values, `cut_at:5,crlf` (a name alone is true), or as a JSON object. A server takes
one for every request (`DemoServer(fault=...)`), a request one for itself (`metadata: {"demo_fault": ...}`).
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.core.sse import encode_sse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses.demo.wire import Json

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_INDEXES = ("output_index", "content_index", "summary_index")


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with an answer; nothing, as it is. Times are in seconds, places are counted in events.

    `DemoServer(fault="cut_at:5,crlf")`, or `metadata={"demo_fault": "cut_at:5"}` for one request. `delay`, `first_byte`
    and `times` say how long and how often. `status`, `body`, `retry_after` and `redirect` make an answer of another
    kind; `cut_at`, `cut_in_line`, `stall_at`, `no_terminal`, `stay_open` and `done` another end; `keepalive`,
    `keepalive_every`, `no_event_lines`, `crlf`, `gzip` and `chunks` another form of the stream; `rotate_ids`,
    `no_indexes`, `no_sequence_numbers` and `empty_output` other events. Only on a WebSocket: `close_at`, `close_code`,
    `drop_stream_id`, `duplicate_at`, `oversize_at` and `oversize`.
    """

    # how long, how often
    delay: float | None = None  # seconds between events
    first_byte: float = 0.0  # seconds before anything is answered
    times: int | None = None  # so many requests are hit, the rest is served as if there were no fault
    # instead of the answer
    status: int | None = None
    body: str = "json"  # of an error: json, flat, html, text or empty
    retry_after: str | None = None
    redirect: str | None = None  # where to
    # the end of the stream
    cut_at: int | None = None  # the connection breaks after so many events
    cut_in_line: int | None = None  # the same, and half of the next event is sent
    stall_at: int | None = None  # nothing comes after so many events, and the connection stays
    no_terminal: bool = False  # a clean end without the terminal event
    stay_open: bool = False  # nothing comes after the terminal event, and the connection stays
    done: bool = False  # `data: [DONE]` at the end
    # the shape of the stream
    keepalive: str = ""  # comment, event or both
    keepalive_every: int = 3  # events
    no_event_lines: bool = False
    crlf: bool = False
    gzip: bool = False
    chunks: str = ""  # `one` (all events in one chunk), or a number of bytes
    # the events themselves
    rotate_ids: bool = False
    no_indexes: bool = False
    no_sequence_numbers: bool = False
    empty_output: bool = False
    # on a WebSocket
    close_at: int | None = None  # the connection is closed after so many messages
    close_code: int = 1011
    drop_stream_id: bool = False
    duplicate_at: int | None = None  # this message is sent twice
    oversize_at: int | None = None  # this message grows to `oversize` bytes
    oversize: int = 2 << 20

    @classmethod
    def parse(cls, given: str | Mapping[str, Any] | Fault | None) -> Fault:
        """A fault from its text, a mapping or a JSON object; ValueError says which names there are."""
        if given is None or isinstance(given, Fault):
            return given or cls()
        if isinstance(given, str):
            given = (
                json.loads(given) if given.lstrip().startswith("{") else dict(_pair(part) for part in given.split(","))
            )
        return cls(**{name.strip(): _read(name.strip(), value) for name, value in given.items()})


def _pair(part: str) -> tuple[str, Any]:
    name, colon, value = part.strip().partition(":")
    return name, value if colon else True


def _read(name: str, value: Any) -> Any:
    kinds = {field.name: str(field.type).partition(" ")[0] for field in fields(Fault)}
    if name not in kinds:
        raise ValueError(f"{name!r} is no fault; there are: {', '.join(kinds)}.")
    if kinds[name] == "bool":
        return value if isinstance(value, bool) else str(value).lower() in {"1", "true", "yes"}
    if value is True:
        raise ValueError(f"The fault {name!r} needs a value: {name}:VALUE.")
    convert: Callable[[Any], Any] = {"int": int, "float": float, "str": str}[kinds[name]]
    try:
        return convert(value)
    except ValueError:
        raise ValueError(f"The fault {name!r} needs {kinds[name]}, not {value!r}.") from None


def altered(event: Json, fault: Fault) -> Json:
    """The event as a server with this fault sends it; the event itself stays as it is."""
    if fault.rotate_ids:
        event = _rotated(event)
    if fault.no_indexes:
        event = {key: value for key, value in event.items() if key not in _INDEXES}
    if fault.drop_stream_id:
        event = {key: value for key, value in event.items() if key != "stream_id"}
    if fault.no_sequence_numbers:
        event = {key: value for key, value in event.items() if key != "sequence_number"}
    if fault.empty_output and event["type"] in TERMINAL:
        event = {**event, "response": {**event["response"], "output": []}}
    return event


def _rotated(event: Json) -> Json:
    event = {**event, "item_id": secrets.token_hex(16)} if "item_id" in event else dict(event)
    for holder in ("item", "response"):
        if holder in event:
            event[holder] = {**event[holder], "id": secrets.token_hex(16)}
    if "output" in event.get("response", {}):
        output = [{**item, "id": secrets.token_hex(16)} for item in event["response"]["output"]]
        event["response"] = {**event["response"], "output": output}
    return event


class StreamWriter:
    """Events -> the chunks of an event stream, damaged as the fault says.

    `cut` is true once the connection is to break, `stalled` once nothing may follow.
    """

    def __init__(self, fault: Fault) -> None:
        self.cut = False
        self.stalled = False
        self._fault = fault
        self._count = 0
        self._shift = 0  # keepalive events take sequence numbers of their own
        self._held: list[bytes] = []

    def write(self, event: Json) -> list[bytes]:
        fault = self._fault
        if self._count in {fault.cut_at, fault.stall_at}:
            self.cut = self._count == fault.cut_at
            self.stalled = not self.cut
            return self._chunks(b"", last=True)
        if fault.no_terminal and event["type"] in TERMINAL:
            return []
        alive = self._keepalive(event)
        if self._shift:
            event = {**event, "sequence_number": event["sequence_number"] + self._shift}
        block = self._block(altered(event, fault))
        if self._count == fault.cut_in_line:
            self.cut = True
            return self._chunks(alive + block[: len(block) // 2], last=True)
        self._count += 1
        return self._chunks(alive + block)

    def finish(self) -> list[bytes]:
        end = encode_sse("[DONE]") if self._fault.done else b""
        return self._chunks(self._lines(end), last=True)

    def _block(self, event: Json) -> bytes:
        name = None if self._fault.no_event_lines else event["type"]
        return self._lines(encode_sse(msgspec.json.encode(event), event=name))

    def _lines(self, block: bytes) -> bytes:
        # The JSON has no line breaks of its own, so every one of these ends a line of the stream.
        return block.replace(b"\n", b"\r\n") if self._fault.crlf else block

    def _keepalive(self, event: Json) -> bytes:
        kind = self._fault.keepalive
        if not kind or self._count % self._fault.keepalive_every:
            return b""
        sent = self._lines(b": keepalive\n\n") if kind in {"comment", "both"} else b""
        if kind in {"event", "both"}:
            number = event["sequence_number"] + self._shift
            self._shift += 1
            sent += self._block({"type": "keepalive", "sequence_number": number})
        return sent

    def _chunks(self, data: bytes, *, last: bool = False) -> list[bytes]:
        if self._fault.chunks == "one":
            self._held.append(data)
            return [b"".join(self._held)] if last else []
        if not data:
            return []
        size = int(self._fault.chunks or 0) or len(data)
        return [data[start : start + size] for start in range(0, len(data), size)]


class MessageWriter:
    """Events -> the events that a WebSocket carries, one a message, damaged as the fault says.

    `closed` is true once the connection is to be closed, `stalled` once nothing may follow.
    """

    def __init__(self, fault: Fault) -> None:
        self.closed = False
        self.stalled = False
        self._fault = fault
        self._count = 0

    def write(self, event: Json) -> list[Json]:
        fault = self._fault
        if self._over():
            return []
        if fault.no_terminal and event["type"] in TERMINAL:
            return []
        event = altered(event, fault)
        if self._count == fault.oversize_at:
            event = {**event, "obfuscation": "x" * fault.oversize}
        events = [event, event] if self._count == fault.duplicate_at else [event]
        self._count += 1
        self._over()
        return events

    def _over(self) -> bool:
        self.closed = self._count == self._fault.close_at
        self.stalled = self._count == self._fault.stall_at
        return self.closed or self.stalled
