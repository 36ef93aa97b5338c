"""An interrupt of the main thread: prompt, clean, the partial response kept. In processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import pytest

PROGRAM = """
import json, signal, sys, threading, time
from nbresponses.client import Client

base_url, way, interrupts = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = Client(base_url=base_url, max_retries=0)
facts = {}
stream = None

def interrupt():
    for _ in range(interrupts):
        time.sleep(0.4)
        facts["at"] = time.monotonic()
        signal.raise_signal(signal.SIGINT)

def wait():
    global stream
    if way == "create":
        return client.create("x")
    stream = client.stream("x")
    if way == "with":
        with stream:
            for _ in stream:
                pass
    elif way == "enter":
        stream.__enter__()
    elif way == "batches":
        for _ in stream.batches(0.05):
            pass
    elif way == "long batches":
        for _ in stream.batches(60):
            pass
    elif way == "final":
        stream.get_final_response()
    elif way == "until_done":
        stream.until_done(timeout=60)

threading.Thread(target=interrupt, daemon=True).start()
try:
    wait()
except KeyboardInterrupt:
    facts["after"] = time.monotonic() - facts["at"]
if stream is not None:
    began = time.monotonic()
    stream.close()
    facts["close"] = time.monotonic() - began
    facts["ending"] = stream.ending
    facts["text"] = stream.response.output_text
client.close()
facts["threads"] = [t.name for t in threading.enumerate() if t.name.startswith("nbresponses")]
print(json.dumps(facts))
"""


def run(server, way, interrupts=1):
    command = [sys.executable, "-W", "error", "-c", PROGRAM, server.base_url, way, str(interrupts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no task destroyed, nothing never awaited, no resource left open"
    return json.loads(done.stdout)


@pytest.mark.parametrize("way", ["with", "batches", "long batches", "final", "until_done"])
def test_while_a_stream_is_waited_for(serve, wire, wait_until, way):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("half", 1)), "hold"])
    facts = run(server, way)
    assert facts["after"] < 1
    assert facts["close"] < 1
    assert (facts["ending"], facts["text"], facts["threads"]) == ("interrupted", "half", [])
    wait_until(lambda: server.requests[0].closed_at)


@pytest.mark.parametrize("way", ["enter", "create"])
def test_while_the_answer_is_waited_for(serve, wait_until, way):
    server = serve(["hold"])
    facts = run(server, way)
    assert facts["after"] < 1
    assert facts["threads"] == []
    wait_until(lambda: server.requests[0].closed_at)


def test_a_process_that_ends_with_an_open_stream(serve, wire, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    program = """
import sys
from nbresponses.client import Client
stream = Client(base_url=sys.argv[1]).stream("x")
print(next(stream).type)
"""
    command = [sys.executable, "-W", "error", "-c", program, server.base_url]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "response.created", "")
    assert time.monotonic() - began < 10
    wait_until(lambda: server.requests[0].closed_at)


def test_a_process_that_is_sent_an_interrupt_from_outside(serve, wire):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    program = "import sys; from nbresponses.client import Client\nlist(Client(base_url=sys.argv[1]).stream('x'))"
    command = [sys.executable, "-W", "error", "-c", program, server.base_url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 20
        while not server.requests and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "never awaited" not in errors
    assert "ResourceWarning" not in errors


def test_in_a_thread_that_is_not_the_main_one(serve, wire):
    from nbresponses.client import Client

    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    texts = []

    def work():
        with Client(base_url=server.base_url) as client:
            texts.append(client.stream("x").get_final_response().output_text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert texts == ["a"] * 8
