"""The sending half of the lane table: what can go out now, which socket opens or closes, and when to look again.

Rules
1. A lane has one request in flight; the next one waits for its end, and for a successor that steering may start.
2. A connection has `max_in_flight` requests in flight. A free place goes to the lane that was served longest ago.
3. The barrier: a create waits while an older fork from its lane still needs a parent that only the cache holds. It goes
   on when the fork lane's response.in_progress comes, when the fork ends, or after `barrier_timeout`.
4. While it is not known whether the server sends stream_id back, a named request goes alone, `probe_timeout` at most. A
   server that does not send it back gets one request at a time.
5. A connection that is near its age limit, or whose lane waits too long for the end of a stopped response, takes
   nothing new; it is replaced when what runs has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.core.lanes.actions import Action, Close, Notice, Open, Send, Wake
from nbresponses.core.lanes.recovery import call_of, create_message, fill_required, plan
from nbresponses.core.lanes.tables import ConnectionInput, ConnectionState, RequestInput, RequestState
from nbresponses.errors import LaneError, TimedOut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbresponses.core.lanes.state import Connection, Lane, LaneState, Request

__all__ = ["advance", "deadlines", "release_socket", "shown"]

_NEEDS_PARENT = frozenset({RequestState.QUEUED, RequestState.SENT, RequestState.CREATED})
_HEARD = frozenset({RequestState.CREATED, RequestState.RUNNING})


def shown(name: str | None) -> str:
    """The lane as a sentence calls it."""
    return "the default lane" if name is None else f"lane {name!r}"


def advance(state: LaneState, at: float) -> list[Action]:
    """All that follows now that something has changed, or that time has passed."""
    actions: list[Action] = []
    due = state.wake_at is not None and state.wake_at <= at
    for connection in state.connections:
        if due:
            for lane in connection.lanes:
                actions += _time_limits(state, connection, lane, at)
        actions += _upkeep(state, connection, at)
        if connection.state is ConnectionState.OPEN:
            actions += _send_all(state, connection, at)
    return actions + _wake(state, at)


# ── Sockets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _upkeep(state: LaneState, connection: Connection, at: float) -> list[Action]:
    actions: list[Action] = []
    if connection.state is ConnectionState.OPEN and _too_old(state, connection, at):
        connection.take(ConnectionInput.RETIRE)
    if connection.state is ConnectionState.DRAINING and not any(_holds_up(lane) for lane in connection.lanes):
        connection.take(ConnectionInput.DRAINED)
        actions.append(Close(connection.generation, reason="replaced"))
        actions += release_socket(state, connection)
    if connection.state is ConnectionState.WAITING and at >= connection.due:
        if connection.has_work:
            connection.take(ConnectionInput.DUE)
            actions.append(_open(state, connection))
        else:
            connection.take(ConnectionInput.REST)
            connection.failures = 0
    if connection.state is ConnectionState.IDLE and connection.has_work:
        connection.take(ConnectionInput.WANT)
        actions.append(_open(state, connection))
    return actions


def _open(state: LaneState, connection: Connection) -> Open:
    state.generations += 1
    connection.generation = state.generations
    state.sockets[connection.generation] = connection
    connection.wanted = False
    return Open(connection.generation)


def release_socket(state: LaneState, connection: Connection) -> list[Action]:
    """Forget the socket and what the server kept for it. What was in flight has been dealt with, or was stopped."""
    del state.sockets[connection.generation]
    actions: list[Action] = list(state.steering.lost({lane.name for lane in connection.lanes}))
    for request in connection.in_flight:
        actions += state.end(request, "interrupted")
    for lane in connection.lanes:
        lane.steered = None
    connection.renew(one_lane=state.echo is False)
    return actions


def _too_old(state: LaneState, connection: Connection, at: float) -> bool:
    return _passed(at, connection.opened_at, state.settings.renew_after)


def _holds_up(lane: Lane) -> bool:
    return lane.steered is not None or (lane.active is not None and not lane.active.over)


# ── Requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _send_all(state: LaneState, connection: Connection, at: float) -> list[Action]:
    actions: list[Action] = []
    places = 1 if state.echo is False else state.settings.max_in_flight
    while connection.taken < places:
        ready = [lane for lane in connection.lanes if _may_send(state, connection, lane, at)]
        if not ready:
            break
        lane = min(ready, key=lambda lane: (lane.served, lane.queue[0].ticket))
        actions += _send(state, connection, lane, at)
    return actions


def _may_send(state: LaneState, connection: Connection, lane: Lane, at: float) -> bool:
    if lane.busy or not lane.queue or lane.queue[0].not_before > at:
        return False
    if not _probe_allows(state, connection, lane, at):
        return False
    head = lane.queue[0]
    if _fork_before(state, connection, head) is None:
        return True
    if head.blocked_since is None:
        head.blocked_since = at
        state.alarm(at, state.settings.barrier_timeout)
    return False


def _probe_allows(state: LaneState, connection: Connection, lane: Lane, at: float) -> bool:
    if state.echo is not None or not connection.taken:
        return True
    running = [other.name for other in connection.lanes if other.busy]
    limit = state.settings.probe_timeout
    if lane.name is None and None in running:
        return True
    if state.probed_at is None:
        state.probed_at = at
        state.alarm(at, limit)
    return limit is not None and at >= state.probed_at + limit


def _fork_before(state: LaneState, connection: Connection, head: Request) -> Request | None:
    """The oldest fork that the head of a lane has to wait for."""
    if not head.barrier:
        return None
    state.forks = [fork for fork in state.forks if fork.state in _NEEDS_PARENT]
    for fork in state.forks:
        node = state.lineage.get(fork.parent)
        if node is None or node.stored or fork.ticket >= head.ticket or fork.lane is head.lane:
            continue
        from_here = state.echo is False or node.lane == head.lane.name
        if from_here and fork.lane.connection is connection and connection.cache.holds(node.id):
            return fork
    return None


def _send(state: LaneState, connection: Connection, lane: Lane, at: float) -> list[Action]:
    request = lane.queue.popleft()
    if request.follows_lane:
        request.parent = lane.latest
    problem = _fill(state, request)
    way = plan(
        state.lineage, connection.cache, request.parent, generation=connection.generation, lost=request.parent_lost
    )
    problem = problem or way.problem
    if problem:
        error = LaneError(f"{shown(lane.name)}: {problem}", lane=lane.name)
        return state.end(request, "error", given=RequestInput.FAIL, error=error, safe=True)
    request.take(RequestInput.SEND)
    request.how, request.generation = way.how, connection.generation
    request.attempts += 1
    request.sent_at = request.heard_at = at
    state.alarm(at, state.settings.first_event_timeout)
    lane.active = request
    state.turns += 1
    lane.served = state.turns
    if lane.name is not None:
        connection.names.add(lane.name)
    message = create_message(
        lane.name,
        request.body,
        request.items if request.filled else None,
        way,
        encrypted=state.settings.encrypted_reasoning,
    )
    return [*_replay_notice(state, request), Send(connection.generation, request.ticket, lane.name, message)]


def _fill(state: LaneState, request: Request) -> str:
    """Put saved results where steering waits for them; the answer says what is missing, "" if nothing is."""
    stubs = state.steering.required(request.parent, request.lane.name)
    if not stubs:
        return ""
    request.items, missing = fill_required(stubs, request.items, request.lane.saved)
    request.filled = True
    for item in request.items:
        request.lane.saved.pop(call_of(item), None)
    if missing:
        return f"steering waits for the results of {', '.join(missing)}; send them as input of this request"
    return ""


def _replay_notice(state: LaneState, request: Request) -> list[Action]:
    node = state.lineage.get(request.parent)
    if node is None or request.how not in {"window", "history"} or node.window is not None:
        return []
    base = "its compacted window and what came after" if request.how == "window" else "its whole history"
    text = f"{shown(request.lane.name)} continues {node.id} from {base}: the server no longer holds that response"
    return [Notice("replayed", text, request.lane.name, request.ticket)]


# ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _time_limits(state: LaneState, connection: Connection, lane: Lane, at: float) -> list[Action]:
    limits, actions, request = state.settings, list[Action](), lane.active
    if request is not None and connection.alive:
        phase, limit, since = _patience(state, lane)
        if limit is not None and at >= since + limit:
            if phase != "release":
                actions += state.stop(request, "cut_off", TimedOut(phase, limit), at)
            elif connection.state is ConnectionState.OPEN:
                connection.take(ConnectionInput.RETIRE)
                text = (
                    f"{shown(lane.name)} waited {limit:g} s for a stopped response to end; the connection is replaced"
                )
                actions.append(Notice("reconnecting", text, lane.name, request.ticket))
    if lane.steered is not None and _passed(at, lane.steered_at, limits.steer_timeout):
        text = f"{shown(lane.name)}: no successor of {lane.steered} within {limits.steer_timeout:g} s after steering"
        lane.steered = None
        actions.append(Notice("steer_timeout", text, lane.name))
    head = lane.queue[0] if lane.queue else None
    if head is not None and head.blocked_since is not None and _passed(at, head.blocked_since, limits.barrier_timeout):
        fork = _fork_before(state, connection, head)
        head.barrier, head.blocked_since = False, None
        if fork is not None:
            text = (
                f"{shown(lane.name)} waited {limits.barrier_timeout:g} s for its fork on {shown(fork.lane.name)} and "
                "goes on; the fork may have to be sent with its full context"
            )
            actions.append(Notice("barrier_timeout", text, lane.name, head.ticket))
    return actions


def _passed(at: float, since: float, limit: float | None) -> bool:
    return limit is not None and at >= since + limit


def _patience(state: LaneState, lane: Lane) -> tuple[str, float | None, float]:
    """What the lane's request in flight may wait for: the name of the limit, the limit, and since when."""
    request, limits = lane.active, state.settings
    if request is None:
        return "", None, 0.0
    if request.state is RequestState.SENT:
        return "first_event", limits.first_event_timeout, request.sent_at
    if request.state in _HEARD:
        return "idle", limits.idle_timeout, request.heard_at
    if not lane.queue:
        return "release", None, 0.0
    return "release", limits.release_timeout, max(request.stopped_at, lane.queue[0].queued_at)


