"""What a streaming answer costs on IOPub: 5,000 deltas at 500 a second (a 20 kB answer), by widget and display updates.

Run by `python -m benchmarks.live_view`. A kernel is started for each row; a second subscriber counts what it publishes
between busy and idle: every frame of every message. The answer comes from the embedded server in the same kernel.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import zmq
from jupyter_client.manager import start_new_kernel

LAB = {"cellId": "c", "deletedCells": []}
"""What JupyterLab puts into the metadata of an execute request."""

PREPARE = """
%load_ext nbresponses
import datetime, json
from nbresponses import Capture, decode_event
from nbresponses.display import choose_view, follow

def recorded(text, deltas, rate):
    at = {{"output_index": 0, "content_index": 0}}
    item = {{"type": "message", "id": "m", "role": "assistant", "status": "completed"}}
    whole = item | {{"content": [{{"type": "output_text", "text": text, "annotations": []}}]}}
    size = len(text) // deltas
    events = [
        {{"type": "response.created", "response": {{"id": "r", "status": "in_progress", "output": []}}}},
        {{"type": "response.output_item.added", "output_index": 0, "item": item | {{"content": []}}}},
        *({{"type": "response.output_text.delta", **at, "delta": text[n * size:][:size]}} for n in range(deltas)),
        {{"type": "response.output_item.done", "output_index": 0, "item": whole}},
        {{"type": "response.completed", "response": {{"id": "r", "status": "completed", "output": [whole]}}}},
    ]
    capture = Capture(datetime.datetime.now(datetime.UTC))
    for number, event in enumerate(events):
        capture.received([decode_event(json.dumps(event))], number / rate)
    return capture

paragraph = "It is a truth that text streams in small pieces, and *this one* does it too. " * 5 + chr(10) * 2
capture = recorded((paragraph * 52)[:{size}], {deltas}, {rate})
"""

FOLLOW = "follow(capture.replay(1.0), choose_view(get_ipython(), widget={widget}))"

EACH_DELTA = """
import secrets
from IPython.display import display
name, shown, text = secrets.token_hex(8), False, ""
for event in capture.replay(1.0):
    if event.type == "response.output_text.delta":
        text += event.delta
        display({"text/markdown": text}, raw=True, display_id=name, update=shown)
        shown = True
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run published."""

    messages: int
    size: int
    seconds: float

    def __str__(self) -> str:
        rate = self.messages / self.seconds
        return f"{self.messages:6} messages in {self.seconds:5.1f} s ({rate:5.1f}/s), {self.size / 1000:9.1f} kB"


def measure(code: str, *, size: int = 20_000, deltas: int = 5_000, rate: int = 500) -> Cost:
    """Run code in a fresh kernel that has the `capture`, and count what it publishes."""
    manager, client = start_new_kernel()
    context = zmq.Context()
    subscriber = context.socket(zmq.SUB)
    subscriber.set_hwm(0)
    try:
        subscriber.connect(f"tcp://{manager.ip}:{manager.iopub_port}")
        subscriber.subscribe(b"")
        prepare = PREPARE.format(size=size, deltas=deltas, rate=rate)
        reply = client.execute_interactive(prepare, timeout=60, output_hook=lambda _: None)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))
        _drain(subscriber)
        message = client.session.msg("execute_request", {"code": code, "silent": False, "store_history": True})
        message["metadata"] = dict(LAB)
        begun = time.monotonic()
        client.shell_channel.send(message)
        messages, published = _count_until_idle(subscriber, begun + 120)
        return Cost(messages, published, time.monotonic() - begun)
    finally:
        subscriber.close(linger=0)
        context.term()
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _drain(subscriber: zmq.Socket[bytes]) -> None:
    while subscriber.poll(500):
        subscriber.recv_multipart()


def _count_until_idle(subscriber: zmq.Socket[bytes], until: float) -> tuple[int, int]:
    messages = size = 0
    while time.monotonic() < until:
        if not subscriber.poll(200):
            continue
        frames = subscriber.recv_multipart()
        messages += 1
        size += sum(map(len, frames))
        if b'"execution_state": "idle"' in frames[-1] or b'"execution_state":"idle"' in frames[-1]:
            return messages, size
    raise TimeoutError("the kernel did not become idle")


if __name__ == "__main__":
    rows = {
        "live view": FOLLOW.format(widget=True),
        "display updates": FOLLOW.format(widget=False),
        "update at each delta": EACH_DELTA,
    }
    for name, code in rows.items():
        print(f"{name:22}{measure(code)}", flush=True)
