"""DemoServer as an object: starting, stopping, threads, loops, and the command line."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import httpx
import pytest

from nbresponses.demo import DemoServer
from nbresponses.demo.__main__ import main
from nbresponses.demo.service import Service


def serves(base_url):
    return httpx.get(f"{base_url}/models", timeout=5).status_code == 200


def test_it_is_ready_when_entered_and_gone_when_left():
    before = set(threading.enumerate())
    with DemoServer() as server:
        assert server.base_url == f"http://127.0.0.1:{server.port}/v1"
        assert repr(server) == f"<DemoServer {server.base_url}>"
        assert serves(server.base_url)
        where = server.base_url
    with pytest.raises(httpx.ConnectError):
        serves(where)
    assert set(threading.enumerate()) == before
    assert repr(server) == "<DemoServer stopped>"
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url


def test_start_and_stop_can_be_called_twice_and_again():
    server = DemoServer(delay=0)
    server.stop()
    assert server.start().start() is server
    first = server.base_url
    assert serves(first)
    server.stop()
    server.stop()
    assert serves(server.start().base_url)
    server.stop()


def test_the_port_can_be_chosen_and_a_taken_one_is_an_error():
    with DemoServer() as one, pytest.raises(OSError, match="in use"):
        DemoServer(port=one.port).start()


def test_a_wrong_fault_is_an_error_at_once():
    with pytest.raises(ValueError, match="is no fault"):
        DemoServer(fault="nonsense")


def test_it_works_beside_a_running_loop():
    async def notebook():
        with DemoServer(delay=0) as server:
            async with httpx.AsyncClient() as client:
                return (await client.get(f"{server.base_url}/models")).status_code

    assert asyncio.run(notebook()) == 200


@pytest.mark.parametrize("fault", [None, "stay_open", "stall_at:2"])
def test_it_stops_within_a_second_whatever_runs(fault, caplog):
    body = {"model": "demo-slow", "input": "x", "stream": True}
    with warnings.catch_warnings(), caplog.at_level(logging.INFO):
        warnings.simplefilter("error")
        server = DemoServer(fault=fault).start()
        client = httpx.Client(base_url=server.base_url)
        with client.stream("POST", "/responses", json=body) as answer:
            chunks = answer.iter_raw()  # held: a lost iterator would close the stream by itself
            next(chunks)
            if fault is None:
                client.post("/responses", json={**body, "background": True, "stream": False})
                until = time.monotonic() + 5
                while len(server.active) < 2 and time.monotonic() < until:
                    time.sleep(0.01)  # it is answered before it has begun
                assert len(server.active) == 2
            start = time.monotonic()
            server.stop()
            assert time.monotonic() - start < 1.5
        client.close()
        assert server.active == ()
        gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_several_servers_at_once():
    with DemoServer(delay=0) as one, DemoServer(delay=0) as two:
        assert one.port != two.port
        assert serves(one.base_url)
        assert two.requests == []


def test_a_seed_makes_the_ids_the_same():
    def ids(seed):
        with DemoServer(delay=0, seed=seed) as server:
            answers = [httpx.post(f"{server.base_url}/responses", json=body).json() for _ in range(2)]
        return [(answer["id"], answer["output"][0]["id"]) for answer in answers]

    body = {"model": "demo-echo", "input": "x"}
    assert ids(1) == ids(1)
    assert ids(1) != ids(2)
    assert ids(None) != ids(None)
    assert len({response_id for response_id, _ in ids(1)}) == 2


def test_the_command_prints_where_it_serves_and_ends_on_interrupt():
    command = [sys.executable, "-m", "nbresponses.demo", "--port", "0", "--delay", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        base_url = process.stdout.readline().strip()
        assert serves(base_url)
        process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0
    assert "demo-image" in out
    assert err == ""


@pytest.mark.parametrize("arguments", [["--fault", "nonsense"], ["--port", "99999999"]])
def test_the_command_refuses_what_it_cannot_take(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


class LateClock:
    """A clock whose timers fire late by 4 ms; for `stall` seconds the client does not read."""

    def __init__(self, monkeypatch, stall=0.0):
        self.now, self.stall = 0.0, stall
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now)
        monkeypatch.setattr("nbresponses.demo.service.time", clock)
        monkeypatch.setattr("nbresponses.demo.service.asyncio", SimpleNamespace(sleep=self.sleep))

    async def sleep(self, seconds):
        self.now += seconds + 0.004 if seconds else 0.0

    async def play(self, deltas):
        service = Service(delay=0.01)
        script = service.script({"model": "demo-long", "input": "", "metadata": {"demo_count": str(deltas)}})
        times = []
        async for _ in service.play(script):
            times.append(self.now)
            if len(times) == 50:
                self.now += self.stall
        return times


@pytest.mark.parametrize(("stall", "lost"), [(0.0, 0.0), (0.08, 0.0), (3.0, 2.9)])
def test_the_pace_makes_good_what_timers_lose_and_no_more(monkeypatch, stall, lost):
    times = asyncio.run(LateClock(monkeypatch, stall).play(200))
    assert times[-1] == pytest.approx((len(times) - 1) * 0.01 + lost, abs=0.02)
