"""WebSocket mode over a real socket: lanes, limits, cache, age and faults."""

from __future__ import annotations

import itertools
import json
import socket
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from nbresponses.demo import DemoServer

ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}


class Peer:
    """A client that knows nothing: it sends what it is told and reads what comes."""

    def __init__(self, websocket):
        self.websocket = websocket

    def send(self, message):
        self.websocket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def create(self, lane=None, given="Hello", **body):
        named = {} if lane is None else {"stream_id": lane}
        body = {"model": "demo-echo", "store": False, "input": given, **body}
        self.send({"type": "response.create", **named, **{key: value for key, value in body.items() if value != ()}})

    def read(self, seconds=5):
        return json.loads(self.websocket.recv(timeout=seconds))

    def until(self, count=1):
        """Events up to the `count`th end of a response."""
        events = []
        while count:
            events.append(self.read())
            count -= events[-1]["type"] in ENDS
        return events

    def ask(self, lane=None, given="Hello", **body):
        """One request, waited for: its last event."""
        self.create(lane, given, **body)
        return self.until()[-1]


@contextmanager
def peer_of(server, **options):
    url = server.base_url.replace("http://", "ws://") + "/responses"
    with connect(url, max_size=None, proxy=None, **options) as websocket:
        yield Peer(websocket)


@pytest.fixture
def peer(server):
    with peer_of(server) as peer:
        yield peer


def text_of(event):
    return "".join(part["text"] for item in event["response"]["output"] for part in item.get("content", ()))


