"""Retries: which failures are tried again, how often and after how long; and none after an event."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from nbresponses.client import patience
from nbresponses.errors import Disconnected, Rejected, ResponseCutOff, TimedOut

RATE = {"error": {"message": "Try again in 10ms.", "type": "tokens", "code": "rate_limit_exceeded", "param": None}}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(patience, "_FIRST_PAUSE", 0.01)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_refusal_is_tried_again_and_said(serve, wire, client_of, status):
    answer = [wire.CHUNKED, wire.chunk(wire.answer("at last")), wire.LAST_CHUNK]
    server = serve([wire.error(status)], [wire.error(status)], answer)
    stream = client_of(server, max_retries=2).stream("x")
    assert stream.get_final_response().output_text == "at last"
    assert len(stream.notices) == 2
    assert f"HTTP {status}" in stream.notices[0]
    noted = [message.kind for message in stream.capture if message.direction == "note"]
    assert noted == ["status", "retry", "status", "retry", "status", "ended"]
    assert [message.direction for message in stream.capture].count("out") == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_a_lasting_refusal_is_not(serve, wire, client_of, status):
    server = serve([wire.error(status)])
    with pytest.raises(Rejected):
        client_of(server, max_retries=2).create("x")
    assert len(server.requests) == 1


def test_a_429_that_will_stay_is_not_tried_again(serve, wire, client_of):
    body = {"error": {"type": "insufficient_quota", "code": None, "message": "You exceeded your quota"}}
    server = serve([wire.error(429, body)])
    with pytest.raises(Rejected) as caught:
        client_of(server, max_retries=2).create("x")
    assert len(server.requests) == 1
    assert not caught.value.retryable


def test_the_last_failure_is_raised(serve, wire, client_of):
    server = serve([wire.error(500)], [wire.error(503)])
    with pytest.raises(Rejected, match="HTTP 503"):
        client_of(server, max_retries=1).create("x")
    assert len(server.requests) == 2


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_connection_that_breaks_before_the_first_event(serve, wire, client_of, end):
    broken = [wire.CHUNKED, wire.chunk(b": wait\n\n"), *(["reset"] if end == "reset" else [])]
    answer = [wire.CHUNKED, wire.chunk(wire.answer("a")), wire.LAST_CHUNK]
    server = serve([], broken, answer)
    stream = client_of(server, max_retries=2).stream("x")
    assert stream.get_final_response().output_text == "a"
    assert len(server.requests) == 3


def test_nothing_is_repeated_after_the_first_event(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("shown", 1)), "reset"])
    stream = client_of(server, max_retries=5).stream("x")
    with pytest.raises(ResponseCutOff):
        stream.get_final_response()
    assert len(server.requests) == 1
    assert stream.response.output_text == "shown"
    assert isinstance(stream.error, Disconnected)


def test_a_connection_that_nobody_takes_is_tried_again(serve, wire, client_of):
    unused = serve()
    port = unused.port
    server = type("Gone", (), {"base_url": "http://127.0.0.1:1/v1"})
    stream = client_of(server, max_retries=2).stream("x").until_done(timeout=10)
    assert len(stream.notices) == 2
    assert port


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        ({"retry_after": "0.3"}, 0.3),
        ({"retry_after": "-1"}, 0.0),
        ({"retry_after_ms": "300"}, 0.3),
        ({"retry_after_ms": "-1"}, 0.0),
        ({"retry_after": formatdate(0, usegmt=True)}, 0.0),
        ({"body": {"error": {"code": "rate_limit_exceeded", "message": "Please try again in 300ms."}}}, 0.3),
        ({"x_ratelimit_reset_tokens": "300ms", "x_ratelimit_remaining_tokens": "0"}, 0.3),
    ],
)
def test_the_server_says_how_long_to_wait(serve, wire, client_of, answer, wait):
    server = serve([wire.error(429, **answer)], [wire.json({"id": "r", "status": "completed"})])
    assert client_of(server, max_retries=1).create("x").id == "r"
    waited = server.requests[1].at - server.requests[0].at
    assert wait <= waited < wait + 3


def test_a_wait_that_is_too_long_is_left_to_the_user(serve, wire, client_of):
    server = serve([wire.error(429, RATE, retry_after="3600")])
    with pytest.raises(Rejected) as caught:
        client_of(server, max_retries=2).create("x")
    assert caught.value.retry_after == 3600
    assert caught.value.retryable
    assert len(server.requests) == 1


def test_no_retry_beyond_the_total_limit(serve, wire, client_of):
    server = serve([wire.error(503, b"", retry_after="20")])
    began = time.monotonic()
    with pytest.raises(Rejected, match="503"):
        client_of(server, max_retries=2, timeout=5).stream("x").get_final_response()
    assert time.monotonic() - began < 4


def test_a_stop_ends_the_wait(serve, wire, client_of, wait_until):
    server = serve([wire.error(503, b"", retry_after="30")])
    stream = client_of(server, max_retries=2).stream("x")
    wait_until(lambda: stream.notices)
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 1
    assert stream.ending == "interrupted"
    assert list(stream) == []


def test_a_first_byte_that_never_comes_is_not_tried_again(serve, client_of):
    from nbresponses.client.settings import Timeouts

    server = serve(["hold"])
    with pytest.raises(TimedOut, match="first_byte"):
        client_of(server, max_retries=3, timeout=Timeouts(first_byte=0.2)).create("x")
    assert len(server.requests) == 1


def test_the_server_can_forbid_and_ask_for_a_retry(serve, wire, client_of):
    server = serve([wire.error(500, b"", x_should_retry="false")])
    with pytest.raises(Rejected):
        client_of(server, max_retries=2).create("x")
    assert len(server.requests) == 1
    server = serve([wire.error(400, b"", x_should_retry="true")], [wire.json({"id": "r", "status": "completed"})])
    assert client_of(server, max_retries=2).create("x").id == "r"


def test_pauses_grow_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(patience, "_FIRST_PAUSE", 0.5)
    failure = Disconnected("gone")
    pauses = [patience.pause_before_retry(failure, attempt, max_retries=99) for attempt in range(1, 12)]
    assert all(0.75 * 0.5 * 2**n <= pause <= 0.5 * 2**n for n, pause in enumerate(pauses[:5]))
    assert all(6 <= pause <= 8 for pause in pauses[5:])
    assert patience.pause_before_retry(failure, 3, max_retries=2) is None
