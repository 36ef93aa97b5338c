"""Who the server answers, how much it takes, and what it keeps."""

from __future__ import annotations

import asyncio
import json
import logging
import socket

import httpx
import pytest

from nbresponses.demo import DemoServer

BODY = {"model": "demo-echo", "input": "Hello"}
KEY = "sk-demo-0123456789abcdef"


def with_host(server, host):
    return {"host": host.replace("PORT", str(server.port))}


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT", "LOCALHOST:PORT"])
def test_loopback_names_are_served(http, server, host):
    assert http.get("/models", headers=with_host(server, host)).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:PORT",
        "127.0.0.1:1",
        "127.0.0.1",
        "localhost",
        "127.0.0.1.evil.example:PORT",
        "localhost:PORT@evil.example",
        "evil@localhost:PORT",
        "127.0.0.1:port",
        "[::1:PORT",
        "0.0.0.0:PORT",
        "",
    ],
)
def test_other_hosts_are_refused(http, server, host):
    answer = http.post("/responses", json=BODY, headers=with_host(server, host))
    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "host_not_allowed"


def test_two_hosts_are_refused(server):
    head = f"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall(head.encode())
        assert raw.recv(4096).split(b" ")[1] in {b"400", b"421"}


@pytest.mark.parametrize("origin", ["http://localhost:8888", "http://127.0.0.1", "https://localhost", "http://[::1]:1"])
def test_loopback_origins_are_served(http, origin):
    assert http.post("/responses", json=BODY, headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[::1", ""])
def test_other_origins_are_refused(http, server, origin):
    before = len(server.requests)
    answer = http.post("/responses", json=BODY, headers={"origin": origin})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "origin_not_allowed"
    assert len(server.requests) == before


def test_it_listens_on_loopback_only(server):
    with socket.socket() as other:
        other.settimeout(2)
        with pytest.raises(OSError, match=r"refused|unreachable"):
            other.connect(("127.0.0.2", server.port))


def test_requests_are_logged_without_headers(http, server):
    http.post("/responses?a=1", json=BODY, headers={"authorization": f"Bearer {KEY}"})
    logged = server.requests[-1]
    assert (logged.method, logged.path, logged.query, logged.body) == ("POST", "/v1/responses", {"a": "1"}, BODY)
    assert KEY not in repr(server.requests) + repr(server) + repr(vars(server))


def test_keys_and_headers_reach_no_log(http, caplog):
    with caplog.at_level(logging.DEBUG):
        headers = {"authorization": f"Bearer {KEY}"}
        http.post("/responses", json=BODY, headers=headers)
        http.post("/responses", json={**BODY, "metadata": {"demo_fault": "status:401"}}, headers=headers)
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert KEY not in "".join(ours)


def test_a_key_is_not_said_back(http):
    body = {**BODY, "metadata": {"demo_fault": "status:401"}}
    answer = http.post("/responses", json=body, headers={"authorization": f"Bearer {KEY}"})
    assert KEY not in answer.text + str(answer.headers)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(chunked):
    with DemoServer(delay=0, max_body=10_000) as server:
        raw = json.dumps({**BODY, "input": "x" * 20_000}).encode()
        content = iter([raw[:15_000], raw[15_000:]]) if chunked else raw
        answer = httpx.post(f"{server.base_url}/responses", content=content)
        assert answer.status_code == 413
        assert "10000 bytes" in answer.json()["error"]["message"]
        assert server.created == {}
        assert httpx.post(f"{server.base_url}/responses", json=BODY).status_code == 200


def test_the_settings_of_a_request_cannot_run_code_or_read_files(http):
    for fault in ("__class__:1", '{"__init__": 1}', "parse:1"):
        body = {**BODY, "metadata": {"demo_fault": fault}}
        assert http.post("/responses", json=body).status_code == 400


def test_many_clients_at_once(server):
    async def ask(client, number):
        answer = await client.post("/responses", json={**BODY, "input": str(number)})
        return answer.json()["output"][0]["content"][0]["text"]

    async def all_of_them():
        async with httpx.AsyncClient(base_url=server.base_url, timeout=20) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(60)))

    assert asyncio.run(all_of_them()) == [f"Demo turn 1: {number}" for number in range(60)]
