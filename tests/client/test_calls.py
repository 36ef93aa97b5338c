"""The calls that are answered at once, against the demo server and a raw one."""

from __future__ import annotations

import pytest

from nbresponses.demo import DemoServer
from nbresponses.errors import ConnectionFailed, Rejected, RequestError, ResponseCancelled, ResponseFailed


def test_create_retrieve_delete(demo, client_of):
    client = client_of(demo)
    made = client.create("Hello", model="demo-echo")
    assert made.status == made.ending == "completed"
    assert made.output_text
    assert client.retrieve(made.id).output_text == made.output_text
    assert client.delete(made.id).deleted is True
    with pytest.raises(Rejected, match="404") as caught:
        client.retrieve(made.id)
    assert caught.value.request_id


def test_create_raises_for_what_did_not_complete(demo, serve, wire, client_of):
    failed = {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "boom"}, "output": []}
    with pytest.raises(ResponseFailed, match="response r failed: server_error: boom") as caught:
        client_of(serve([wire.json(failed)])).create("x")
    assert caught.value.response.status == "failed"
    with pytest.raises(Rejected, match="HTTP 500"):
        client_of(demo).create("x", model="demo-error")
    incomplete = client_of(demo).create("x", model="demo-incomplete")
    assert (incomplete.ending, incomplete.incomplete_details.reason) == ("incomplete", "max_output_tokens")


def test_cancel_a_background_response(client_of):
    with DemoServer(delay=0.1) as server:
        client = client_of(server, max_retries=2)
        stream = client.stream("x", model="demo-text", background=True)
        next(stream)
        assert client.cancel(stream.id).status == "cancelled"
        with pytest.raises(ResponseCancelled, match=f"response {stream.id} was cancelled"):
            stream.get_final_response()
        assert stream.ending == "cancelled"
        begun = client.create("x", model="demo-text", background=True)
        assert begun.status in {"queued", "in_progress"}
        assert begun.ending is None


def test_compact_and_models(demo, client_of):
    client = client_of(demo)
    made = client.create("Hello", model="demo-echo")
    window = client.compact(model="demo-echo", previous_response_id=made.id)
    assert window.output
    assert "demo-text" in [model.id for model in client.models()]


def test_options_of_a_call(serve, wire, client_of):
    server = serve([wire.json({"id": "r/1", "status": "completed"})])
    client = client_of(server, query={"api-version": "1"}, headers={"X-All": "a"}, organization="org", project="proj")
    client.retrieve("r/1", extra_headers={"x-all": "b", "X-One": "1"}, extra_query={"include": "x"})
    request = server.requests[0]
    assert request.target == "/v1/responses/r%2F1?api-version=1&include=x"
    assert (request.headers["x-all"], request.headers["x-one"]) == ("b", "1")
    assert (request.headers["openai-organization"], request.headers["openai-project"]) == ("org", "proj")
    assert request.headers["user-agent"].startswith("nbresponses")
    client.create("x", extra_body={"custom": {"a": None}}, previous_response_id=None)
    assert server.requests[1].json == {"input": "x", "previous_response_id": None, "custom": {"a": None}}


def test_answers_that_say_little(serve, wire, client_of):
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    server = serve([empty], [wire.json({"object": "list"})], [wire.json({"object": "list", "data": [1, {"id": "m"}]})])
    client = client_of(server)
    assert client.delete("r") == {}
    assert client.models() == []
    assert [model.id for model in client.models()] == ["m"]


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "not_found", "message": "no such thing"}},
        {"object": "error", "code": "not_found", "message": "no such thing"},
        {"error": "not_found", "message": "no such thing", "data": []},
    ],
)
def test_an_error_in_the_place_of_an_answer(serve, wire, client_of, body):
    client = client_of(serve([wire.json(body)]))
    calls = [client.models, lambda: client.compact("x"), *(lambda f=f: f("r") for f in _by_id(client))]
    for call in calls:
        with pytest.raises(Rejected, match="no such thing") as caught:
            call()
        assert (caught.value.status, caught.value.error["message"]) == (200, "no such thing")
        assert "no such thing" in caught.value.body
    with pytest.raises(ResponseFailed, match="no such thing"):
        client_of(serve([wire.json({"error": {"message": "no such thing"}})])).create("x")


def _by_id(client):
    return client.retrieve, client.cancel, client.delete


@pytest.mark.parametrize("failure", [OSError("sk-secret-in-text"), RuntimeError("sk-secret-in-text")])
def test_a_key_function_that_fails(serve, wire, client_of, failure):
    def key():
        raise failure

    server = serve([wire.json({"id": "r"})])
    client = client_of(server, api_key=key)
    for call in (client.models, lambda: client.create("x"), lambda: client.stream("x").get_final_response()):
        with pytest.raises(ConnectionFailed, match=rf"api_key failed \({type(failure).__name__}\)") as caught:
            call()
        assert caught.value.__cause__ is failure or caught.value.__cause__.__cause__ is failure
        assert "sk-secret" not in str(caught.value)
    assert not server.requests


def test_a_cancelled_and_a_running_response(serve, wire, client_of):
    server = serve([wire.json({"id": "r", "status": "cancelled"})], [wire.json({"id": "r", "status": "queued"})])
    client = client_of(server)
    with pytest.raises(Exception, match="was cancelled"):
        client.create("x")
    assert client.create("x", background=True).status == "queued"


@pytest.mark.parametrize("id_", ["", " ", ".", "..", None, 3])
def test_an_id_that_is_none(serve, client_of, id_):
    client = client_of(serve())
    for call in (client.retrieve, client.cancel, client.delete):
        with pytest.raises(RequestError, match="response_id"):
            call(id_)


def test_create_does_not_stream(serve, client_of):
    with pytest.raises(RequestError, match=r"client\.stream"):
        client_of(serve()).create("x", stream=True)


def test_connections_are_used_again(serve, wire, client_of):
    # The end comes with the last event: where a busy machine lets it come later, a connection may be given up.
    answer = [wire.CHUNKED, wire.chunk(wire.answer("a")) + wire.LAST_CHUNK, "keep"]
    server = serve(
        answer, [wire.json({"id": "r"}, keep=True), "keep"], answer, [wire.error(400, keep=True), "keep"], answer
    )
    client = client_of(server)
    client.stream("x").get_final_response()
    client.retrieve("r")
    with client.stream("x") as stream:
        assert len(list(stream)) == 3
    with pytest.raises(Rejected):
        client.create("x")
    assert server.connections <= 2, "a connection whose answer was read to its end is kept"


def test_a_response_cut_by_the_client(serve, wire, client_of):
    server = serve([wire.json({"id": "r", "status": "completed"})[:-3]])
    with pytest.raises(Exception, match="disconnected"):
        client_of(server).create("x")
