"""What the capture tests share: recording bytes as a client would, and the cases."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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

    def recorded(wire: bytes, *, piece: int = 4096, lane: str | None = None, source: str = "test") -> Capture:
        capture = Capture(STARTED, origin=100.0, source=source)
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

    return recorded


@pytest.fixture
def wire_of() -> Callable[[list[dict[str, Any]]], bytes]:
    """Events as dicts → the bytes a server would send."""
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
