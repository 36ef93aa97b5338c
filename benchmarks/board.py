"""32 lanes at 200 deltas a second each, from the socket to the screen of a JupyterLab: lane board, display updates.

    python -m benchmarks.board [--lanes 32] [--rate 200] [--seconds 8] [--rounds 1]

The demo server runs in a process of its own and sends numbered words over one WebSocket. The kernel knows when each of
them came from the socket; the page looks at every frame which ones are painted; the lag of a delta is from the one to
the other, by the machine's clock. Messages are counted twice: as the kernel publishes them on IOPub, and as the page
receives them; what is missing there was dropped. Needs Chromium (tests/browser).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import zmq

from benchmarks.lanes import demo_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import LabPage
    from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

BOARD, UPDATES = "lane board", "update_display at 20 Hz"
PATIENCE, QUIET = 60, 5  # seconds that a page gets, and after which one that paints nothing new has done all it does
_NEVER = (math.inf, math.inf)

OPEN = """
import json, time
from ipykernel.connect import get_connection_file
from nbresponses import Client, LaneBoard
client = Client(base_url={url!r}, api_key="none")
lanes = client.lanes(model="demo-long", store=False, max_in_flight={lanes})
names = [f"lane-{{n}}" for n in range({lanes})]
asked = {{"demo_count": str({deltas}), "demo_delay": str(1 / {rate})}}
open("connection", "w").write(get_connection_file())

def start():
    return [lanes[name].stream("Count", metadata=asked) for name in names]

def tell():
    open("ended", "w").close()
    now = time.time() - time.monotonic() + lanes.capture.origin
    came = {{name: [] for name in names}}
    for message in lanes.capture:
        if message.direction == "in" and message.event().type == "response.output_text.delta":
            came[message.lane].append(now + message.at)
    json.dump(came, open("came.json", "w"))
"""
SHOWN = {
    BOARD: ("board = LaneBoard(lanes)\nboard", "streams = start()\nlanes.wait()\ntime.sleep(0.5)"),
    UPDATES: (
        """
from IPython.display import display
texts = dict.fromkeys(names, "")
for name in names:
    display({"text/markdown": "-"}, raw=True, display_id=name)
""",
        """
streams, seen = start(), 0
while True:
    begun, running, new = time.monotonic(), lanes.busy(), set()
    for message in lanes.capture[seen:]:
        seen += 1
        if message.direction == "in" and (event := message.event()).type == "response.output_text.delta":
            texts[message.lane] += event.delta
            new.add(message.lane)
    for name in new:
        display({"text/markdown": texts[name]}, raw=True, display_id=name, update=True)
    if not running:
        break
    time.sleep(max(0, 0.05 - (time.monotonic() - begun)))
