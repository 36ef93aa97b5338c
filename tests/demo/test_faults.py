"""Every fault, seen from the other end of the socket, and the parsing of faults."""

from __future__ import annotations

import gzip
import json
import socket
import time

import httpx
import pytest

from nbresponses.demo import DemoServer
from nbresponses.demo.faults import Fault


def ask(fault, model="demo-echo", **body):
    return {"model": model, "input": "Hello there", "stream": True, "metadata": {"demo_fault": fault}, **body}


def events_of(text):
    """The events of a stream, however its lines are made."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in data if line != "[DONE]"]


@pytest.fixture
def hit(http):
    def asked(fault, model="demo-echo", **body):
        return http.post("/responses", json=ask(fault, model, **body))

    return asked


@pytest.fixture
def broken(http):
    """What arrived, as text, before the connection broke."""

    def asked(fault):
        got = []
        with http.stream("POST", "/responses", json=ask(fault)) as answer, pytest.raises(httpx.RemoteProtocolError):
            got.extend(answer.iter_raw())
        return b"".join(got).decode()

    return asked


@pytest.fixture(scope="module")
def whole(http):
    body = {"model": "demo-echo", "input": "Hello there", "stream": True}
    return events_of(http.post("/responses", json=body).text)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_cut_at(broken, whole, count):
    text = broken(f"cut_at:{count}")
    assert text == "" or text.endswith("\n\n")
    assert [event["type"] for event in events_of(text)] == [event["type"] for event in whole[:count]]


def test_cut_in_line(broken):
    text = broken("cut_in_line:3")
    head, tail = text.rsplit("\n\n", 1)
    assert len(events_of(head)) == 3
    assert "\n" not in tail.removesuffix("\n").partition("data: ")[2]
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(tail.partition("data: ")[2])


def test_a_cut_response_is_neither_kept_nor_running(server, broken):
    response_id = events_of(broken("cut_at:4"))[0]["response"]["id"]
    assert response_id not in server.active
    assert httpx.get(f"{server.base_url}/responses/{response_id}").status_code == 404


def test_keepalive_comments(hit, whole):
    text = hit("keepalive:comment,keepalive_every:2").text
    assert text.startswith(": keepalive\n\n")
    assert text.count(": keepalive\n\n") == (len(whole) + 1) // 2
    assert [event["type"] for event in events_of(text)] == [event["type"] for event in whole]


def test_keepalive_events_take_sequence_numbers(hit, whole):
    text = hit("keepalive:event").text
    events = events_of(text)
    assert "event: keepalive\n" in text
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    rest = [event["type"] for event in events if event["type"] != "keepalive"]
    assert rest == [event["type"] for event in whole]
    assert len(events) - len(rest) == -(-len(whole) // 3)


def test_done(hit):
    assert hit("done").text.endswith("}\n\ndata: [DONE]\n\n")


def test_no_event_lines(hit, whole):
    text = hit("no_event_lines").text
    assert "event:" not in text
    assert len(events_of(text)) == len(whole)


def test_crlf(hit, whole):
    raw = hit("crlf,done").content
    assert raw.count(b"\n") == raw.count(b"\r\n") == 3 * len(whole) + 2
    assert len(events_of(raw.decode())) == len(whole)


def test_rotated_ids(hit):
    events = events_of(hit("rotate_ids").text)
    ids = [event["response"]["id"] for event in events if "response" in event]
    ids += [event["item_id"] for event in events if "item_id" in event]
    ids += [event["item"]["id"] for event in events if "item" in event]
    ids += [item["id"] for item in events[-1]["response"]["output"]]
    assert len(ids) == len(set(ids)) > 10


def test_no_indexes(hit):
    events = events_of(hit("no_indexes", "demo-reasoning").text)
    assert not any(key in event for event in events for key in ("output_index", "content_index", "summary_index"))


def test_no_sequence_numbers(hit):
    assert not any("sequence_number" in event for event in events_of(hit("no_sequence_numbers").text))


def test_empty_output(hit):
    events = events_of(hit("empty_output").text)
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"] == []


def test_no_terminal(hit, whole):
    events = events_of(hit("no_terminal").text)
    assert [event["type"] for event in events] == [event["type"] for event in whole[:-1]]


@pytest.mark.parametrize(("fault", "count"), [("stay_open", None), ("stall_at:4", 4)])
def test_the_connection_stays_open(http, whole, fault, count):
    got = []
    with http.stream("POST", "/responses", json=ask(fault), timeout=0.4) as answer, pytest.raises(httpx.ReadTimeout):
        got.extend(answer.iter_text())
    assert len(events_of("".join(got))) == (count or len(whole))


def test_first_byte(hit):
    start = time.monotonic()
    hit("first_byte:0.25")
    assert time.monotonic() - start >= 0.25


def test_delay(hit, whole):
    start = time.monotonic()
    hit("delay:0.02")
    assert time.monotonic() - start >= 0.02 * (len(whole) - 1)


def test_rate_limit_for_the_first_requests(hit):
    fault = "status:429,times:2,retry_after:1.5"
    answers = [hit(fault) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "1.5"
    assert answers[0].json()["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.parametrize(
    ("fault", "status", "kind", "said"),
    [
        ("status:500", 500, "application/json", '"type":"server_error"'),
        ("status:401", 401, "application/json", '"code":"invalid_api_key"'),
        ("status:418", 418, "application/json", '"error"'),
        ("status:500,body:flat", 500, "application/json", '{"code":null'),
        ("status:502,body:html", 502, "text/html; charset=utf-8", "<h1>502 Bad Gateway</h1>"),
        ("status:503,body:text", 503, "text/plain; charset=utf-8", "overloaded"),
        ("status:500,body:empty", 500, "text/plain; charset=utf-8", ""),
    ],
)
def test_error_answers(hit, fault, status, kind, said):
    answer = hit(fault)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert answer.headers["x-request-id"]
    assert said in answer.text
    assert bool(said) is bool(answer.text)


def test_redirect(hit):
    answer = hit("redirect:http://127.0.0.1:9/v1/responses")
    assert (answer.status_code, answer.headers["location"]) == (307, "http://127.0.0.1:9/v1/responses")


def test_gzip(http, whole):
    with http.stream("POST", "/responses", json=ask("gzip")) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert len(events_of(gzip.decompress(raw).decode())) == len(whole)


@pytest.mark.parametrize(("fault", "most"), [("chunks:1", 1), ("chunks:7", 7), ("chunks:one", None)])
def test_chunk_borders(server, fault, most):
    body = json.dumps(ask(fault)).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        got = b"".join(iter(lambda: raw.recv(65536), b""))
    rest, sizes, text = got.partition(b"\r\n\r\n")[2], [], b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        sizes.append(int(size, 16))
        text, rest = text + rest[: sizes[-1]], rest[sizes[-1] + 2 :]
    sizes = [size for size in sizes if size]
    assert events_of(text.decode())[-1]["type"] == "response.completed"
    if most is None:
        assert len(sizes) == 1
    else:
        assert max(sizes) == most


def test_a_fault_of_the_server_hits_every_request_and_can_be_changed():
    with DemoServer(delay=0, fault="status:500,times:1") as server:
        assert httpx.get(f"{server.base_url}/models").status_code == 500
        assert httpx.get(f"{server.base_url}/models").status_code == 200
        server.fault = {"status": 503}
        assert httpx.get(f"{server.base_url}/models").status_code == 503
        server.fault = None
        assert server.fault == Fault()
        assert httpx.get(f"{server.base_url}/models").status_code == 200


def test_a_resumed_stream_is_damaged_by_the_fault_of_the_server(stream, server, http):
    events = stream(background=True)
    server.fault = "no_event_lines"
    try:
        answer = http.get(f"/responses/{events[0]['response']['id']}", params={"stream": "true"})
    finally:
        server.fault = None
    assert "event:" not in answer.text
    assert events_of(answer.text) == events


def test_faults_are_values():
    fault = Fault.parse("cut_at:5, crlf,retry_after:2,delay:0.5")
    assert fault == Fault(cut_at=5, crlf=True, retry_after="2", delay=0.5)
    assert fault == Fault.parse('{"cut_at": 5, "crlf": true, "retry_after": "2", "delay": 0.5}')
    assert fault == Fault.parse({"cut_at": "5", "crlf": "yes", "retry_after": 2, "delay": "0.5"})
    assert Fault.parse(fault) is fault
    assert Fault.parse("redirect:http://a.example:8/x").redirect == "http://a.example:8/x"
    assert Fault.parse("crlf:false") == Fault.parse(None) == Fault()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cut", "'cut' is no fault; there are: delay, "),
        ("cut_at", "needs a value"),
        ("cut_at:soon", "needs int, not 'soon'"),
        ("", "'' is no fault"),
    ],
)
def test_what_is_no_fault_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        Fault.parse(text)
