"""Carries out what the lane table says: opens sockets, writes, reads, keeps the one timer. Decides nothing itself.

Everything here runs in one event loop. Inputs go to the table, and the actions it answers with are carried out at once
and in order (`feed`); what takes time is a task, and what comes of it is the next input. So the table is never in the
middle of anything when somebody asks it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from nbresponses.core.decode import decode_kept
from nbresponses.core.lanes.actions import (
    Accepted,
    Action,
    Close,
    Deliver,
    Ended,
    Notice,
    Open,
    Record,
    Refuse,
    Repeated,
    Report,
    Send,
    Started,
    Steering,
    Wake,
)
from nbresponses.errors import Disconnected, LaneError, NBResponsesError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nbresponses.capture.record import Capture
    from nbresponses.client.inbox import Inbox
    from nbresponses.core.lanes.actions import LaneRequest
    from nbresponses.core.lanes.table import LaneTable
    from nbresponses.core.wire import Event

__all__ = ["LaneDriver", "Link", "Steer", "Ticket", "event_of"]

_ENDED_KEPT = 64  # requests that are over, but for which a late event may still come


class Link(Protocol):
    """What carries the frames of one generation: a WebSocket, or what stands in for it."""

    transport: str

    async def send(self, message: dict[str, Any], ticket: int | None) -> None: ...

    async def receive(self) -> Event: ...

    async def close(self, code: int, reason: str) -> None: ...


@dataclass(slots=True)
class Ticket:
    """One request as its stream sees it."""

    lane: str | None
    inbox: Inbox
    capture: Capture
    news: Any
    """What the reader waits on."""
    sent: dict[str, Any] = field(default_factory=dict)
    stop: Callable[[str], None] = lambda _ending: None


@dataclass(slots=True)
class Steer:
    """A steering message: `number` counts those of a connection, `id` is the server's name for it.

    `state` is held, sent, accepted, pending, committed, failed or lost; the last three stay.

    `required_input` holds the stubs that a pending one waits for, `error` says why one failed, `input` gives the text
    of a failed or lost one back.
    """

    number: int
    state: str = "held"
    id: str | None = None
    required_input: tuple[dict[str, Any], ...] = ()
    error: dict[str, Any] | None = None
    input: Any = None


@dataclass(slots=True)
class _Line:
    """A generation: what waits to be written, and who reads and writes."""

    outbox: deque[Send] = field(default_factory=deque)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    link: Link | None = None
    reader: asyncio.Task[None] | None = None
    closing: tuple[int, str] | None = None


class LaneDriver:
    """`ticket` makes the record of a request (its inbox and capture); `connect` opens what carries a generation."""

    def __init__(
        self,
        table: LaneTable,
        *,
        connect: Callable[[], Awaitable[Link]],
        ticket: Callable[[str | None], Ticket],
        capture: Capture | None,
        on_started: Callable[[Started, Ticket], None],
        on_ended: Callable[[Ticket], None],
        buffer_bytes: int,
    ) -> None:
        self.table = table
        self.tickets: dict[int, Ticket] = {}
        self.steers: dict[int, Steer] = {}
        self.notices: list[str] = []
        self.error: BaseException | None = None
        """What last kept the connection from being opened, or ended it."""
        self.opened = False
        """Whether a connection has ever stood."""
        self.changed = asyncio.Event()
        """Set at the next change; then there is a new one."""
        self._connect = connect
        self._make_ticket = ticket
        self._capture = capture
        self._on_started = on_started
        self._on_ended = on_ended
        self._buffer_bytes = buffer_bytes
        self._lines: dict[int, _Line] = {}
        self._ended_tickets: deque[int] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    # ── inputs ──

    def submit(self, request: LaneRequest) -> tuple[int, Ticket]:
        """Raises RequestError or LaneError where the table refuses."""
        if asyncio.get_running_loop() is not self._loop:
            raise LaneError("these lanes belong to another event loop: open lanes in this one", lane=request.lane)
        first, *rest = self.table.submitted(request, time.monotonic())
        if isinstance(first, Refuse):
            raise first.error
        if not isinstance(first, Accepted):
            raise LaneError("the request was not taken", lane=request.lane)
        ticket = self.tickets[first.ticket] = self._make_ticket(request.lane)
        ticket.sent = dict(request.body)
        ticket.inbox.open(None)
        self.feed(rest)
        return first.ticket, ticket

    def abandon(self, number: int) -> None:
        self.feed(self.table.abandoned(number, time.monotonic()))

    def steer(self, lane: str | None, value: Any) -> Steer:
        actions = self.table.steered(lane, value)
        first = next((action for action in actions if isinstance(action, Steering)), None)
        self.feed(actions)
        if first is None:
            raise LaneError("nothing became of the steering message", lane=lane)
        return self.steers[first.steer]

    def notice(self, text: str) -> None:
        self.notices.append(text)
        self._note("notice", text=text)

    async def shut(self, reason: str = "") -> None:
        """End all requests and close all sockets; nothing runs here afterwards."""
        self.feed(self.table.shut(reason))
        self._tell()
        if self._timer is not None:
            self._timer.cancel()
        pending = [task for task in self._tasks if task is not asyncio.current_task()]
        if pending:
            _, late = await asyncio.wait(pending, timeout=10.0)
            for task in late:
                task.cancel()

    # ── actions ──

    def feed(self, actions: list[Action]) -> None:
        for action in actions:
            self._DO[action.__class__](self, action)

    def _open(self, action: Open) -> None:
        line = self._lines[action.generation] = _Line()
        line.reader = self._task(self._run(action.generation, line))

    def _send(self, action: Send) -> None:
        line = self._lines.get(action.generation)
        if line is None:
            return
        line.outbox.append(action)
        line.news.set()

    def _close(self, action: Close) -> None:
        line = self._lines.pop(action.generation, None)
        if line is None:
            return
        line.closing = (action.code, action.reason)
        if line.link is not None:
            self._task(line.link.close(action.code, action.reason))
        elif line.reader is not None:
            line.reader.cancel()

    def _wake(self, action: Wake) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, action.at - time.monotonic()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.feed(self.table.ticked(time.monotonic()))
        self._tell()

    def _deliver(self, action: Deliver) -> None:
        ticket = self.tickets[action.ticket]
        now = time.monotonic()
        inbox = ticket.inbox
        inbox.byte(now)
        ticket.capture.received((action.event,), now, transport="websocket", lane=ticket.lane)
        if inbox.finished:
            return
        if action.event.sequence_number is not None:
            inbox.last_sequence_number = action.event.sequence_number
        inbox.put((action.event,), now)
        if inbox.waiting_bytes > self._buffer_bytes:
            name = "the default lane" if ticket.lane is None else f"lane {ticket.lane!r}"
            text = (
                f"{name}: nobody reads it, and {inbox.waiting_bytes} bytes wait (lane_buffer={self._buffer_bytes}), so "
                "its stream ends here. What came is in its capture. Read the streams, or raise lane_buffer"
            )
            error = LaneError(text, lane=ticket.lane)
            self._loop.call_soon(lambda: self.feed(self.table.abandoned(action.ticket, now, error=error)))

    def _record(self, action: Record) -> None:
        ticket = self.tickets.get(action.ticket)
        if ticket is not None:
            now = time.monotonic()
            ticket.capture.received((action.event,), now, transport="websocket", lane=ticket.lane)

    def _repeated(self, action: Repeated) -> None:
        ticket = self.tickets[action.ticket]
        ticket.inbox.note(action.text)
        self.notices.append(action.text if ticket.lane is None else f"{ticket.lane}: {action.text}")
        ticket.capture.noted("repeated", time.monotonic(), lane=ticket.lane, reason=action.reason, text=action.text)
        if ticket.inbox.began:
            ticket.inbox.repeat()

    def _ended(self, action: Ended) -> None:
        ticket = self.tickets[action.ticket]
        ticket.inbox.finish(time.monotonic(), error=action.error, ending=action.ending)
        self._ended_tickets.append(action.ticket)
        if len(self._ended_tickets) > _ENDED_KEPT:
            self.tickets.pop(self._ended_tickets.popleft(), None)
        self._on_ended(ticket)
        self._tell()

    def _started(self, action: Started) -> None:
        ticket = self.tickets[action.ticket] = self._make_ticket(action.lane)
        ticket.inbox.open(None)
        ticket.inbox.sent(time.monotonic())
        self._on_started(action, ticket)

    def _steering(self, action: Steering) -> None:
        steer = self.steers.setdefault(action.steer, Steer(action.steer))
        steer.state = str(action.state)
        steer.id = action.id or steer.id
        steer.required_input = action.required_input or steer.required_input
        steer.error = dict(action.error) if action.error else steer.error
        steer.input = action.input if action.input is not None else steer.input
        self._tell()

    def _notice(self, action: Notice) -> None:
        self.notices.append(action.text)
        ticket = self.tickets.get(action.ticket) if action.ticket is not None else None
        if ticket is not None:
            ticket.inbox.note(action.text)
        self._note(action.kind, text=action.text, lane=action.lane)

    def _report(self, action: Report) -> None:
        if action.event is not None and self._capture is not None:
            self._capture.received((action.event,), time.monotonic(), transport="websocket")
        if action.error is not None:
            self.error = action.error
            self._note("error", text=str(action.error))
        self._tell()

    def _refuse(self, action: Refuse) -> None:
        raise action.error

    def _accepted(self, action: Accepted) -> None:
        """Taken care of by `submit`."""

    def _note(self, kind: str, *, lane: str | None = None, **facts: Any) -> None:
        if self._capture is not None:
            self._capture.noted(kind, time.monotonic(), transport="websocket", lane=lane, **facts)

    _DO: ClassVar[dict[type, Callable[[LaneDriver, Any], None]]] = {
        Open: _open,
        Send: _send,
        Close: _close,
        Wake: _wake,
        Accepted: _accepted,
        Refuse: _refuse,
        Started: _started,
        Deliver: _deliver,
        Record: _record,
        Repeated: _repeated,
        Ended: _ended,
        Steering: _steering,
        Notice: _notice,
        Report: _report,
    }

    # ── sockets ──

    async def _run(self, generation: int, line: _Line) -> None:
        """One socket, from its opening to its end."""
        try:
            link = line.link = await self._connect()
        except NBResponsesError as error:
            self._gone(generation, line, error=error)
            return
        if line.closing is not None:  # it was not wanted any more while it was being opened
            await link.close(*line.closing)
            return
        self.error = None
        self.opened = True
        self._tell()
        self._note("opened", generation=generation, over=link.transport)
        writer = self._task(self._write(line, link))
        self.feed(self.table.opened(generation, time.monotonic()))
        try:
            await self._read(generation, link)
        except NBResponsesError as error:
            self._note("closed", generation=generation, text=str(error), code=getattr(error, "code", None))
            self._gone(generation, line, error=error)
        finally:
            writer.cancel()
            with suppress(NBResponsesError):
                await link.close(1000, "")

    async def _read(self, generation: int, link: Link) -> None:
        table, capture = self.table, self._capture
        while True:
            event = await link.receive()
            now = time.monotonic()
            if capture is not None:
                capture.received((event,), now, transport=link.transport, lane=event.stream_id)
            self.feed(table.received(generation, event, now))

    async def _write(self, line: _Line, link: Link) -> None:
        while True:
            while line.outbox:
                send = line.outbox.popleft()
                self._note_sending(send, link.transport)
                try:
                    await link.send(send.message, send.ticket)
                except Disconnected:
                    return  # the reader learns it too, and tells
            line.news.clear()
            await line.news.wait()

    def _note_sending(self, send: Send, transport: str) -> None:
        now = time.monotonic()
        if self._capture is not None:
            self._capture.sent(send.message, now, transport=transport, lane=send.lane)
        ticket = self.tickets.get(send.ticket) if send.ticket is not None else None
        if ticket is not None:
            ticket.sent = send.message
            ticket.inbox.sent(now)
            ticket.capture.sent(send.message, now, transport=transport, lane=send.lane)

    def _gone(self, generation: int, line: _Line, *, error: NBResponsesError) -> None:
        self._lines.pop(generation, None)
        unsent = [send.ticket for send in line.outbox]
        lost = error if isinstance(error, Disconnected) else None
        if not self.opened and line.link is None:
            self.error = error
        self.feed(
            self.table.closed(
                generation,
                time.monotonic(),
                code=lost.code if lost else None,
                reason=lost.reason if lost else "",
                error=None if lost else error,
                unsent=unsent,
            )
        )
        self._tell()

    def _tell(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def _task(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self._loop.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Awaitable[None]) -> None:
        """A socket that fails while it is being closed has failed enough; a mistake in here must let nobody wait."""
        try:
            await work
        except NBResponsesError:
            pass
        except Exception as error:
            self.error = error
            for ticket in self.tickets.values():
                ticket.inbox.finish(time.monotonic(), error=error)
            self.feed(self.table.shut("an internal error"))
            self._tell()
            raise


def event_of(payload: bytes, lane: str | None = None) -> Event:
    """A frame's event. `lane` is the stream_id of an event that came without one, over a link that knows it."""
    event = decode_kept(payload)
    if lane is not None and event.stream_id is None:
        msgspec.structs.force_setattr(event, "stream_id", lane)
    return event
