"""A capture with something for every plot, made by rule so that pictures of it are always the same."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder

SENTENCES = "The planner drafts, the critic doubts; both are right now and then. Prices like $5 and $6 stay text.\n"
WORDS = SENTENCES.split(" ")


class _Player:
    def __init__(self) -> None:
        self.capture = Capture(datetime(2026, 1, 31, tzinfo=UTC), source="lively")

    def got(self, at: float, type_: str, lane: str | None, **fields: object) -> None:
        data = json.dumps({"type": type_} | fields)
        self.capture.received(EventDecoder().feed(f"data: {data}\n\n".encode()), at, lane=lane)

    def answer(
        self, at: float, id_: str, lane: str | None, model: str, *, parent: str | None = None, **how: float
    ) -> None:
        """A response with some reasoning, a call, and `words` words, one each `pace` seconds; it ends `ending`."""
        pace, words = how.get("pace", 0.05), int(how.get("words", 40))
        self.capture.sent({"model": model, "previous_response_id": parent}, at, lane=lane)
        at += how.get("wait", 0.3)
        self.got(at, "response.created", lane, response={"id": id_, "model": model})
        self.got(at + 0.1, "response.in_progress", lane, response={"id": id_})
        at += 0.3
        self.item(at, at + 0.8, 0, "reasoning", lane)
        self.item(at + 0.8, at + 1.3, 1, "function_call", lane)
        at += 1.4
        self.got(at, "response.output_item.added", lane, output_index=2, item={"type": "message"})
        for number in range(words):
            wave = 0.5 + 0.5 * math.sin(number * 1.7)
            at += 0 if number % 9 == 4 else pace * (0.2 + 2 * wave) + (2.0 if number == how.get("stall", -1) else 0)
            word = WORDS[number % len(WORDS)] + " "
            scores = [{"token": word, "logprob": math.log(0.05 + 0.95 * wave), "top_logprobs": []}]
            fields = {"output_index": 2, "content_index": 0, "delta": word, "logprobs": scores}
            self.got(at, "response.output_text.delta", lane, **fields)
        if how.get("cut"):
            return
        self.got(at, "response.output_item.done", lane, output_index=2, item={"type": "message"})
        usage = {"input_tokens": 10, "output_tokens": words, "total_tokens": words + 10}
        self.got(at + 0.1, "response.completed", lane, response={"id": id_, "model": model, "usage": usage})

    def item(self, started: float, ended: float, index: int, type_: str, lane: str | None) -> None:
        item = {"type": type_, "name": "look_up"}
        self.got(started, "response.output_item.added", lane, output_index=index, item=item)
        self.got(ended, "response.output_item.done", lane, output_index=index, item=item)


def lively() -> Capture:
    """A planner, a critic that forks from it, and a third lane that is cut off; one stall of two seconds."""
    player = _Player()
    player.answer(0.0, "resp_000001", "planner", "gpt-$x$-mini", words=60)
    player.answer(
        9.0, "resp_000002", "critic", "gpt-large", parent="resp_000001", words=45, wait=1.1, pace=0.09, stall=20
    )
    player.answer(9.5, "resp_000003", "planner", "gpt-$x$-mini", parent="resp_000001", words=50, wait=0.4)
    player.answer(17.0, "resp_000004", "third 語 $l$", "gpt-large", parent="resp_000002", words=25, wait=0.9, cut=1)
    player.answer(18.0, "resp_000005", "planner", "gpt-huge", parent="resp_000001", words=30, wait=1.6)
    return player.capture
