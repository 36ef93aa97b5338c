"""Taking a response up again: by its id, and by itself where the server keeps it running."""

from __future__ import annotations

import json

import pytest

from nbresponses.client import patience
from nbresponses.client.settings import Timeouts
from nbresponses.demo import DemoServer
from nbresponses.errors import Disconnected, ProtocolError, Rejected, RequestError, ResponseCutOff, TimedOut


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(patience, "_FIRST_PAUSE", 0.01)


def numbers(stream):
    return [event.sequence_number for event in stream]


def test_the_request_of_a_resume(serve, wire, client_of):
    rest = wire.delta("cd", 4) + wire.end(number=5)
    server = serve([wire.CHUNKED, wire.chunk(rest), wire.LAST_CHUNK])
    stream = client_of(server, query={"api-version": "1"}).stream(response_id="resp/1", starting_after=3)
    assert numbers(stream) == [4, 5]
    request = server.requests[0]
    assert (request.method, request.path) == ("GET", "/v1/responses/resp%2F1")
    assert request.query == {"stream": "true", "starting_after": "3", "api-version": "1"}
    assert "content-type" not in request.headers
    assert stream.request == {}
    assert stream.response.output_text == "cd"


def test_overlap_is_dropped_and_a_gap_is_noted(serve, wire, client_of):
    overlap = wire.delta("b", 2) + wire.delta("c", 3) + wire.delta("d", 4) + wire.end(number=5)
    gap = wire.delta("f", 7) + wire.end(number=8)
    server = serve([wire.CHUNKED, wire.chunk(overlap), wire.LAST_CHUNK], [wire.CHUNKED, wire.chunk(gap)])
    client = client_of(server)
    stream = client.stream(response_id="r", starting_after=3)
    assert numbers(stream) == [4, 5]
    assert stream.notices == []
    stream = client.stream(response_id="r", starting_after=3)
    assert numbers(stream) == [7, 8]
    assert stream.notices == ["events 4 to 6 are missing"]
    facts = [message.facts() for message in stream.capture if message.kind == "gap"]
    assert [(fact["after"], fact["before"]) for fact in facts] == [(3, 7)]


def test_a_background_response_survives_cuts_by_itself(serve, wire, client_of):
    first = wire.created(0) + wire.delta("a", 1) + wire.delta("b", 2)
    second = wire.delta("b", 2) + wire.delta("c", 3)
    third = wire.delta("d", 4) + wire.end(number=5)
    scripts = [[wire.CHUNKED, wire.chunk(part), "reset"] for part in (first, second)]
    server = serve(*scripts, [wire.CHUNKED, wire.chunk(third), wire.LAST_CHUNK])
    stream = client_of(server, max_retries=1).stream("x", background=True)
    assert numbers(stream) == [0, 1, 2, 3, 4, 5]
    assert stream.get_final_response().output_text == "abcd"
    assert [request.query.get("starting_after") for request in server.requests] == [None, "2", "3"]
    assert [request.method for request in server.requests] == ["POST", "GET", "GET"]
    assert [notice.partition(":")[0] for notice in stream.notices] == ["resumed at event 3", "resumed at event 4"]
    assert numbers(stream.capture.replay(None)) == [0, 1, 2, 3, 4, 5]


def test_silence_is_survived_too(serve, wire, client_of):
    first = wire.created(0) + wire.delta("a", 1)
    rest = wire.delta("b", 2) + wire.end(number=3)
    server = serve([wire.CHUNKED, wire.chunk(first), "hold"], [wire.CHUNKED, wire.chunk(rest), wire.LAST_CHUNK])
    stream = client_of(server, max_retries=1).stream("x", background=True, timeout=Timeouts(idle=0.2))
    assert stream.get_final_response().output_text == "ab"


def test_a_resume_that_fails_keeps_what_came(serve, wire, client_of):
    first = wire.created(0) + wire.delta("a", 1)
    server = serve([wire.CHUNKED, wire.chunk(first), "reset"], [wire.error(404, {"error": {"message": "unknown"}})])
    stream = client_of(server, max_retries=5).stream("x", background=True)
    with pytest.raises(ResponseCutOff, match="404"):
        stream.get_final_response()
    assert isinstance(stream.error, Rejected)
    assert stream.response.output_text == "a"
    assert len(server.requests) == 3, "the stream, the stream again, the response as it is"


