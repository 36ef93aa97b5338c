"""Steering messages: which answer belongs to which, and what becomes of each. Sends nothing.

Rules
1. A steering message is sent with the id of the response it is for, without a stream_id. Until that id is known it is
   held here.
2. An answer belongs to the message with its steer id; the first answer to a message (accepted, pending or failed) goes
   to the oldest one for that response that has none.
3. Accepted and pending messages are the server's: they are never sent again. They are committed when the successor is
   created, or when a create that continues the response is; a failed one is given back, and so is one whose connection
   went away.
4. After its response has ended, the lane waits while a message is sent or accepted: a successor may start by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.core.lanes.actions import Steering
from nbresponses.core.lanes.tables import STEER, SteerInput, SteerState, step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.core.wire import Event

__all__ = ["ANSWERS", "Steer", "SteeringBook"]

ANSWERS = {
    "response.steer.accepted": SteerInput.ACCEPT,
    "response.steer.pending": SteerInput.PEND,
    "response.steer.failed": SteerInput.FAIL,
}
_UNANSWERED = frozenset({SteerState.SENT, SteerState.ACCEPTED})
_OWNED = frozenset({SteerState.ACCEPTED, SteerState.PENDING})


@dataclass(slots=True, eq=False)
class Steer:
    """One steering message. `number` is ours, `id` the server's; `ticket` is the request that it steers."""

    number: int
    ticket: int
    lane: str | None
    input: Any
    parent: str | None = None
    state: SteerState = SteerState.HELD
    id: str | None = None
    required: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class SteeringBook:
    """The messages that are not settled yet."""

    _open: list[Steer] = field(default_factory=list)
    _next: int = 1

    def add(self, ticket: int, lane: str | None, value: Any) -> Steer:
        steer = Steer(self._next, ticket, lane, value)
        self._next += 1
        self._open.append(steer)
        return steer

    def held_for(self, ticket: int) -> list[Steer]:
        return [steer for steer in self._open if steer.ticket == ticket and steer.state is SteerState.HELD]

    def waits(self, parent: str | None) -> bool:
        """Whether the server may still start a successor of this response by itself."""
        return any(steer.parent == parent and steer.state in _UNANSWERED for steer in self._open)

    def required(self, parent: str | None, lane: str | None) -> list[dict[str, Any]]:
        """The stubs that a continuation of this response on its lane has to fill, each once."""
        waiting = [steer for steer in self._open if steer.parent == parent and steer.lane == lane]
        stubs = [stub for steer in waiting for stub in steer.required]
        return [stub for i, stub in enumerate(stubs) if stub not in stubs[:i]]

    def sent(self, steer: Steer, parent: str) -> Steering:
        steer.parent = parent
        return self._settle(steer, SteerInput.SEND)

    def answered(self, event: Event) -> tuple[Steer, Steering] | None:
        """The message this event answers, and the news; None where it answers none, or says nothing new."""
        fields = event.to_dict()
        about = fields.get("steer")
        about = about if isinstance(about, dict) else {}
        steer = self._find(about.get("id"), about.get("previous_response_id"))
        given = ANSWERS[event.type]
        if steer is None or given not in STEER[steer.state]:
            return None
        steer.id = about.get("id") or steer.id
        if given is SteerInput.PEND:
            stubs = fields.get("required_input")
            steer.required = tuple(stub for stub in stubs if isinstance(stub, dict)) if isinstance(stubs, list) else ()
        error = fields.get("error")
        return steer, self._settle(steer, given, error if isinstance(error, dict) else None)

    def committed(self, parent: str | None, lane: str | None) -> tuple[list[Steer], list[Steering]]:
        """A continuation of `parent` was created on its lane: it has what the server owned, oldest first."""
        here = [steer for steer in self._open if steer.parent == parent and steer.lane == lane]
        taken = [steer for steer in here if steer.state in _OWNED]
        return taken, [self._settle(steer, SteerInput.COMMIT) for steer in taken]

    def successor(self, parent: str | None, lane: str | None) -> tuple[list[Steer], list[Steering]]:
        """A response that nobody asked for was created: it commits unanswered messages too, if it commits no other."""
        taken, news = self.committed(parent, lane)
        if not taken:
            taken = [steer for steer in self._open if steer.parent == parent and steer.state is SteerState.SENT]
            news = [self._settle(steer, SteerInput.COMMIT) for steer in taken]
        return taken, news

    def unsent(self, ticket: int, error: Mapping[str, Any]) -> list[Steering]:
        """The response ended before its id was known."""
        return [self._settle(steer, SteerInput.FAIL, error) for steer in self.held_for(ticket)]

    def lost(self, lanes: set[str | None]) -> list[Steering]:
        """The connection of these lanes is gone, and with it what the server owned."""
        gone = [steer for steer in self._open if steer.lane in lanes and steer.state is not SteerState.HELD]
        return [self._settle(steer, SteerInput.LOSE) for steer in gone]

    def _find(self, steer_id: Any, parent: Any) -> Steer | None:
        for steer in self._open:
            if steer_id is not None and steer.id == steer_id:
                return steer
        waiting = (steer for steer in self._open if steer.state is SteerState.SENT and steer.id is None)
        return next((steer for steer in waiting if parent is None or steer.parent == parent), None)

    def _settle(self, steer: Steer, given: SteerInput, error: Mapping[str, Any] | None = None) -> Steering:
        steer.state = step(STEER, steer.state, given)
        if not STEER[steer.state]:
            self._open.remove(steer)
        back = steer.input if steer.state in {SteerState.FAILED, SteerState.LOST} else None
        return Steering(steer.number, steer.ticket, steer.state, steer.id, steer.required, error, back)
