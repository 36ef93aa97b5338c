"""AsyncClient: in the caller's own loop, cancellable, in several loops in turn, and nothing left behind."""

from __future__ import annotations

import asyncio
import threading
import time

import httpx
import pytest

from nbresponses.client import AsyncClient
from nbresponses.client.settings import Timeouts
from nbresponses.errors import Rejected, ResponseCutOff, ResponseFailed, TimedOut


def answered(wire, *texts):
    return [wire.CHUNKED, wire.chunk(wire.answer(*texts)), wire.LAST_CHUNK, "keep"]


async def settled():
    """No task but this one is left."""
    for _ in range(100):
        if len(asyncio.all_tasks()) == 1:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(asyncio.all_tasks())


def test_events_changes_batches_and_the_final_response(serve, wire):
    server = serve(answered(wire, "a", "b"))

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            async with client.stream("x", model="m") as stream:
                assert len([event async for event in stream]) == 4
                assert (stream.ending, stream.response.output_text) == ("completed", "ab")
            stream = client.stream("x")
            assert [change.delta async for change in stream.changes() if change.delta] == ["a", "b"]
            stream = client.stream("x")
            batches = [batch async for batch in stream.batches(0.01)]
            assert [change.delta for batch in batches for change in batch if change.delta] == ["a", "b"]
            assert (await client.stream("x").get_final_response()).output_text == "ab"
            done = await client.stream("x").until_done(timeout=5)
            assert len([event async for event in done]) == 4
            await settled()

    asyncio.run(main())
    assert len(server.requests) == 5


def test_nothing_is_sent_before_entering(serve, wire):
    server = serve(answered(wire, "a"))

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            stream = client.stream("x")
            await asyncio.sleep(0.1)
            assert server.requests == []
            async with stream:
                assert len(server.requests) == 1

    asyncio.run(main())


def test_one_client_in_two_loops(serve, wire):
    server = serve(answered(wire, "a"))
    client = AsyncClient(base_url=server.base_url)

    async def main():
        async with client.stream("x") as stream:
            events = [event async for event in stream]
        return len(events)

    assert [asyncio.run(main()), asyncio.run(main())] == [3, 3]
    assert server.connections == 2


def test_it_runs_in_the_callers_thread(serve, wire):
    server = serve(answered(wire, "a"))

    async def main():
        async with AsyncClient(base_url=server.base_url) as client, client.stream("x") as stream:
            async for _ in stream:
                assert "nbresponses-loop" not in {thread.name for thread in threading.enumerate()}

    asyncio.run(main())


def test_a_cancelled_await_loses_nothing(serve, wire):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), 0.4, wire.chunk(wire.delta("a") + wire.end())])

    async def main():
        async with AsyncClient(base_url=server.base_url) as client, client.stream("x") as stream:
            await anext(stream)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.05)
            return [event.type async for event in stream]

    assert asyncio.run(main()) == ["response.output_text.delta", "response.completed"]


def test_a_cancelled_task_closes_its_stream(serve, wire, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("half", 1)), "hold"])
    streams = []

    async def read(client):
        async with client.stream("x") as stream:
            streams.append(stream)
            async for _ in stream:
                pass

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            task = asyncio.create_task(read(client))
            await asyncio.wait({task}, timeout=0.3)
            assert streams[0].response.output_text == "half"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await settled()

    asyncio.run(main())
    assert (streams[0].ending, streams[0].response.output_text) == ("interrupted", "half")
    wait_until(lambda: server.requests[0].closed_at)


def test_cancelled_while_entering(serve, wait_until):
    server = serve(["hold"])

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2), client.stream("x"):
                    pytest.fail("no answer has come")
            await settled()

    asyncio.run(main())
    wait_until(lambda: server.requests[0].closed_at)


def test_a_cancelled_call_closes_its_connection(serve, wait_until):
    server = serve(["hold"])

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.create("x"), 0.2)

    asyncio.run(main())
    wait_until(lambda: server.requests[0].closed_at)


