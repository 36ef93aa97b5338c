"""Streams of other clients: what the official SDK yields, dicts, or raw SSE, recorded and shown as one's own.

Rules
1. What the other client yields is passed on unchanged; here it is only looked at. Its connection stays its own.
2. An event is any of: an event of ours, a dict, an object with `model_dump_json` (the SDK's), a server-sent event, or
   SSE text: lines (with or without their ends), or chunks of bytes; or the JSON text of a message of a WebSocket.
   Which of these: the first one decides.
3. What cannot be read as an event is kept in the capture as it came, and changes nothing.
4. The official SDK raises an error event instead of yielding it, and what follows it never comes. The error object that
   the exception holds is recorded as the event that it was.
"""

from __future__ import annotations

import inspect
import json
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from nbresponses.capture.record import Capture
from nbresponses.client.inbox import Inbox, News
from nbresponses.client.stream import ResponseStream
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.sse import ServerSentEvent
from nbresponses.core.wire import Event, InvalidEvent
from nbresponses.errors import DecodeError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbresponses.core.response import Response

__all__ = ["Recording", "as_openai", "feed_async", "is_stream", "watch"]

T = TypeVar("T")

_TERMINAL = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})
_ADDED = frozenset({"snapshot", "parsed"})  # by the SDK's helpers, never sent


def is_stream(value: Any) -> bool:
    """Whether it can be iterated for events, by `for` or `async for`. A text, bytes, a dict or a model cannot."""
    if isinstance(value, (str, bytes, bytearray, dict)) or hasattr(value, "model_dump_json"):
        return False
    return hasattr(value, "__aiter__") or hasattr(value, "__iter__")


def _checked(stream: Any) -> Any:
    """TypeError, with what helps, where there is no stream."""
    if is_stream(stream):
        return stream
    help_ = ""
    if inspect.isawaitable(stream):
        help_ = ": await it first"
    elif hasattr(stream, "model_dump_json"):
        help_ = ": was it asked for without stream=True?"
    elif hasattr(stream, "__enter__") or hasattr(stream, "__aenter__"):
        help_ = ": enter it first (with ... as stream)"
    if inspect.iscoroutine(stream):
        stream.close()  # nobody will await it
    raise TypeError(f"Capture.record() takes a stream, not {type(stream).__name__}{help_}")


class _Reader:
    """What another client yields → events. One for each stream."""

    def __init__(self) -> None:
        self._decoder = EventDecoder()
        self._form: str | None = None

    def events(self, given: Any) -> list[Event]:
        if isinstance(given, Event):
            return [given]
        if isinstance(given, (str, bytes, bytearray)):
            data = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else bytes(given)
            self._form = self._form or (_form_of(data) if data else None)
            if self._form == "messages":
                return [_event_in(data)]
            whole = self._form == "chunks" or data.endswith((b"\n", b"\r"))
            return self._decoder.feed(data if whole else data + b"\n")
        return [_event_of(given)]

    def finish(self) -> list[Event]:
        return self._decoder.finish()

    @property
    def remainder(self) -> bytes:
        return self._decoder.remainder


def _form_of(first: bytes) -> str:
    """What a text is one of, told by the first: "messages" (JSON), "chunks" or "lines" of an event stream."""
    if first.lstrip().startswith(b"{"):
        return "messages"
    if b"\n" in first.rstrip(b"\r\n"):
        return "chunks"
    name, colon, value = first.partition(b":")
    if not colon or name not in {b"", b"event", b"data", b"id", b"retry"}:
        return "lines" if first.endswith((b"\n", b"\r")) else "chunks"  # a line begins with the whole name of a field
    half = name == b"data" and value.lstrip().startswith(b"{") and isinstance(_event_in(value), InvalidEvent)
    return "chunks" if half else "lines"


def _event_in(message: bytes) -> Event:
    try:
        return decode_event(message)
    except DecodeError as error:
        return InvalidEvent(error=error)


