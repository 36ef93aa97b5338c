"""The errors of the lane table: which request an error belongs to, and whether that is sent again. Sends nothing.

Rules
1. An error with a stream_id belongs to what that lane has in flight, or goes to the capture of its last request.
2. An error without a stream_id: `websocket_connection_limit_reached` ends all that is in flight; any other with nothing
   in flight is the connection's; `invalid_stream_id` belongs to the newest named request that nothing has come for; if
   the default lane has a request in flight, the error is its; else it is the connection's.
3. An error before response.created means that nothing ran. A lost parent is then replaced by the full context, what met
   a passing error is sent again after a pause, and what met the age limit on a new connection; each within
   `max_attempts`. All other errors end their request, and no other.
4. A same-lane continuation that fails loses its parent in the server's cache; a failed fork does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.core.failures import judge
from nbresponses.core.lanes.actions import Action, Deliver, Notice, Record, Report
from nbresponses.core.lanes.sending import shown
from nbresponses.core.lanes.tables import ConnectionInput, ConnectionState, RequestState
from nbresponses.core.response import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.core.lanes.state import Connection, LaneState, Request
    from nbresponses.core.wire import Event

__all__ = ["continuation_failed", "receive_error"]

PREVIOUS_NOT_FOUND = "previous_response_not_found"
INVALID_STREAM_ID = "invalid_stream_id"
CONNECTION_LIMIT = "websocket_connection_limit_reached"


def receive_error(state: LaneState, connection: Connection, event: Event, name: str | None, at: float) -> list[Action]:
    """An `error` event of a live socket."""
    error = error_of(event.to_dict()) or {}
    if error.get("code") == CONNECTION_LIMIT:
        return _age_limit(state, connection, event, at)
    request = _owner_of_error(state, connection, error.get("code"), name)
    if request is not None:
        return _fail(state, request, event, error, at)
    lane = state.lanes.get(name) if name is not None else None
    if lane is not None and lane.last is not None:
        return [Record(lane.last.ticket, event)]
    return [Report(connection.generation, event)]


def _owner_of_error(state: LaneState, connection: Connection, code: Any, name: str | None) -> Request | None:
    in_flight = connection.in_flight
    if state.echo is False:
        return in_flight[0] if in_flight else None
    if name is None and code == INVALID_STREAM_ID:
        named = [request for request in in_flight if request.lane.name is not None and not request.acknowledged]
        return named[-1] if named else None
    return next((request for request in in_flight if request.lane.name == name), None)


def _fail(state: LaneState, request: Request, event: Event, error: Mapping[str, Any], at: float) -> list[Action]:
    if request.over:
        return [Record(request.ticket, event), *state.end(request, "error")]
    nothing_ran = request.state is RequestState.SENT
    continuation_failed(state, request)
    lost_parent = error.get("code") == PREVIOUS_NOT_FOUND and request.how == "id"
    if lost_parent:
        _parent_is_lost(state, request)
    if nothing_ran and state.may_repeat(request):
        repeated = _again(state, request, event, error, at)
        if repeated:
            return [Record(request.ticket, event), *repeated]
    actions = [Deliver(request.ticket, event), *state.end(request, "error", safe=nothing_ran)]
    if lost_parent:
        text = (
            f"{shown(request.lane.name)}: {request.parent} is lost and its history is not known here, so the request "
            "is not sent again; send the whole conversation as input with previous_response_id=None"
        )
        actions.append(Notice("not_repeated", text, request.lane.name, request.ticket))
    return actions


def _again(state: LaneState, request: Request, event: Event, error: Mapping[str, Any], at: float) -> list[Action]:
    """Nothing of the request has run: send it again, if that can help."""
    where = shown(request.lane.name)
    if error.get("code") == PREVIOUS_NOT_FOUND and request.how == "id":
        if state.lineage.context(request.parent) is None:
            return []
        text = f"{where}: the server has lost {request.parent}; sent again with the full context"
        return state.repeat(request, PREVIOUS_NOT_FOUND, text, not_before=at)
    status = event.to_dict().get("status")
    verdict = judge(error, status=status if type(status) is int else None, now=at)
    if not verdict.retryable:
        return []
    wait = state.pause(request.attempts - 1) if verdict.wait is None else verdict.wait
    state.alarm(at, wait)
    text = f"{where}: {error.get('message') or error.get('code') or 'error'}; sent again in {wait:.1f} s"
    return state.repeat(request, "server_error", text, not_before=at + wait)


def continuation_failed(state: LaneState, request: Request) -> None:
    """A request that continued its lane's response by id has failed."""
    node, connection = state.lineage.get(request.parent), request.lane.connection
    if node is not None and connection is not None and request.how == "id":
        connection.cache.continuation_failed(request.lane.name, node.id)


def _parent_is_lost(state: LaneState, request: Request) -> None:
    node, connection = state.lineage.get(request.parent), request.lane.connection
    request.parent_lost = True
    if node is not None and connection is not None:
        node.stored = False
        connection.cache.lost(node.id)


def _age_limit(state: LaneState, connection: Connection, event: Event, at: float) -> list[Action]:
    """The connection takes nothing more. What had not begun goes to the next one; what had begun is over."""
    actions: list[Action] = []
    for request in connection.in_flight:
        began = request.state is not RequestState.SENT
        again = not began or state.settings.on_uncertain == "retry"
        if request.over:
            actions += [Record(request.ticket, event), *state.end(request, "error")]
        elif again and state.may_repeat(request):
            text = f"{shown(request.lane.name)}: the connection is at its age limit; sent again on a new one"
            request.uncertain = request.uncertain or began
            actions.append(Record(request.ticket, event))
            actions += state.repeat(request, "connection_limit", text, not_before=at)
        else:
            actions += [Deliver(request.ticket, event), *state.end(request, "error", safe=not began)]
    if connection.state is ConnectionState.OPEN:
        connection.take(ConnectionInput.RETIRE)
        state.moved = True
    return actions or [Report(connection.generation, event)]