def test_events_are_those_of_a_stream(peer, stream):
    peer.create()
    events = peer.until()
    assert [event["type"] for event in events] == [event["type"] for event in stream(given="Hello")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert not any("stream_id" in event for event in events)


@pytest.mark.parametrize("model", ["demo-reasoning", "demo-image", "demo-tools", "demo-shell", "demo-audio"])
def test_every_event_of_a_named_lane_carries_its_name(peer, model):
    peer.create("a.b-c_1", model=model)
    events = peer.until()
    assert {event["stream_id"] for event in events} == {"a.b-c_1"}
    assert events[-1]["type"] == "response.completed"


def test_lanes_interleave_and_keep_their_own_order(peer):
    for lane in ("a", "b", None):
        peer.create(lane, f"from {lane}", model="demo-text")
    events = peer.until(3)
    order = [event.get("stream_id") for event in events]
    assert sum(one != two for one, two in itertools.pairwise(order)) > 100
    for lane in ("a", "b", None):
        own = [event for event in events if event.get("stream_id") == lane]
        assert [event["sequence_number"] for event in own] == list(range(len(own)))
        assert f"“from {lane}”" in text_of(own[-1])


def test_one_lane_does_not_overlap(peer):
    for number in range(3):
        peer.create("a", str(number))
    events = peer.until(3)
    assert [text_of(event)[-1] for event in events if event["type"] == "response.completed"] == ["0", "1", "2"]
    ids = [event["response"]["id"] for event in events if "response" in event]
    assert len({*ids}) == 3
    assert ids == sorted(ids, key=ids.index)
    assert [event["type"] for event in events].count("response.created") == 3


def test_the_seventeenth_waits(peer):
    for number in range(17):
        peer.create(f"lane{number}", str(number), metadata={"demo_delay": "0.01"})
    seen = []
    while not any(event["type"] == "response.completed" for event in seen):
        seen.append(peer.read())
    assert {event["stream_id"] for event in seen} == {f"lane{number}" for number in range(16)}
    rest = peer.until(16)
    assert rest[-1]["stream_id"] == "lane16"


def test_a_lane_goes_on_with_only_new_input(peer):
    first = peer.ask("a", "One")
    second = peer.ask("a", "Two", previous_response_id=first["response"]["id"])
    assert text_of(second) == "Demo turn 2: Two"
    assert text_of(peer.ask("a", "Three")) == "Demo turn 1: Three"  # a name alone continues nothing


def test_a_fork_runs_beside_its_source(peer):
    first = peer.ask("planner", "Plan")["response"]["id"]
    peer.create("critic", "Gaps?", previous_response_id=first)
    peer.create("planner", "More", previous_response_id=first)
    ended = [event for event in peer.until(2) if event["type"] == "response.completed"]
    assert {event["stream_id"]: text_of(event) for event in ended} == {
        "critic": "Demo turn 2: Gaps?",
        "planner": "Demo turn 2: More",
    }


def test_a_fork_at_once_after_the_end_finds_its_parent(peer):
    for _ in range(20):
        first = peer.ask("a")["response"]["id"]
        assert peer.ask("b", "fork", previous_response_id=first)["type"] == "response.completed"


def test_a_response_that_was_not_stored_is_gone_once_its_lane_went_on(peer):
    first = peer.ask("main", "One")["response"]["id"]
    peer.ask("main", "Two", previous_response_id=first)
    event = peer.ask("main", "Again", previous_response_id=first)
    assert event == {
        "type": "error",
        "status": 400,
        "stream_id": "main",
        "error": {
            "type": "invalid_request_error",
            "code": "previous_response_not_found",
            "message": f"Previous response with id '{first}' not found.",
            "param": "previous_response_id",
        },
    }


def test_the_cache_ends_with_its_connection(server):
    with peer_of(server) as peer:
        kept = peer.ask(given="One", store=True)["response"]["id"]
        lost = peer.ask(given="One", store=False)["response"]["id"]
    with peer_of(server) as peer:
        assert text_of(peer.ask(given="Two", previous_response_id=kept)) == "Demo turn 2: Two"
        assert peer.ask(given="Two", previous_response_id=lost)["error"]["code"] == "previous_response_not_found"


def test_a_stored_response_can_be_continued_from_anywhere(peer, http):
    first = peer.ask("a", "One", store=True)["response"]["id"]
    for number in range(2):
        peer.ask("a", f"on {number}")
    assert text_of(peer.ask("b", "Two", previous_response_id=first)) == "Demo turn 2: Two"
    assert http.get(f"/responses/{first}").json()["status"] == "completed"
    over_http = http.post("/responses", json={"model": "demo-echo", "input": "x", "previous_response_id": first})
    assert text_of({"response": over_http.json()}) == "Demo turn 2: x"


@pytest.mark.parametrize("bad", [{"max_output_tokens": 0}, {"model": "demo-nothing"}, {"model": "demo-failed"}])
def test_a_failed_continuation_evicts_and_a_failed_fork_does_not(peer, bad):
    first = peer.ask("a")["response"]["id"]
    count = 2 if bad.get("model") == "demo-failed" else 1  # its error event is followed by response.failed
    peer.create("b", previous_response_id=first, **bad)
    peer.until(count)
    assert peer.ask("c", previous_response_id=first)["type"] == "response.completed"
    peer.create("a", previous_response_id=first, **bad)
    peer.until(count)
    assert peer.ask("d", previous_response_id=first)["error"]["code"] == "previous_response_not_found"


def test_an_error_leaves_the_other_lanes_running(peer):
    peer.create("good", model="demo-text")
    peer.create("bad", previous_response_id="resp_none")
    peer.create("")
    ended = {event.get("stream_id"): event["type"] for event in peer.until(3) if event["type"] in ENDS}
    assert ended == {"good": "response.completed", "bad": "error", None: "error"}


def test_a_tool_turn(peer):
    tool = {"type": "function", "name": "run_tests", "parameters": {"type": "object", "properties": {}}}
    first = peer.ask("main", "Fix it", model="demo-tools", tools=[tool])["response"]
    (call,) = first["output"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "all green"}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Now optimize it."}]}
    answer = peer.ask("main", [output, message], model="demo-tools", previous_response_id=first["id"])
    assert "`run_tests` returned: all green" in text_of(answer)


def test_warm_up_answers_with_nothing_and_can_be_continued(peer):
    peer.create("a", (), generate=False, tools=[], instructions="Be brief.")
    events = peer.until()
    kinds = ["response.created", "response.in_progress", "response.completed"]
    assert [event["type"] for event in events] == kinds
    response = events[-1]["response"]
    assert (response["output"], response["usage"]["output_tokens"]) == ([], 0)
    assert text_of(peer.ask("a", "Go", previous_response_id=response["id"])) == "Demo turn 1: Go"


def test_a_window_of_compact_begins_a_new_chain(peer, http):
    said = [{"role": "user", "content": "One"}]
    window = http.post("/responses/compact", json={"model": "demo-text", "input": said}).json()["output"]
    assert text_of(peer.ask("a", [*window, {"role": "user", "content": "On"}])) == "Demo turn 2: On"


def test_stream_is_passed_over_and_background_is_refused(peer):
    assert peer.ask(stream=True)["type"] == "response.completed"
    assert peer.ask(background=True)["error"]["param"] == "background"


def test_closing_stops_what_runs(server):
    with peer_of(server) as peer:
        peer.create("a", "left alone", model="demo-slow")
        peer.read()
        assert len(server.active) == 1
    for _ in range(500):
        if not server.active:
            break
        with pytest.raises(TimeoutError), peer_of(server) as other:
            other.read(0.01)
    assert server.active == ()
    assert server.created["left alone"] == 1


def test_the_connection_ends_at_its_age():
    with DemoServer(delay=0, connection_age=0.3) as server, peer_of(server) as peer:
        peer.create("a", model="demo-slow")
        events = peer.until()
        assert events[-1] == {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "code": "websocket_connection_limit_reached",
                "message": "Responses websocket connection limit reached (0.3 seconds). Create a new websocket "
                "connection to continue.",
            },
            "status": 400,
        }
        with pytest.raises(ConnectionClosed) as closed:
            peer.read()
        assert closed.value.rcvd.code == 1001
        assert server.active == ()


