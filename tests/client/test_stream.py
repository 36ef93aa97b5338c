"""A stream over HTTP from both sides of the sync twin: events, changes, batches, endings, connection."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from nbresponses.errors import Disconnected, ProtocolError, ResponseCutOff, ResponseFailed, TimedOut


def test_events_changes_and_the_final_response(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("Hel", "lo")), wire.LAST_CHUNK, "keep"])
    client = client_of(server)

    with client.stream("Say hello", model="m") as stream:
        events = list(stream)
        assert [event.type for event in events] == [
            *("response.created", "response.output_text.delta", "response.output_text.delta", "response.completed")
        ]
        assert stream.response.output_text == "Hello"
        assert (stream.ending, stream.error, stream.id) == ("completed", None, "resp_1")
        assert stream.request == {"input": "Say hello", "model": "m", "stream": True}
        assert stream.request_id == "req_1"
        assert stream.last_sequence_number == 3
        assert stream.get_final_response().output_text == "Hello"

    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/responses")
    assert request.json == {"input": "Say hello", "model": "m", "stream": True}
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["authorization"] == "Bearer sk-test-0123456789abcdef"
    assert [change.delta for change in client.stream("x").changes() if change.delta] == ["Hel", "lo"]


def test_the_snapshot_follows_the_iteration(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer(*"abcdef")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    seen = ""
    for event in stream:
        if event.type == "response.output_text.delta":
            seen += event.delta
            assert stream.response.output_text == seen
        if seen == "abc":
            break
    assert stream.ending is None, "three more events wait"
    assert [event.delta for event in stream if event.type.endswith("delta")] == ["d", "e", "f"]
    assert (stream.ending, stream.response.output_text) == ("completed", "abcdef")


def test_a_stream_that_nobody_iterates_shows_what_has_arrived(serve, wire, client_of, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("so far", 1)), "hold"])
    stream = client_of(server).stream("x")
    wait_until(lambda: stream.response.output_text == "so far")
    assert (stream.ending, stream.id) == (None, "resp_1")
    assert [event.type for event in _next_of(stream, 2)] == ["response.created", "response.output_text.delta"]
    stream.close()
    assert (stream.ending, stream.response.output_text) == ("interrupted", "so far")
    assert list(stream) == []


def _next_of(stream, count):
    return [next(stream) for _ in range(count)]


def test_waiting_leaves_the_events_to_be_iterated(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a", "b")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x").until_done(timeout=5)
    assert stream.ending == "completed"
    assert len(list(stream)) == 4
    assert list(stream) == []


def test_the_ending_is_known_with_the_last_event(serve, wire, client_of, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a")), "hold"], [wire.CHUNKED, wire.chunk(wire.created())])
    client = client_of(server)
    stream = client.stream("x")
    assert [stream.ending for _ in stream] == [None, None, "completed"]
    stream = client.stream("x")
    next(stream)
    wait_until(lambda: stream.ending)
    assert (stream.ending, list(stream)) == ("cut_off", [])


def test_iterating_twice_goes_on(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a", "b", "c")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    first = _next_of(stream, 2)
    rest = list(stream)
    assert [event.sequence_number for event in first + rest] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("status", ["failed", "incomplete", "cancelled", "completed"])
def test_a_terminal_event_ends_a_stream_whose_connection_stays(serve, wire, client_of, wait_until, status):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), wire.chunk(wire.end(status)), "hold"])
    began = time.monotonic()
    stream = client_of(server).stream("x").until_done(timeout=5)
    assert stream.ending == status
    assert time.monotonic() - began < 2
    wait_until(lambda: server.requests[0].closed_at)


def test_what_comes_after_the_end_is_not_delivered_and_said(serve, wire, client_of):
    both = wire.answer("one") + wire.created(id_="resp_2") + wire.delta("two")
    server = serve([wire.CHUNKED, wire.chunk(both), wire.LAST_CHUNK])
    stream = client_of(server).stream("x").until_done()
    assert len(list(stream)) == 3
    assert stream.response.output_text == "one"
    assert stream.notices == ["2 events after response.completed were not read"]


def test_the_failure_may_follow_the_error(serve, wire, client_of):
    error = wire.event("error", 1, error={"type": "tokens", "code": "rate_limit_exceeded", "message": "slow down"})
    failed = wire.end("failed", 2, error={"code": "server_error", "message": "later"})
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + error), 0.05, wire.chunk(failed), "hold"])
    stream = client_of(server).stream("x")
    with pytest.raises(ResponseFailed, match="rate_limit_exceeded: slow down"):
        stream.get_final_response()
    assert stream.ending == "failed"
    assert stream.error is None


def test_after_an_error_two_seconds_are_enough(serve, wire, client_of):
    error = wire.event("error", error={"code": "server_error", "message": "boom"})
    server = serve([wire.CHUNKED, wire.chunk(error), "hold"])
    stream = client_of(server).stream("x")
    began = time.monotonic()
    with pytest.raises(ResponseFailed, match="boom"):
        stream.get_final_response()
    assert 1.5 < time.monotonic() - began < 10
    assert (stream.ending, stream.error) == ("error", None)


@pytest.mark.parametrize("end", ["close", "reset"])
def test_an_error_and_the_end_of_the_connection_is_an_error(serve, wire, client_of, end):
    error = wire.event("error", error={"code": "server_error", "message": "boom"})
    server = serve([wire.CHUNKED, wire.chunk(error), 0.05, *(["reset"] if end == "reset" else [])])
    stream = client_of(server).stream("x").until_done()
    assert (stream.ending, stream.error) == ("error", None)


def test_a_stream_without_a_terminal_event_is_cut_off(serve, wire, client_of):
    begun = wire.created() + wire.delta("par", 1) + wire.delta("tial", 2)
    server = serve([wire.CHUNKED, wire.chunk(begun), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    assert len(list(stream)) == 3, "iterating does not raise"
    assert stream.ending == "cut_off"
    with pytest.raises(ResponseCutOff, match="response resp_1 was cut off after event 2") as caught:
        stream.get_final_response()
    assert isinstance(stream.error, Disconnected)
    assert caught.value.__cause__ is stream.error
    assert caught.value.response.output_text == "partial"
    assert caught.value.last_sequence_number == 2


def test_done_without_a_terminal_event_is_cut_off(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + b"data: [DONE]\n\n"), wire.LAST_CHUNK])
    assert client_of(server).stream("x").until_done().ending == "cut_off"


def test_bytes_cut_in_mid_event_stay_in_the_capture(serve, wire, client_of):
    cut = wire.delta("never", 1)[:-20]
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + cut), "reset"])
    stream = client_of(server).stream("x").until_done()
    assert stream.ending == "cut_off"
    assert [message.payload for message in stream.capture if message.kind == "remainder"] == [cut]


def test_an_event_above_the_limit_ends_the_stream_with_its_name(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("x" * 5000)), "hold"])
    stream = client_of(server, max_event_bytes=4000).stream("x").until_done(timeout=5)
    assert stream.ending == "cut_off"
    assert isinstance(stream.error, ProtocolError)
    assert "4000" in str(stream.error)


def test_close_stops_the_request_and_keeps_what_came(serve, wire, client_of, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("half", 1)), "hold"])
    with client_of(server).stream("x") as stream:
        assert next(stream).type == "response.created"
    wait_until(lambda: server.requests[0].closed_at)
    assert (stream.ending, stream.response.output_text, list(stream)) == ("interrupted", "half", [])
    stream.close()
    assert stream.ending == "interrupted"
    with pytest.raises(ResponseCutOff, match="interrupted") as caught:
        stream.get_final_response()
    assert caught.value.response.output_text == "half"


def test_closing_after_the_end_changes_nothing(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    stream = client_of(server).stream("x").until_done()
    stream.close()
    assert stream.ending == "completed"
    assert stream.get_final_response().output_text == "a"


def test_closing_from_another_thread_ends_the_iteration(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    stream = client_of(server).stream("x")
    threading.Timer(0.2, stream.close).start()
    assert len(list(stream)) == 1
    assert stream.ending == "interrupted"


def test_a_forgotten_stream_is_stopped(serve, wire, client_of, wait_until):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    client = client_of(server)
    stream = client.stream("x")
    next(stream)
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None
    wait_until(lambda: server.requests[0].closed_at)


def test_a_stream_keeps_its_client(serve, wire):
    from nbresponses.client import Client

    server = serve([wire.CHUNKED, 0.2, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    stream = Client(base_url=server.base_url).stream("x")
    gc.collect()
    assert stream.get_final_response().output_text == "a"
    stream.close()


def test_closing_the_client_stops_its_streams(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), "hold"])
    client = client_of(server)
    streams = [client.stream("x") for _ in range(3)]
    for stream in streams:
        next(stream)
    client.close()
    assert [stream.ending for stream in streams] == ["interrupted"] * 3
    assert "nbresponses-loop" not in {thread.name for thread in threading.enumerate()}
    assert next(client.stream("again")).type == "response.created", "a closed client opens anew"


def test_until_done_says_when_its_time_is_over_and_the_stream_goes_on(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created()), 0.6, wire.chunk(wire.end()), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    with pytest.raises(TimedOut, match="until_done"):
        stream.until_done(timeout=0.1)
    assert stream.get_final_response().status == "completed"