def _event_of(given: Any) -> Event:
    try:
        if isinstance(given, ServerSentEvent):
            return decode_event(given)
        if hasattr(given, "model_dump_json"):
            given = json.loads(given.model_dump_json(by_alias=True, exclude_unset=True, warnings=False))
            given = {name: value for name, value in given.items() if name not in _ADDED}
        return decode_event(json.dumps(given, ensure_ascii=False, separators=(",", ":")))
    except DecodeError as error:
        return InvalidEvent(error=error)
    except (TypeError, ValueError) as error:
        return InvalidEvent(error=DecodeError(f"{type(given).__name__} is no event: {error}"))


def _raised_event(error: BaseException | None) -> Event | None:
    """The error event that the official SDK raised (rule 4)."""
    body = getattr(error, "body", None)
    if not type(error).__module__.startswith("openai") or not isinstance(body, dict):
        return None
    return _event_of({"type": "error", "error": body})


class _Record:
    """The capture and the snapshot of what another client yields."""

    def __init__(self, stream: Any) -> None:
        now = time.monotonic()
        self.capture = Capture(datetime.now(UTC), now, source=f"recorded from {type(stream).__name__}")
        self._reader = _Reader()
        self._accumulators: dict[str | None, Accumulator] = {}
        self._latest: str | None = None
        self._websocket = hasattr(stream, "recv")
        reply: Any = getattr(stream, "response", None)
        headers = getattr(reply, "headers", None)
        if headers is not None and hasattr(reply, "status_code"):
            request_id = headers.get("x-request-id")
            self.capture.noted("status", now, status=reply.status_code, request_id=request_id)

    def take(self, given: Any) -> list[Event]:
        return self._taken(self._reader.events(given))

    def _taken(self, events: list[Event]) -> list[Event]:
        at = time.monotonic()
        for event in events:
            lane = event.stream_id
            self.capture.received(
                [event],
                at,
                transport="websocket" if self._websocket else "sse",
                lane=lane if self._websocket else None,
            )
            accumulator = self._accumulators.get(lane)
            if accumulator is None or (accumulator.ending is not None and event.type == "response.created"):
                accumulator = self._accumulators[lane] = Accumulator()
            accumulator.apply(event)
            self._latest = lane
        return events

    def finish(self, ending: str = "cut_off", error: BaseException | None = None) -> list[Event]:
        raised = _raised_event(error)
        left = self._taken([*self._reader.finish(), *([raised] if raised is not None else [])])
        at = time.monotonic()
        if self._reader.remainder:
            self.capture.remainder(self._reader.remainder, at)
        for accumulator in self._accumulators.values():
            accumulator.finish(ending)
        ended = self._accumulators.get(self._latest)
        text = None if error is None else f"{type(error).__name__}: {error}"
        self.capture.noted("ended", at, ending=ended.ending if ended is not None else ending, error=text)
        return left

    def response(self, lane: str | None = None) -> Response:
        accumulator = self._accumulators.get(self._latest if lane is None else lane) or Accumulator()
        return accumulator.response


class Recording(Generic[T]):
    """Another client's stream, recorded as it is iterated (`for` or `async for`). Yields what that client yields.

    `capture` has the messages, `response` what they add up to so far. Made by `Capture.record(stream)`.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = _checked(stream)
        self._record = _Record(stream)
        self._iterator: Any = None
        self._finished = False

    @property
    def capture(self) -> Capture:
        """The record, which grows as the stream is read."""
        return self._record.capture

    @property
    def response(self) -> Response:
        """The response so far; over a WebSocket the one that the latest event belongs to."""
        return self._record.response()

    def lane(self, stream_id: str) -> Response:
        """The latest response of a lane."""
        return self._record.response(stream_id)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        self._iterator = self._iterator if self._iterator is not None else iter(self._stream)
        try:
            given: T = next(self._iterator)
        except BaseException as error:
            self._finish(error)
            raise
        self._record.take(given)
        return given

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        self._iterator = self._iterator if self._iterator is not None else aiter(self._stream)
        try:
            given: T = await anext(self._iterator)
        except BaseException as error:
            self._finish(error)
            raise
        self._record.take(given)
        return given

    def until_done(self) -> Self:
        """Iterates what is left, and returns the recording."""
        for _ in self:
            pass
        return self

    def close(self) -> None:
        """The end of the record, where the iteration was left early. The other client's stream is its own affair."""
        self._finish(GeneratorExit())

    def _finish(self, error: BaseException) -> None:
        if self._finished:
            return
        self._finished = True
        stopped = isinstance(error, (KeyboardInterrupt, GeneratorExit))
        clean = stopped or isinstance(error, (StopIteration, StopAsyncIteration))
        self._record.finish("interrupted" if stopped else "cut_off", None if clean else error)

    def __repr__(self) -> str:
        return f"<Recording {self.response!r}>"


