"""One response: the request, its attempts, the answer's bytes → events in the inbox. Knows neither snapshot nor reader.

Rules
1. A terminal `response.*` event ends the stream at once; what comes after it is not read.
2. After an `error` event reading goes on until `response.failed`, the end of the stream, or 2 s.
3. A stream that ends otherwise is cut off, and the inbox's `error` says why.
4. Before the first event a failed attempt may be followed by another (`patience`). After it, only a response that the
   server keeps running (background, or one taken up by its id) is taken up again, after the last event seen: events
   that came before are dropped, a gap is noted.
5. Nothing raised here reaches the reader by itself: failures are put into the inbox.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbresponses.client.answer import body_kind, read_body, rejection, request_id_of
from nbresponses.client.patience import Limit, Stopped, Watch, pause_before_retry, persist
from nbresponses.client.secret import Secret
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.wire import InvalidEvent, open_json
from nbresponses.errors import Disconnected, NBResponsesError, ProtocolError, TimedOut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nbresponses.capture.record import Capture
    from nbresponses.client.inbox import Inbox
    from nbresponses.client.resume import Resume
    from nbresponses.core.wire import Event
    from nbresponses.transports.http import HttpCall, Reply, Transport
    from nbresponses.transports.timeouts import Timeouts

__all__ = ["Exchange"]

_TERMINAL = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})
_TYPE_OF_STATUS = {type_.removeprefix("response."): type_ for type_ in (*_TERMINAL, "response.queued")}
_END = 0.1  # seconds; a connection whose body does not end by then is closed
_AFTER_AN_ERROR = 2.0  # seconds in which response.failed may follow an error event


class Exchange:
    """`run` does everything and fills the inbox; `stop`, called in the same thread, ends it at once."""

    def __init__(
        self,
        call: HttpCall,
        *,
        connect: Callable[[], Awaitable[Transport]],
        inbox: Inbox,
        capture: Capture,
        timeouts: Timeouts,
        max_retries: int = 0,
        max_event_bytes: int = 64 * 1024 * 1024,
        resume: Resume | None = None,
        cursor: int | None = None,
        secret: Secret | None = None,
    ) -> None:
        self.inbox = inbox
        self.capture = capture
        self._call = call
        self._connect = connect
        self._max_retries = max_retries
        self._max_event_bytes = max_event_bytes
        self.body = {} if call.content is None else open_json(call.content)
        self._resume = resume
        self._cursor = cursor
        self._secret = secret if secret is not None else Secret()
        self._secrets: tuple[bytes, ...] = ()
        self._repeats_secret = False
        self._tail = b""
        self._watch = Watch(timeouts, call.url)
        self._stop_ending = "interrupted"
        self._reply: Reply | None = None
        self._latest: Event | None = None
        self._sent_at = 0.0
        self._piece_at: float | None = None  # when the latest bytes of this answer came
        self._error_at: float | None = None  # when an error event came
        self._queued_at: float | None = None  # since when the server says that it waits for its turn

    def stop(self, ending: str = "interrupted") -> None:
        self._stop_ending = ending
        self._watch.stop()

    async def run(self) -> None:
        error: BaseException | None = None
        ending = "cut_off"
        try:
            self._watch.begin()
            await persist(self._attempt, self._pause, self._watch)
        except Stopped:
            ending = self._stop_ending
        except asyncio.CancelledError:
            ending = self._stop_ending
            raise
        except Exception as failure:
            error = failure
        else:
            self.inbox.finish(time.monotonic())
            await self._reach_end()
        finally:
            await self._drop()
            self.inbox.finish(time.monotonic(), error=error, ending=ending)

    # ── attempts ──

    async def _attempt(self) -> None:
        await self._drop()
        self._sent_at = time.monotonic()
        self._piece_at = None
        self.inbox.sent(self._sent_at)
        if self._call.content is not None:
            clean = self._secret.scrub_bytes(self._call.content)
            self.capture.sent(self.body if clean == self._call.content else open_json(clean), self._sent_at)
        watch = self._watch
        sending = self._send()
        reply = self._reply = await watch.within(sending, watch.limit("first_byte", self._sent_at))
        request_id = request_id_of(reply.headers, scrub=self._secret.scrub)
        self.capture.noted("status", time.monotonic(), status=reply.status, request_id=request_id)
        if not 200 <= reply.status < 300:
            raise await rejection(reply, lambda: self._next_piece(reply), url=self._call.url, scrub=self._secret.scrub)
        self.inbox.open(request_id)
        self._secrets = tuple(value.encode() for value in self._secret.values())
        await self._read(reply)

    async def _send(self) -> Reply:
        transport = await self._connect()
        return await transport.send(self._call, connect=self._watch.timeouts.connect)

    def _pause(self, failure: NBResponsesError, attempt: int) -> float | None:
        """Seconds until the next attempt, which is made ready here; None if there is none."""
        if not self.inbox.began:
            pause = pause_before_retry(failure, attempt, max_retries=self._max_retries)
            if pause is not None:
                self._note("retry", f"retry {attempt} in {pause:.1f} s: {failure}", attempt=attempt, pause=pause)
            return pause
        last = self.inbox.last_sequence_number
        following = self._resume.after(failure, last) if self._resume is not None else None
        if following is None or last is None:
            return None
        pause, self._call = following
        self._cursor = last
        self._note("resumed", f"resumed at event {last + 1}: {failure}", starting_after=last, pause=pause)
        return pause

    async def _reach_end(self) -> None:
        """After the last event: the body's end mostly came with it, and reading it keeps the connection for later."""
        if self._reply is not None:
            with suppress(NBResponsesError, Stopped):
                await self._watch.within(self._reply.piece(), Limit(time.monotonic() + _END, "end", _END))

    async def _drop(self) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            await reply.aclose()

    def _note(self, kind: str, text: str, **facts: Any) -> None:
        self.inbox.note(text)
        self.capture.noted(kind, time.monotonic(), text=text, **facts)

    # ── the answer ──

    async def _read(self, reply: Reply) -> None:
        start = b""
        kind = None
        while kind is None and (piece := await self._next_piece(reply)):
            start += piece
            kind = body_kind(reply.headers, start, url=self._call.url)
        if kind == "json":
            body = await read_body(start, self._max_event_bytes, lambda: self._next_piece(reply))
            self._take_json(body)
        else:
            await self._read_stream(reply, start)

    async def _next_piece(self, reply: Reply) -> bytes:
        """The next bytes; b"" at the end, and when the time after an error event is over."""
        watch, now = self._watch, time.monotonic()
        awaited = watch.limit("idle", now) if self._piece_at is not None else watch.limit("first_byte", self._sent_at)
        after_error = None
        if self._error_at is not None:
            after_error = Limit(self._error_at + _AFTER_AN_ERROR, "error", _AFTER_AN_ERROR)
        queued = watch.limit("queued", self._queued_at) if self._queued_at is not None else None
        try:
            piece = await watch.within(reply.piece(), awaited, after_error, queued)
        except TimedOut as error:
            if error.phase == "error":
                return b""
            raise
        self._piece_at = time.monotonic()
        self.inbox.byte(self._piece_at)
        return self._without_secrets(piece)

    async def _read_stream(self, reply: Reply, piece: bytes) -> None:
        decoder = EventDecoder(self._max_event_bytes)
        failure: NBResponsesError | None = None
        try:
            while piece and not decoder.done:
                if self._take(decoder.feed(piece)):
                    return
                if not decoder.done:
                    piece = await self._next_piece(reply)
        except NBResponsesError as error:
            failure = error
        too_large = decoder.done and failure is None
        done = self._take(decoder.finish())
        if decoder.remainder:
            self.capture.remainder(decoder.remainder, time.monotonic())
        if done or self._error_at is not None:
            return
        raise failure or self._why_it_ended(by_decoder=too_large)

    def _why_it_ended(self, *, by_decoder: bool) -> NBResponsesError:
        """The failure of a stream that ended cleanly but without a terminal event."""
        if by_decoder and isinstance(self._latest, InvalidEvent) and self._latest.error is not None:
            return self._latest.error
        if not self.inbox.began:
            return ProtocolError(f"{self._call.url} ended its answer before the first event")
        return Disconnected("the stream ended without a terminal event", url=self._call.url)

    def _take_json(self, body: bytes) -> None:
        """An answer that is no stream, but a response or an error. It goes on as the one event that says the same."""
        fields = open_json(body)
        status = fields.get("status")
        if fields.get("object") == "response" or "output" in fields:
            type_ = _TYPE_OF_STATUS.get(str(status), "response.in_progress")
            if self.inbox.began and type_ not in _TERMINAL:
                raise Disconnected(f"the response is {status}, and there is no stream of it", url=self._call.url)
            body = b'{"type":"%s","response":%s}' % (type_.encode(), body)
        elif not fields.get("error"):
            raise ProtocolError(f"{self._call.url} answered with JSON that is neither a response nor an error")
        self._note("status", "the server answered with JSON, not with a stream")
        if not self._take([decode_event(body)]) and self._error_at is None:
            raise ProtocolError(f"the server gave the response as it is now (status {status!r}), and no stream of it")

    # ── events ──

    def _take(self, events: list[Event]) -> bool:
        """Passes events on; True if one of them is terminal."""
        if not events:
            return False
        at = self._piece_at if self._piece_at is not None else time.monotonic()
        if self._repeats_secret:
            events = [self._cleaned(event) for event in events]
        if self._cursor is not None:
            events = self._after_cursor(events, self._cursor)
        ended = False
        for place, event in enumerate(events):
            if event.type in _TERMINAL:
                ended = True
                if place + 1 < len(events):
                    self._note("ignored", f"{len(events) - place - 1} events after {event.type} were not read")
                    events = events[: place + 1]
                break
            if event.type == "error" and self._error_at is None:
                self._error_at = at
        self._remember(events)
        self.capture.received(events, at)
        self.inbox.put(events, at)
        return ended

    def _without_secrets(self, piece: bytes) -> bytes:
        """A server that repeats the key would carry it into captures and outputs.

        Where the key stands across two pieces, the event that has it whole is cleaned (`_cleaned`).
        """
        if not self._secrets:
            return piece
        if not self._repeats_secret:
            seen = self._tail + piece
            self._repeats_secret = any(secret in seen for secret in self._secrets)
            self._tail = seen[-max(map(len, self._secrets)) :]
        return self._secret.scrub_bytes(piece) if self._repeats_secret else piece

    def _cleaned(self, event: Event) -> Event:
        payload = self._secret.scrub_bytes(event.payload)
        return event if payload == event.payload else decode_event(payload)

    def _after_cursor(self, events: list[Event], cursor: int) -> list[Event]:
        """Without the events that were seen before the resume; a gap after them is noted once."""
        fresh = [event for event in events if event.sequence_number is None or event.sequence_number > cursor]
        first = next((event.sequence_number for event in fresh if event.sequence_number is not None), None)
        if first is not None:
            self._cursor = None
            if first > cursor + 1:
                self._note("gap", f"events {cursor + 1} to {first - 1} are missing", after=cursor, before=first)
        return fresh

    def _remember(self, events: list[Event]) -> None:
        if not events:
            return
        self._latest = events[-1]
        if any(event.type != "keepalive" for event in events):
            waits = _is_queued(self._latest)
            self._queued_at = (self._queued_at or time.monotonic()) if waits else None
        if self._resume is not None:
            self._resume.progress()
            self._resume.response_id = self._resume.response_id or _response_id_in(events)
        last = next((event.sequence_number for event in reversed(events) if event.sequence_number is not None), None)
        if last is not None:
            self.inbox.last_sequence_number = last


def _is_queued(event: Event) -> bool:
    """Whether the server has only said so far that the response waits for its turn."""
    if event.type not in {"response.created", "response.queued"}:
        return False
    response = getattr(event, "response", None)
    return isinstance(response, dict) and response.get("status") == "queued"


def _response_id_in(events: list[Event]) -> str | None:
    for event in events:
        response = getattr(event, "response", None)
        if isinstance(response, dict) and isinstance(response.get("id"), str):
            return str(response["id"])
    return None
