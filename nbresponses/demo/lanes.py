"""The rules of one WebSocket connection: lanes, their order, their limits and their cache. Pure: no socket, no clock.

Messages and the ends of responses go in; lists of actions come out.

The rules, as they are documented:

1. A `stream_id` (1 to 256 of A-Z a-z 0-9 _ - .) names a lane; without one a request is on the default lane.
   A connection takes 32 distinct names, counted until it closes; the default lane is not counted.
2. Requests of one lane run in the order they came and never overlap. Lanes run at the same time, at most 16 responses
   in all; what is beyond waits, and starts in the order it came.
3. The connection holds the latest response of each lane. What a request continues from is looked up when it starts. A
   continuation on the same lane that fails gives that response up; a fork that fails leaves it.
4. An error of a request carries its lane's name, and ends that request only.
5. Steering goes to a response that runs (see `steering.py`). Its successor starts before anything else of its lane.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nbresponses.demo.ask import parse_body
from nbresponses.demo.steering import Steer, Steering
from nbresponses.demo.wire import ApiError, Json

if TYPE_CHECKING:
    from nbresponses.demo.store import Turn
    from nbresponses.demo.wire import Ids

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    in_flight: int = 16
    names: int = 32
    pending_steers: int = 8


@dataclass(frozen=True, slots=True)
class Request:
    """A `response.create` on its lane. `steers` are inputs that the server puts before its own."""

    serial: int
    lane: str | None
    body: Json
    steers: tuple[Steer, ...] = ()
    successor: bool = False  # nobody asked for it: it follows from steering

    @property
    def previous(self) -> str | None:
        given = self.body.get("previous_response_id")
        return given if isinstance(given, str) else None


@dataclass(frozen=True, slots=True)
class Start:
    """Run this request; `parent` is the response it continues, None where the connection does not hold it."""

    request: Request
    parent: Turn | None


@dataclass(frozen=True, slots=True)
class Tell:
    """Send this event; `about` is the response whose sequence numbers it takes part in."""

    event: Json
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End this response early."""

    response_id: str
    reason: str


Action = Start | Tell | Stop


@dataclass(slots=True)
class _Lane:
    queue: deque[Request] = field(default_factory=deque)
    running: Request | None = None
    latest: Turn | None = None


class LaneRules:
    def __init__(self, ids: Ids, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._lanes: dict[str | None, _Lane] = {}
        self._steering = Steering(ids, self._limits.pending_steers)
        self._serial = 0

    @property
    def in_flight(self) -> int:
        return sum(lane.running is not None for lane in self._lanes.values())

    def received(self, raw: str | bytes) -> list[Action]:
        """A message of the client."""
        try:
            message = parse_body(raw if isinstance(raw, bytes) else raw.encode())
            kind = message.get("type")
            if kind == "response.steer":
                return self._steer(message)
            lane = self._named(message)
        except ApiError as error:
            return [Tell(error_event(error, error.lane))]
        if kind != "response.create":
            unknown = ApiError(400, f"Unknown event type: {kind!r}.", code="unknown_event_type", param="type")
            return [Tell(error_event(unknown, lane))]
        self._serial += 1
        body = {key: value for key, value in message.items() if key not in {"type", "stream_id"}}
        self._lanes.setdefault(lane, _Lane()).queue.append(Request(self._serial, lane, body))
        return self._next()

    def started(self, request: Request, response_id: str, steering: str) -> None:
        """The request became this response; what was steered into it is committed."""
        if request.steers and request.previous is not None:
            self._steering.committed(request.previous)
        self._steering.opened(response_id, request.lane, steering)

    def refused(self, request: Request) -> list[Action]:
        """The request was answered with an error, and nothing ran."""
        lane = self._lanes[request.lane]
        lane.running = None
        forgotten = self._give_up(lane, request)
        told: list[Json] = []
        if request.previous is not None and (forgotten or request.successor):
            told = self._steering.lost(request.previous)
        return [*(Tell(event, request.previous) for event in told), *self._next()]

    def ended(self, request: Request, turn: Turn) -> list[Action]:
        """The response of a request came to its end. Call it before anybody can read of that."""
        lane = self._lanes[request.lane]
        lane.running = None
        failed = turn.response["status"] not in {"completed", "incomplete"}
        if failed:
            self._give_up(lane, request)
        else:
            lane.latest = turn
        told, steers = self._steering.closed(turn.id, turn.response["output"], failed=failed)
        if steers:
            settings = {key: value for key, value in request.body.items() if key not in {"input", "generate"}}
            body = {**settings, "previous_response_id": turn.id}
            lane.queue.appendleft(Request(request.serial, request.lane, body, steers, successor=True))
        return [*(Tell(event, turn.id) for event in told), *self._next()]

    def _named(self, message: Json) -> str | None:
        """The lane of a message, counted if it is new; ApiError where the name or the limit forbids it."""
        name = message.get("stream_id")
        if name is None:
            return None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ApiError(400, _INVALID_NAME, code="invalid_stream_id", param="stream_id")
        named = sum(lane is not None for lane in self._lanes)
        if name not in self._lanes and named >= self._limits.names:
            message_text = _TOO_MANY_NAMES.format(self._limits.names)
            raise ApiError(400, message_text, code="websocket_stream_limit_reached", param="stream_id", lane=name)
        return name

    def _next(self) -> list[Action]:
        """The requests that may start now, the oldest first."""
        starts: list[Action] = []
        while self.in_flight < self._limits.in_flight:
            ready = [lane for lane in self._lanes.values() if lane.running is None and lane.queue]
            if not ready:
                break
            lane = min(ready, key=lambda waiting: waiting.queue[0].serial)
            request = lane.queue.popleft()
            if not request.steers and request.previous is not None:
                request = replace(request, steers=self._steering.waiting(request.previous, request.lane))
            lane.running = request
            starts.append(Start(request, self._held(request.previous)))
        return starts

    def _held(self, response_id: str | None) -> Turn | None:
        latest = (lane.latest for lane in self._lanes.values())
        return next((turn for turn in latest if turn is not None and turn.id == response_id), None)

    def _give_up(self, lane: _Lane, request: Request) -> bool:
        """Drops what the request continued from, if its lane holds it; true if nobody can continue from it any more."""
        turn = lane.latest
        if turn is None or turn.id != request.previous:
            return False
        lane.latest = None
        return not turn.response["store"]

    def _steer(self, message: Json) -> list[Action]:
        event, stop = self._steering.received(message)
        target = message.get("previous_response_id")
        about = target if isinstance(target, str) else None
        actions: list[Action] = [Tell(event, about)]
        if stop and about is not None:
            actions.append(Stop(about, "steered"))
        return actions


_INVALID_NAME = (
    "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, "
    "numbers, underscores, hyphens, and periods."
)
_TOO_MANY_NAMES = (
    "This WebSocket connection has reached its maximum number of distinct stream IDs ({}). Reuse an existing stream_id "
    "or open a new WebSocket connection."
)


def error_event(error: ApiError, lane: str | None = None) -> Json:
    """An error as a WebSocket carries it: with its HTTP status, and the lane where one is known."""
    named = {} if lane is None else {"stream_id": lane}
    told = {"type": error.kind, "code": error.code, "message": error.message, "param": error.param}
    return {"type": "error", "status": error.status, **named, "error": told}


def age_error(seconds: float) -> Json:
    """The error that tells the end of a connection's time."""
    span = f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"
    message = f"Responses websocket connection limit reached ({span}). Create a new websocket connection to continue."
    told = {"type": "invalid_request_error", "code": "websocket_connection_limit_reached", "message": message}
    return {"type": "error", "error": told, "status": 400}
