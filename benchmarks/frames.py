"""Frames: how fast and how large, beside plain pandas; and a long record on two Dask workers, one killed on the way.

    python -m benchmarks.frames [--events 1000000] [--rounds 3] [--cluster 5000000]

The rivals are what one would write by hand: `pd.DataFrame` of the same columns as dicts that are already there, and
`json.loads` of each line of a capture file and of its payload. All in memory or on the local disk; nothing is sent.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from msgspec import structs

from benchmarks.measure import alternate
from benchmarks.streams import pieces, text_events, wire
from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 4096
FRAME, DICTS = "capture.events(), filled while it streamed", "pd.DataFrame(list of dicts)"
FILE, JSON = "Capture.load(file).events()", "json.loads of lines and payloads → pd.DataFrame"


def received(network: list[bytes]) -> Capture:
    """A capture, as a client makes it: a piece each millisecond."""
    capture = Capture(datetime(2026, 1, 31, tzinfo=UTC), 0.0, "benchmark")
    decoder = EventDecoder()
    for number, piece in enumerate(network):
        capture.received(decoder.feed(piece), number / 1000)
    return capture


def measure_frames(events: int, rounds: int = 3) -> tuple[dict[str, float], float]:
    """CPU seconds of making the frame of a stream just received; bytes of the frame per row beyond its text."""
    network = pieces(wire(text_events(events)), PIECE)
    captures = iter([received(network) for _ in range(rounds + 1)])
    frame = next(captures).events()
    rows = frame.to_dict("records")
    size = (frame.memory_usage(deep=True).sum() - frame["delta"].str.len().sum()) / len(frame)
    cost = alternate({FRAME: lambda: next(captures).events(), DICTS: lambda: pd.DataFrame(rows)}, rounds)
    return cost, float(size)


def measure_files(events: int, folder: Path, rounds: int = 3) -> dict[str, float]:
    """CPU seconds from a capture file to a frame."""
    path = folder / "stream.jsonl"
    received(pieces(wire(text_events(events)), PIECE)).save(path)

    def by_hand() -> pd.DataFrame:
        rows = []
        with path.open(encoding="utf-8") as file:
            for line in file:
                message = json.loads(line)
                if message.get("direction") == "in":
                    rows.append(json.loads(message["text"]) | {"at": message["at"]})
        return pd.DataFrame(rows)

    return alternate({FILE: lambda: Capture.load(path).events(), JSON: by_hand}, rounds)


def kept_bytes(length: int, events: list[dict[str, object]] | None = None) -> tuple[float, float]:
    """Bytes that a capture of some events costs for each: (beside its columns for frames, with them)."""

    def cost(*, filled: bool) -> float:
        network = pieces(wire(text_events(length) if events is None else events), PIECE)
        gc.collect()
        tracemalloc.start()
        capture = received(network)
        if not filled:
            capture.forget_columns()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size / len(capture)

    return cost(filled=False), cost(filled=True)


# ── A long record, on several workers ────────────────────────────────────────────────────────────────────────────────


def long_record(events: int, files: int = 20) -> Iterator[Capture]:
    """Captures of this many events in all: of five models on four days, each of five responses."""
    network = pieces(wire(_some_responses(events // files // 5)), PIECE)
    template = Capture(datetime(2026, 1, 31, tzinfo=UTC), 0.0)
    decoder, at = EventDecoder(), 0.0
    for number, piece in enumerate(network):
        at += (1 + number * 7919 % 10_007) / 1_000_000  # uneven
        template.received(decoder.feed(piece), at)
    for number in range(files):
        started = template.started + timedelta(days=number % 4)
        capture = Capture(started, 0.0, f"capture {number}")
        capture.add([structs.replace(message, at=message.at * (1 + number / 50)) for message in template])
        yield capture


def written(captures: Iterable[Capture], folder: Path) -> Iterator[Capture]:
    """The same captures, each written into a dataset on the way."""
    for capture in captures:
        capture.to_parquet(folder, frames=("events", "responses", "deltas"))
        yield capture


def _some_responses(length: int) -> list[dict[str, object]]:
    listed = []
    for number in range(5):
        events = text_events(length - 8)
        for event in events:
            if isinstance(response := event.get("response"), dict):
                event["response"] = response | {"id": f"resp_{number}", "model": f"model-{number}"}
        listed += events
    return listed


def summarize_on_a_cluster(folder: Path, *, kill: bool = True) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The summary of a dataset by two workers, one of them killed after its third task; peak memory of each process."""
    import os
    import signal

    from distributed import Client, LocalCluster, SchedulerPlugin

    from nbresponses.capture.scanning import scan
    from nbresponses.capture.summary import summarize

    class Killer(SchedulerPlugin):  # type: ignore[misc]  # distributed is not typed
        done = 0
        killed = 0

        def transition(self, _key: str, _start: str, finish: str, *_args: Any, **_kwargs: Any) -> None:
            self.done += finish == "memory"
            if kill and self.done == 3 and not self.killed:
                self.killed = victim
                os.kill(victim, signal.SIGKILL)

    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB", "dashboard_address": None}
    with LocalCluster(host="127.0.0.1", **options) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = Killer()
        cluster.scheduler.add_plugin(killer, name="killer")
        frame = summarize(scan(folder))
        peaks = client.run(peak_memory)
        return frame, {"killed": killer.killed, "tasks": killer.done, "peaks": sorted(peaks.values())}


def peak_memory() -> int:
    """Bytes that this process has held at most (on Linux; what `resource` tells includes the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def report(events: int, rounds: int, cluster: int) -> Iterator[str]:
    cost, size = measure_frames(events, rounds)
    yield _versus(cost, FRAME, DICTS, events) + f"; {size:.0f} bytes per row beyond the text"
    with tempfile.TemporaryDirectory() as folder:
        yield _versus(measure_files(events, Path(folder), rounds), FILE, JSON, events)
    bare, filled = kept_bytes(100_000)
    yield f"keeping a stream of 100,000 events: {bare:.0f} bytes per event, {filled:.0f} with its columns for frames"
    if cluster:
        with tempfile.TemporaryDirectory() as folder:
            for _ in written(long_record(cluster), Path(folder)):
                pass
            frame, facts = summarize_on_a_cluster(Path(folder))
        peaks = ", ".join(f"{peak / 2**20:.0f} MiB" for peak in facts["peaks"])
        yield f"{frame['events'].sum()} events on 2 workers, one killed: {facts['tasks']} tasks, peaks {peaks}"


def _versus(cost: dict[str, float], ours: str, theirs: str, events: int) -> str:
    figures = f"{cost[ours] / events * 1e6:.2f} against {cost[theirs] / events * 1e6:.2f} µs per event"
    return f"{ours}: {cost[theirs] / cost[ours]:.1f} times as fast as {theirs} ({figures})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and size of frames.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cluster", type=int, default=5_000_000, help="events of the long record; 0: none")
    given = parser.parse_args()
    for line in report(given.events, given.rounds, given.cluster):
        print(line, flush=True)


if __name__ == "__main__":
    main()
