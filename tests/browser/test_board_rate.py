"""32 lanes at 200 pieces a second each on the lane board: messages, and the time from a piece's arrival to the screen.

Printed too: `pytest -s`."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LANES, RATE, SECONDS = 32, 200, 8

# Lanes without a server: a capture that a thread fills, with the time of each piece as its text.
SETUP = f"""
import datetime, json, threading, time
from nbresponses import Capture, LaneBoard, decode_event

class Lanes:
    names = [f"lane-{{n}}" for n in range({LANES})]
    def __init__(self):
        self.capture = Capture(datetime.datetime.now(datetime.UTC), time.monotonic())
    def status(self):
        rows = [dict(lane=name, state="running", queued=0, latest=None) for name in self.names]
        return dict(transport="websocket", in_flight={LANES}, queued=0, connections=[], lanes=rows)
    def lineage(self):
        return []

class Counting(LaneBoard):
    sent = asked = 0
    def send(self, content, buffers=None):
        Counting.sent += 1
        super().send(content, buffers)
    def _do(self, asked):
        super()._do(asked)
    def _whole(self):
        Counting.asked += 1
        return super()._whole()

lanes = Lanes()
board = Counting(lanes)
board
"""
FILL = f"""
def arrive(name, event):
    lanes.capture.received([decode_event(json.dumps(event))], time.monotonic() - lanes.capture.origin, lane=name)

DELTA = {{"type": "response.output_text.delta", "output_index": 0, "content_index": 0}}
for name in lanes.names:
    arrive(name, {{"type": "response.created", "response": {{"id": f"r-{{name}}", "output": []}}}})
Counting.sent, Counting.asked, begun, rounds = 0, 0, time.monotonic(), 0
while time.monotonic() < begun + {SECONDS}:
    while rounds < (time.monotonic() - begun) * {RATE}:
        rounds += 1
        for name in lanes.names:
            piece = f"{{time.time() * 1000:.0f}} "
            arrive(name, DELTA | {{"delta": piece}})
    time.sleep(0.002)
time.sleep(0.5)
print(f"RESULT {{Counting.sent}} {{Counting.asked}} {{rounds * {LANES}}}")
"""
WATCH = """() => {
  window.lags = [];
  const seen = new Map();
  const look = () => {
    for (const card of document.querySelectorAll(".nbb-card")) {
      const text = card.querySelector(".nbb-text").firstChild?.data ?? "";
      const name = card.getAttribute("aria-label");
      const times = text.trimEnd().split(" ").slice(-400).map(Number);
      const fresh = times.find((each) => each > (seen.get(name) ?? 0));
      if (fresh) window.lags.push(Date.now() - fresh);
      seen.set(name, times.at(-1));
    }
    requestAnimationFrame(look);
  };
  look();
}"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_32_lanes_stay_live(browser: Browser) -> None:
    from lab import LabPage, LabServer

    with LabServer() as server, LabPage(server, browser, "rate.ipynb", (SETUP, FILL)) as lab:
        lab.run(0)
        lab.page.wait_for_selector(".nbb")
        lab.page.evaluate(WATCH)
        lab.run(1, 60)
        lab.page.wait_for_timeout(500)
        sent, asked, pieces = (int(word) for word in lab.text(1).split("RESULT ")[1].split()[:3])
        lags = sorted(lab.page.evaluate("window.lags"))
        assert lab.page.locator(".nbb-card").count() == LANES
    seconds = SECONDS + 0.5
    late = statistics.quantiles(lags, n=100)[98]
    print(
        f"\n{pieces} pieces on {LANES} lanes in {seconds} s: {sent / seconds:.1f} messages/s, "
        f"lag to the screen median {statistics.median(lags):.0f} ms, 99th percentile {late:.0f} ms, {asked} gaps"
    )
    assert pieces > 0.5 * LANES * RATE * SECONDS
    assert sent / seconds < 100
    assert asked == 0, "no message was dropped"
    assert late < 1500, "under 250 ms expected on a machine that does nothing else"
