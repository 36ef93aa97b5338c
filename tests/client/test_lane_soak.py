"""A long run: 32 lanes, 300 responses each, half a million events on loopback. Nothing is lost, memory stays level."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nbresponses import AsyncClient

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.lanes import OURS, SDK, demo_server, measure

LANES, RESPONSES, DELTAS = 32, 300, 46
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


async def soak(base_url: str) -> tuple[int, list[int]]:
    """Events received, and the memory after each tenth of the responses."""
    seen = {"events": 0, "responses": 0}
    memory: list[int] = []
    fields = {"model": "demo-long", "store": False, "metadata": {"demo_count": str(DELTAS)}}
    bounded = {"record": False, "keep_history": False, "max_nodes": 500}
    async with AsyncClient(base_url=base_url) as client, client.lanes(**bounded, **fields) as lanes:

        async def talk(name: str) -> None:
            for turn in range(RESPONSES):
                async with lanes[name].stream(f"{name} {turn}", previous_response_id=None) as stream:
                    numbers = [event.sequence_number async for event in stream]
                assert stream.ending == "completed", (name, turn, stream.ending, stream.error)
                assert numbers == list(range(len(numbers)))
                seen["events"] += len(numbers)
                seen["responses"] += 1
                if seen["responses"] % (LANES * RESPONSES // 10) == 0:
                    memory.append(resident())

        await asyncio.gather(*(talk(f"lane-{number}") for number in range(LANES)))
        assert lanes.notices == []
    assert seen["responses"] == LANES * RESPONSES
    return seen["events"], memory


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_half_a_million_events(told: Callable[[str], None]) -> None:
    with demo_server() as base_url:
        events, memory = asyncio.run(soak(base_url))
    told(f"soak: {events} events, MiB after each tenth: {[size >> 20 for size in memory]}")
    assert events >= 500_000
    assert memory[-1] - memory[2] < 16 << 20, "memory grows after the warm-up"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_event_costs_a_fraction_of_what_it_costs_the_official_session(told: Callable[[str], None]) -> None:
    cost, events = measure(lanes=32, responses=3, deltas=40, rounds=2)
    told(f"{events} events, us of client CPU per event: {cost}")
    assert cost[SDK] / cost[OURS] > 3, "6 is the goal; less than 3 is gross excess"
