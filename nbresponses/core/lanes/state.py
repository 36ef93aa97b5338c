"""What the lane table remembers: requests, lanes, connections, and the moves that several inputs share. No I/O.

Only the lane table and its two halves (`sending`, `receiving`) touch these records.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.core.lanes.actions import Action, Ended, Ending, LaneRequest, LaneSettings, Repeated
from nbresponses.core.lanes.lineage import Lineage, Node, ServerCache
from nbresponses.core.lanes.recovery import as_items
from nbresponses.core.lanes.steering import SteeringBook
from nbresponses.core.lanes.tables import (
    CONNECTION,
    IN_FLIGHT,
    REQUEST,
    ConnectionInput,
    ConnectionState,
    RequestInput,
    RequestState,
    step,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbresponses.errors import NBResponsesError

__all__ = ["Connection", "Lane", "LaneState", "Request"]


_HEARD = frozenset({RequestState.CREATED, RequestState.RUNNING})
_OVER = frozenset({RequestState.STOPPED, RequestState.ENDED})
_ALIVE = frozenset({ConnectionState.OPEN, ConnectionState.DRAINING})
_NOT_SENT = frozenset({"type", "stream_id", "stream", "background"})  # set by the lane, or without meaning on one


@dataclass(slots=True, eq=False)
class Request:
    """One create, or one response that the server started by itself (`asked` is False)."""

    ticket: int
    lane: Lane
    body: dict[str, Any]
    items: list[dict[str, Any]]
    parent: str | None = None
    """What it continues: given by the user, or found when it was sent."""
    follows_lane: bool = False
    """Its parent is the lane's latest completed response at the moment of sending."""
    barrier: bool = True
    asked: bool = True
    state: RequestState = RequestState.QUEUED
    filled: bool = False
    """`items` holds more than the body's input."""
    parent_lost: bool = False
    uncertain: bool = False
    """An earlier attempt may have run."""
    how: str = ""
    generation: int = 0
    """The socket that carries it."""
    attempts: int = 0
    not_before: float = 0.0
    blocked_since: float | None = None
    queued_at: float = 0.0
    sent_at: float = 0.0
    stopped_at: float = 0.0
    heard_at: float = 0.0
    node: Node | None = None
    done_items: list[bytes] = field(default_factory=list)

    @property
    def stored(self) -> bool:
        return self.body.get("store") is not False

    @property
    def in_flight(self) -> bool:
        return self.state in IN_FLIGHT

    @property
    def acknowledged(self) -> bool:
        """Whether anything came for it."""
        return self.node is not None or self.state in _HEARD

    @property
    def over(self) -> bool:
        """Whether its user has been told that it ended."""
        return self.state in _OVER

    def take(self, given: RequestInput) -> None:
        self.state = step(REQUEST, self.state, given)


@dataclass(slots=True, eq=False)
class Lane:
    """One stream_id. `active` is in flight; `last` was, before it."""

    name: str | None
    queue: deque[Request] = field(default_factory=deque)
    active: Request | None = None
    last: Request | None = None
    latest: str | None = None
    """The id of its latest completed response."""
    ending: Ending | None = None
    """How the latest of its requests that are over ended."""
    error: NBResponsesError | None = None
    """What ended that one, where it was not the server's word."""
    connection: Connection | None = None
    served: int = 0
    """When it last got a place, on a counter that all lanes share."""
    steered: str | None = None
    """The response after whose end a successor may start by itself; the lane waits for it."""
    steered_at: float = 0.0
    saved: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        return self.active is not None or self.steered is not None

    @property
    def state(self) -> str:
        if self.active is not None:
            return str(self.active.state)
        return "steered" if self.steered is not None else "queued" if self.queue else "idle"

    def row(self) -> dict[str, Any]:
        active = self.active
        return {
            "lane": self.name,
            "state": self.state,
            "ticket": active.ticket if active is not None else None,
            "response_id": active.node.id if active is not None and active.node is not None else None,
            "queued": len(self.queue),
            "latest": self.latest,
            "ending": self.ending,
            "error": str(self.error) if self.error is not None else None,
            "generation": self.connection.generation if self.connection is not None else 0,
        }


@dataclass(slots=True, eq=False)
class Connection:
    """A place for one socket after the other. `generation` names the present one, 0 where there is none."""

    state: ConnectionState = ConnectionState.IDLE
    generation: int = 0
    opened_at: float = 0.0
    heard: bool = False
    """Whether an event came on the present socket."""
    failures: int = 0
    due: float = 0.0
    wanted: bool = False
    names: set[str] = field(default_factory=set)
    lanes: list[Lane] = field(default_factory=list)
    cache: ServerCache = field(default_factory=ServerCache)

    def take(self, given: ConnectionInput) -> None:
        self.state = step(CONNECTION, self.state, given)

    @property
    def alive(self) -> bool:
        return self.state in _ALIVE

    @property
    def in_flight(self) -> list[Request]:
        """What the server has, in the order it was sent."""
        active = [lane.active for lane in self.lanes if lane.active is not None]
        return sorted(active, key=lambda request: request.lane.served)

    @property
    def taken(self) -> int:
        """Places that are taken: a lane that waits for a successor keeps its place."""
        return sum(lane.busy for lane in self.lanes)

    @property
    def has_work(self) -> bool:
        return self.wanted or any(lane.queue for lane in self.lanes)

    def claims(self) -> set[str]:
        """The names that count: used on this socket, or needed by what waits."""
        return self.names | {lane.name for lane in self.lanes if lane.name is not None and (lane.queue or lane.busy)}

    def row(self, at: float) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "state": str(self.state),
            "age": at - self.opened_at if self.alive else None,
            "in_flight": len(self.in_flight),
            "queued": sum(len(lane.queue) for lane in self.lanes),
            "names_used": len(self.names),
            "names": sorted(self.names),
            "failures": self.failures,
        }

    def renew(self, *, one_lane: bool) -> None:
        """The socket is gone, and with it all that the server kept for it."""
        self.generation = 0
        self.heard = False
        self.names = set()
        self.cache = ServerCache(one_lane)
        for lane in self.lanes:
            if not (lane.queue or lane.busy):
                lane.connection = None
        self.lanes = [lane for lane in self.lanes if lane.connection is self]


