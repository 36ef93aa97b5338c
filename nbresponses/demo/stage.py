"""What the acts are played on: it hands out ids, indexes and tokens, and holds the response as it grows. Pure."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from nbresponses.demo.wire import Ids, Json, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbresponses.demo.acts import Fail
    from nbresponses.demo.ask import Ask


class Stage:
    """One response being played. `stopped` says why it ended early, `failure` why it failed."""

    def __init__(self, ask: Ask, ids: Ids, response: Json, *, budget: int | None) -> None:
        self.ask = ask
        self.ids = ids
        self.response = response
        self.output_tokens = 0
        self.reasoning_tokens = 0
        self.stopped: str | None = None
        self.failure: Fail | None = None
        self._budget = budget
        self._items = 0
        self._closed: dict[int, Json] = {}

    @property
    def status(self) -> str:
        """What an item that is closed now is."""
        return "incomplete" if self.stopped else "completed"

    @property
    def finished(self) -> bool:
        return self.stopped is not None or self.failure is not None

    def stop(self, reason: str) -> None:
        """Ends the response at the next piece; its open item is closed as incomplete."""
        self.stopped = self.stopped or reason

    def pieces(self, text: str, *, reasoning: bool = False) -> Iterator[str]:
        """The text token by token, as far as the response may go on."""
        for piece in pieces(text):
            if self._budget is not None and self.output_tokens >= self._budget:
                self.stop("max_output_tokens")
            if self.finished:
                return
            self.output_tokens += 1
            self.reasoning_tokens += reasoning
            yield piece

    def open(self, item: Json) -> tuple[int, Json]:
        """A new item: its output index and the event that announces it."""
        index = self._items
        self._items += 1
        return index, {"type": "response.output_item.added", "output_index": index, "item": item}

    def close(self, index: int, item: Json) -> Json:
        # Items that were open together may close in any order; the response lists them by index.
        self._closed[index] = item
        self.response["output"] = [self._closed[place] for place in sorted(self._closed)]
        return {"type": "response.output_item.done", "output_index": index, "item": item}

    def delta(self, kind: str, delta: str, **fields: Any) -> Json:
        """A delta event, padded unless the request asks for none."""
        event: Json = {"type": kind, **fields, "delta": delta}
        if self.ask.obfuscate:
            event["obfuscation"] = self.ids.padding(delta)
        return event

    def logprobs(self, piece: str) -> list[Json]:
        """Log probabilities of one token, where the request includes them: made up, but the same each time."""
        if "message.output_text.logprobs" not in self.ask.include:
            return []
        count = min(int(self.ask.body.get("top_logprobs") or 0), 20)
        best = -(zlib.crc32(piece.encode()) % 900 + 1) / 1000
        others = [piece, *_alternatives(piece)][:count]
        top = [_logprob(token, round(best - 2.5 * rank, 3)) for rank, token in enumerate(others)]
        return [{**_logprob(piece, best), "top_logprobs": top}]


def _logprob(token: str, value: float) -> Json:
    return {"token": token, "logprob": value, "bytes": list(token.encode())}


def _alternatives(piece: str) -> Iterator[str]:
    for rank in range(19):
        yield f"{piece}{chr(97 + rank)}"
