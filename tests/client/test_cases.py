"""The small cases of area http, as they come over a socket; each names the fault that it stands for."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from pathlib import Path

import pytest

from nbresponses.core.sse import encode_sse
from nbresponses.errors import Disconnected, NBResponsesError, ResponseCutOff, ResponseFailed


def pieces_of(case):
    given = case["input"]
    if given["kind"] == "sse_chunks":
        return [base64.b64decode(piece) for piece in given["chunks_b64"]]
    return [encode_sse(json.dumps(event), event=event["type"]) for event in given["events"]]


@pytest.mark.cases("http")
def test_case(case, serve, wire, client_of):
    server = serve([wire.CHUNKED, *map(wire.chunk, pieces_of(case)), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    events = list(stream)
    expect = case["expect"]
    if "output_text" in expect:
        assert stream.response.output_text == expect["output_text"]
    if "status" in expect:
        assert stream.ending == stream.response.status == expect["status"]
    if "response_id" in expect:
        assert stream.id == expect["response_id"]
    if "last_sequence_number" in expect:
        assert stream.last_sequence_number == expect["last_sequence_number"]
    if "n_json_events" in expect:
        assert len(events) == expect["n_json_events"]
    for call, given in zip(stream.response.function_calls, expect.get("tool_calls", []), strict=True):
        assert {name: call.get(name) for name in given} | {"status": call.status} == {"status": call.status, **given}
        assert call.status != "completed", "an unfinished call is not offered for execution"
    check_error(stream, expect.get("error"))


def check_error(stream, error):
    kinds = {"incomplete_stream": ResponseCutOff, "response_failed": ResponseFailed, None: None}
    kind = kinds[error["kind"] if error else None]
    if kind is None:
        assert stream.get_final_response().status == "completed"
        return
    with pytest.raises(kind) as caught:
        stream.get_final_response()
    assert caught.value.response.output_text == stream.response.output_text
    if "code" in error:
        assert caught.value.response.error["code"] == error["code"]
    if kind is ResponseCutOff:
        assert caught.value.last_sequence_number == stream.last_sequence_number
        assert isinstance(caught.value.__cause__, Disconnected)


def load(name):
    return json.loads((Path(__file__).parents[1] / "data" / "cases" / f"{name}.json").read_text())


def test_a_malformed_payload_is_in_no_text(serve, wire, client_of):
    case = load("B199")
    server = serve([wire.CHUNKED, *map(wire.chunk, pieces_of(case)), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    created, invalid = list(stream)
    assert (created.type, invalid.type) == ("response.created", "invalid")
    assert stream.ending == "cut_off"
    with pytest.raises(ResponseCutOff) as caught:
        stream.get_final_response()
    secret = case["expect"]["error_text_must_not_contain"]
    for shown in (caught.value, stream.error, invalid.error, stream, stream.capture):
        assert secret not in f"{shown!r} {shown}"
    assert secret in invalid.error.excerpt


def test_the_overlap_of_a_resume(serve, wire, client_of):
    case = load("B096")
    resume = case["expect"]["resume"]
    pieces = pieces_of(case)
    parts = [b"".join(pieces[number] for number in resume[name]) for name in ("first_part", "replay")]
    server = serve([wire.CHUNKED, wire.chunk(parts[0]), "reset"], [wire.CHUNKED, wire.chunk(parts[1]), wire.LAST_CHUNK])
    stream = client_of(server, max_retries=1).stream("x", background=True)
    assert stream.get_final_response().output_text == resume["output_text"]
    assert server.requests[1].query["starting_after"] == str(resume["starting_after"])


def test_an_error_of_the_clean_up_does_not_hide_the_one_before(serve, wire, client_of):
    """B099: a final response that is asked for in a finally part keeps the transport error as its cause."""
    server = serve([wire.CHUNKED, wire.chunk(wire.created() + wire.delta("a", 1)), "reset"])
    stream = client_of(server).stream("x")

    def reading():
        try:
            return list(stream)
        finally:
            stream.get_final_response()

    with pytest.raises(NBResponsesError) as caught:
        reading()
    assert caught.value.__cause__ is stream.error
    assert isinstance(stream.error, Disconnected)


def gzipped(pieces):
    compressor = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    parts = [compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*parts, compressor.flush()]


def test_a_compressed_stream_is_read_event_by_event(serve, wire, client_of):
    """B098: each event is delivered when its bytes arrive."""
    first, second, end = gzipped([wire.created() + wire.delta("one", 1), wire.delta("two", 2) + wire.end()])
    head = wire.STREAM + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
    server = serve([head, wire.chunk(first), 0.6, wire.chunk(second), wire.chunk(end), wire.LAST_CHUNK])
    stream = client_of(server).stream("x")
    assert [next(stream).type, next(stream).type] == ["response.created", "response.output_text.delta"]
    assert stream.timing.ended is None
    assert stream.get_final_response().output_text == "onetwo"
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_a_compressed_error_body(serve, wire, client_of):
    body = gzip.compress(b'{"error":{"code":"model_not_found","message":"no such model"}}')
    head = f"HTTP/1.1 404 X\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    with pytest.raises(NBResponsesError, match="model_not_found"):
        client_of(serve([head + body])).create("x")


@pytest.mark.parametrize(
    "where", ["status line", "headers", "head", "chunk size", "chunk", "event", "line", "last chunk"]
)
def test_a_cut_at_every_kind_of_byte(serve, wire, client_of, where):
    chunk = wire.chunk(wire.created() + wire.delta("seen", 1))
    head = wire.CHUNKED
    cuts = {
        "status line": head[:11],
        "headers": head[:40],
        "head": head[:-2],
        "chunk size": head + chunk[:1],
        "chunk": head + chunk + wire.chunk(wire.delta("x", 2))[:60],
        "event": head + chunk,
        "line": head + chunk + wire.chunk(b'event: response.output_text.delta\ndata: {"type":"resp'),
        "last chunk": head + chunk + b"0\r\n",
    }
    for end in ([], ["reset"]):
        stream = client_of(serve([cuts[where], 0.05, *end])).stream("x").until_done(timeout=10)
        assert stream.ending == "cut_off"
        assert isinstance(stream.error, Disconnected), stream.error
        begun = where in {"chunk", "event", "line", "last chunk"}
        assert stream.response.output_text == ("seen" if begun else "")
        with pytest.raises(ResponseCutOff if begun else Disconnected):
            stream.get_final_response()