@dataclass(slots=True, eq=False)
class LaneState:
    """All records together."""

    settings: LaneSettings
    random: Callable[[], float]
    lanes: dict[str | None, Lane] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    """The requests that have not ended, STOPPED ones included."""
    connections: list[Connection] = field(default_factory=lambda: [Connection()])
    sockets: dict[int, Connection] = field(default_factory=dict)
    """The connection of each generation that is not closed."""
    lineage: Lineage = field(default_factory=Lineage)
    steering: SteeringBook = field(default_factory=SteeringBook)
    forks: list[Request] = field(default_factory=list)
    echo: bool | None = None
    """Whether the server sends stream_id back; None until an answer has shown it."""
    probed_at: float | None = None
    dropped_frames: int = 0
    turns: int = 0
    tickets: int = 0
    generations: int = 0
    wake_at: float | None = None
    """The time of the last `Wake`; no time limit that counts is earlier."""
    alarm_at: float | None = None
    """The earliest time limit that has come up since."""
    moved: bool = False
    """Whether anything has changed that can let something out."""

    def admit(self, lane: Lane, asked: LaneRequest, at: float) -> Request:
        """A new request at the end of its lane's queue."""
        body = {name: value for name, value in asked.body.items() if name not in _NOT_SENT}
        parent = body.pop("previous_response_id", None)
        follows = "previous_response_id" not in asked.body and "conversation" not in body
        items = as_items(body.get("input"))
        request = self.register(Request(0, lane, body, items, parent, follows, asked.barrier, queued_at=at))
        source = self.lineage.get(parent)
        if source is not None and source.lane != lane.name and asked.barrier:
            self.forks.append(request)
        if lane.active is not None and lane.active.over:
            self.alarm(at, self.settings.release_timeout)
        lane.queue.append(request)
        return request

    def register(self, request: Request) -> Request:
        self.tickets += 1
        self.moved = True
        request.ticket = self.tickets
        self.requests[request.ticket] = request
        return request

    def alarm(self, since: float, limit: float | None) -> None:
        """A time limit begins: look again when it ends."""
        if limit is None:
            return
        time = since + limit
        if (self.wake_at is None or time < self.wake_at) and (self.alarm_at is None or time < self.alarm_at):
            self.alarm_at = time
            self.moved = True

    def pause(self, attempt: int) -> float:
        """Seconds before the next attempt: doubling, capped, and spread by up to a half."""
        settings = self.settings
        return min(settings.backoff_cap, settings.backoff * 2.0 ** min(attempt, 30)) * (0.5 + self.random() / 2)

    def end(
        self,
        request: Request,
        ending: Ending,
        *,
        given: RequestInput = RequestInput.END,
        error: NBResponsesError | None = None,
        safe: bool = False,
    ) -> list[Action]:
        """Take the request out; tell its user, unless they know. A response that never began takes its steers along."""
        told = request.over
        if not told:
            request.lane.ending, request.lane.error = ending, error
        self.moved = True
        request.take(given)
        del self.requests[request.ticket]
        if request.lane.active is request:
            request.lane.active = None
            request.lane.last = request
        if request.node is not None and request.node.state == "running":
            request.node.state = "interrupted" if told else ending
        unsent = self.steering.unsent(request.ticket, {"code": "response_not_active", "message": "the response ended"})
        return [*([] if told else [Ended(request.ticket, ending, error, safe and not request.uncertain)]), *unsent]

    def stop(self, request: Request, ending: Ending, error: NBResponsesError | None, at: float) -> list[Action]:
        """End it for its user; on the server it goes on, and the lane waits."""
        request.take(RequestInput.STOP)
        request.lane.ending, request.lane.error = ending, error
        request.stopped_at = at
        if request.lane.queue:
            self.alarm(at, self.settings.release_timeout)
        return [Ended(request.ticket, ending, error)]

    def repeat(
        self, request: Request, reason: str, text: str, *, not_before: float, given: RequestInput = RequestInput.REPEAT
    ) -> list[Action]:
        """Put it back at the head of its lane. What an earlier attempt brought counts no more."""
        self.moved = True
        request.take(given)
        if request.node is not None:
            request.node.state = "cut_off"
        request.node = None
        request.done_items = []
        request.not_before = not_before
        request.lane.active = None
        request.lane.queue.appendleft(request)
        return [] if given is RequestInput.UNSENT else [Repeated(request.ticket, reason, text)]

    def may_repeat(self, request: Request) -> bool:
        return request.attempts < self.settings.max_attempts and (request.asked or request.parent is not None)
