"""Before the first event: refusals in every shape, answers that are no stream, redirects, no connection."""

from __future__ import annotations

import json
import socket
import time

import pytest

from nbresponses.client import Client
from nbresponses.errors import (
    ConnectionFailed,
    Disconnected,
    ProtocolError,
    Rejected,
    RequestError,
    ResponseCutOff,
    ResponseFailed,
)

NESTED = {"error": {"message": "no quota", "type": "insufficient_quota", "code": "insufficient_quota", "param": None}}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (NESTED, ("insufficient_quota", "insufficient_quota", "no quota", None)),
        ({"message": "flat", "code": 40001, "type": "bad", "param": "input"}, ("bad", 40001, "flat", "input")),
        ({"detail": "Not here"}, (None, None, "Not here", None)),
        ({"detail": [{"loc": ["body", "model"], "msg": "missing"}]}, (None, None, "body.model: missing", None)),
        ({"error": "just text"}, ("just text", None, "just text", None)),
        (b"upstream connect error", (None, None, "upstream connect error", None)),
        (b"<html><head><title>502 Bad Gateway</title></head></html>", (None, None, "502 Bad Gateway", None)),
        (b"", (None, None, None, None)),
    ],
)
def test_an_error_body_is_read_in_any_shape(serve, wire, client_of, body, error):
    server = serve([wire.error(400, body)])
    with pytest.raises(Rejected) as caught, client_of(server).stream("x"):
        pytest.fail("entering raises")
    failure = caught.value
    assert tuple(failure.error[name] for name in ("type", "code", "message", "param")) == error
    assert (failure.status, failure.request_id) == (400, "req_err")
    assert failure.body == (body.decode() if isinstance(body, bytes) else json.dumps(body))


def test_a_refusal_is_raised_by_whatever_comes_first(serve, wire, client_of):
    server = serve([wire.error(401, NESTED)])
    client = client_of(server)
    for first in (list, lambda stream: stream.get_final_response(), lambda stream: list(stream.changes())):
        with pytest.raises(Rejected, match="HTTP 401"):
            first(client.stream("x"))
    with pytest.raises(Rejected):
        list(client.stream("x").batches(0.01))
    stream = client.stream("x").until_done()
    assert isinstance(stream.error, Rejected)
    assert stream.ending == "cut_off"
    with pytest.raises(Rejected):
        client.create("x")


def test_a_huge_error_body_is_read_up_to_a_limit(serve, wire, client_of):
    server = serve([wire.error(500, b"x" * 1_000_000)])
    with pytest.raises(Rejected) as caught:
        client_of(server).create("x")
    assert len(caught.value.body) == 64 * 1024
    assert len(str(caught.value)) < 700


def test_an_error_body_without_an_end_is_not_waited_for(serve, wire, client_of):
    head = b"HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n"
    server = serve([head, *[wire.chunk(b"x" * 8192)] * 9, "hold"])
    began = time.monotonic()
    with pytest.raises(Rejected):
        client_of(server).create("x", timeout=10)
    assert time.monotonic() - began < 5


def test_an_error_body_that_is_cut_is_still_the_refusal(serve, wire, client_of):
    server = serve([wire.error(400, NESTED)[:-10]])
    with pytest.raises(Rejected, match="HTTP 400"):
        client_of(server).create("x")


# ── answers that are no event stream ──


@pytest.mark.parametrize(
    "label", [b"text/plain", b"Text/Event-Stream; charset=utf-8", b"", b"application/octet-stream"]
)
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b": hello\n\n", b"\r\n"])
def test_a_stream_is_read_whatever_its_label(serve, wire, client_of, label, start):
    head = b"HTTP/1.1 200 OK\r\n" + (b"content-type: %s\r\n" % label if label else b"") + b"connection: close\r\n\r\n"
    server = serve([head + start + wire.answer("fine")])
    assert client_of(server).stream("x").get_final_response().output_text == "fine"


@pytest.mark.parametrize("label", ["text/html; charset=utf-8", "text/event-stream", "image/png"])
def test_a_page_is_refused_with_what_to_do(serve, wire, client_of, label):
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {label}\r\nconnection: close\r\n\r\n"
    server = serve([head.encode() + b"<!doctype html><p>Log in: secret page"])
    with pytest.raises(ProtocolError, match="is base_url right") as caught:
        client_of(server).stream("x").get_final_response()
    assert "secret page" not in str(caught.value)
    with pytest.raises(ProtocolError, match="is base_url right"):
        client_of(server).create("x")


def test_an_empty_stream_is_an_error_and_not_tried_again(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.LAST_CHUNK])
    with pytest.raises(ProtocolError, match="before the first event"):
        client_of(server, max_retries=2).stream("x").get_final_response()
    assert len(server.requests) == 1


def test_json_in_place_of_a_stream_is_the_response(serve, wire, client_of):
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "whole"}]}
    server = serve([wire.json({"object": "response", "id": "resp_j", "status": "completed", "output": [item]})])
    stream = client_of(server).stream("x")
    assert stream.get_final_response().output_text == "whole"
    assert stream.ending == "completed"
    assert stream.notices == ["the server answered with JSON, not with a stream"]


def test_json_under_the_label_of_a_stream(serve, wire, client_of):
    body = b'\xef\xbb\xbf{"object":"response","id":"r","status":"completed","output":[]}'
    server = serve([wire.UNTIL_CLOSE + body])
    assert client_of(server).stream("x").get_final_response().id == "r"


def test_json_of_a_response_that_still_runs_is_said(serve, wire, client_of):
    server = serve([wire.json({"object": "response", "id": "resp_j", "status": "in_progress", "output": []})])
    stream = client_of(server).stream("x")
    with pytest.raises(ResponseCutOff, match="in_progress"):
        stream.get_final_response()
    assert stream.response.id == "resp_j"


