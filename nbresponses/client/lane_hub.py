"""One set of lanes, apart from who waits how: settings, connections, streams. Lives in one event loop."""

from __future__ import annotations

import asyncio
import functools
import time
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from nbresponses.capture.record import Capture
from nbresponses.client.inbox import Inbox
from nbresponses.client.lane_driver import LaneDriver, Steer, Ticket
from nbresponses.client.lane_links import HttpLink, SocketLink
from nbresponses.core.formats import format_of
from nbresponses.core.lanes.actions import LaneRequest, LaneSettings
from nbresponses.core.lanes.table import LaneTable
from nbresponses.core.request import NOT_GIVEN, checked_body, with_format
from nbresponses.errors import (
    Disconnected,
    LaneError,
    NBResponsesError,
    Rejected,
    RequestError,
    TimedOut,
)
from nbresponses.transports.websocket import SocketOptions, open_socket, socket_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbresponses.client.api import Api
    from nbresponses.client.exchange import Exchange
    from nbresponses.client.lane_driver import Link
    from nbresponses.core.lanes.actions import Started
    from nbresponses.core.request import Request
    from nbresponses.core.response import Response

__all__ = ["LaneHub"]

LANE_BUFFER = 64 * 1024 * 1024  # bytes that wait for the reader of one stream
_NO_WEBSOCKET = frozenset({400, 403, 404, 405, 426, 501})
"""Handshake answers of servers that have no WebSocket mode."""
_REFUSING_CLOSE = frozenset({1002, 1003, 1008, 1011})
"""Close codes of servers that accept the handshake and have no WebSocket mode all the same."""
_SETTINGS = frozenset(field.name for field in dataclass_fields(LaneSettings))
_OPTIONS = frozenset(field.name for field in dataclass_fields(SocketOptions))
_AT_REST = frozenset({"idle", "stopped"})
_UNANSWERED = frozenset({"held", "sent"})
_COMPACT_FIELDS = frozenset({"model", "instructions"})


class Face(Protocol):
    """How the streams of a hub are read: from another thread, or in the hub's own loop."""

    def news(self) -> tuple[Any, Callable[[], object]]: ...

    def stream(self, ticket: Ticket) -> Any: ...


