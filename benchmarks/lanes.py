"""Lanes on one WebSocket beside the official SDK's lane session: the client's CPU per event, loopback, same server.

    python -m benchmarks.lanes [--lanes 32] [--responses 4] [--deltas 40] [--rounds 2]

The server runs in a process of its own. Both sides run the same conversation asynchronously (each lane continues its
latest response, `store=false`) and read every response to its end, with its text.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import openai
from openai.lib.responses_websocket import AsyncResponsesWebSocketSession, ResponsesWebSocketLimits

from nbresponses import AsyncClient

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS, SDK = "nbresponses lanes", "SDK lane session"


@contextmanager
def demo_server(*options: str) -> Iterator[str]:
    """The base URL of a demo server in another process."""
    command = [sys.executable, "-m", "nbresponses.demo", "--delay", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the demo server has no output")
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()


async def ours(base_url: str, lanes: int, responses: int, deltas: int) -> int:
    """Events received."""
    fields: dict[str, Any] = {"model": "demo-long", "store": False, "metadata": {"demo_count": str(deltas)}}
    events = 0
    async with AsyncClient(base_url=base_url) as client, client.lanes(record=False, **fields) as manager:

        async def talk(name: str) -> int:
            seen = 0
            for turn in range(responses):
                async with manager[name].stream(f"{name} {turn}") as stream:
                    async for _ in stream:
                        seen += 1
                    if not (await stream.get_final_response()).output_text:
                        raise RuntimeError("an answer without text")
            return seen

        for seen in await asyncio.gather(*(talk(f"lane-{number}") for number in range(lanes))):
            events += seen
    return events


async def sdk(base_url: str, lanes: int, responses: int, deltas: int) -> int:
    """Responses received (the session counts no events)."""
    limits = ResponsesWebSocketLimits(
        max_lanes=40, max_events_per_lane=10_000, max_events=100_000, max_bytes_per_lane=64 << 20, max_bytes=512 << 20
    )
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
        manager = client.responses.connect(websocket_connection_options={"max_size": None})
        async with manager as connection, AsyncResponsesWebSocketSession(connection, limits=limits) as session:

            async def talk(name: str) -> int:
                lane, previous = session.lane(name), None
                for turn in range(responses):
                    await lane.send(
                        {
                            "type": "response.create",
                            "model": "demo-long",
                            "store": False,
                            "metadata": {"demo_count": str(deltas)},
                            "input": f"{name} {turn}",
                            "previous_response_id": previous,
                        }
                    )
                    response = await lane.get_final_response()
                    previous = response.id
                    if not response.output_text:
                        raise RuntimeError("an answer without text")
                return responses

            return sum(await asyncio.gather(*(talk(f"lane-{number}") for number in range(lanes))))


def measure(lanes: int, responses: int, deltas: int, rounds: int) -> tuple[dict[str, float], int]:
    """Microseconds of client CPU per event, and the events of a round."""
    best = {OURS: float("inf"), SDK: float("inf")}
    events = 0
    with demo_server() as base_url:
        for _ in range(rounds):
            start = time.process_time()
            events = asyncio.run(ours(base_url, lanes, responses, deltas))
            best[OURS] = min(best[OURS], time.process_time() - start)
            start = time.process_time()
            answered = asyncio.run(sdk(base_url, lanes, responses, deltas))
            best[SDK] = min(best[SDK], time.process_time() - start)
            if answered != lanes * responses:
                raise RuntimeError(f"the SDK received {answered} responses of {lanes * responses}")
    return {name: seconds / events * 1e6 for name, seconds in best.items()}, events


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=32)
    parser.add_argument("--responses", type=int, default=4)
    parser.add_argument("--deltas", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    cost, events = measure(asked.lanes, asked.responses, asked.deltas, asked.rounds)
    print(f"{asked.lanes} lanes, {events} events; client CPU per event, least of {asked.rounds} rounds\n")
    for name, micros in cost.items():
        print(f"  {name:20} {micros:8.1f} us")
    print(f"\n  SDK / nbresponses   {cost[SDK] / cost[OURS]:8.1f}   (goal >= 6)")


if __name__ == "__main__":
    main()