def test_messages_are_logged_without_headers(server):
    with peer_of(server, additional_headers={"authorization": "Bearer sk-secret"}) as peer:
        peer.ask("a", "log me")
    logged = server.requests[-1]
    assert (logged.method, logged.path, logged.body["input"]) == ("WEBSOCKET", "/v1/responses", "log me")
    assert "sk-secret" not in repr(server.requests)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [("127.0.0.1:PORT", "http://evil.example", 403), ("evil.example:PORT", "", 421), ("localhost:PORT", "", 101)],
)
def test_other_hosts_and_origins_are_refused(server, host, origin, status):
    lines = [
        "GET /v1/responses HTTP/1.1",
        f"Host: {host.replace('PORT', str(server.port))}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        *([f"Origin: {origin}"] if origin else []),
    ]
    before = server.sockets
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall("\r\n".join([*lines, "", ""]).encode())
        assert int(raw.recv(4096).split(b" ")[1]) == status
    assert server.sockets == before + (status == 101)


def test_a_message_that_is_too_large_closes_the_connection():
    with DemoServer(delay=0, max_message=1000) as server, peer_of(server) as peer:
        peer.create("a", "x" * 2000)
        with pytest.raises(ConnectionClosed) as closed:
            peer.read()
        assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 4000])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_close_at(code, count):
    with DemoServer(delay=0, fault=f"close_at:{count},close_code:{code},times:1") as server:
        with peer_of(server) as peer:
            peer.create("a")
            assert [peer.read()["sequence_number"] for _ in range(count)] == list(range(count))
            with pytest.raises(ConnectionClosed) as closed:
                peer.read()
            assert closed.value.rcvd.code == code
        with peer_of(server) as peer:  # only the first connection is hit
            assert peer.ask("a")["type"] == "response.completed"
        assert server.sockets == 2


def test_the_connection_breaks_without_a_close():
    with DemoServer(delay=0, fault="close_at:3,close_code:1006") as server, peer_of(server) as peer:
        peer.create("a")
        for _ in range(3):
            peer.read()
        with pytest.raises(ConnectionClosed) as closed:
            peer.read()
        assert closed.value.rcvd is None


def test_a_request_can_bring_its_own_close(peer):
    peer.ask("a")
    peer.create("b", metadata={"demo_fault": "close_at:2,close_code:1013"})
    peer.read()
    peer.read()
    with pytest.raises(ConnectionClosed) as closed:
        peer.read()
    assert closed.value.rcvd.code == 1013


def test_drop_stream_id():
    with DemoServer(delay=0, fault="drop_stream_id") as server, peer_of(server) as peer:
        peer.create("a")
        peer.create("b", previous_response_id="resp_none")
        assert not any("stream_id" in event for event in peer.until(2))


def test_stall(server):
    with peer_of(server) as peer:
        peer.create("a", metadata={"demo_fault": "stall_at:4"})
        for _ in range(4):
            peer.read()
        with pytest.raises(TimeoutError):
            peer.read(0.2)
        assert peer.ask("b")["stream_id"] == "b"  # the connection lives


def test_duplicate_and_oversize(peer):
    peer.create("a", metadata={"demo_fault": "duplicate_at:4,oversize_at:5,oversize:3000000"})
    events = peer.until()
    assert events[4] == events[5]
    assert len(json.dumps(events[6])) > 3_000_000
    assert [event["sequence_number"] for event in events] == [0, 1, 2, 3, 4, 4, *range(5, len(events) - 1)]


def test_a_request_can_be_answered_with_an_error(peer):
    fault = {"demo_fault": "status:429,times:1"}
    event = peer.ask("a", metadata=fault)
    assert (event["status"], event["error"]["code"], event["stream_id"]) == (429, "rate_limit_exceeded", "a")
    assert peer.ask("a", metadata=fault)["type"] == "response.completed"


def test_the_handshake_can_be_refused():
    with DemoServer(delay=0, fault="status:401,times:1") as server:
        with pytest.raises(InvalidStatus) as refused, peer_of(server):
            pass
        assert refused.value.response.status_code == 401
        assert b"invalid_api_key" in refused.value.response.body
        with peer_of(server) as peer:
            assert peer.ask()["type"] == "response.completed"


def test_binary_messages_are_read_too(peer):
    peer.send(json.dumps({"type": "response.create", "model": "demo-echo", "input": "bytes"}).encode())
    assert text_of(peer.until()[-1]) == "Demo turn 1: bytes"


def test_more_responses_at_a_time_where_that_is_asked_for():
    with DemoServer(delay=0.01, in_flight=20) as server, peer_of(server) as peer:
        for number in range(20):
            peer.create(f"lane{number}", model="demo-slow")
        created = {peer.read()["stream_id"] for _ in range(40)}
        assert len(created) == 20
        assert len(server.active) == 20
