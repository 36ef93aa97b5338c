"""The record of a stream: every message with its time, in columns. Never holds a header or a key, never asks a clock.

Messages are kept as they came (`payload` is the very bytes object that the event holds, not a copy) and are decoded
again on demand, so keeping a stream costs little more than its text: beside the payload 8 bytes for the time, 8 for the
reference and 4 for the channel (direction, kind, transport, lane, event name), of which a stream has a handful.

One thread writes (the loop's), others may read at any moment: a message is in all columns before it is counted, and
readers look no further than the count.
"""

from __future__ import annotations

from array import array
from collections import Counter
from contextlib import suppress
from operator import methodcaller
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, overload

from nbresponses.capture.asked import FrameMethods, make_frame
from nbresponses.capture.files import CaptureHeader, CaptureReader, CaptureWriter, save_messages
from nbresponses.capture.filling import Filling
from nbresponses.capture.masking import echoes, masked, without_echoes
from nbresponses.capture.messages import LONGEST, Channel, Columns, Message, dump_json
from nbresponses.core.decode import decode_kept
from nbresponses.core.wire import InvalidEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from os import PathLike
    from types import EllipsisType

    from pandas import DataFrame

    from nbresponses.capture.dataset import Written
    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.media import CapturedImage
    from nbresponses.capture.redaction import Redaction
    from nbresponses.client.foreign import Recording
    from nbresponses.client.stream import ResponseStream
    from nbresponses.core.wire import Event

__all__ = ["Capture"]

T = TypeVar("T")

# Where the type is plain to see, the event name adds nothing.
_begins_with_type = methodcaller("startswith", (b'{"type":"', b'{"type": "'))
_ENDINGS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "error": "error",
}
_LAST = 100  # messages that are searched for a terminal event