# ── To look at while it runs ─────────────────────────────────────────────────────────────────────────────────────────


class _Feed:
    """Another client's stream → a `ResponseStream`, which views follow. Ends with the first response's end."""

    def __init__(self, stream: Any) -> None:
        self._source = stream
        self._record = _Record(stream)
        news = News()
        self._inbox = Inbox(news.tell)
        self._inbox.sent(time.monotonic())
        self._inbox.open(None)
        self.stopped = False
        self.stream = ResponseStream(self._inbox, news, request={}, capture=self._record.capture, stop=self._stop)

    def put(self, given: Any) -> bool:
        """Pass on what was yielded; True if the response has ended with it."""
        return self._passed(self._record.take(given))

    def _passed(self, events: list[Event]) -> bool:
        at = time.monotonic()
        self._inbox.byte(at)
        last = next((event.sequence_number for event in reversed(events) if event.sequence_number is not None), None)
        self._inbox.last_sequence_number = last if last is not None else self._inbox.last_sequence_number
        self._inbox.put(events, at)
        return any(event.type in _TERMINAL for event in events)

    def end(self, error: BaseException | None = None) -> None:
        ending = "interrupted" if self.stopped else "cut_off"
        error = None if self.stopped else error
        if not self._inbox.finished:
            self._passed(self._record.finish(ending, error))
            self._inbox.finish(time.monotonic(), error=error, ending=ending)

    def _stop(self, _ending: str) -> None:
        self.stopped = True
        close = getattr(self._source, "close", None)
        if close is not None:
            with suppress(Exception):  # whatever another client makes of it
                closing = close()
                if hasattr(closing, "close"):
                    closing.close()  # a coroutine: its loop is not here
        self.end()


def watch(stream: Any) -> ResponseStream:
    """Another client's synchronous stream, read in a thread, as a stream of ours: views follow and end it."""
    feed = _Feed(stream)

    def run() -> None:
        error: BaseException | None = None
        try:
            for given in stream:
                if feed.stopped or feed.put(given):
                    break
        except Exception as failure:
            error = failure
        feed.end(error)

    threading.Thread(target=run, name="nbresponses-foreign", daemon=True).start()
    return feed.stream


def feed_async(stream: Any) -> tuple[ResponseStream, Any]:
    """The same of an asynchronous stream: a stream of ours, and the coroutine that fills it in the running loop."""
    feed = _Feed(stream)

    async def run() -> None:
        try:
            async for given in stream:
                if feed.stopped or feed.put(given):
                    break
        except Exception as failure:
            feed.end(failure)
        except BaseException:
            feed.stopped = True
            raise
        finally:
            feed.end()

    return feed.stream, run()


def as_openai(event: Event) -> Any:
    """The event as the official SDK's class for its type. MissingExtra where the package is not installed."""
    try:
        from openai._models import construct_type  # what its own streams use: lenient, as the wire needs it
        from openai.types.responses import ResponseStreamEvent
    except ImportError:
        raise MissingExtra("openai", "openai") from None

    return construct_type(value=event.to_dict(), type_=ResponseStreamEvent)
