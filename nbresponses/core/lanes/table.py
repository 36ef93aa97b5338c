"""WebSocket mode as a state table: many conversations, forks and steering on one connection. No I/O, no clock.

The table is told what happened (`submitted`, `opened`, `received`, `closed`, `ticked` …) and answers with what to do,
in order (`Open`, `Send`, `Deliver`, `Ended`, `Wake` …: `actions`). The states are data in `tables`; the rules
stand at the head of `sending` (what goes out when), `receiving` and `errors` (whose event it is),
`recovery` (how a context gets there), `lineage` (what the server still has) and `steering`. Those of the whole:

1. A ticket is one request. It ends exactly once: one `Ended`, whatever happens to its connection.
2. Lanes are named by 1 to 256 letters, digits, `_`, `-` and `.`, or None for the default lane. A connection takes 32
   distinct names; a name counts until the socket is replaced.
3. A socket is opened when there is something to send. It is replaced near its age limit, when it was lost, and on
   request. What is queued survives all of this; frames of an old socket are dropped and counted.
4. A request that was in flight when its socket was lost may have run. `on_uncertain="raise"` ends it with
   `Disconnected`; "retry" sends it again and says so (`Repeated`). What was certainly not written goes out again.
5. Attempts to connect pause in between, longer each time; after `open_attempts`, or an answer that will not change
   (HTTP 4xx), all that waits for the connection ends with that error.
6. Stopping a response ends it here. What still comes for it goes to its capture (`Record`), and the lane's next request
   waits for its terminal event; WebSocket mode knows no cancelling.
7. An input that makes no sense now changes nothing: `Refuse` holds the error to raise, or the answer is empty.

The driver, whole:

    async def feed(actions):
        for action in actions:
            match action:
                case Open(generation): spawn(run_socket(generation))  # connect, feed(opened(…)), feed(received(…)) …
                case Send(generation): outbox[generation].put(action)  # a writer of this socket empties it
                case Close(generation, code, reason): shut_socket(generation, code, reason)
                case Wake(at): set_the_one_timer(at)                   # then: feed(ticked(now()))
                case Started(ticket, lane): streams[ticket] = new_stream(lane)
                case Deliver(ticket, event): streams[ticket].put(event)
                case Record(ticket, event): captures[ticket].add(event)
                case Repeated(ticket): streams[ticket].begin_anew(action)
                case Ended(ticket): streams[ticket].finish(action)
                case Notice() | Report() | Steering(): tell(action)
    # and when a socket is gone: feed(closed(generation, now(), code=…, reason=…, unsent=[tickets still in its outbox]))

`submitted` answers with `Accepted(ticket)` first, or with `Refuse(error)` alone. The driver needs no bookkeeping about
responses: what they put out is read from the events (`lineage`, rule 3).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbresponses.core.lanes.actions import (
    Accepted,
    Action,
    Close,
    Deliver,
    LaneRequest,
    LaneSettings,
    Refuse,
    Report,
    Steering,
)
from nbresponses.core.lanes.lineage import Lineage
from nbresponses.core.lanes.receiving import ITEM_DONE, TURNING, receive, steer_message
from nbresponses.core.lanes.recovery import as_items, call_of, plain, steering_input
from nbresponses.core.lanes.sending import advance, release_socket, shown
from nbresponses.core.lanes.state import Connection, Lane, LaneState
from nbresponses.core.lanes.tables import ConnectionInput, ConnectionState, RequestInput, RequestState
from nbresponses.core.wire import UnknownEvent
from nbresponses.errors import (
    ConnectionFailed,
    Disconnected,
    LaneError,
    NBResponsesError,
    Rejected,
    RequestError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbresponses.core.wire import Event

__all__ = ["LaneRequest", "LaneSettings", "LaneTable", "check_lane_name"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}", re.ASCII)


def check_lane_name(name: Any) -> None:
    """RequestError unless `name` can be a stream_id (None is the default lane)."""
    if name is None or (isinstance(name, str) and _NAME.fullmatch(name)):
        return
    what = f"not {name!r}" if isinstance(name, str) else f"not {type(name).__name__}"
    if isinstance(name, str) and len(name) > 256:
        what = f"not one of {len(name)} characters"
    raise RequestError("stream_id", f"a lane's name has 1 to 256 letters, digits, '_', '-' or '.', {what}")


class LaneTable:
    """All lanes of one user: normally one connection, more where `on_name_limit="new_connection"` asks for them.

    Times (`at`) are seconds on any clock that does not go back. `jitter` answers with numbers from 0 to 1.
    """

    def __init__(self, settings: LaneSettings | None = None, *, jitter: Callable[[], float] | None = None) -> None:
        settings = settings or LaneSettings()
        self._state = LaneState(settings, jitter or random.Random().random, lineage=Lineage(settings.max_nodes))
        self._closed = False

    # ── From the user ────────────────────────────────────────────────────────────────────────────────────────────────

    def wanted(self, at: float) -> list[Action]:
        """Connect now, although nothing is to be sent yet. A failure comes as `Report`."""
        if self._closed:
            return [self._refuse_closed(None)]
        connection = self._state.connections[0]
        connection.wanted = not connection.alive and connection.state is not ConnectionState.OPENING
        return advance(self._state, at)

    def submitted(self, request: LaneRequest, at: float) -> list[Action]:
        """A request for a lane: `Accepted` and what follows, or `Refuse`."""
        if self._closed:
            return [self._refuse_closed(request.lane)]
        try:
            request = _checked(request)
            lane = self._place(request.lane)
        except (RequestError, LaneError) as error:
            return [Refuse(error)]
        ticket = self._state.admit(lane, request, at).ticket
        return [Accepted(ticket), *advance(self._state, at)]

    def abandoned(self, ticket: int, at: float, *, error: NBResponsesError | None = None) -> list[Action]:
        """The user stops a request (`error`: the driver does, and why). Nothing, where it has ended already."""
        request = self._state.requests.get(ticket)
        if request is None or request.over:
            return []
        if request.state is RequestState.QUEUED:
            request.lane.queue.remove(request)
            actions = self._state.end(request, "interrupted", given=RequestInput.STOP, error=error, safe=True)
        else:
            actions = self._state.stop(request, "interrupted", error, at)
        return actions + advance(self._state, at)

    def steered(self, lane: str | None, value: Any) -> list[Action]:
        """A steering message for what runs on the lane: `Steering` with its number first, or `Refuse`."""
        found = self._state.lanes.get(lane)
        request = found.active if found is not None else None
        try:
            value = steering_input(value)
        except RequestError as error:
            return [Refuse(error)]
        if request is None:
            return [Refuse(LaneError(f"{shown(lane)} runs nothing that could be steered", lane=lane))]
        for name in ("conversation", "context_management"):
            if request.body.get(name):
                return [Refuse(LaneError(f"{shown(lane)}: a response with {name} cannot be steered", lane=lane))]
        steer = self._state.steering.add(request.ticket, lane, value)
        if request.node is None:
            return [Steering(steer.number, request.ticket, steer.state)]
        return steer_message(self._state, request, steer)

    def results(self, lane: str | None, items: Iterable[Mapping[str, Any]]) -> list[Action]:
        """Save tool outputs and approvals: what steering waits for is taken from here where a request lacks it."""
        found = self._state.lanes.get(lane)
        if found is None:
            return [Refuse(LaneError(f"{shown(lane)} has had no request that could wait for results", lane=lane))]
        found.saved.update({call_of(item): plain(item) for item in items})
        return []

    def compacted(self, response_id: str, window: Sequence[Mapping[str, Any]], at: float) -> list[Action]:
        """The compact endpoint's `output` for this response's context: the base of what continues it from now on."""
        node = self._state.lineage.get(response_id)
        if node is None:
            return [Refuse(LaneError(f"no response {response_id!r} is known on any lane; nothing to compact"))]
        node.window = tuple(plain(item) for item in window)
        return advance(self._state, at)

    def lane_closed(self, lane: str | None, at: float) -> list[Action]:
        """Stop all that the lane has, and let it begin anew. Its name stays counted on the connection."""
        found = self._state.lanes.get(lane)
        actions: list[Action] = []
        if found is not None:
            for request in [*found.queue, *([found.active] if found.active else [])]:
                actions += self.abandoned(request.ticket, at)
            found.latest = None
            found.saved = {}
        return actions

    def renewed(self, at: float) -> list[Action]:
        """Replace the sockets when what runs has ended: frees the names, and drops what the server caches."""
        for connection in self._state.connections:
            if connection.state is ConnectionState.OPEN:
                connection.take(ConnectionInput.RETIRE)
        return advance(self._state, at)

    def shut(self, reason: str = "") -> list[Action]:
        """The end: every request ends as interrupted, every socket closes, and nothing can be submitted any more."""
        if self._closed:
            return []
        self._closed = True
        actions: list[Action] = []
        for request in list(self._state.requests.values()):
            given = RequestInput.STOP if request.state is RequestState.QUEUED else RequestInput.END
            actions += self._state.end(request, "interrupted", given=given, safe=request.state is RequestState.QUEUED)
        for connection in self._state.connections:
            if connection.generation:
                actions += [Close(connection.generation, reason=reason), *release_socket(self._state, connection)]
            connection.take(ConnectionInput.SHUT)
        for lane in self._state.lanes.values():
            lane.queue.clear()
        return actions

    # ── From the sockets ─────────────────────────────────────────────────────────────────────────────────────────────

    def opened(self, generation: int, at: float) -> list[Action]:
        """The socket that `Open` asked for can carry messages."""
        connection = self._state.sockets.get(generation)
        if connection is None or connection.state is not ConnectionState.OPENING:
            return []
        connection.take(ConnectionInput.OPENED)
        connection.opened_at = at
        self._state.alarm(at, self._state.settings.renew_after)
        return advance(self._state, at)

    def received(self, generation: int, event: Event, at: float) -> list[Action]:
        """An event from a socket."""
        state = self._state
        connection = state.sockets.get(generation)
        # Most events are pieces of a running response: they are delivered and change nothing else.
        kind = event.type
        if kind not in TURNING and type(event) is not UnknownEvent and state.echo is not False:
            lane = state.lanes.get(event.stream_id)
            if lane is not None and connection is not None and lane.connection is connection:
                request = lane.active
                if request is not None and request.state is RequestState.RUNNING:
                    request.heard_at = at
                    if kind == ITEM_DONE and state.settings.keep_history:
                        request.done_items.append(event.payload)
                    return [Deliver(request.ticket, event)]
        if connection is None or not connection.alive:
            state.dropped_frames += 1
            return []
        connection.heard = True
        state.moved = False
        actions = receive(state, connection, event, at)
        return [*actions, *advance(state, at)] if state.moved else actions

    def closed(
        self,
        generation: int,
        at: float,
        *,
        code: int | None = None,
        reason: str = "",
        error: NBResponsesError | None = None,
        unsent: Sequence[int | None] = (),
    ) -> list[Action]:
        """The socket is gone, or was not opened (`error`). `unsent`: tickets of which certainly nothing was written."""
        connection = self._state.sockets.get(generation)
        if connection is None:
            return []
        opened = connection.alive
        lost = Disconnected(reason or "the connection was closed", code=code)
        actions = self._let_go(connection, lost, set(unsent), at)
        connection.failures = 0 if connection.heard else connection.failures + 1
        actions += release_socket(self._state, connection)
        connection.take(ConnectionInput.LOST)
        failure = error or (lost if opened else ConnectionFailed(reason or f"close code {code}", url="the server"))
        if _lasting(failure) or connection.failures >= self._state.settings.open_attempts:
            actions += self._give_up(connection, generation, failure)
        else:
            waited = failure.retry_after if isinstance(failure, Rejected) else None
            pause = waited or self._state.pause(max(0, connection.failures - 1))
            connection.due = at + pause
            self._state.alarm(at, pause)
        return actions + advance(self._state, at)

    def ticked(self, at: float) -> list[Action]:
        """Time has passed. Needed when a `Wake` is due; harmless at any other moment."""
        return advance(self._state, at) if not self._closed else []

    # ── For those who look ───────────────────────────────────────────────────────────────────────────────────────────

    def latest(self, lane: str | None) -> str | None:
        """The id of the lane's latest completed response: what a fork continues from."""
        found = self._state.lanes.get(lane)
        return found.latest if found is not None else None

    def context(self, response_id: str | None) -> list[dict[str, Any]] | None:
        """All inputs and outputs up to and with this response, as input items; None where they are not all known."""
        return self._state.lineage.context(response_id) if response_id is not None else None

    def lineage(self) -> list[dict[str, Any]]:
        """The responses as a tree, one row each: parents before children, with `depth` and `children`."""
        return self._state.lineage.rows()

    def status(self, at: float) -> dict[str, Any]:
        """What goes on, as plain data: in flight, queued, names used, age, generation; per connection and per lane."""
        state = self._state
        return {
            "in_flight": sum(request.in_flight for request in state.requests.values()),
            "queued": sum(not request.in_flight for request in state.requests.values()),
            "stream_id": {None: "unknown", True: "sent back", False: "dropped"}[state.echo],
            "dropped_frames": state.dropped_frames,
            "connections": [connection.row(at) for connection in state.connections],
            "lanes": [lane.row() for lane in state.lanes.values()],
        }

    # ── Inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _refuse_closed(self, lane: str | None) -> Refuse:
        return Refuse(LaneError("the lanes are closed; open new ones", lane=lane))

    def _place(self, name: str | None) -> Lane:
        """The lane, on a connection that can take its name."""
        state, limit = self._state, self._state.settings.max_names
        lane = state.lanes.get(name) or Lane(name)
        for connection in [*([lane.connection] if lane.connection else []), *state.connections]:
            claims = connection.claims()
            if name is None or name in claims or len(claims) < limit:
                break
        else:
            if state.settings.on_name_limit == "error":
                raise LaneError(
                    f"{shown(name)} would be the name number {limit + 1} on this connection, which takes {limit}: use "
                    "one of its lanes again, replace the connection, or set on_name_limit='new_connection'",
                    lane=name,
                )
            connection = Connection()
            state.connections.append(connection)
        if lane.connection is not connection:
            if lane.connection is not None:
                lane.connection.lanes.remove(lane)
            lane.connection = connection
            connection.lanes.append(lane)
        state.lanes[name] = lane
        return lane

    def _let_go(self, connection: Connection, lost: Disconnected, unsent: set[int | None], at: float) -> list[Action]:
        """What becomes of what was in flight on a socket that is gone; stopped ones are left to `release_socket`."""
        state, actions = self._state, list[Action]()
        for request in connection.in_flight:
            if request.ticket in unsent and request.state is RequestState.SENT:
                request.attempts -= 1
                actions += state.repeat(request, "", "", not_before=at, given=RequestInput.UNSENT)
            elif request.ticket in unsent and request.state is RequestState.STOPPED:
                actions += state.end(request, "interrupted", given=RequestInput.UNSENT)
            elif not request.over and state.settings.on_uncertain == "retry" and state.may_repeat(request):
                text = f"{shown(request.lane.name)}: {lost}; sent again, although the first attempt may have run"
                request.uncertain = True
                actions += state.repeat(request, "disconnected", text, not_before=at)
            elif not request.over:
                actions += state.end(request, "cut_off", error=lost)
        return actions

    def _give_up(self, connection: Connection, generation: int, failure: NBResponsesError) -> list[Action]:
        connection.take(ConnectionInput.GIVE_UP)
        connection.failures, connection.wanted = 0, False
        actions: list[Action] = []
        for lane in connection.lanes:
            waiting = [*lane.queue]
            lane.queue.clear()
            for request in waiting:
                actions += self._state.end(request, "error", given=RequestInput.FAIL, error=failure, safe=True)
        return [*actions, Report(generation, error=failure)]


def _checked(request: LaneRequest) -> LaneRequest:
    """A copy that nobody else changes; RequestError for what cannot go over a lane."""
    check_lane_name(request.lane)
    body = plain(request.body)
    named = body.get("stream_id")
    if named is not None and named != request.lane:
        raise RequestError("stream_id", f"the request names {named!r}, but it was given to {shown(request.lane)}")
    if body.get("type", "response.create") != "response.create":
        raise RequestError("type", f"a lane sends response.create, not {body['type']!r}")
    for name in ("stream", "background"):
        if body.get(name) is not None:
            raise RequestError(name, "is not used over WebSocket: leave it out (a lane always streams)")
    previous = body.get("previous_response_id")
    if previous is not None and not isinstance(previous, str):
        raise RequestError("previous_response_id", f"must be a response id or None, not {type(previous).__name__}")
    as_items(body.get("input"))
    return replace(request, body=body)


def _lasting(failure: NBResponsesError) -> bool:
    """Whether the same attempt would only fail again."""
    if isinstance(failure, Rejected):
        return failure.status < 500 and failure.status not in {408, 425, 429}
    return not isinstance(failure, TransportError)