class Capture(FrameMethods):
    """Everything that was sent and received, with times. A sequence of `Message`, oldest first.

    `started` is the wall time (aware, UTC) at the moment when the monotonic clock read `origin`; the `at` that the
    writing methods take is a reading of that clock, the `at` of a message is in seconds since `started`. `source` says
    where it comes from, for people.
    """

    __slots__ = (
        *("started", "origin", "source", "truncated"),
        *("_channels", "_codes", "_count", "_numbers", "_payloads", "_times"),
        *("_tee", "_teed", "_tee_lock", "_secrets", "_filling"),
    )

    def __init__(self, started: datetime, origin: float = 0.0, source: str = "") -> None:
        if started.tzinfo is None:
            raise ValueError("started: an aware datetime is needed, such as datetime.now(UTC)")
        self.started = started
        self.origin = origin
        self.source = source
        self.truncated = False
        """True if the file this was loaded from ended in the middle of a message (a crash)."""
        self._times = array("d")
        self._codes = array("I")
        self._payloads: list[bytes] = []
        self._channels: list[Channel] = []
        self._numbers: dict[Channel, int] = {}
        self._count = 0
        self._tee: CaptureWriter | None = None
        self._teed = 0
        self._tee_lock = RLock()
        self._secrets: frozenset[bytes] = frozenset()  # only to be recognised where a server repeats them; never kept
        self._filling = Filling()

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def received(self, events: Sequence[Event], at: float, *, transport: str = "sse", lane: str | None = None) -> None:
        """Events that came in one piece, at one time. Their payloads are kept, not copied."""
        payloads = [event.payload for event in events]
        plain = Channel("in", "event", transport, lane, None)
        if self._secrets:
            payloads = [without_echoes(payload, self._secrets) for payload in payloads]
        if all(map(_begins_with_type, payloads)):
            codes = [self._number(plain)] * len(payloads)
        else:
            rows = [_row(event, payload, plain) for event, payload in zip(events, payloads, strict=True)]
            payloads = [payload for payload, _ in rows]
            codes = [self._number(channel) for _, channel in rows]
        self._add(payloads, [self._since_start(at)] * len(payloads), codes)

    def sent(self, message: Mapping[str, Any], at: float, *, transport: str = "http", lane: str | None = None) -> None:
        """A request body or message. Fields that hold secrets are masked; headers and keys have no way in here."""
        found: set[str] = set()
        body = masked(message, found)
        self._secrets |= echoes(found)
        self._add_one(dump_json(body), at, Channel("out", "request", transport, lane, None))

    def remainder(self, data: bytes, at: float, *, transport: str = "sse", lane: str | None = None) -> None:
        """The bytes of a last block that was cut in mid-JSON: kept, and no event."""
        self._add_one(bytes(data), at, Channel("in", "remainder", transport, lane, None))

    def noted(self, kind: str, at: float, *, transport: str = "http", lane: str | None = None, **facts: object) -> None:
        """Something that happened: "status", "retry", "resumed", "opened", "closed", "ended" … with JSON-able facts."""
        self._add_one(dump_json(masked(facts)), at, Channel("note", kind, transport, lane, None))

    def add(self, messages: Sequence[Message]) -> None:
        """Messages of another capture, as they are. ValueError for an `at` that is no number of seconds."""
        odd = next((message for message in messages if not -LONGEST < message.at < LONGEST), None)
        if odd is not None:
            raise ValueError(f"at: {odd.at} is no number of seconds since the start")
        codes = [self._number(Channel(m.direction, m.kind, m.transport, m.lane, m.name)) for m in messages]
        self._add([message.payload for message in messages], [message.at for message in messages], codes)

    def _add_one(self, payload: bytes, at: float, channel: Channel) -> None:
        self._add([payload], [self._since_start(at)], [self._number(channel)])

    def _since_start(self, at: float) -> float:
        seconds = at - self.origin
        if not -LONGEST < seconds < LONGEST:  # nor NaN, which no file could hold
            raise ValueError(f"at: {at} is no time, in seconds, of the clock that stood at {self.origin} at the start")
        return seconds

    def _add(self, payloads: list[bytes], times: list[float], codes: list[int]) -> None:
        self._payloads += payloads
        self._times.extend(times)
        self._codes.extend(codes)
        self._count += len(payloads)  # last: from here on readers see them
        if self._tee is not None:
            self._write_tee()
        if self._count >= self._filling.due:
            self._filling.while_streaming(self)

    def _number(self, channel: Channel) -> int:
        number = self._numbers.get(channel)
        if number is None:
            self._channels.append(channel)
            number = self._numbers[channel] = len(self._channels) - 1
        return number

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Message]:
        index = 0
        while index < self._count:
            yield self._message(index)
            index += 1

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        wanted = range(self._count)[index]  # IndexError as for any sequence
        return [self._message(each) for each in wanted] if isinstance(wanted, range) else self._message(wanted)

    def _message(self, index: int) -> Message:
        channel = self._channels[self._codes[index]]
        return Message(self._times[index], *channel, self._payloads[index])

    def __eq__(self, other: object) -> bool:
        """Same start, source and messages. What is being written elsewhere (`tee`) doesn't count."""
        if not isinstance(other, Capture):
            return NotImplemented
        return (self.started, self.source, len(self)) == (other.started, other.source, len(other)) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=False)
        )

    __hash__ = None  # type: ignore[assignment]  # it grows

    @property
    def duration(self) -> float:
        """Seconds from the start to the latest message; 0 for an empty capture."""
        return max(self._times[: self._count], default=0.0)

    @property
    def ending(self) -> str | None:
        """How the stream that ended last ended: as it was noted, else by its terminal event. None if neither came."""
        for index in range(self._count - 1, -1, -1):
            message = self._message(index)
            if message.kind == "ended" and message.direction == "note":
                return message.facts().get("ending")
            if message.kind == "event" and self._count - index <= _LAST:
                ending = _ENDINGS.get(decode_kept(message.payload, message.name).type)
                if ending:
                    return ending
        return None

    def columns(self, first: int = 0, end: int | None = None) -> Columns:
        """Messages as columns, all of them or a part: what frames are made from. A copy; it doesn't grow."""
        part = slice(first, self._count if end is None else end)
        return Columns(self.started, self._times[part], self._codes[part], self._payloads[part], list(self._channels))

    def __repr__(self) -> str:
        numbers: Counter[str] = Counter()
        for code, number in Counter(self._codes[: self._count]).items():
            numbers[self._channels[code].direction] += number
        kept = f"{numbers['in']} received, {numbers['out']} sent, {numbers['note']} noted"
        ending = self.ending or "no ending"
        return f"<Capture: {kept}; {ending}; {self.duration:.3f} s{'; truncated' if self.truncated else ''}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002  as IPython calls it
        from nbresponses.capture.report import to_text

        printer.text(to_text(self))

    def _repr_html_(self) -> str:
        from nbresponses.capture.report import to_html

        return to_html(self)

    # ── Files and copies ─────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to `path` as JSON lines (gzip for `.gz`). A file that is there is replaced, at the end."""
        save_messages(path, CaptureHeader(self.started, self.source), self)

    @classmethod
    def load(cls, path: str | PathLike[str], *, progress: Callable[[int], object] | None = None) -> Capture:
        """Read a file that `save` or `tee` wrote. Raises CaptureError (file, line), or OSError as `open` does.

        A last line that was cut off by a crash is left out, and `truncated` says so. `progress` is called with the
        number of bytes that were read since its last call.
        """
        told = 0
        with CaptureReader(path) as reader:
            capture = cls(reader.header.started, source=reader.header.source)
            for messages in reader.batches():
                capture.add(messages)
                if progress is not None:
                    progress(reader.position - told)
                    told = reader.position
            capture.truncated = reader.truncated
        return capture

    def tee(self, path: str | PathLike[str], *, append: bool = False) -> None:
        """Write to `path` as well, from now on as it happens; what is there already is written first.

        A file that exists is replaced, or continued with `append`. One file at a time. If it cannot be written later
        on (a full disk), that is noted ("tee_failed") and the stream goes on.
        """
        self.close()
        writer = CaptureWriter(path, CaptureHeader(self.started, self.source), append=append)
        with self._tee_lock:
            self._tee, self._teed = writer, 0
            self._write_tee()

    def close(self) -> None:
        """End the live writing, if there is any. The capture itself stays as it is."""
        with self._tee_lock:
            writer, self._tee = self._tee, None
            if writer is not None:
                writer.close()

    def _write_tee(self) -> None:
        with self._tee_lock:
            first, self._teed = self._teed, self._count
            if self._tee is None or first == self._teed:
                return
            try:
                self._tee.write(self[first : self._teed])
            except OSError as error:
                with suppress(OSError):
                    self.close()
                at = self._times[self._count - 1] + self.origin
                self.noted("tee_failed", at, reason=f"{type(error).__name__}: {error}")

    def __getstate__(self) -> dict[str, Any]:
        times, codes, payloads, channels = self.columns()[1:]
        return {
            "started": self.started, "origin": self.origin, "source": self.source, "truncated": self.truncated,
            "times": times, "codes": codes, "payloads": payloads, "channels": channels,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["started"], state["origin"], state["source"])  # type: ignore[misc]
        self.truncated = state["truncated"]
        self._times, self._codes, self._payloads = state["times"], state["codes"], state["payloads"]
        self._count = len(self._payloads)
        for channel in state["channels"]:
            self._number(channel)

    # ── What can be asked of it ──────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def record(stream: Any) -> Recording[Any]:
        """Another client's stream (the `openai` package's, an iterable of dicts or SSE lines), recorded as it is read.

        Iterate the recording instead of the stream: it yields the same objects. `.capture` and `.response` grow.
        """
        from nbresponses.client.foreign import Recording

        return Recording(stream)

    def replay(self, speed: float | None = 1.0) -> ResponseStream:
        """The same stream again, at `speed` times its pace (None: without waiting), through the path of a live one."""
        from nbresponses.client.replay import replay

        return replay(self, speed)

    def images(self, *, previews: bool = False) -> list[CapturedImage]:
        """The pictures that came, as bytes (`.data`) or for Pillow (`.to_pil()`); with `previews` partial ones too."""
        from nbresponses.capture.media import images_in

        return images_in(self, self.started, previews=previews)

    def redacted(self, redaction: Redaction | None = None) -> Capture:
        """A copy for sharing: texts, names and ids replaced; shapes, sizes and times kept. See redaction.py.

        With the same `redaction` the same ids become the same others in several captures.
        """
        from nbresponses.capture.redaction import Redaction

        redaction = redaction or Redaction()
        copy = Capture(self.started, source="redacted")
        copy.truncated = self.truncated
        copy.add([redaction.message(message) for message in self])
        return copy

    def select(self, *, lane: str | EllipsisType | None = ..., response_id: str | None = None) -> Capture:
        """A copy that holds the messages of one lane only (None: of the default lane), or those of one response.

        A response's messages are its events and the request that asked for it.
        """
        copy = Capture(self.started, self.origin, self.source)
        chosen: Iterable[Message] = self
        if response_id is not None:
            from nbresponses.capture.turns import messages_of

            chosen = map(self._message, self.with_columns(lambda events: messages_of(events, response_id)))
        copy.add([message for message in chosen if lane is ... or message.lane == lane])
        return copy

    def to_parquet(
        self, folder: str | PathLike[str], *, frames: Iterable[str] | None = None, payload: bool = False
    ) -> Written:
        """Write the frames (None: all) into a Parquet dataset, by date and model. `payload` keeps the JSON texts too.

        What this capture has there already, by its source, is replaced. `scan(folder)` reads it.
        """
        return self._to_parquet(folder, self.source, frames, payload=payload)

    def _to_parquet(
        self, folder: str | PathLike[str], source: str, frames: Iterable[str] | None, *, payload: bool
    ) -> Written:
        from nbresponses.capture.dataset import write_columns

        with self._filling.lock:
            events = self._filling.up_to_date(self)
            payloads = self._event_payloads(self._filling.count) if payload else None
            return write_columns(events, folder, source=source, frames=frames, payloads=payloads)

    def with_columns(self, make: Callable[[EventColumns], T]) -> T:
        """What `make` gives for the columns that frames are made from; they don't grow meanwhile."""
        with self._filling.lock:
            return make(self._filling.up_to_date(self))

    def _frame(self, name: str, **options: Any) -> DataFrame:
        with self._filling.lock:
            events = self._filling.up_to_date(self)
            if options.pop("payload", False):
                options["payloads"] = self._event_payloads(self._filling.count)
            return make_frame(name, events, **options)

    def forget_columns(self) -> None:
        """Free the room that the columns for frames take. The next frame reads everything anew."""
        self._filling.forget()

    def _event_payloads(self, end: int) -> list[bytes]:
        from nbresponses.capture.event_columns import batches

        return [payload for batch in batches(self.columns(0, end)) for payload in batch.payloads]


def _row(event: Event, payload: bytes, plain: Channel) -> tuple[bytes, Channel]:
    """Payload and channel of an event whose payload doesn't begin with its type."""
    if isinstance(event, InvalidEvent):
        if payload:
            return payload, plain
        facts = {"reason": event.error.reason, "bytes": event.error.length} if event.error else {}
        return dump_json(facts), plain._replace(kind="too_large")
    if not payload:  # made by hand
        return dump_json(event.to_dict()), plain
    named = decode_kept(payload).type != event.type
    return payload, plain._replace(name=event.type) if named else plain
