"""What goes into the lane table (requests, settings) and what comes out (actions): frozen values, no behaviour.

An action holds all that the driver needs to carry it out. `generation` names one socket for ever: a socket that is
opened anew has a new one. `ticket` names one request; `lane` is a stream_id, None for the default lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from nbresponses.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.core.lanes.tables import SteerState
    from nbresponses.core.wire import Event
    from nbresponses.errors import NBResponsesError

__all__ = [
    "Accepted",
    "Action",
    "Close",
    "Deliver",
    "Ended",
    "Ending",
    "LaneRequest",
    "LaneSettings",
    "Notice",
    "Open",
    "Record",
    "Refuse",
    "Repeated",
    "Report",
    "Send",
    "Started",
    "Steering",
    "Wake",
]

Ending: TypeAlias = Literal["completed", "incomplete", "failed", "cancelled", "error", "cut_off", "interrupted"]


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """One create as a lane's user asks for it.

    `body` is the request body without `type`, `stream_id`, `stream` and `background`. Its `previous_response_id` says
    what the request continues: absent, the lane's latest completed response at the moment of sending; None, nothing;
    an id, that response (a fork where it lies on another lane).
    """

    lane: str | None
    body: Mapping[str, Any]
    barrier: bool = True
    """False: this request neither waits for a fork nor, as a fork, lets others wait."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """Limits and waits. Times are in seconds; None switches a time limit off."""

    max_in_flight: int = 16
    """Requests at the server at once, on a connection."""
    max_names: int = 32
    """Names of lanes on a connection, counted until its socket is replaced."""
    max_age: float | None = 3600.0
    """How old the server lets a connection become."""
    age_margin: float = 120.0
    """This long before `max_age` a connection takes nothing new, and is replaced when what runs has ended."""
    on_name_limit: Literal["error", "new_connection"] = "error"
    """What becomes of a name beyond `max_names`: an error, or a further connection ("new_connection")."""
    on_uncertain: Literal["raise", "retry"] = "raise"
    """What becomes of a request that was sent and whose connection is gone: "raise", or "retry"."""
    max_attempts: int = 3
    """How often one request is sent at most, whatever the reasons for repeating it."""
    open_attempts: int = 6
    """Failures to connect in a row, after which what waits for the connection ends."""
    backoff: float = 0.5
    """The first pause before connecting anew or repeating; it doubles each time, up to `backoff_cap`."""
    backoff_cap: float = 30.0
    """The longest pause."""
    barrier_timeout: float | None = 30.0
    """How long a lane waits for a fork of its answer to begin, with store=false, before it goes on."""
    steer_timeout: float | None = 30.0
    """How long a lane waits for what becomes of a steering message after its response has ended."""
    probe_timeout: float | None = 2.0
    """How long the first named request goes alone, so that its answer shows whether stream_id comes back."""
    first_event_timeout: float | None = 120.0
    """From sending a request until its first event."""
    idle_timeout: float | None = 600.0
    """From one event of a response until the next."""
    release_timeout: float | None = 60.0
    """How long a lane's next request waits for the end of a stopped response before the connection is replaced."""
    encrypted_reasoning: bool | None = None
    """Ask for `reasoning.encrypted_content` with store=false: None, where the model reasons."""
    keep_history: bool = True
    """Keep inputs and outputs, so that a lane can be recovered without the server's memory."""
    max_nodes: int = 10_000
    """How many responses the lineage remembers besides those that the lanes still stand on."""

    def __post_init__(self) -> None:
        for name in ("max_in_flight", "max_names", "max_attempts", "open_attempts"):
            if getattr(self, name) < 1:
                raise RequestError(name, f"must be at least 1, not {getattr(self, name)}")
        for name, allowed in (("on_name_limit", ("error", "new_connection")), ("on_uncertain", ("raise", "retry"))):
            if getattr(self, name) not in allowed:
                raise RequestError(name, f"must be one of {allowed}, not {getattr(self, name)!r}")

    @property
    def renew_after(self) -> float | None:
        """The age at which a connection takes nothing new; at least half of `max_age`, whatever the margin."""
        return None if self.max_age is None else self.max_age - min(self.age_margin, self.max_age / 2)


# ── For the sockets ──────────────────────────────────────────────────────────────────────────────────────────────────


class Open(msgspec.Struct, frozen=True):
    """Open a socket; then call `opened(generation)`, or `closed(generation, …, error=…)` where that fails."""

    generation: int


class Send(msgspec.Struct, frozen=True):
    """Write this message as one JSON text frame. `ticket` is None for a steering message."""

    generation: int
    ticket: int | None
    lane: str | None
    message: dict[str, Any]


class Close(msgspec.Struct, frozen=True):
    """Close that socket. Nothing that it still brings is looked at."""

    generation: int
    code: int = 1000
    reason: str = ""


class Wake(msgspec.Struct, frozen=True):
    """Call `ticked` at this time. Always earlier than the Wake before it, unless that one has been used."""

    at: float


# ── For the streams ──────────────────────────────────────────────────────────────────────────────────────────────────


class Accepted(msgspec.Struct, frozen=True):
    """`submitted` took the request; it will end exactly once."""

    ticket: int


class Refuse(msgspec.Struct, frozen=True):
    """The input was refused and changed nothing: raise this error to the caller."""

    error: NBResponsesError


class Started(msgspec.Struct, frozen=True):
    """The server began a response that no request asked for: make a stream for it.

    `steers` are the steering messages it answers, `parent` the response it continues.
    """

    ticket: int
    lane: str | None
    parent: str | None
    steers: tuple[int, ...] = ()


class Deliver(msgspec.Struct, frozen=True):
    """An event for the user of this request, and for its capture."""

    ticket: int
    event: Event


class Record(msgspec.Struct, frozen=True):
    """An event for this request's capture alone: its stream is over, or the attempt it belongs to is."""

    ticket: int
    event: Event


class Repeated(msgspec.Struct, frozen=True):
    """The request goes to the server anew; what came of it so far counts no more: begin a new accumulator.

    `reason` is "previous_response_not_found", "connection_limit", "server_error" or "disconnected". Only in the last
    case could the first attempt have run.
    """

    ticket: int
    reason: str
    text: str


class Ended(msgspec.Struct, frozen=True):
    """The request is over for its user. The last word about it, apart from `Record`.

    `error` is set where the end was found here (refused, disconnected, timed out); where the server ended it, the event
    before it says all. `safe_to_repeat`: nothing of it ran.
    """

    ticket: int
    ending: Ending
    error: NBResponsesError | None = None
    safe_to_repeat: bool = False


class Steering(msgspec.Struct, frozen=True):
    """What became of a steering message. `input` is given back where it failed or was lost."""

    steer: int
    ticket: int
    state: SteerState
    id: str | None = None
    required_input: tuple[dict[str, Any], ...] = ()
    error: Mapping[str, Any] | None = None
    input: Any = None


# ── For the user ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Notice(msgspec.Struct, frozen=True):
    """Something the user should know, and nothing to act on. `kind` is one word for programs."""

    kind: str
    text: str
    lane: str | None = None
    ticket: int | None = None


class Report(msgspec.Struct, frozen=True):
    """What belongs to a connection and to no lane: an event, an error, or an error and the event that caused it."""

    generation: int
    event: Event | None = None
    error: NBResponsesError | None = None


Action: TypeAlias = (
    Open
    | Send
    | Close
    | Wake
    | Accepted
    | Refuse
    | Started
    | Deliver
    | Record
    | Repeated
    | Ended
    | Steering
    | Notice
    | Report
)
