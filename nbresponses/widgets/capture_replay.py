"""The response as it was at any row of a capture. Going on costs what came between; going back starts at a mark. Pure.

At most eight copies of the response that was looked at last are kept, evenly over its events.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from nbresponses.core.accumulator import Accumulator

if TYPE_CHECKING:
    from nbresponses.core.response import Response
    from nbresponses.widgets.capture_index import CaptureIndex

__all__ = ["Replay"]

_MARKS = 8
_APART = 16_000  # events between two marks, at first


class Replay:
    """Reads the rows of one index again."""

    def __init__(self, index: CaptureIndex) -> None:
        self._index = index
        self._begin(0)

    def at(self, row: int) -> Response | None:
        """The response of this row, as it was then; None where none had begun."""
        wanted = self._index.responses[row]
        if not wanted:
            return None
        if wanted != self._number:
            self._begin(wanted)
        if row < self._next - 1:
            self._go_back(row)
        self._go_on(row)
        return self._accumulator.response

    def _begin(self, number: int) -> None:
        self._number = number
        self._accumulator = Accumulator()
        self._next = self._index.responses.index(number) if number else 0
        self._taken = 0
        self._apart = _APART
        self._marks: list[tuple[int, int, Accumulator]] = []

    def _go_back(self, row: int) -> None:
        earlier = [mark for mark in self._marks if mark[0] <= row + 1]
        if earlier:
            self._next, self._taken, kept = earlier[-1]
            self._accumulator = copy.deepcopy(kept)
        else:
            self._next, self._taken = self._index.responses.index(self._number), 0
            self._accumulator = Accumulator()

    def _go_on(self, row: int) -> None:
        index, number, apply = self._index, self._number, self._accumulator.apply
        for each in range(self._next, row + 1):
            if index.responses[each] != number or (event := index.capture[each].event()) is None:
                continue
            apply(event)
            self._taken += 1
            if self._taken % self._apart == 0:
                self._mark(each + 1)
        self._next = max(self._next, row + 1)

    def _mark(self, following: int) -> None:
        if self._marks and self._marks[-1][0] >= following:
            return
        try:
            kept = copy.deepcopy(self._accumulator)
        except RecursionError:  # what a server nested too deeply is read again from the beginning
            return
        self._marks.append((following, self._taken, kept))
        if len(self._marks) > _MARKS:
            self._apart *= 2
            self._marks = [mark for mark in self._marks if mark[1] % self._apart == 0]
