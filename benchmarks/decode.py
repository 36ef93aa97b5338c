"""Bytes → typed events → snapshot, beside the official SDK and beside the least that Python can do.

    python -m benchmarks.decode [--events 10000] [--rounds 5]

In memory: the SDK reads the same pieces from a transport that never touches a socket. "split + orjson" cuts at blank
lines and parses to dicts, untyped: the floor for code that calls a JSON parser from Python.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import orjson

from benchmarks.measure import alternate
from benchmarks.streams import pieces, text_events, wire
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import EventDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE = 4096
SDK_TYPED, SDK_STREAM, SPLIT = "SDK create(stream=True)", "SDK responses.stream()", "split + orjson, untyped"
DECODED, ACCUMULATED = "EventDecoder", "EventDecoder + Accumulator"


def decoded(network: list[bytes]) -> Callable[[], object]:
    def run() -> None:
        decoder = EventDecoder()
        for piece in network:
            for _ in decoder.feed(piece):
                pass
        decoder.finish()

    return run


def accumulated(network: list[bytes]) -> Callable[[], object]:
    def run() -> str:
        decoder, accumulator = EventDecoder(), Accumulator()
        for piece in network:
            for event in decoder.feed(piece):
                accumulator.apply(event)
        return accumulator.response.output_text

    return run


def split(network: list[bytes]) -> Callable[[], object]:
    def run() -> None:
        rest = b""
        for piece in network:
            *blocks, rest = (rest + piece).split(b"\n\n")
            for block in blocks:
                orjson.loads(block[block.index(b"data: ") + 6 :])

    return run


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, network: list[bytes]) -> None:
        self._network = network

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._network)


def sdk(network: list[bytes]) -> openai.OpenAI:
    def answer(_request: Any) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Pieces(network))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://localhost/v1", http_client=http)


def sdk_typed(network: list[bytes]) -> Callable[[], object]:
    client = sdk(network)

    def run() -> None:
        for _ in client.responses.create(model="m", input="x", stream=True):
            pass

    return run


def sdk_stream(network: list[bytes]) -> Callable[[], object]:
    client = sdk(network)

    def run() -> str:
        with client.responses.stream(model="m", input="x") as stream:
            for _ in stream:
                pass
            return stream.get_final_response().output_text

    return run


def measure(events: int, rounds: int, size: int = PIECE, *, with_sdk: bool = True) -> dict[str, float]:
    """Microseconds per event of each contender."""
    data = wire(text_events(events))
    network = pieces(data, size)
    contenders = {SPLIT: split(network), DECODED: decoded(network), ACCUMULATED: accumulated(network)}
    if with_sdk:
        contenders |= {SDK_TYPED: sdk_typed(network), SDK_STREAM: sdk_stream(network)}
    return {name: seconds / events * 1e6 for name, seconds in alternate(contenders, rounds).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    cost = measure(asked.events, asked.rounds)
    print(f"{asked.events} text deltas, {PIECE} byte pieces; CPU per event, least of {asked.rounds} rounds\n")
    for name, micros in sorted(cost.items(), key=lambda row: -row[1]):
        print(f"  {name:30} {micros:8.2f} us")
    rows = [
        ("EventDecoder against SDK create(stream=True)", cost[SDK_TYPED] / cost[DECODED], ">= 50"),
        ("decoder + accumulator against SDK responses.stream()", cost[SDK_STREAM] / cost[ACCUMULATED], ">= 60"),
        ("EventDecoder, time against split + orjson", cost[DECODED] / cost[SPLIT], "<= 1.2"),
        ("decoder + accumulator, time against split + orjson", cost[ACCUMULATED] / cost[SPLIT], "<= 1.2"),
    ]
    short = measure(asked.events, asked.rounds, with_sdk=False)
    long = measure(asked.events * 10, 3, with_sdk=False)
    rows += [
        (f"{name}, ten times the events: cost per event", long[name] / short[name], "<= 1.2")
        for name in (DECODED, ACCUMULATED)
    ]
    print()
    for name, ratio, goal in rows:
        print(f"  {name:62} {ratio:7.2f}   (goal {goal})")


if __name__ == "__main__":
    main()
