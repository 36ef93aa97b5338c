"""Fixtures of the demo server's tests: a server without pauses, and a reader that stands on nothing of nbresponses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from nbresponses.demo import DemoServer

Json = dict[str, Any]
DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as server:
        yield server


@pytest.fixture(scope="module")
def http(server: DemoServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, timeout=10) as client:
        yield client


@pytest.fixture(scope="module")
def stream(http: httpx.Client) -> Callable[..., list[Json]]:
    """Streams a response and gives back its events, the framing checked."""

    def streamed(model: str = "demo-echo", given: Any = "Hello there", **body: Any) -> list[Json]:
        answer = http.post("/responses", json={"model": model, "input": given, "stream": True, **body})
        assert answer.status_code == 200, answer.text
        return parse_stream(answer.text)

    return streamed


@pytest.fixture(scope="session")
def event_fields() -> dict[str, dict[str, str]]:
    """Event type -> its required fields and their JSON types."""
    return json.loads((DATA / "event_fields.json").read_text())


@pytest.fixture(scope="session")
def item_fields() -> dict[str, dict[str, str]]:
    return json.loads((DATA / "item_fields.json").read_text())


@pytest.fixture(scope="session")
def parse() -> Callable[[str], list[Json]]:
    return parse_stream


def parse_stream(text: str) -> list[Json]:
    """Blocks of exactly `event: TYPE`, `data: JSON`, blank line."""
    assert text.endswith("\n\n")
    events = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events
