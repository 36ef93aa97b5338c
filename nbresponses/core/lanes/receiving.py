"""The receiving half of the lane table: which request an event belongs to, and what it changes.

Rules
1. An event with a stream_id belongs to what that lane has in flight, an event without one to the default lane's. What
   comes on a lane with nothing in flight belongs to the lane's last request, and only to its capture.
2. A terminal event that names a response that has ended belongs to that response's request, never to its successor.
3. A stream_id that is no text, and a payload that is no event, are the connection's; no lane sees them.
4. A response that nobody asked for gets a ticket of its own on its lane.
5. Response events without a stream_id, while only named requests are in flight and none was ever sent back: the server
   drops it (unless they can be late events of the default lane). From then on events belong to the oldest request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.core.lanes.actions import Action, Deliver, Ending, Notice, Record, Report, Send, Started
from nbresponses.core.lanes.errors import continuation_failed, receive_error
from nbresponses.core.lanes.lineage import Node
from nbresponses.core.lanes.recovery import as_items
from nbresponses.core.lanes.state import Request
from nbresponses.core.lanes.steering import ANSWERS
from nbresponses.core.lanes.tables import RequestInput, RequestState
from nbresponses.core.wire import Event, InvalidEvent, UnknownEvent
from nbresponses.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.core.lanes.state import Connection, Lane, LaneState
    from nbresponses.core.lanes.steering import Steer

__all__ = ["ITEM_DONE", "TURNING", "receive", "steer_message"]

_STARTS = frozenset({"response.created", "response.queued"})
_ENDINGS: Mapping[str, Ending] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
ITEM_DONE = "response.output_item.done"
TURNING = frozenset({*_STARTS, *_ENDINGS, *ANSWERS, "error", "invalid"})
"""The types that can change more than the response they belong to."""


def receive(state: LaneState, connection: Connection, event: Event, at: float) -> list[Action]:
    """One event of a live socket."""
    try:
        name = _stream_id(event)
    except ProtocolError as error:
        return [Report(connection.generation, event, error)]
    if event.type == "error":
        return receive_error(state, connection, event, name, at)
    if event.type in ANSWERS:
        return _steer_answer(state, connection, event, name)
    return _response_event(state, connection, event, name, at)


def _response_event(
    state: LaneState, connection: Connection, event: Event, name: str | None, at: float
) -> list[Action]:
    request, notices = _owner(state, connection, event, name)
    late = _late(state, event, request)
    if late is not None:
        return [*notices, Record(late, event)]
    if request is not None:
        request.heard_at = at
        return [*notices, *_apply(state, request, event, at)]
    lane = _quiet_lane(state, connection, name)
    if lane is not None and event.type in _STARTS:
        return _adopt(state, connection, lane, event, at)
    if lane is not None and lane.last is not None and event.type.startswith("response."):
        return [Record(lane.last.ticket, event)]
    return [Report(connection.generation, event)]


# ── Whose event it is ────────────────────────────────────────────────────────────────────────────────────────────────


def _stream_id(event: Event) -> str | None:
    if isinstance(event, InvalidEvent):
        raise event.error or ProtocolError("a message that is no event")
    name: Any = event.stream_id
    if name is None and isinstance(event, UnknownEvent):
        name = event.to_dict().get("stream_id")
    if name is not None and not isinstance(name, str):
        raise ProtocolError(
            f"a {event.type} event with a stream_id that is no text but {type(name).__name__}; no lane gets it"
        )
    return name or None


def _owner(
    state: LaneState, connection: Connection, event: Event, name: str | None
) -> tuple[Request | None, list[Action]]:
    """The request in flight that the event belongs to, and what was learned about the server."""
    if state.echo is False:
        return next(iter(connection.in_flight), None), []
    lane = state.lanes.get(name)
    if lane is not None and lane.active is not None and lane.connection is connection:
        if name is not None and state.echo is None:
            state.echo = state.moved = True
        return lane.active, []
    if name is not None or state.echo or not event.type.startswith("response."):
        return None, []
    unseen = [request for request in connection.in_flight if request.state is RequestState.SENT]
    if not unseen:
        return None, []
    used = lane is not None and lane.served > 0 and lane.connection is connection
    if lane is not None and used and (event.type not in _STARTS or lane.steered is not None):
        return None, []  # it comes late on the default lane
    state.echo = False
    connection.cache.one_lane = True
    text = "the server does not send stream_id back: requests go one at a time and are matched by arrival"
    return unseen[0], [Notice("stream_id_dropped", text)]


def _late(state: LaneState, event: Event, request: Request | None) -> int | None:
    """The ticket of the ended response that a lifecycle event names, if it is not the request in flight.

    A start counts as late only where nothing is in flight, so that a server which gives all responses one id is read.
    """
    if event.type not in _ENDINGS and (event.type not in _STARTS or request is not None):
        return None
    response_id = _response(event).get("id")
    node = state.lineage.get(response_id if isinstance(response_id, str) else None)
    if node is None or node.state == "running":
        return None
    current = request.node if request is not None else None
    own = current is not None and (current is node or current.id == response_id)
    return None if own else node.ticket


def _quiet_lane(state: LaneState, connection: Connection, name: str | None) -> Lane | None:
    """The lane of an event that no request in flight owns."""
    if state.echo is False:
        return next((lane for lane in connection.lanes if lane.steered is not None), None)
    lane = state.lanes.get(name)
    return lane if lane is not None and lane.connection is connection else None


def _response(event: Event) -> dict[str, Any]:
    response = event.to_dict().get("response") if isinstance(event, UnknownEvent) else getattr(event, "response", None)
    return response if isinstance(response, dict) else {}


# ── What it changes ──────────────────────────────────────────────────────────────────────────────────────────────────


def _apply(state: LaneState, request: Request, event: Event, at: float) -> list[Action]:
    given: Action = Record(request.ticket, event) if request.over else Deliver(request.ticket, event)
    if event.type in _STARTS:
        request.take(RequestInput.CREATED)
        state.alarm(at, state.settings.idle_timeout)
        return [given, *_begin(state, request, _response(event))]
    if event.type in _ENDINGS:
        return [given, *_finish(state, request, event, at)]
    if event.type.startswith("response."):
        if request.state is not RequestState.RUNNING:
            state.alarm(at, state.settings.idle_timeout)
            state.moved = state.moved or bool(state.forks)
        request.take(RequestInput.PROGRESS)
        if event.type == ITEM_DONE and state.settings.keep_history:
            request.done_items.append(event.payload)
    return [given]


def _begin(state: LaneState, request: Request, response: Mapping[str, Any]) -> list[Action]:
    """The response has an id: it is a node of the lineage, and what waited for the id can go."""
    if request.node is not None:
        return []
    taken, news = state.steering.committed(request.parent, request.lane.name)
    if taken:  # the server put the steering input in front of the request's own
        request.items = [*(item for steer in taken for item in as_items(steer.input)), *request.items]
        request.filled = True
    _add_node(state, request, response)
    actions: list[Action] = [*news]
    for steer in state.steering.held_for(request.ticket):
        actions += steer_message(state, request, steer)
    return actions


def _add_node(state: LaneState, request: Request, response: Mapping[str, Any]) -> Node:
    response_id, stored = response.get("id"), response.get("store")
    has_id = isinstance(response_id, str) and bool(response_id)
    known = state.settings.keep_history and "conversation" not in request.body
    request.node = Node(
        id=str(response_id) if has_id else f"ticket-{request.ticket}",
        lane=request.lane.name,
        parent=request.parent,
        ticket=request.ticket,
        generation=request.generation,
        stored=(stored if isinstance(stored, bool) else request.stored) and has_id,
        items=tuple(request.items) if known else None,
        how=request.how,
        addressable=has_id,
    )
    state.lineage.add(request.node)
    return request.node


def steer_message(state: LaneState, request: Request, steer: Steer) -> list[Action]:
    """The steering message on its way to a response whose id is known."""
    target = request.node.id if request.node is not None else ""
    message = {"type": "response.steer", "previous_response_id": target, "input": steer.input}
    news = state.steering.sent(steer, target)
    return [news, Send(request.generation, None, request.lane.name, message)]


def _finish(state: LaneState, request: Request, event: Event, at: float) -> list[Action]:
    response, ending = _response(event), _ENDINGS[event.type]
    if response.get("status") == "cancelled":
        ending = "cancelled"
    actions = _begin(state, request, response)
    node, lane, stopped = request.node, request.lane, request.over
    if node is None:
        return actions
    last_id = response.get("id")
    if isinstance(last_id, str) and last_id and last_id != node.id:
        state.lineage.rename(node, last_id)
    if state.settings.keep_history:
        _keep_output(node, request, event, response)
    details = response.get("incomplete_details")
    steered = ending == "incomplete" and isinstance(details, dict) and details.get("reason") == "steered"
    actions += state.end(request, ending)
    if not stopped:
        node.state = "steered" if steered else ending
    if ending == "completed" or steered:
        if lane.connection is not None:
            lane.connection.cache.completed(lane.name, node.id)
        lane.latest = lane.latest if stopped else node.id
    elif ending == "failed":
        continuation_failed(state, request)
    if steered or state.steering.waits(node.id):
        lane.steered, lane.steered_at = node.id, at
        state.alarm(at, state.settings.steer_timeout)
    if state.lineage.crowded:
        state.lineage.prune(_needed(state))
    return actions


def _keep_output(node: Node, request: Request, event: Event, response: Mapping[str, Any]) -> None:
    listed = response.get("output")
    shorter = not isinstance(listed, list) or len(listed) < len(request.done_items)
    node.payloads = (event.payload, *(request.done_items if shorter else ()))
    request.done_items = []


def _needed(state: LaneState) -> list[str]:
    ids = [lane.latest for lane in state.lanes.values()] + [request.parent for request in state.requests.values()]
    return [response_id for response_id in ids if response_id is not None]


def _adopt(state: LaneState, connection: Connection, lane: Lane, event: Event, at: float) -> list[Action]:
    """A response that no request asked for, most likely the successor of a steered one."""
    response, before = _response(event), lane.last
    said = response.get("previous_response_id")
    fallback = before.node.id if before is not None and before.node is not None else None
    parent = lane.steered or (said if isinstance(said, str) else fallback)
    taken, news = state.steering.successor(parent, lane.name)
    request = state.register(
        Request(
            0,
            lane,
            body={name: value for name, value in before.body.items() if name != "input"} if before else {},
            items=[item for steer in taken for item in as_items(steer.input)],
            parent=parent,
            asked=False,
            filled=True,
            state=RequestState.CREATED,
            how="successor",
            generation=connection.generation,
            attempts=1,
            sent_at=at,
            heard_at=at,
        )
    )
    lane.active, lane.steered = request, None
    state.turns += 1
    lane.served = state.turns
    _add_node(state, request, response)
    started = Started(request.ticket, lane.name, parent, tuple(steer.number for steer in taken))
    return [started, *news, Deliver(request.ticket, event)]


# ── Steering ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _steer_answer(state: LaneState, connection: Connection, event: Event, name: str | None) -> list[Action]:
    found = state.steering.answered(event)
    if found is None:
        near = state.lanes.get(name)
        request = (near.active or near.last) if near is not None else None
        return [Record(request.ticket, event) if request else Report(connection.generation, event)]
    steer, news = found
    lane = state.lanes[steer.lane]
    if lane.steered == steer.parent and not state.steering.waits(steer.parent):
        lane.steered = None
        state.moved = True
    live = state.requests.get(steer.ticket)
    shown_to_user = live is not None and not live.over
    given: Action = Deliver(steer.ticket, event) if shown_to_user else Record(steer.ticket, event)
    return [given, news]
