"""Requests and the responses that answer them. Reads the columns; makes no frame.

Rules
1. A response answers the oldest request of its lane that is not answered yet, and was sent before its first event.
2. The same request sent again before an answer came, after a retry or a new connection was noted, is a repeat, not
   another request.
3. An error outside of any response is an answer too: to a request that never became a response.
4. A steering message asks for nothing: it joins a response.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns, Other

__all__ = ["Asked", "Turn", "asked", "found_turns", "messages_of"]

_RESUMES = frozenset({"resumed"})
_REPEATS = frozenset({"retry", "repeated", "closed", "opened"})
"""Notes after which a request may be sent again."""


class _Head(msgspec.Struct):
    type: str | None = None
    previous_response_id: str | None = None


class Asked(NamedTuple):
    """A request: `row` is the number of events before it, `time` in µs."""

    row: int
    time: int
    lane: str | None
    previous_response_id: str | None
    payload: bytes
    repeats: bool
    """Whether it is the one before it, sent again."""


class Turn(NamedTuple):
    """One response, or an error without one, with its events' rows in order. `response_id` is None without an id."""

    number: int
    response_id: str | None
    lane: str | None
    rows: NDArray[np.intp]
    asked: Asked | None
    retries: int
    until: int | None
    """The first row of the next turn on its lane."""


_decode_head = msgspec.json.Decoder(_Head).decode


def asked(events: EventColumns) -> list[Asked]:
    """The requests, in the order in which they were sent."""
    found: list[Asked] = []
    latest: dict[str | None, tuple[bytes, int]] = {}  # lane → its latest request, and how much had been noted then
    noted = 0
    for row, time, channel, payload in events.others:
        if channel.direction == "note":
            noted += channel.kind in _REPEATS
        elif channel.kind == "request":
            head, lane = _head(payload), channel.lane
            if head.type != "response.steer":
                before, then = latest.get(lane, (b"", 0))
                repeats = before == payload and noted > then
                found.append(Asked(row, time, lane, head.previous_response_id, payload, repeats))
                latest[lane] = payload, noted
    return found


def _head(payload: bytes) -> _Head:
    try:
        return _decode_head(payload)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        fields = open_json(payload)
    except DecodeError:
        return _Head()
    texts = {name: fields.get(name) for name in _Head.__struct_fields__}
    return _Head(**{name: value for name, value in texts.items() if isinstance(value, str)})


def found_turns(events: EventColumns) -> list[Turn]:
    """All turns, in order of their first events."""
    waiting: dict[str | None, deque[Asked]] = defaultdict(deque)
    for request in asked(events):
        waiting[request.lane].append(request)
    lanes, words = events.column("lane"), events.lanes.listed()
    resumed = [other for other in events.others if other.channel.kind in _RESUMES and other.channel.direction == "note"]
    turns: list[Turn] = []
    latest: dict[str | None, int] = {}  # lane → place of its latest turn
    for number, rows in _rows_of(events.turn_numbers()):
        first, last = int(rows[0]), int(rows[-1])
        lane = words[lanes[first]] if lanes[first] >= 0 else None
        answered, repeats = _take(waiting[lane], first)
        retries = repeats + _between(resumed, first, last, lane)
        if lane in latest:
            turns[latest[lane]] = turns[latest[lane]]._replace(until=first)
        latest[lane] = len(turns)
        turns.append(Turn(number, events.response_id(number), lane, rows, answered, retries, None))
    return turns


def _rows_of(numbers: NDArray[np.int32]) -> list[tuple[int, NDArray[np.intp]]]:
    """(number, its rows), in order of the first row."""
    order = np.argsort(numbers, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    found = [(int(numbers[rows[0]]), rows) for rows in parts if len(rows) and numbers[rows[0]] >= 0]
    return sorted(found, key=lambda each: each[1][0])


def _take(waiting: deque[Asked], row: int) -> tuple[Asked | None, int]:
    """The request that is answered by what begins at `row`, and how often it was repeated before that."""
    if not waiting or waiting[0].row > row:
        return None, 0
    request, repeats = waiting.popleft(), 0
    while waiting and waiting[0].row <= row and waiting[0].repeats:
        waiting.popleft()
        repeats += 1
    return request, repeats


def _between(notes: list[Other], first: int, last: int, lane: str | None) -> int:
    return sum(first < note.row <= last and note.channel.lane in {None, lane} for note in notes)


def messages_of(events: EventColumns, response_id: str) -> list[int]:
    """The places, among all messages, of a response's events and of its request. KeyError where there is none."""
    turn = next((turn for turn in found_turns(events) if turn.response_id == response_id), None)
    if turn is None:
        raise KeyError(f"there is no response {response_id!r} in this capture; responses() lists them")
    # The n-th message that is no event has as many events before it as it says, and n others.
    others = np.array([other.row for other in events.others], np.int64)
    places = turn.rows + np.searchsorted(others, turn.rows, side="right")
    own = [
        row + number
        for number, (row, time, channel, payload) in enumerate(events.others)
        if turn.asked is not None and (row, time, payload) == (turn.asked.row, turn.asked.time, turn.asked.payload)
    ]
    return sorted([*own, *places.tolist()])