def _wake(state: LaneState, at: float) -> list[Action]:
    """A `Wake` for the earliest time limit. All are looked through only when the last one's time has come."""
    if state.wake_at is not None and state.wake_at <= at:
        state.wake_at = None
        state.alarm_at = min((time for time in deadlines(state) if time > at), default=None)
    if state.alarm_at is None:
        return []
    state.wake_at, state.alarm_at = state.alarm_at, None
    return [Wake(state.wake_at)]


def deadlines(state: LaneState) -> Iterator[float]:
    """When each time limit ends, past ones included."""
    limits = state.settings
    if state.echo is None and state.probed_at is not None and limits.probe_timeout is not None:
        yield state.probed_at + limits.probe_timeout
    for connection in state.connections:
        if connection.state is ConnectionState.WAITING:
            yield connection.due
        if connection.state is ConnectionState.OPEN and limits.renew_after is not None:
            yield connection.opened_at + limits.renew_after
        for lane in connection.lanes:
            yield from _lane_deadlines(state, connection, lane)


def _lane_deadlines(state: LaneState, connection: Connection, lane: Lane) -> Iterator[float]:
    limits = state.settings
    _, patience, since = _patience(state, lane)
    if patience is not None and connection.alive:
        yield since + patience
    if lane.steered is not None and limits.steer_timeout is not None:
        yield lane.steered_at + limits.steer_timeout
    if lane.queue:
        head = lane.queue[0]
        yield head.not_before
        if head.blocked_since is not None and limits.barrier_timeout is not None:
            yield head.blocked_since + limits.barrier_timeout