""",
    ),
}
"""What is shown → the cell that shows it, and the one that streams."""

PLACES = {BOARD: ".nbb-card .nbb-text", UPDATES: ".jp-OutputArea-child .jp-RenderedMarkdown"}
WATCH = """([places, count]) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  window.received = 0;
  kernel.iopubMessage.connect(() => { window.received += 1 });
  window.seen = Array.from({ length: count }, () => []);
  window.frames = [];
  const look = () => { // asked for a frame before what is drawn in it: so it sees what the frame before has painted
    const now = Date.now();
    window.frames.push(now);
    document.querySelectorAll(places).forEach((place, lane) => {
      let node = place;
      while (node.lastElementChild) node = node.lastElementChild;
      const number = Number(/w(\\d+)\\s*$/.exec(node.textContent.slice(-12))?.[1] ?? -1);
      if (number > (window.seen[lane]?.at(-1)?.[0] ?? -1)) window.seen[lane].push([number, now]);
    });
    requestAnimationFrame(look);
  };
  look();
}"""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one way of showing cost. Lags in milliseconds, infinite: never shown; `cores` is CPU time over wall time."""

    lags: list[float]
    published: int
    size: int
    received: int
    seconds: float
    rate: float
    cores: dict[str, float] = field(default_factory=dict)

    @property
    def dropped(self) -> int:
        return self.published - self.received

    def late(self, percent: int) -> float:
        return sorted(self.lags)[len(self.lags) * percent // 100]

    def __str__(self) -> str:
        lags = " ".join(f"{self.late(percent):8.0f}" for percent in (50, 90, 99))
        cores = ", ".join(f"{name} {used:.2f}" for name, used in self.cores.items())
        wire = f"{self.published / self.seconds:8.1f} {self.size / self.seconds / 1000:8.0f} {self.dropped:8}"
        return f"{wire} {lags} {self.rate:9.0f}   {cores}"


HEAD = "   msg/s     kB/s  dropped  lag p50      p90      p99  deltas/s   cores"


class Counted:
    """What a kernel publishes, counted by one more subscriber in a thread."""

    def __init__(self, connection: Path) -> None:
        given = json.loads(connection.read_text())
        self.messages = self.size = 0
        self.over = threading.Event()
        self._address = f"tcp://{given['ip']}:{given['iopub_port']}"
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> Counted:
        self._thread.start()
        time.sleep(0.5)  # a subscription takes a moment
        self.messages = self.size = 0
        return self

    def _count(self) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
            subscriber.set_hwm(0)
            subscriber.linger = 0
            subscriber.connect(self._address)
            subscriber.subscribe(b"")
            while not self.over.is_set():
                if subscriber.poll(100):
                    self.messages += 1
                    self.size += sum(map(len, subscriber.recv_multipart()))

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._thread.join()


@contextmanager
def cores() -> Iterator[dict[str, float]]:
    """Cores used by each kind of process below this one, filled when the block ends."""
    used: dict[str, float] = {}
    begun, before = time.monotonic(), _times()
    yield used
    seconds = time.monotonic() - begun
    for key, spent in _times().items():
        used[key[1]] = used.get(key[1], 0.0) + (spent - before.get(key, 0.0)) / seconds


_KINDS = {
    "nbresponses.demo": "demo server",
    "ipykernel": "kernel",
    "jupyter": "jupyter server",
    "--type=renderer": "page",
    "chrom": "browser",
}


def _times() -> dict[tuple[int, str], float]:
    times: dict[tuple[int, str], float] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            command, spent = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:
            continue
        kind = next((name for sign, name in _KINDS.items() if sign in command), None)
        if kind is not None:
            times[process.pid, kind] = spent.user + spent.system
    return times


def measure(browser: Browser, what: str, *, lanes: int = 32, rate: int = 200, seconds: float = 8) -> Shown:
    """Stream into a fresh notebook that shows the lanes in one way."""
    from lab import LabPage, LabServer

    deltas = int(rate * seconds)
    show, stream = SHOWN[what]
    with demo_server("--in-flight", str(lanes)) as url, LabServer() as server:
        cells = (OPEN.format(url=url, lanes=lanes, deltas=deltas, rate=rate), show, f"{stream}\ntell()")
        with LabPage(server, browser, "lanes.ipynb", cells) as lab:
            lab.run(0)
            lab.run(1)
            with Counted(Path((server.root / "connection").read_text())) as counted:
                lab.page.evaluate(WATCH, [PLACES[what], lanes])
                with cores() as used:
                    lab.start(2)
                    took = _wait(lab, server.root, deltas)
                time.sleep(0.5)  # what is under way to either of the two that count
                received, seen = lab.page.evaluate("[window.received, window.seen]")
            came = list(json.loads((server.root / "came.json").read_text()).values())
    span = max(each[-1] for each in came) - min(each[0] for each in came)
    per_second = sum(map(len, came)) / span
    return Shown(_lags(came, seen), counted.messages, counted.size, received, took, per_second, used)


def _wait(lab: LabPage, folder: Path, deltas: int) -> float:
    """Seconds of streaming, when the cell has run and all is painted; or when nothing new has been for a while."""
    begun = changed = ended = time.monotonic()
    before: list[int] = []
    while changed + QUIET > time.monotonic() < begun + PATIENCE:
        time.sleep(0.1)
        last = lab.page.evaluate("window.seen.map((each) => each.at(-1)?.[0] ?? -1)")
        written = (folder / "came.json").exists()
        if not (folder / "ended").exists():
            ended = time.monotonic()
        if last != before or not written:
            before, changed = last, time.monotonic()
        if written and min(last) == deltas - 1:
            break
    return ended - begun


def _lags(came: list[list[float]], seen: list[list[list[float]]]) -> list[float]:
    """Of each delta: milliseconds from the socket to the first frame that had it; infinite where none ever had."""
    lags = []
    for times, frames in zip(came, seen, strict=True):
        painted = iter(frames)
        number, at = next(painted, _NEVER)
        for delta, time_ in enumerate(times):
            while number < delta:
                number, at = next(painted, _NEVER)
            lags.append(at - time_ * 1000)
    return lags


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=32)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=list(SHOWN))
    asked = parser.parse_args()
    from chromium import chromium, chromium_path

    if chromium_path() is None:
        print("no Chromium: the lanes in JupyterLab are not measured")
        return
    print(f"{asked.lanes} lanes, {asked.rate} deltas/s each; load {os.getloadavg()[0]:.1f}")
    print(f"{'':24}{HEAD}")
    with chromium() as browser:
        for _ in range(asked.rounds):
            for what in [asked.only] if asked.only else SHOWN:
                shown = measure(browser, what, lanes=asked.lanes, rate=asked.rate, seconds=asked.seconds)
                print(f"{what:24}{shown}", flush=True)


if __name__ == "__main__":
    main()