class LaneHub:
    """Keywords: those of `LaneSettings` and `SocketOptions`; all others are fields of every request.

    transport     "websocket", "http", or "auto": HTTP where the server has no WebSocket mode, with a notice
    lane_buffer   bytes that may wait for the reader of one stream; more ends that stream alone, with a LaneError
    record        keep all messages of all lanes in `capture`; each stream has its own capture in any case
    """

    def __init__(
        self,
        api: Api,
        face: Face,
        *,
        transport: Literal["auto", "websocket", "http"] = "auto",
        lane_buffer: int = LANE_BUFFER,
        record: bool = True,
        **fields: Any,
    ) -> None:
        if transport not in {"auto", "websocket", "http"}:
            raise RequestError("transport", f'must be "auto", "websocket" or "http", not {transport!r}')
        self._api = api
        self._face = face
        self._auto = transport == "auto"
        self._options = SocketOptions(**{name: fields.pop(name) for name in _OPTIONS & fields.keys()})
        settings = LaneSettings(**{name: fields.pop(name) for name in _SETTINGS & fields.keys()})
        checked_body({**fields, "input": ""}, transport="websocket")
        self._defaults = fields
        self._link: SocketLink | None = None
        self._closed = False
        self.transport: str | None = "http" if transport == "http" else None
        """What carries the lanes: "websocket" or "http"; None until the first connection."""
        self.capture = self._new_capture("lanes")
        self.running: dict[int, Any] = {}
        """Streams that have not ended: kept here, so that one that nobody else holds goes on."""
        self.successors: dict[str | None, list[Any]] = {}
        self.table = LaneTable(settings)
        self.driver = LaneDriver(
            self.table,
            connect=self._connect,
            ticket=self._ticket,
            capture=self.capture if record else None,
            on_started=self._started,
            on_ended=self._ended,
            buffer_bytes=lane_buffer,
        )

    # ── from the user ──

    def submit(self, lane: str | None, input_: Any, *, barrier: bool = True, **fields: Any) -> Any:
        """A request for a lane; its stream."""
        given = {} if input_ is NOT_GIVEN else {"input": input_}
        fields = {**self._defaults, **fields, **given}
        wanted = fields.pop("text_format", None)
        format_ = None if wanted is None else format_of(wanted)
        body = checked_body(with_format(fields, format_), transport="websocket")
        number, ticket = self.driver.submit(LaneRequest(lane, body, barrier=barrier))
        stream = self._streamed(number, ticket)
        stream.format = format_
        return stream

    def parent(self, lane: str | None, at: str | None) -> str:
        """The response that a fork of this lane continues from."""
        parent = at or self.table.latest(lane)
        if parent is None:
            name = "the default lane" if lane is None else f"lane {lane!r}"
            raise LaneError(f"{name} has no completed response to fork from: wait for one, or give at=ID", lane=lane)
        return parent

    async def steer(self, lane: str | None, value: Any, limit: float) -> Steer:
        steer = self.driver.steer(lane, value)
        with suppress(TimedOut):  # its state then says that nothing has been heard
            await self._until(lambda: steer.state not in _UNANSWERED, limit, "steer")
        return steer

    async def compact(self, lane: str | None, **fields: Any) -> Response:
        latest = self.table.latest(lane)
        context = self.table.context(latest)
        if latest is None or context is None:
            raise LaneError("nothing to compact: the lane has no completed response whose context is known", lane=lane)
        asked = {name: value for name, value in self._defaults.items() if name in _COMPACT_FIELDS} | fields
        window = await self._api.compact(context, **asked)
        self.driver.feed(self.table.compacted(latest, window.output, time.monotonic()))
        return window

    def save_results(self, lane: str | None, items: Iterable[Mapping[str, Any]]) -> None:
        self.driver.feed(self.table.results(lane, items))

    def stop_lane(self, lane: str | None) -> None:
        for number in [number for number, ticket in self.driver.tickets.items() if ticket.lane == lane]:
            self.driver.abandon(number)

    def close_lane(self, lane: str | None) -> None:
        self.driver.feed(self.table.lane_closed(lane, time.monotonic()))

    def renew(self) -> None:
        self.driver.feed(self.table.renewed(time.monotonic()))

    def status(self) -> dict[str, Any]:
        return {"transport": self.transport, **self.table.status(time.monotonic())}

    async def idle(self, lanes: Sequence[str | None], limit: float | None) -> None:
        """Until nothing runs or waits on these lanes (none named: on all)."""
        wanted = set(lanes)
        await self._until(lambda: not self.busy(wanted), limit, "wait")

    def busy(self, lanes: set[str | None]) -> bool:
        """Whether something runs or waits on these lanes (none named: on any), a successor that is due included.

        What was stopped here counts no more, although the server may still be at it.
        """
        return any(
            row["queued"] or row["state"] not in _AT_REST
            for row in self.status()["lanes"]
            if not lanes or row["lane"] in lanes
        )

    async def connected(self) -> None:
        """Until the first connection stands; raises what kept it from that."""
        self.driver.feed(self.table.wanted(time.monotonic()))
        await self._until(lambda: self.driver.opened or self._closed or self.driver.error is not None, None, "open")
        if not self.driver.opened and self.driver.error is not None:
            raise self.driver.error
        if self._closed:
            raise LaneError("the lanes were closed before a connection stood")

    async def shut(self) -> None:
        self._closed = True
        await self.driver.shut()

    async def _until(self, true: Callable[[], bool], limit: float | None, phase: str) -> None:
        try:
            async with asyncio.timeout(limit):
                while True:
                    changed = self.driver.changed
                    if true():
                        return
                    await changed.wait()
        except TimeoutError:
            pass
        raise TimedOut(phase, limit or 0.0, url=self._api.settings.base_url)

    # ── for the driver ──

    def _ticket(self, lane: str | None) -> Ticket:
        news, wake = self._face.news()
        name = "the default lane" if lane is None else f"lane {lane}"
        return Ticket(lane, Inbox(wake), self._new_capture(name), news)

    def _new_capture(self, of: str) -> Capture:
        return Capture(datetime.now(UTC), time.monotonic(), source=f"{of} at {self._api.settings.base_url}")

    def _streamed(self, number: int, ticket: Ticket) -> Any:
        ticket.stop = functools.partial(self._stop, number)
        stream = self._face.stream(ticket)
        if not ticket.inbox.finished:
            self.running[id(ticket)] = stream
        return stream

    def _stop(self, number: int, _ending: str) -> None:
        self.driver.abandon(number)

    def _started(self, action: Started, ticket: Ticket) -> None:
        self.successors.setdefault(action.lane, []).append(self._streamed(action.ticket, ticket))

    def _ended(self, ticket: Ticket) -> None:
        self.running.pop(id(ticket), None)

    # ── connections ──

    async def _connect(self) -> Link:
        if self.transport != "http":
            refused = self._refused_after_accepting()
            try:
                if refused is None:
                    return await self._socket()
            except Rejected as error:
                if not self._auto or error.status not in _NO_WEBSOCKET:
                    raise
                refused = error
            self.driver.notice(f"no WebSocket mode here ({refused}): these lanes run over HTTP")
            self.transport = "http"
        return HttpLink(self._exchange, self.table.context)

    def _refused_after_accepting(self) -> NBResponsesError | None:
        """The close of a server that took the handshake, said nothing, and hung up."""
        link, error = self._link, self.driver.error
        silent = self._auto and link is not None and not link.heard
        return error if silent and isinstance(error, Disconnected) and error.code in _REFUSING_CLOSE else None

    async def _socket(self) -> Link:
        settings = self._api.settings
        secret = self._api.sendable_secret()
        socket = await open_socket(
            socket_url(settings.base_url, settings.query),
            headers=functools.partial(secret.headers_for, settings.base_url),
            options=self._options,
            loopback=settings.loopback,
            scrub=secret.scrub,
        )
        self.transport = "websocket"
        self._link = SocketLink(socket)
        return self._link

    def _exchange(self, request: Request, wake: Callable[[], object]) -> Exchange:
        return self._api.exchange(request, wake=wake)