@pytest.mark.parametrize("refusal", ["error", "empty"])
def test_a_server_that_has_no_stream_any_more_still_tells_the_end(serve, wire, client_of, refusal):
    first = [wire.CHUNKED, wire.chunk(wire.created(0) + wire.delta("a", 1)), wire.LAST_CHUNK]
    second = [wire.error(400)] if refusal == "error" else [wire.CHUNKED, wire.LAST_CHUNK]
    ended = {"object": "response", "id": "resp_1", "status": "cancelled", "output": []}
    server = serve(first, second, [wire.json(ended)])
    stream = client_of(server, max_retries=2).stream("x", background=True).until_done()
    assert stream.ending == "cancelled"
    assert stream.response.output_text == "a"
    assert [request.query.get("stream") for request in server.requests] == [None, "true", None]


def test_a_response_that_still_runs_is_asked_for_its_stream_again(serve, wire, client_of):
    first = [wire.CHUNKED, wire.chunk(wire.created(0) + wire.delta("a", 1)), wire.LAST_CHUNK]
    empty = [wire.CHUNKED, wire.LAST_CHUNK]
    running = [wire.json({"object": "response", "id": "resp_1", "status": "in_progress", "output": []})]
    rest = [wire.CHUNKED, wire.chunk(wire.delta("b", 2) + wire.end(number=3)), wire.LAST_CHUNK]
    server = serve(first, empty, running, rest)
    stream = client_of(server, max_retries=3).stream("x", background=True)
    assert numbers(stream) == [0, 1, 2, 3]
    assert stream.response.output_text == "ab"


def test_a_resume_gives_up_after_its_retries(serve, wire, client_of):
    first = wire.created(0) + wire.delta("a", 1)
    server = serve([wire.CHUNKED, wire.chunk(first), "reset"], [wire.error(503)])
    stream = client_of(server, max_retries=3).stream("x", background=True).until_done()
    assert stream.ending == "cut_off"
    assert len(server.requests) == 4


def test_without_background_nothing_is_taken_up(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created(0) + wire.delta("a", 1)), "reset"])
    stream = client_of(server, max_retries=2).stream("x").until_done()
    assert isinstance(stream.error, Disconnected)
    assert len(server.requests) == 1


def test_without_numbers_nothing_is_taken_up(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.created(None) + wire.delta("a")), "reset"])
    stream = client_of(server, max_retries=2).stream("x", background=True).until_done()
    assert stream.ending == "cut_off"
    assert len(server.requests) == 1


def test_servers_that_cannot_resume_end_well(serve, wire, client_of):
    whole = {"object": "response", "id": "r", "status": "completed", "output": []}
    server = serve([wire.json(whole)])
    assert client_of(server).stream(response_id="r", starting_after=9).get_final_response().status == "completed"
    server = serve([wire.CHUNKED, wire.LAST_CHUNK])
    with pytest.raises(ProtocolError, match="before the first event"):
        client_of(server).stream(response_id="r", starting_after=9).get_final_response()
    server = serve(["hold"])
    with pytest.raises(TimedOut, match="first_byte"):
        client_of(server, timeout=Timeouts(first_byte=0.2)).stream(response_id="r").get_final_response()
    server = serve([wire.error(400, {"error": {"message": "not a background response"}})])
    with pytest.raises(Rejected, match="not a background response"):
        client_of(server).stream(response_id="r", starting_after=1).get_final_response()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"starting_after": 3}, "starting_after"),
        ({"response_id": "r", "starting_after": "3"}, "starting_after"),
        ({"response_id": ""}, "response_id"),
        ({"response_id": "r", "input": "x"}, "input"),
        ({"response_id": "r", "extra_body": {"model": "m"}}, "model"),
    ],
)
def test_what_a_resume_cannot_have(serve, client_of, fields, name):
    with pytest.raises(RequestError) as caught:
        client_of(serve()).stream(**fields)
    assert caught.value.field == name


def test_a_cut_at_every_event_of_a_background_response(client_of):
    with DemoServer(delay=0) as server:
        client = client_of(server, max_retries=2)
        whole = client.stream("count", model="demo-text", background=True)
        expected = numbers(whole)
        for place in range(1, len(expected), max(1, len(expected) // 12)):
            fault = json.dumps({"cut_at": place, "times": 1})
            stream = client.stream("count", model="demo-text", background=True, metadata={"demo_fault": fault})
            assert numbers(stream) == expected, place
            assert stream.response.output_text == whole.response.output_text
            assert len(stream.notices) == 1, stream.notices


def test_a_response_of_another_client_is_taken_up(demo, client_of):
    mine, other = client_of(demo), client_of(demo)
    stream = mine.stream("count", model="demo-text", background=True)
    seen = [next(stream) for _ in range(5)]
    rest = other.stream(response_id=stream.id, starting_after=seen[-1].sequence_number)
    assert numbers(seen) + numbers(rest) == list(range(rest.last_sequence_number + 1))
    assert rest.get_final_response().output_text == stream.get_final_response().output_text
