"""Which response each event belongs to: the one in progress on its lane. Whole columns in, whole columns out.

Rules
1. A response is in progress from the first event that names it to its terminal event.
2. Events before the first one that names a response belong to it too (a resumed stream starts in the middle), unless
   that one says that the response was only then created or queued.
3. Another id while a response is in progress is the same response under a new id (some servers change it from event to
   event), unless the event is response.created. The last id counts.
4. An event that names an earlier response is that one's alone: what was in progress goes on after it.
5. Output or an error where no response is in progress (a server that gives no ids, a request that never became a
   response) is a turn without an id. It ends as a response does, or with its error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NOTHING", "Mark", "in_progress", "unnamed"]

NOTHING = -1  # in a column of word numbers: null
_CARRY = -2  # as in the row before
_BEGINS = frozenset({"response.created", "response.queued"})
_ENDS = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})


class Mark(NamedTuple):
    """An event that holds a response object. `response` is the number of its id, -1 where it has none."""

    row: int
    response: int
    type: str
    payload: bytes


def in_progress(lanes: NDArray[np.int32], marks: list[Mark], words: list[str]) -> tuple[NDArray[np.int32], list[str]]:
    """For each row the number of its response (-1: none), and the id of each number."""
    state = np.full(len(lanes), _CARRY, np.int32)
    if not len(lanes):
        return state, words
    order = np.argsort(lanes, kind="stable")  # each lane's rows side by side
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    starts = np.flatnonzero(np.diff(lanes[order], prepend=lanes[order[0]] - 1))
    state[starts] = NOTHING
    ids = _enter_marks(state, place, starts, marks, words)
    latest = np.maximum.accumulate(np.where(state == _CARRY, 0, np.arange(len(state))))
    return state[latest][place], ids


class _Lane:
    """Where a lane is: `response` in progress (a number, or NOTHING), and whether any was named yet."""

    __slots__ = ("begun", "response", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.begun = False
        self.response = NOTHING


class _Ids:
    """The id of each response. Two that change places stay two, so that each id is listed once."""

    def __init__(self, words: list[str]) -> None:
        self.listed = list(words)
        self._place = {word: number for number, word in enumerate(words)}

    def give(self, response: int, word: str) -> None:
        other, before = self._place[word], self.listed[response]
        self.listed[other], self.listed[response] = before, word
        self._place[before], self._place[word] = other, response


def _enter_marks(
    state: NDArray[np.int32], place: NDArray[np.intp], starts: NDArray[np.intp], marks: list[Mark], words: list[str]
) -> list[str]:
    """Write into `state` (in the order of lanes) where responses begin and end."""
    ids = _Ids(words)
    known: dict[int, int] = {}  # number of an id → number of its response: that of its first id
    lanes: dict[int, _Lane] = {}
    first_rows = set(starts.tolist())
    for row, word, type_, _ in marks:
        at = int(place[row])
        start = int(starts[np.searchsorted(starts, at, side="right") - 1])
        lane = lanes.setdefault(start, _Lane(start))
        response, is_late = _named(lane, word, type_, known)
        if response != NOTHING:
            if word != NOTHING:
                ids.give(response, words[word])
            if not lane.begun and type_ not in _BEGINS and word != NOTHING:
                state[start] = response
            state[at] = response
        lane.begun = True
        if not is_late:
            lane.response = NOTHING if type_ in _ENDS else response
        if (is_late or type_ in _ENDS) and at + 1 < len(state) and at + 1 not in first_rows:
            state[at + 1] = lane.response
    return ids.listed


def _named(lane: _Lane, word: int, type_: str, known: dict[int, int]) -> tuple[int, bool]:
    """The response that an event is about, and whether that is an earlier one than the one in progress."""
    if word == NOTHING:
        return lane.response, False
    response = known.get(word)
    if response is not None:
        return response, lane.response not in {NOTHING, response} and type_ != "response.created"
    goes_on = lane.response != NOTHING and type_ != "response.created"
    response = known[word] = lane.response if goes_on else word
    return response, False


def unnamed(
    responses: NDArray[np.int32], lanes: NDArray[np.int32], types: NDArray[np.int32], words: Sequence[str], first: int
) -> NDArray[np.int32]:
    """The numbers of the responses, completed by those of turns without an id (rule 5), which count from `first`."""
    kinds = np.array([_kind_of(word) for word in words], np.int8)[types]
    rows = np.flatnonzero((responses >= 0) | (kinds != _NEITHER))  # what keeps a connection alive divides nothing
    rows = rows[np.argsort(lanes[rows], kind="stable")]
    of_none = responses[rows] < 0
    if not of_none.any():
        return responses
    kind = kinds[rows]
    before = np.concatenate([[_NEITHER], kind[:-1]])
    begins = np.diff(lanes[rows], prepend=-2) != 0
    begins |= ~np.concatenate([[False], of_none[:-1]]) | (kind == _CREATES) | (before == _ENDING)
    begins |= (before == _ERROR) & (kind != _ENDING)
    numbers = responses.copy()
    numbers[rows[of_none]] = first - 1 + np.cumsum(begins & of_none)[of_none]
    return numbers


_NEITHER, _OUTPUT, _CREATES, _ENDING, _ERROR = range(5)


def _kind_of(type_: str) -> int:
    if type_ == "error":
        return _ERROR
    if type_ == "response.created":
        return _CREATES
    if type_ in _ENDS:
        return _ENDING
    return _OUTPUT if type_.startswith("response.") and not type_.startswith("response.steer") else _NEITHER
