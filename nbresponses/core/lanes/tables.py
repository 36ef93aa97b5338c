"""The state tables of WebSocket mode as data: which input takes which state where. No logic, no I/O, no clock.

Three things have a state: a request, the connection that carries it, and a steering message. A cell that is missing is
an input that cannot happen in that state; `step` refuses it and changes nothing. The pictures in `docs/lanes.md` are
drawn from these tables by `diagram`.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from nbresponses.errors import LaneError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CONNECTION",
    "IN_FLIGHT",
    "REQUEST",
    "STEER",
    "ConnectionInput",
    "ConnectionState",
    "RequestInput",
    "RequestState",
    "SteerInput",
    "SteerState",
    "diagram",
    "step",
]


class RequestState(StrEnum):
    """Where a request is. SENT to STOPPED are in flight: the server has it."""

    QUEUED = "queued"  # waits here: for its turn on the lane, a free place, the connection, a fork
    SENT = "sent"  # on the wire; nothing has come back, so an error now means that nothing ran
    CREATED = "created"  # response.created came; a fork's parent can still be lost
    RUNNING = "running"  # response.in_progress or later came; a fork holds its context now
    STOPPED = "stopped"  # over for its user, not for the server; the lane waits for its terminal event
    ENDED = "ended"


class RequestInput(StrEnum):
    SEND = "send"  # its create is handed to the driver
    UNSENT = "unsent"  # the driver says that not a byte of it was written
    CREATED = "created"
    PROGRESS = "progress"  # any later response event that is not terminal
    END = "end"  # terminal event, error, or the end of its connection
    REPEAT = "repeat"  # back to the head of its lane, to be sent anew
    STOP = "stop"  # its user stopped it, or a time limit ran out
    FAIL = "fail"  # it cannot be sent


class ConnectionState(StrEnum):
    """Where a connection is. One of these at a time carries frames: OPEN and DRAINING."""

    IDLE = "idle"  # no socket, and nothing that needs one
    OPENING = "opening"
    OPEN = "open"
    DRAINING = "draining"  # nothing new is sent; it closes when what runs has ended
    WAITING = "waiting"  # the pause before the next attempt
    ENDED = "ended"


class ConnectionInput(StrEnum):
    WANT = "want"  # there is something to send
    OPENED = "opened"
    LOST = "lost"  # closed by the other side, broken, or not opened at all
    RETIRE = "retire"  # its age, its limit, a response that never ends, or the user
    DRAINED = "drained"
    DUE = "due"  # the pause is over and there is something to send
    REST = "rest"  # the pause is over and there is nothing
    GIVE_UP = "give_up"  # too many attempts, or an answer that will not change
    SHUT = "shut"


class SteerState(StrEnum):
    """Where a steering message is. COMMITTED, FAILED and LOST are final."""

    HELD = "held"  # its response has no id yet
    SENT = "sent"
    ACCEPTED = "accepted"  # the server owns it
    PENDING = "pending"  # the server owns it and waits for tool outputs or approvals
    COMMITTED = "committed"  # the successor has it
    FAILED = "failed"  # given back
    LOST = "lost"  # given back: the connection that held it is gone


class SteerInput(StrEnum):
    SEND = "send"
    ACCEPT = "accept"
    PEND = "pend"
    COMMIT = "commit"
    FAIL = "fail"
    LOSE = "lose"


State = TypeVar("State", bound=StrEnum)
Input = TypeVar("Input", bound=StrEnum)


def _frozen(rows: Mapping[State, Mapping[Input, State]]) -> Mapping[State, Mapping[Input, State]]:
    return MappingProxyType({state: MappingProxyType(dict(row)) for state, row in rows.items()})


def _request_table() -> Mapping[RequestState, Mapping[RequestInput, RequestState]]:
    state, given = RequestState, RequestInput
    back = {given.END: state.ENDED, given.REPEAT: state.QUEUED, given.STOP: state.STOPPED}
    return _frozen(
        {
            state.QUEUED: {given.SEND: state.SENT, given.STOP: state.ENDED, given.FAIL: state.ENDED},
            state.SENT: {
                given.UNSENT: state.QUEUED,
                given.CREATED: state.CREATED,
                given.PROGRESS: state.RUNNING,
                **back,
            },
            state.CREATED: {given.CREATED: state.CREATED, given.PROGRESS: state.RUNNING, **back},
            state.RUNNING: {given.CREATED: state.RUNNING, given.PROGRESS: state.RUNNING, **back},
            state.STOPPED: {
                given.UNSENT: state.ENDED,
                given.CREATED: state.STOPPED,
                given.PROGRESS: state.STOPPED,
                given.END: state.ENDED,
            },
            state.ENDED: {},
        }
    )


def _connection_table() -> Mapping[ConnectionState, Mapping[ConnectionInput, ConnectionState]]:
    state, given = ConnectionState, ConnectionInput
    shut = {given.SHUT: state.ENDED}
    return _frozen(
        {
            state.IDLE: {given.WANT: state.OPENING, **shut},
            state.OPENING: {given.OPENED: state.OPEN, given.LOST: state.WAITING, **shut},
            state.OPEN: {given.RETIRE: state.DRAINING, given.LOST: state.WAITING, **shut},
            state.DRAINING: {given.DRAINED: state.IDLE, given.LOST: state.WAITING, **shut},
            state.WAITING: {
                given.DUE: state.OPENING,
                given.REST: state.IDLE,
                given.GIVE_UP: state.IDLE,
                **shut,
            },
            state.ENDED: {},
        }
    )


def _steer_table() -> Mapping[SteerState, Mapping[SteerInput, SteerState]]:
    state, given = SteerState, SteerInput
    answered = {
        given.PEND: state.PENDING,
        given.COMMIT: state.COMMITTED,
        given.FAIL: state.FAILED,
        given.LOSE: state.LOST,
    }
    return _frozen(
        {
            state.HELD: {given.SEND: state.SENT, given.FAIL: state.FAILED},
            state.SENT: {given.ACCEPT: state.ACCEPTED, **answered},
            state.ACCEPTED: answered,
            state.PENDING: answered,
            state.COMMITTED: {},
            state.FAILED: {},
            state.LOST: {},
        }
    )


REQUEST: Mapping[RequestState, Mapping[RequestInput, RequestState]] = _request_table()
CONNECTION: Mapping[ConnectionState, Mapping[ConnectionInput, ConnectionState]] = _connection_table()
STEER: Mapping[SteerState, Mapping[SteerInput, SteerState]] = _steer_table()

IN_FLIGHT = frozenset({RequestState.SENT, RequestState.CREATED, RequestState.RUNNING, RequestState.STOPPED})
"""The states in which a request takes one of the places of its connection."""


def step(table: Mapping[State, Mapping[Input, State]], state: State, given: Input) -> State:
    """The state after `given`; LaneError, which names both, where the table has no such cell."""
    try:
        return table[state][given]
    except KeyError:
        allowed = ", ".join(table[state]) or "nothing"
        raise LaneError(f"{given!s} cannot happen to what is {state!s} (only {allowed} can)") from None


def diagram(table: Mapping[State, Mapping[Input, State]]) -> str:
    """The table as a Mermaid state diagram, one arrow for all inputs that lead from one state to another."""
    lines = ["stateDiagram-v2", f"    [*] --> {next(iter(table))}"]
    for state, row in table.items():
        arrows: dict[State, list[str]] = {}
        for given, target in row.items():
            arrows.setdefault(target, []).append(str(given))
        lines += [f"    {state} --> {target}: {', '.join(inputs)}" for target, inputs in arrows.items()]
        if not row:
            lines.append(f"    {state} --> [*]")
    return "\n".join(lines)
