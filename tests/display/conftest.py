"""Streams for the views' tests: real ones, played from events that a test writes down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from nbresponses import Capture, ResponseStream, decode_event

Played = Callable[..., ResponseStream]


def message(*deltas: str, model: str = "a-model") -> list[dict[str, Any]]:
    """The events of one text answer."""
    text = "".join(deltas)
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": text, "annotations": []}
    return [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "model": model, "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *(
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": delta}
            for delta in deltas
        ),
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": text},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [part]}},
        {
            "type": "response.completed",
            "response": {
                "id": "r",
                "status": "completed",
                "model": model,
                "usage": {"output_tokens": 10},
                "output": [{**item, "content": [part]}],
            },
        },
    ]


@pytest.fixture
def events() -> Callable[..., list[dict[str, Any]]]:
    return message


@pytest.fixture
def played() -> Played:
    """A stream of these events, each 0.1 s after the one before in the recorded time, played without waiting."""

    def play(events: Iterable[dict[str, Any]], *, speed: float | None = None) -> ResponseStream:
        capture = Capture(datetime.now(UTC))
        for number, event in enumerate(events):
            capture.received([decode_event(json.dumps(event))], number / 10)
        return capture.replay(speed)

    return play
