"""No key in any text that the package makes or causes: reprs, messages, tracebacks with locals, logs, captures."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import logging
import pickle
import traceback

import pytest

from nbresponses.client import AsyncClient, Client
from nbresponses.client.secret import Secret, hidden
from nbresponses.client.settings import Settings, Timeouts
from nbresponses.errors import NBResponsesError, RequestError

AZURE = "azure-key-9876543210"


def everything_about(error: BaseException) -> str:
    """All that a traceback can show, local variables and hidden causes too; but for this file's own frames, which hold
    the key as a user's cell does.
    """
    lines = []
    seen: BaseException | None = error
    while seen is not None:
        shown = traceback.TracebackException.from_exception(seen, capture_locals=True)
        frames = [frame for frame in shown.stack if "/tests/" not in frame.filename]
        shown.stack = traceback.StackSummary.from_list(frames)
        lines += [*shown.format(chain=False), repr(seen), str(seen), repr(vars(seen))]
        seen = seen.__context__ or seen.__cause__
    return "".join(lines)


def faults(serve, wire, key, *, in_framing=True):
    """Servers that fail in every way there is, most of them with the key in their answer."""
    framing = key if in_framing else ""
    target = f"https://evil.test/{framing}"
    echo = {"error": {"message": f"Incorrect API key provided: {key} and {AZURE}", "code": "invalid_api_key"}}
    cut = [wire.CHUNKED, wire.chunk(wire.created()), "reset"]
    return {
        "401": serve([wire.error(401, echo)]),
        "text": serve([wire.error(500, f"Bearer {key} {AZURE}".encode())]),
        "page": serve([b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>" + key.encode()]),
        "redirect": serve([wire.error(307, b"", location=target)]),
        "cut": serve(cut),
        "closed": serve([]),
        "silent": serve(["hold"]),
        "no http": serve([framing.encode() + b"\r\n\r\n"]),
        "json": serve([wire.json(b'{"broken": "' + key.encode())]),
        "bad chunk": serve([wire.CHUNKED, b"zz" + framing.encode() + b"\r\n"]),
        "id": serve([wire.error(418, b"", **({"x-request-id": key} if in_framing else {}))]),
    }


def test_no_failure_shows_a_key(serve, wire, key, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    limits = Timeouts(first_byte=0.3)
    attempts = (
        lambda client: client.stream("x", timeout=limits).get_final_response(),
        lambda client: client.create("x", timeout=limits),
    )
    # The HTTP library logs an answer's headers and broken framing: what a server puts there is not ours to hide.
    for name, server in faults(serve, wire, key, in_framing=False).items():
        with Client(base_url=server.base_url, api_key=key, headers={"api-key": AZURE}, max_retries=0) as client:
            for attempt in attempts:
                with pytest.raises(NBResponsesError) as caught:
                    attempt(client)
                text = everything_about(caught.value)
                assert key not in text, (name, attempt)
                assert AZURE not in text, (name, attempt)
    logged = caplog.text + "".join(capfd.readouterr())
    assert "send_request_headers" in logged, "the HTTP library did log"
    assert key not in logged
    assert AZURE not in logged


def test_no_failure_of_lanes_shows_a_key(serve, wire, key):
    servers = faults(serve, wire, key)
    urls = {"nobody": "http://127.0.0.1:9/v1"} | {name: server.base_url for name, server in servers.items()}
    for name, url in urls.items():
        with Client(base_url=url, api_key=key, headers={"api-key": AZURE}) as client:
            with pytest.raises(NBResponsesError) as caught:
                client.lanes(model="m", transport="websocket", open_timeout=0.5).__enter__()
            shown = everything_about(caught.value)
        assert key not in shown, name
        assert AZURE not in shown, name


def test_no_failure_in_the_callers_loop_shows_a_key(serve, wire, key):
    async def main(server):
        async with AsyncClient(base_url=server.base_url, api_key=key, max_retries=0) as client:
            with pytest.raises(NBResponsesError) as caught:
                async with client.stream("x", timeout=Timeouts(first_byte=0.2), extra_headers={"api-key": AZURE}) as s:
                    await s.get_final_response()
            return everything_about(caught.value)

    for server in faults(serve, wire, key).values():
        text = asyncio.run(main(server))
        assert key not in text
        assert AZURE not in text


def test_a_cancelled_call_shows_no_key(serve, key):
    server = serve(["hold"])

    async def main():
        async with AsyncClient(base_url=server.base_url, api_key=key) as client:
            try:
                await asyncio.wait_for(client.create("x", extra_headers={"x-token": AZURE}), 0.2)
            except TimeoutError as error:
                return everything_about(error)

    text = asyncio.run(main())
    assert key not in text
    assert AZURE not in text


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://x"},
        {"base_url": "http://192.168.1.9:8000/v1"},
        {"max_retries": -1},
        {"timeout": -1},
        {"headers": {"api-key": "azure-key-9876543210\n"}},
        {"headers": {"api-key": "azure-key-9876543210", "bad name": "x"}},
        {"headers": ["azure-key-9876543210"]},
        {"api_key": "sk-test-0123456789abcdef\nX: y"},
        {"api_key": "sk-test-0123456789abcdef\u2013"},
        {"http_client": object()},
    ],
)
def test_no_wrong_setting_shows_a_key(wrong, key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    settings = {"api_key": key, "headers": {"api-key": AZURE}, **wrong}
    for kind in (Client, AsyncClient):
        frames = _raised(lambda kind=kind: kind(**settings).stream("x"))
        assert key not in frames
        assert AZURE not in frames


@pytest.mark.parametrize("url", ["sk-test-0123456789abcdef", "htp://sk-test-0123456789abcdef/v1"])
def test_a_key_in_the_place_of_the_address_is_not_repeated(url, key):
    with pytest.raises(RequestError, match="https://host/v1 is expected") as caught:
        Client(base_url=url)
    assert key not in str(caught.value)


def _raised(call):
    with pytest.raises(RequestError) as caught:
        call()
    return everything_about(caught.value)


def test_wrong_fields_show_no_headers_of_the_call(key):
    client = Client(base_url="http://127.0.0.1:1", api_key=key)
    assert AZURE not in _raised(lambda: client.stream(extra_headers={"api-key": AZURE}))
    assert AZURE not in _raised(lambda: client.stream("x", extra_headers={"api-key": AZURE, "a b": "c"}))
    assert AZURE not in _raised(lambda: client.create(extra_headers={"api-key": AZURE}))
    assert AZURE not in _raised(lambda: client.retrieve("", extra_headers={"api-key": AZURE}))


def test_reprs_and_copies(key):
    client = Client(base_url="http://127.0.0.1:1/v1", api_key=key, headers={"api-key": AZURE}, query={"q": AZURE})
    api = client._api
    for thing in (client, api, api.settings, api.settings.secret, vars(client), vars(api), hidden(key)):
        assert key not in repr(thing)
        assert AZURE not in repr(thing)
    assert repr(client) == "<Client http://127.0.0.1:1/v1>"
    for leak in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(api.settings.secret)
    with pytest.raises(TypeError):
        dataclasses.asdict(api.settings)


def test_a_key_that_is_repeated_in_a_stream_is_taken_out(serve, wire, key, client_of):
    text = wire.created(0) + wire.delta(f"your key is {key}, see?", 1) + wire.delta("more", 2)
    error = wire.event("error", 3, error={"code": "x", "message": f"bad key {key}"})
    data = text + error
    for size in (len(data), 50, 7, 1):
        pieces = [wire.chunk(data[start : start + size]) for start in range(0, len(data), size)]
        stream = client_of(serve([wire.CHUNKED, b"".join(pieces)])).stream(f"I am {key}", model="m")
        events = [event.to_dict() for event in stream]
        assert events[1]["delta"] == "your key is ***, see?"
        assert len(events) == 4
        assert stream.response.error["message"] == "bad key ***"
        kept = b"".join(message.payload for message in stream.capture)
        assert key.encode() not in kept
        assert b"your key is ***" in kept
        assert b"I am ***" in kept


@pytest.mark.parametrize("name", ["api-key", "api_key", "key", "subscription-key", "sig", "access_token"])
def test_a_key_of_the_query_is_taken_out_of_what_comes_back(serve, wire, client_of, name):
    answer = [wire.CHUNKED, wire.chunk(wire.created(0) + wire.delta(f"{AZURE} in {name}", 1)), wire.LAST_CHUNK]
    refused = wire.error(401, {"error": {"message": f"bad key {AZURE}"}})
    for settings, options in (({"query": {name: AZURE}}, {}), ({}, {"extra_query": {name: AZURE}})):
        server = serve(answer, [refused])
        client = client_of(server, max_retries=0, **settings)
        assert client.stream("x", **options).until_done().response.output_text == f"*** in {name}"
        with pytest.raises(NBResponsesError) as caught:
            client.create("x", **options)
        assert AZURE not in str(caught.value) + repr(caught.value) + repr(vars(caught.value))
        assert AZURE not in repr(client)


def test_what_a_query_says_else_is_no_secret(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.delta("2025-04-01-preview", 0)), wire.LAST_CHUNK])
    stream = client_of(server, query={"api-version": "2025-04-01-preview"}).stream("x")
    assert stream.until_done().response.output_text == "2025-04-01-preview"


def test_captures_hold_no_headers(serve, wire, key, client_of, tmp_path):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("a")), wire.LAST_CHUNK])
    stream = client_of(server, headers={"api-key": AZURE}).stream("x", extra_headers={"X-More": "more-secret"})
    stream.until_done().capture.save(tmp_path / "c.jsonl")
    text = (tmp_path / "c.jsonl").read_text()
    assert "authorization" not in text.lower()
    for value in (key, AZURE, "more-secret"):
        assert value not in text


def test_a_short_value_is_not_hunted_in_texts(serve, wire, client_of):
    server = serve([wire.CHUNKED, wire.chunk(wire.answer("demo demo")), wire.LAST_CHUNK])
    assert client_of(server, api_key="demo").stream("x").get_final_response().output_text == "demo demo"


# ── where a key goes ──


@pytest.mark.parametrize("base_url", ["http://192.168.1.9/v1", "http://example.com:8000", "http://0.0.0.0/v1"])
def test_a_key_does_not_cross_the_network_unencrypted(base_url, key):
    for settings in (
        {"api_key": key},
        {"headers": {"api-key": AZURE}},
        {"headers": {"Authorization": "Basic abc"}},
        {"query": {"api-key": AZURE}},
    ):
        for kind in (Client, AsyncClient):
            client = kind(base_url=base_url, **settings)
            with pytest.raises(RequestError, match="allow_insecure=True") as caught:
                client.stream("x")
            assert caught.value.field == "base_url"
    with pytest.raises(RequestError, match="unencrypted"):
        Client(base_url=base_url).stream("x", extra_headers={"Authorization": "Bearer x"})


def test_it_does_where_the_user_says_so_or_there_is_none(key):
    insecure = Settings.read(secret=Secret(key), base_url="http://example.com", allow_insecure=True)
    insecure.check_sendable(insecure.secret)
    plain = Settings.read(secret=Secret(), base_url="http://example.com")
    plain.check_sendable(plain.secret)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "demo.localhost", "LOCALHOST"])
def test_this_machine_is_no_network(host, key):
    settings = Settings.read(secret=Secret(key), base_url=f"http://{host}:8000/v1")
    settings.check_sendable(settings.secret)


def test_without_a_key(serve, wire, client_of):
    server = serve([wire.json({"data": []})])
    client_of(server, api_key=None).models()
    assert "authorization" not in server.requests[0].headers
    with pytest.raises(RequestError, match="OPENAI_API_KEY"):
        Client().stream("x")


def test_a_key_that_is_a_function_is_asked_each_time(serve, wire, client_of):
    keys = iter(["sk-first-0123456", "sk-second-0123456"])
    server = serve([wire.json({"data": []})], [wire.error(401, b"sk-second-0123456 is wrong")])
    client = client_of(server, api_key=lambda: next(keys))
    client.models()
    with pytest.raises(NBResponsesError) as caught:
        client.models()
    assert "sk-second" not in everything_about(caught.value)
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer sk-first-0123456", "Bearer sk-second-0123456"]


def test_a_header_of_ones_own_takes_the_place_of_the_keys(serve, wire, client_of, key):
    server = serve([wire.json({"data": []})])
    client_of(server, headers={"authorization": "Custom abc"}).models()
    client_of(server, api_key=None, headers={"api-key": AZURE}).models()
    assert server.requests[0].headers["authorization"] == "Custom abc"
    assert server.requests[1].headers["api-key"] == AZURE
    assert "authorization" not in server.requests[1].headers
    assert json.dumps(server.requests[0].headers).count(key) == 0
