"""What the server remembers of responses: their objects, and the context that continues from them. No I/O.

Only so many are kept; the oldest are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbresponses.demo.ask import Ask, Context
    from nbresponses.demo.wire import Json

_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Turn:
    """A response that can be continued: its object, and what it was asked."""

    response: Json
    ask: Ask

    @property
    def id(self) -> str:
        return str(self.response["id"])

    @property
    def context(self) -> Context:
        """What a response that continues from this one knows."""
        return self.ask.context.plus(self.response["output"])


class Store:
    def __init__(self, kept: int = _KEPT) -> None:
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._kept = kept

    def add(self, turn: Turn) -> None:
        self._turns[turn.id] = turn
        while len(self._turns) > self._kept:
            self._turns.popitem(last=False)

    def get(self, response_id: str) -> Turn | None:
        return self._turns.get(response_id)

    def remove(self, response_id: str) -> Turn | None:
        return self._turns.pop(response_id, None)
