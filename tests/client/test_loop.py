"""The loop thread: one for all, there while it is needed, in the caller's context, ended by whoever comes last."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest
from anyio.from_thread import BlockingPortal

from nbresponses.client import Client
from nbresponses.client.loop import Lease

NAME = "nbresponses-loop"


def loop_threads():
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_one_thread_for_all_clients_from_first_use_to_last_close(serve, wire):
    server = serve([wire.json({"data": []}, keep=True), "keep"])
    assert loop_threads() == []
    first, second = Client(base_url=server.base_url), Client(base_url=server.base_url)
    assert loop_threads() == []
    first.models()
    second.models()
    assert len(loop_threads()) == 1
    first.close()
    assert len(loop_threads()) == 1
    second.close()
    second.close()
    assert loop_threads() == []


def test_a_forgotten_client_ends_it_and_its_connections(serve, wire, wait_until):
    server = serve([wire.json({"data": []}, keep=True), "keep"])
    client = Client(base_url=server.base_url)
    client.models()
    del client
    gc.collect()
    wait_until(lambda: loop_threads() == [])
    wait_until(lambda: server.requests[0].closed_at)


def test_a_cycle_is_no_hindrance(serve, wire, wait_until):
    server = serve([wire.json({"data": []}, keep=True), "keep"])
    client = Client(base_url=server.base_url)
    client.models()
    client.myself = client
    del client
    gc.collect()
    wait_until(lambda: loop_threads() == [])


def test_work_runs_in_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="nobody")
    lease = Lease()

    async def look():
        seen = variable.get()
        variable.set("changed over there")
        return seen

    for name in ("cell 1", "cell 2"):
        variable.set(name)
        assert lease.call(look) == name
        assert variable.get() == name
    lease.release()


def test_errors_come_through_and_a_timeout_error_is_one_of_them():
    lease = Lease()

    async def fail(error):
        raise error

    for error in (ValueError("v"), TimeoutError("t")):
        with pytest.raises(type(error)) as caught:
            lease.call(functools.partial(fail, error))
        assert caught.value is error
    lease.release()


def test_an_interrupt_of_the_caller_cancels_the_work():
    lease = Lease()
    ended = threading.Event()

    async def wait():
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        lease.call(wait)
    assert ended.wait(5)
    lease.release()


def test_an_interrupt_while_the_thread_starts_is_raised_and_leaves_no_thread(monkeypatch, wait_until):
    enter, main = BlockingPortal.__aenter__, threading.main_thread().ident

    async def interrupted(portal):
        signal.pthread_kill(main, signal.SIGINT)
        await asyncio.sleep(0.2)
        return await enter(portal)

    lease, before = Lease(), threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(BlockingPortal, "__aenter__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lease.call(functools.partial(asyncio.sleep, 0))
    wait_until(lambda: threading.active_count() == before)
    assert lease.call(functools.partial(asyncio.sleep, 0, "later")) == "later"
    lease.release()


def test_leases_are_counted_under_contention():
    async def nothing():
        await asyncio.sleep(0)

    def work():
        for _ in range(20):
            lease = Lease()
            lease.call(nothing)
            lease.release()
            lease.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert loop_threads() == []


def test_inside_a_running_loop(serve, wire, client_of):
    """As in a notebook's cell: a loop runs in the main thread, and the call needs none of it."""
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])

    async def cell():
        return client_of(server).stream("x").get_final_response().output_text

    assert asyncio.run(cell()) == "a"


def test_soon_after_the_end_does_nothing():
    lease = Lease()
    lease.soon(lambda: pytest.fail("there is no loop"))
    lease.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_the_child_has_a_thread_of_its_own(serve, wire):
    server = serve([wire.json({"data": [{"id": "m"}]}, keep=True), "keep"])
    client = Client(base_url=server.base_url)
    client.models()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if [model.id for model in client.models()] == ["m"] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [model.id for model in client.models()] == ["m"]
    client.close()


ABANDONED = """
import atexit, time
atexit.register(time.sleep, 0.5)  # runs after the finalizers, so that what they stopped has ended before the loop does
from datetime import UTC, datetime
from nbresponses import Capture, decode_event
capture = Capture(datetime.now(UTC))
for number in range(100):
    capture.received([decode_event('{"type": "response.created"}')], number / 10)
stream = capture.replay()
next(stream)
"""


def test_the_process_ends_with_a_stream_under_way():
    done = subprocess.run([sys.executable, "-c", ABANDONED], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