def test_json_with_an_error_is_the_failure(serve, wire, client_of):
    server = serve([wire.json(NESTED)])
    stream = client_of(server).stream("x")
    with pytest.raises(ResponseFailed, match="no quota"):
        stream.get_final_response()
    assert stream.response.error["code"] == "insufficient_quota"
    with pytest.raises(ResponseFailed, match="no quota"):
        client_of(server).create("x")


@pytest.mark.parametrize("body", [{"hello": 1}, [1], b'{"cut', b"nothing at all"])
def test_json_that_says_nothing_is_a_clear_error(serve, wire, client_of, body):
    server = serve([wire.json(body)])
    with pytest.raises(ProtocolError):
        client_of(server).stream("x").get_final_response()


def test_a_coding_that_cannot_be_undone_is_named(serve, wire, client_of):
    head = wire.STREAM + b"content-encoding: x-unknown\r\nconnection: close\r\n\r\n"
    server = serve([head + wire.answer("a")])
    with pytest.raises(ProtocolError, match="x-unknown"):
        client_of(server).stream("x").get_final_response()


def test_a_damaged_compressed_body_is_a_protocol_error(serve, wire, client_of):
    head = wire.STREAM + b"content-encoding: gzip\r\nconnection: close\r\n\r\n"
    server = serve([head + b"this is no gzip"])
    with pytest.raises(ProtocolError, match="cannot be read"):
        client_of(server).stream("x").get_final_response()


# ── redirects ──


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_is_followed_with_body_and_key(serve, wire, client_of, status):
    to = wire.error(status, b"", location="/v2/responses?x=1")
    server = serve([to], [wire.CHUNKED, wire.chunk(wire.answer("there")), wire.LAST_CHUNK])
    assert client_of(server).stream("x").get_final_response().output_text == "there"
    second = server.requests[1]
    assert (second.method, second.target) == ("POST", "/v2/responses?x=1")
    assert second.body == server.requests[0].body
    assert second.headers["authorization"] == server.requests[0].headers["authorization"]


def test_303_is_followed_by_get(serve, wire, client_of):
    server = serve([wire.error(303, b"", location="/v1/elsewhere")], [wire.json({"id": "r", "status": "completed"})])
    assert client_of(server).create("x").id == "r"
    assert (server.requests[1].method, server.requests[1].body) == ("GET", b"")


def test_a_redirect_to_another_origin_is_refused_and_gets_nothing(serve, wire, client_of, key):
    other = serve([wire.json({})])
    for target in (f"http://127.0.0.1:{other.port}/v1?token={key}", f"https://u:{key}@127.0.0.1/x", "//evil.test/a"):
        server = serve([wire.error(307, b"", location=target)])
        with pytest.raises(Rejected, match="another origin") as caught:
            client_of(server, max_retries=2).create("x")
        assert caught.value.error["code"] == "redirect_refused"
        assert key not in str(caught.value)
        assert len(server.requests) == 1
    assert other.requests == []
    assert f":{other.port}" not in str(caught.value)
    assert "evil.test" in str(caught.value)


@pytest.mark.parametrize("target", ["http://[bad", "http://127.0.0.1:99999/x"])
def test_a_redirect_to_no_address_is_refused(serve, wire, client_of, target):
    server = serve([wire.error(307, b"", location=target)])
    with pytest.raises(Rejected, match="what is no address"):
        client_of(server).create("x")


def test_redirects_that_go_in_circles_end(serve, wire, client_of):
    server = serve([wire.error(307, b"", location="/v1/responses")])
    with pytest.raises(ProtocolError, match="more than 5 redirects"):
        client_of(server).create("x")
    assert len(server.requests) == 6


# ── no connection ──


def test_nobody_listens(client_of, serve, wire):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = serve()
        server.port = taken.getsockname()[1]
        with pytest.raises(ConnectionFailed, match=r"no connection to http://127\.0\.0\.1"):
            client_of(server).stream("x").get_final_response()


def test_a_name_that_does_not_exist(client_of, serve):
    client = client_of(type("Nowhere", (), {"base_url": "https://nowhere.invalid/v1"}))
    with pytest.raises(ConnectionFailed, match=r"nowhere\.invalid"):
        client.models()


def test_a_server_that_speaks_no_http(serve, client_of):
    server = serve([b"220 smtp ready\r\n"])
    with pytest.raises(Disconnected):
        client_of(server).create("x")


def test_what_cannot_be_sent_is_refused_at_once(client_of, serve):
    server = serve()
    for fields, name in (
        ({}, "input"),
        ({"input": "x", "stream_id": "a"}, "stream_id"),
        ({"input": object()}, "input"),
    ):
        with pytest.raises(RequestError) as caught:
            client_of(server).stream(**fields)
        assert caught.value.field == name
    assert server.requests == []


@pytest.mark.parametrize("status", ["200 OK", "204 No Content"])
def test_nothing_is_no_response(serve, client_of, status):
    server = serve([f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode()])
    client = client_of(server)
    for call in (lambda: client.create("x"), lambda: client.retrieve("r"), lambda: client.compact("x", model="m")):
        with pytest.raises(ProtocolError, match="nothing"):
            call()
    assert client.delete("r") == {}


def test_a_proxy_that_is_none_is_refused_without_its_password(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "junk://me:proxy-password-1@127.0.0.1")
    client = Client(base_url="http://example.invalid/v1", max_retries=0)
    with pytest.raises(RequestError, match="proxy") as caught:
        client.create("x")
    with pytest.raises(ConnectionFailed) as caught_too:
        client.lanes(model="m", transport="websocket").__enter__()
    assert "password" not in f"{caught.value!r} {caught_too.value!r}"
    client.close()