@pytest.mark.parametrize("way", ["entering", "iterating", "batches", "final", "create"])
def test_an_interrupt_that_does_not_wake_the_loop_is_noticed(serve, wire, way):
    """As a kernel interrupts an `await` cell: a callback is added, and nothing wakes the loop for it."""
    silent = [wire.CHUNKED, wire.chunk(wire.created()), "hold"]
    server = serve(["hold"] if way in {"entering", "create"} else silent)

    async def work(client):
        if way == "create":
            await client.create("x")
        async with client.stream("x") as stream:
            if way == "batches":
                async for _ in stream.batches(60):
                    pass
            elif way == "final":
                await stream.get_final_response()
            else:
                async for _ in stream:
                    pass

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work(client))
            cancelling = threading.Timer(0.4, lambda: loop.call_soon(task.cancel))
            cancelling.start()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            cancelling.join()
            return time.monotonic() - began

    assert asyncio.run(main()) < 3


def test_close_from_another_task(serve, wire):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])

    async def main():
        async with AsyncClient(base_url=server.base_url) as client, client.stream("x") as stream:
            asyncio.get_running_loop().call_later(0.1, lambda: asyncio.ensure_future(stream.close()))
            count = len([event async for event in stream])
            return count, stream.ending

    assert asyncio.run(main()) == (1, "interrupted")


def test_errors_are_those_of_the_synchronous_client(serve, wire):
    failed = [wire.CHUNKED, wire.chunk(wire.end("failed", error={"code": "c", "message": "m"}))]
    cut = [wire.CHUNKED, wire.chunk(wire.created())]
    server = serve([wire.error(401)], failed, cut, ["hold"])

    async def main():
        async with AsyncClient(base_url=server.base_url, max_retries=0) as client:
            with pytest.raises(Rejected):
                async with client.stream("x"):
                    pass
            with pytest.raises(ResponseFailed):
                await client.stream("x").get_final_response()
            with pytest.raises(ResponseCutOff):
                await client.stream("x").get_final_response()
            with pytest.raises(TimedOut, match="first_byte"):
                async with client.stream("x", timeout=Timeouts(first_byte=0.1)):
                    pass
            with pytest.raises(TimedOut, match="until_done"):
                await client.stream("x").until_done(timeout=0.1)

    asyncio.run(main())


def test_a_loop_that_ends_with_an_open_stream(serve, wire):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    client = AsyncClient(base_url=server.base_url)

    async def main():
        stream = client.stream("x")
        await anext(stream)
        return stream

    assert asyncio.run(main()).ending == "interrupted"


def test_other_tasks_go_on_meanwhile(serve, wire):
    server = serve([wire.CHUNKED, 0.3, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    longest = 0.0

    async def heartbeat():
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    async def main():
        async with AsyncClient(base_url=server.base_url) as client:
            beating = asyncio.create_task(heartbeat())
            await client.stream("x").get_final_response()
            beating.cancel()

    asyncio.run(main())
    assert longest < 0.2


def test_a_given_http_client_is_used_and_not_closed(serve, wire, wait_until):
    server = serve(answered(wire, "a"))

    async def main():
        limits = httpx.Limits(max_connections=2)
        async with httpx.AsyncClient(limits=limits, headers={"x-mine": "1"}) as given:
            async with AsyncClient(base_url=server.base_url, http_client=given) as client:
                for _ in range(3):  # a pool of two has a place for the third
                    assert (await client.stream("x").get_final_response()).output_text == "a"
            assert not given.is_closed

    asyncio.run(main())
    assert [request.headers["x-mine"] for request in server.requests] == ["1"] * 3


def test_a_full_pool_gets_its_places_back_however_a_stream_ends(serve, wire):
    stays = [wire.CHUNKED, wire.chunk(wire.answer("a")), "hold"]
    cut = [wire.CHUNKED, wire.chunk(wire.created())]
    early = [wire.CHUNKED, wire.chunk(wire.created()), "hold"]
    moved = wire.error(307, b"", location="/v1/elsewhere")
    server = serve(stays, cut, early, [wire.error(500)], [moved], answered(wire, "last"))

    async def main():
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(limits=limits) as given:
            client = AsyncClient(
                base_url=server.base_url, http_client=given, max_retries=0, timeout=Timeouts(connect=2)
            )
            await client.stream("x").until_done()
            await client.stream("x").until_done()
            async with client.stream("x") as stream:
                await anext(stream)
            with pytest.raises(Rejected):
                await client.create("x")
            return (await client.stream("x").get_final_response()).output_text

    assert asyncio.run(main()) == "last"
