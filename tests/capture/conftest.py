"""What the capture tests share: recording bytes as a client would, and the cases."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder
from nbresponses.core.sse import encode_sse

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "data" / "cases"
STARTED = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)

Recorder = Callable[..., Capture]


@pytest.fixture
def record() -> Recorder:
    """`record(wire bytes, piece=…, lane=…)` → a capture, made as a client makes it: a piece each millisecond."""
    return _recorded


@pytest.fixture(scope="session")
def recorder() -> Recorder:
    """The same, for fixtures that outlive a test."""
    return _recorded


class Tape:
    """A capture written by hand: what came, what was sent, each at a time in seconds."""

    def __init__(self) -> None:
        self.capture = Capture(STARTED, source="tape")

    def got(self, at: float, type_: str, lane: str | None = None, **fields: Any) -> Tape:
        data = json.dumps({"type": type_} | fields)
        self.capture.received(EventDecoder().feed(f"data: {data}\n\n".encode()), at, lane=lane)
        return self

    def created(self, at: float, id_: str = "r1", lane: str | None = None, **facts: Any) -> Tape:
        return self.got(at, "response.created", lane, response={"id": id_, "status": "in_progress"} | facts)

    def ended(self, at: float, id_: str = "r1", lane: str | None = None, how: str = "completed", **facts: Any) -> Tape:
        return self.got(at, f"response.{how}", lane, response={"id": id_, "status": how} | facts)

    def added(self, at: float, index: int, type_: str, **facts: Any) -> Tape:
        return self.got(at, "response.output_item.added", output_index=index, item={"type": type_} | facts)

    def done(self, at: float, index: int, type_: str, **facts: Any) -> Tape:
        return self.got(at, "response.output_item.done", output_index=index, item={"type": type_} | facts)

    def text(self, at: float, delta: str, lane: str | None = None, **fields: Any) -> Tape:
        place = {"output_index": 0, "content_index": 0}
        return self.got(at, "response.output_text.delta", lane, delta=delta, **(place | fields))

    def sent(self, at: float, lane: str | None = None, **body: Any) -> Tape:
        self.capture.sent({"model": "m"} | body, at, lane=lane)
        return self

    def noted(self, at: float, kind: str, lane: str | None = None, **facts: Any) -> Tape:
        self.capture.noted(kind, at, lane=lane, **facts)
        return self


@pytest.fixture
def tape() -> Tape:
    """An empty tape."""
    return Tape()


@pytest.fixture
def new_tape() -> type[Tape]:
    """For tests that need several."""
    return Tape


@pytest.fixture
def cells() -> Callable[[Any, str], list[Any]]:
    """`cells(frame, column)` → its values, None for every kind of null."""
    return lambda frame, column: [None if pd.isna(value) else value for value in frame[column]]


@pytest.fixture
def wire_of() -> Callable[[list[dict[str, Any]]], bytes]:
    """Events as dicts → the bytes a server would send."""
    return _wire


@pytest.fixture(scope="session")
def wire_maker() -> Callable[[list[dict[str, Any]]], bytes]:
    """The same, for fixtures that outlive a test."""
    return _wire


@pytest.fixture
def open_case() -> Callable[[str], tuple[bytes, dict[str, Any]]]:
    """`open_case("B163")` → (bytes on the wire, what is expected)."""

    def loaded(name: str) -> tuple[bytes, dict[str, Any]]:
        content = json.loads((CASES / f"{name}.json").read_text())
        given = content["input"]
        if given["kind"] == "events":
            return _wire(given["events"]), content["expect"]
        return b"".join(map(b64decode, given["chunks_b64"])), content["expect"]

    return loaded


def _wire(events: list[dict[str, Any]]) -> bytes:
    return b"".join(encode_sse(json.dumps(event), event=event.get("type")) for event in events)


def _recorded(
    wire: bytes, *, piece: int = 4096, lane: str | None = None, source: str = "test", days: int = 0
) -> Capture:
    capture = Capture(STARTED + timedelta(days=days), origin=100.0, source=source)
    capture.sent({"model": "demo-text", "input": "hi", "stream": True}, 100.0)
    decoder = EventDecoder()
    at = 100.0
    for first in range(0, len(wire), piece):
        at += 0.001
        capture.received(decoder.feed(wire[first : first + piece]), at, lane=lane)
    capture.received(decoder.finish(), at, lane=lane)
    if decoder.remainder:
        capture.remainder(decoder.remainder, at, lane=lane)
    return capture
