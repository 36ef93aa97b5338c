"""Every wait has a limit that can be set; the error names the limit, and what came before it is kept."""

from __future__ import annotations

import socket
import time

import pytest

from nbresponses.client.settings import Timeouts
from nbresponses.errors import RequestError, ResponseCutOff, TimedOut


def raised_by(client, **limits):
    began = time.monotonic()
    with pytest.raises(TimedOut) as caught:
        client.stream("x", timeout=Timeouts(**limits)).get_final_response()
    assert time.monotonic() - began < 5
    return caught.value.phase, caught.value.seconds


def test_connect(serve, client_of):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.socket() as first, socket.socket() as second:
            for waiting in (first, second):
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            server = serve()
            server.port = full.getsockname()[1]
            assert raised_by(client_of(server), connect=0.2) == ("connect", 0.2)


def test_first_byte_before_the_status_line(serve, client_of):
    assert raised_by(client_of(serve(["hold"])), first_byte=0.2) == ("first_byte", 0.2)


def test_first_byte_of_the_body(serve, wire, client_of):
    server = serve([wire.CHUNKED, "hold"])
    assert raised_by(client_of(server), first_byte=0.2, idle=30) == ("first_byte", 0.2)


def test_idle_after_the_first_byte_before_the_first_event(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(b": hello\n\n"), "hold"])
    assert raised_by(client_of(server), idle=0.2) == ("idle", 0.2)


def test_idle_in_mid_stream_is_a_cut_off(serve, wire, client_of, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("half", 1)), "hold"])
    stream = client_of(server).stream("x", timeout=Timeouts(idle=0.2))
    assert len(list(stream)) == 2
    with pytest.raises(ResponseCutOff, match="idle timeout") as caught:
        stream.get_final_response()
    assert caught.value.response.output_text == "half"
    assert isinstance(stream.error, TimedOut)
    wait_until(lambda: server.requests[0].closed_at)


def test_any_byte_resets_idle(serve, wire, client_of):
    comments = [step for _ in range(8) for step in (wire.chunk(b": keepalive\n\n"), 0.1)]
    server = serve([wire.CHUNKED, *comments, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x", timeout=Timeouts(first_byte=5, idle=0.5))
    assert stream.get_final_response().output_text == "a"


def test_total_counts_in_spite_of_bytes(serve, wire, client_of):
    comments = [step for _ in range(100) for step in (wire.chunk(b": keepalive\n\n"), 0.05)]
    server = serve([wire.CHUNKED, *comments])
    assert raised_by(client_of(server), total=0.3) == ("total", 0.3)


def test_a_number_is_the_total_limit(serve, wire, client_of):
    server = serve(["hold"])
    with pytest.raises(TimedOut) as caught:
        client_of(server, timeout=0.2).create("x")
    assert caught.value.phase == "total"
    with pytest.raises(TimedOut):
        client_of(server).models(timeout=0.2)


def test_the_error_names_the_server_without_its_query(serve, client_of):
    server = serve(["hold"])
    with pytest.raises(TimedOut) as caught:
        client_of(server, query={"k": "v"}).create("x", timeout=0.1)
    assert caught.value.url == f"{server.base_url}/responses"


def test_there_is_no_total_limit_by_default():
    assert Timeouts().total is None
    assert Timeouts.of(None) == Timeouts()
    assert Timeouts.of(3, Timeouts(idle=5)) == Timeouts(idle=5, total=3)


@pytest.mark.parametrize("value", [0, -1, "1", True, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(value):
    with pytest.raises(RequestError, match="idle"):
        Timeouts(idle=value)


def test_a_body_that_stops_in_the_middle_of_json(serve, wire, client_of):
    server = serve([wire.json({"id": "r", "status": "completed"})[:-5], "hold"])
    with pytest.raises(TimedOut, match="idle"):
        client_of(server).create("x", timeout=Timeouts(idle=0.2))
