"""Each route of the API, asked over HTTP."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from nbresponses.demo import DemoServer

FIELDS = {
    "id", "object", "created_at", "status", "background", "error", "incomplete_details", "instructions",
    "max_output_tokens", "model", "output", "parallel_tool_calls", "previous_response_id", "reasoning",
    "service_tier", "store", "temperature", "text", "tool_choice", "tools", "top_p", "truncation", "usage", "user",
    "metadata",
}  # fmt: skip


@pytest.fixture
def create(http):
    def created(given="Hello", *, status=200, model="demo-echo", **body):
        answer = http.post("/responses", json={"model": model, "input": given, **body})
        assert answer.status_code == status, answer.text
        return answer.json()

    return created


def text_of(response):
    return "".join(part["text"] for item in response["output"] for part in item.get("content", ()))


def wait_for(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_create_answers_with_the_whole_response(create):
    response = create("Good morning", instructions="Be kind.", temperature=0.5, metadata={"a": "b"})
    assert set(response) >= FIELDS
    assert text_of(response) == "Demo turn 1: Good morning"
    assert (response["instructions"], response["temperature"]) == ("Be kind.", 0.5)
    assert response["metadata"] == {"a": "b"}
    assert response["status"] == "completed"
    assert response["completed_at"] >= response["created_at"] > 1_700_000_000


def test_streamed_and_not_streamed_say_the_same(create, stream):
    plain, streamed = create("Same?"), stream("demo-echo", "Same?")[-1]["response"]
    assert text_of(plain) == text_of(streamed)
    assert plain["usage"] == streamed["usage"]


def test_headers_are_those_of_the_api(http):
    answer = http.post("/responses", json={"model": "demo-echo", "input": "x", "stream": True})
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["x-request-id"].startswith("req_")
    assert int(answer.headers["openai-processing-ms"]) >= 0
    assert "server" not in answer.headers


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"input": "x"}, "missing_required_parameter", "model"),
        ({"model": "demo-text"}, "missing_required_parameter", "input"),
        ({"model": "demo-txet", "input": "x"}, "model_not_found", "model"),
        ({"model": "demo-text", "input": 5}, "invalid_type", "input"),
        ({"model": "demo-text", "input": ["x"]}, "invalid_type", "input[0]"),
        ({"model": "demo-text", "input": "x", "max_output_tokens": 0}, "integer_below_min_value", "max_output_tokens"),
        ({"model": "demo-text", "input": "x", "reasoning": {"effort": "hihg"}}, "invalid_value", "reasoning.effort"),
        ({"model": "demo-text", "input": "x", "tools": [{"type": "web_serach"}]}, "invalid_value", "tools[0].type"),
        ({"model": "demo-text", "input": "x", "tools": [{}]}, "missing_required_parameter", "tools[0].type"),
        ({"model": "demo-text", "input": "x", "stream_id": "a"}, "unknown_parameter", "stream_id"),
        ({"model": "demo-text", "input": "x", "background": True, "store": False}, None, "background"),
        ({"model": "demo-text", "input": "x", "metadata": {"demo_fault": "nonsense"}}, None, "metadata"),
        ({"model": "demo-long", "input": "x", "metadata": {"demo_count": "many"}}, None, "metadata"),
        (
            {"model": "demo-text", "previous_response_id": "resp_no"},
            "previous_response_not_found",
            "previous_response_id",
        ),
    ],
)
def test_bad_requests_are_refused_in_the_shape_of_the_api(http, body, code, param):
    answer = http.post("/responses", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
    assert error["message"]


def test_other_names_of_models_get_the_demo_text(create):
    response = create(model="some-real-model")
    assert response["model"] == "some-real-model"
    assert "not from a language model" in text_of(response)


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b'{"model": "demo-text", "input": "\\ud800"}'])
def test_a_body_that_is_no_json_object_is_refused(http, raw):
    answer = http.post("/responses", content=raw)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_unknown_urls_and_methods_are_errors_in_json(http):
    assert http.get("/nothing").json()["error"]["code"] == "unknown_url"
    assert http.put("/responses", json={}).status_code == 405


def test_a_conversation_goes_on(create):
    first = create("I like tea.")
    second = create("And coffee.", previous_response_id=first["id"], model="demo-text")
    assert second["previous_response_id"] == first["id"]
    assert "turn 2 of our conversation; before, you said: “I like tea.”" in text_of(second)
    assert second["usage"]["input_tokens_details"]["cached_tokens"] > 0
    third = create("Water?", previous_response_id=second["id"])
    assert text_of(third) == "Demo turn 3: Water?"


def test_the_same_context_sent_in_full_gives_the_same_text(create):
    first = create("One")
    chained = create("Two", previous_response_id=first["id"], model="demo-text")
    full = [{"role": "user", "content": "One"}, *first["output"], {"role": "user", "content": "Two"}]
    assert text_of(create(full, model="demo-text")) == text_of(chained)


def test_retrieve_and_delete(http, create):
    response = create()
    where = f"/responses/{response['id']}"
    assert http.get(where).json() == response
    assert http.delete(where).json() == {"id": response["id"], "object": "response", "deleted": True}
    for answer in (http.get(where), http.delete(where)):
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == f"Response with id '{response['id']}' not found."
    create(previous_response_id=response["id"], status=400)


def test_what_is_not_stored_cannot_be_retrieved_or_continued(http, create):
    response = create(store=False)
    assert response["store"] is False
    assert http.get(f"/responses/{response['id']}").status_code == 404
    error = create(previous_response_id=response["id"], status=400)["error"]
    assert error["code"] == "previous_response_not_found"
    assert error["message"] == f"Previous response with id '{response['id']}' not found."


def test_input_items_are_listed_in_pages(http, create):
    first = create("a")
    where = f"/responses/{create('b', previous_response_id=first['id'])['id']}/input_items"
    newest = http.get(where).json()
    assert [item["content"][0]["text"] for item in newest["data"]] == ["b", "Demo turn 1: a", "a"]
    page = http.get(where, params={"order": "asc", "limit": 2}).json()
    assert page["has_more"] is True
    assert [page["first_id"], page["last_id"]] == [item["id"] for item in page["data"]]
    rest = http.get(where, params={"order": "asc", "limit": 2, "after": page["last_id"]}).json()
    assert [item["content"][0]["text"] for item in rest["data"]] == ["b"]
    assert rest["has_more"] is False


def test_background_is_queued_then_runs_by_itself(http, create):
    response = create("later", background=True)
    assert (response["status"], response["output"]) == ("queued", [])
    where = f"/responses/{response['id']}"
    wait_for(lambda: http.get(where).json()["status"] == "completed")
    assert text_of(http.get(where).json()) == "Demo turn 1: later"
    answer = http.get(where, params={"stream": "true"})
    assert answer.status_code == 400  # it was not created as a stream
    assert http.post(f"{where}/cancel").json()["error"]["message"] == "Cannot cancel a completed response."


def test_a_background_stream_is_created_queued_and_in_progress(stream):
    events = stream(background=True)
    states = [(event["type"], event["response"]["status"]) for event in events[:3]]
    queued = [("response.created", "queued"), ("response.queued", "queued")]
    assert states == [*queued, ("response.in_progress", "in_progress")]


@pytest.mark.parametrize("after", [None, 0, 5, 11, 500])
def test_a_background_stream_can_be_resumed_after_its_end(http, stream, parse, after):
    events = stream(background=True)
    query = {"stream": "true"} | ({} if after is None else {"starting_after": after})
    answer = http.get(f"/responses/{events[0]['response']['id']}", params=query)
    resumed = parse(answer.text) if answer.text else []
    assert resumed == events[0 if after is None else after + 1 :]


def test_a_background_stream_survives_its_connection_and_is_resumed_live(parse):
    body = {"model": "demo-text", "input": "x", "stream": True, "background": True, "metadata": {"demo_delay": "0.01"}}
    with DemoServer(delay=0) as server, httpx.Client(base_url=server.base_url, timeout=10) as http:
        with http.stream("POST", "/responses", json=body) as answer:
            lines = (line for line in answer.iter_lines() if line.startswith("data: "))
            seen = [json.loads(next(lines).removeprefix("data: ")) for _ in range(5)]
        response_id = seen[0]["response"]["id"]
        assert server.active == (response_id,)
        rest = http.get(f"/responses/{response_id}", params={"stream": "true", "starting_after": 4})
        events = seen + parse(rest.text)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[-1]["type"] == "response.completed"
        assert http.get(f"/responses/{response_id}").json() == events[-1]["response"]
        assert list(server.created.values()) == [1]


@pytest.mark.parametrize("query", [{}, {"starting_after": 3}])
def test_a_stream_that_is_no_background_response_cannot_be_resumed(http, stream, query):
    response_id = stream()[0]["response"]["id"]
    answer = http.get(f"/responses/{response_id}", params={"stream": "true", **query})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "stream"


def test_starting_after_is_to_be_a_number(http, stream):
    response_id = stream(background=True)[0]["response"]["id"]
    answer = http.get(f"/responses/{response_id}", params={"stream": "true", "starting_after": "x"})
    assert answer.json()["error"]["param"] == "starting_after"


def test_cancel_stops_a_background_response(http, server, create):
    response = create(model="demo-slow", background=True, stream=False)
    where = f"/responses/{response['id']}"
    cancelled = http.post(f"{where}/cancel").json()
    assert (cancelled["id"], cancelled["status"]) == (response["id"], "cancelled")
    wait_for(lambda: response["id"] not in server.active)
    assert http.get(where).json()["status"] == "cancelled"
    assert http.post(f"{where}/cancel").json()["status"] == "cancelled"


def test_cancel_ends_the_streams_that_follow(parse):
    body = {"model": "demo-slow", "input": "x", "stream": True, "background": True}
    with DemoServer() as server, httpx.Client(base_url=server.base_url, timeout=10) as http:
        with http.stream("POST", "/responses", json=body) as answer:
            chunks = answer.iter_text()
            text = next(chunks)
            response_id = json.loads(text.split("data: ")[1].split("\n")[0])["response"]["id"]
            assert httpx.post(f"{server.base_url}/responses/{response_id}/cancel").status_code == 200
            text += "".join(chunks)
        assert "response.completed" not in text
        assert server.active == ()


def test_only_a_background_response_can_be_cancelled(http, create):
    answer = http.post(f"/responses/{create()['id']}/cancel")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "Cannot cancel a synchronous response."
    assert http.post("/responses/resp_none/cancel").status_code == 404


def test_deleting_a_running_response_stops_it(http, server, create):
    response = create(model="demo-slow", background=True)
    http.delete(f"/responses/{response['id']}")
    wait_for(lambda: response["id"] not in server.active)


def test_closing_a_stream_stops_the_response(http, server):
    body = {"model": "demo-slow", "input": "close me", "stream": True}
    with http.stream("POST", "/responses", json=body) as answer:
        chunks = answer.iter_text()  # held: a lost iterator would close the stream by itself
        next(chunks)
        (response_id,) = server.active
    wait_for(lambda: not server.active)
    assert http.get(f"/responses/{response_id}").status_code == 404
    assert server.created["close me"] == 1


def test_leaving_a_request_that_is_not_streamed_stops_it_too(server):
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.base_url}/responses", json={"model": "demo-slow", "input": "x"}, timeout=0.3)
    wait_for(lambda: not server.active)


def test_compact_returns_a_window(http, create):
    said = [{"role": "user", "content": "One"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "2"}]
    window = http.post("/responses/compact", json={"model": "demo-text", "input": said}).json()
    assert window["object"] == "response.compaction"
    assert not window["id"].startswith("resp_")
    assert [item["type"] for item in window["output"]] == ["message", "message", "compaction"]
    assert window["usage"]["total_tokens"] > 0
    response = create([*window["output"], {"role": "user", "content": "Three"}])
    assert text_of(response) == "Demo turn 3: Three"


def test_compact_takes_a_previous_response(http, create):
    first = create("Begin")
    window = http.post("/responses/compact", json={"model": "m", "previous_response_id": first["id"]}).json()
    assert [item["type"] for item in window["output"]] == ["message", "compaction"]
    assert http.post("/responses/compact", json={"model": "m"}).status_code == 400


def test_models_are_listed(http):
    listed = http.get("/models").json()
    assert "demo-text" in [model["id"] for model in listed["data"]]
    assert http.get("/models/demo-image").json()["id"] == "demo-image"
    assert http.get("/models/nothing").json()["error"]["code"] == "model_not_found"


def test_failures_without_a_stream_are_http_errors(create):
    assert create(model="demo-failed", status=500)["error"]["code"] == "server_error"
