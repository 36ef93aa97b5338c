"""Redacted captures: nothing of what was said is left, and the frames have the same shape."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.capture.many import Captures
from nbresponses.capture.record import Capture
from nbresponses.capture.redaction import Redaction
from nbresponses.core.decode import EventDecoder
from nbresponses.core.events import EVENT_TYPES

SECRET = "Secret Word"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(200))).decode()


def everything(capture: Capture) -> bytes:
    """All that a file of the capture would have in it."""
    channels = repr([(message.lane, message.name) for message in capture]).encode()
    return b"".join(message.payload for message in capture) + channels + capture.source.encode()


SAME_SHAPE = {
    "events": ["sequence_number", "type", "output_index", "content_index", "summary_index", "time", "gap"],
    "deltas": ["output_index", "kind", "part_index", "start", "tokens", "time", "gap"],
    "items": ["output_index", "type", "status", "started", "duration", "events", "deltas", "characters", "previews"],
    "responses": ["model", "status", "ending", "started", "duration", "characters", "input_tokens", "output_tokens"],
    "timeline": ["kind", "output_index", "started", "duration", "closed"],
    "logprobs": ["position", "logprob", "entropy", "alternatives"],
    "tools": ["type", "arguments_valid", "called", "answered", "latency", "answered_by"],
    "usage": ["count", "value"],
    "lanes": ["requests", "responses", "completed", "failed", "events", "characters"],
    "lineage": ["depth", "continued_by", "fork", "children", "ending"],
    "gaps": ["kind", "row", "after", "before", "missing"],
}


def test_the_frames_of_captured_streams_keep_their_shape(stream_files, recorder) -> None:
    for path in stream_files[::4]:
        capture = recorder(path.read_bytes(), piece=1000)
        redacted = capture.redacted()
        for name, columns in SAME_SHAPE.items():
            before, after = getattr(capture, name)()[columns], getattr(redacted, name)()[columns]
            assert after.to_csv() == before.to_csv(), (path.name, name)


def test_nothing_that_was_said_in_them_is_left(stream_files, recorder) -> None:
    for path in stream_files[1::3]:
        capture = recorder(path.read_bytes(), piece=1 << 20)
        left = everything(capture.redacted())
        said = {*capture.deltas()["delta"], *capture.tools()["name"], *capture.items()["item_id"]}
        for text in said | set(capture.tools(arguments=True)["value"]):
            if isinstance(text, str) and len(text) >= 9 and not re.fullmatch("[a-z_]+|[xX0{}]+", text):
                assert json.dumps(text)[1:-1].encode() not in left, path.name
                assert text.encode() not in left, path.name


names = st.sampled_from(["text", "name", "id", "metadata", "arguments", "input", "type", "code", "parameters", "url"])
secrets = st.just(SECRET)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | secrets | st.just(json.dumps({SECRET: SECRET})),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | secrets, inner, max_size=4),
    max_leaves=12,
)
types = st.sampled_from([*EVENT_TYPES, "keepalive", SECRET])


@given(types, st.dictionaries(names | secrets | st.sampled_from(["delta", "item", "response", "error"]), values))
def test_no_field_lets_a_secret_through(type_, fields) -> None:
    capture = Capture(datetime(2026, 1, 1, tzinfo=UTC), source=SECRET)
    capture.sent(fields, 0.0, lane=SECRET)
    data = json.dumps({**fields, "type": type_})
    capture.received(EventDecoder().feed(f"data: {data}\n\n".encode()), 1.0, lane=SECRET)
    capture.received(EventDecoder().feed(f"data: broken {SECRET}\n\n".encode()), 1.0)
    capture.noted("retry", 2.0, text=SECRET, **{SECRET: fields})
    capture.remainder(f'{{"delta":"{SECRET}'.encode(), 2.0)
    left = everything(capture.redacted())
    assert SECRET.encode() not in left
    assert len(capture.redacted()) == len(capture)


def test_the_reason_of_an_approval_is_a_users_own_and_that_of_an_ending_is_the_servers(tape) -> None:
    answer = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False, "reason": "confidential"}
    tape.sent(0, input=[answer]).created(1).ended(2, how="incomplete", incomplete_details={"reason": "content_filter"})
    texts = [message.text for message in tape.capture.redacted()]
    assert "confidential" not in "".join(texts)
    assert "content_filter" in texts[-1]


def test_words_of_the_api_stay_and_texts_keep_their_length(tape) -> None:
    fields = {
        "status": "completed",
        "reason": SECRET,
        "error": {"code": "rate_limit", "message": SECRET},
        "code": "x=1",
    }
    tape.got(1, "response.output_item.done", item={"type": "message", **fields, "role": "assistant"}, delta="grün")
    [message] = tape.capture.redacted()
    event = message.facts()
    assert event["delta"] == "xxxx"
    assert event["item"]["status"] == "completed"
    assert event["item"]["reason"] == "x" * len(SECRET)
    assert event["item"]["error"] == {"code": "rate_limit", "message": "x" * len(SECRET)}
    assert event["item"]["code"] == "xxx"
    assert event["item"]["role"] == "assistant"


def test_the_bytes_of_a_token_are_its_text_and_go_too(tape) -> None:
    top = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105]}
    tape.text(1, "Hi", logprobs=[top | {"top_logprobs": [top]}])
    [token] = tape.capture.redacted()[0].facts()["logprobs"]
    for each in (token, *token["top_logprobs"]):
        assert (each["token"], each["logprob"], each["bytes"]) == ("xx", -0.5, [120, 120])


def test_names_that_users_gave_go_also_where_the_api_has_the_same(tape) -> None:
    free = {"text": 5, "status": "completed", "usage": {"input": True}}
    tape.sent(1, metadata=free, text={"format": {"schema": {"properties": free}}})
    body = tape.capture.redacted()[0].facts()
    for told in (body["metadata"], body["text"]["format"]["schema"]):
        assert not {"text", "status", "usage", "input", "completed", "properties"} & set(json.dumps(told).split('"'))


def test_the_same_id_becomes_the_same_other(tape) -> None:
    tape.sent(1, "plan").created(2, "resp_0123456789", "plan").ended(3, "resp_0123456789", "plan")
    tape.sent(4, "builder", previous_response_id="resp_0123456789").created(5, "resp_9876543210", "builder")
    captures = Captures([tape.capture, tape.capture]).redacted()
    frame = captures[0].lineage()
    assert frame["parent_id"].iloc[1] == frame["response_id"].iloc[0]
    assert frame["response_id"].iloc[0].startswith("resp_")
    assert len(frame["response_id"].iloc[0]) == len("resp_0123456789")
    assert frame["response_id"].tolist() == captures[1].lineage()["response_id"].tolist()
    assert frame["response_id"].tolist() != tape.capture.redacted().lineage()["response_id"].tolist()
    assert set(frame["lane"]).isdisjoint({"plan", "builder"})
    assert captures.sources == ("capture 1", "capture 2")


def test_short_names_never_become_the_same() -> None:
    redaction = Redaction()
    names = [chr(ord("a") + number) for number in range(26)]
    assert len({redaction.other(name) for name in names}) == 26
    assert redaction.other("") == ""


@pytest.mark.parametrize("given_", [PNG, f"data:image/png;base64,{PNG}"])
def test_a_picture_keeps_its_type_and_its_size(tape, given_: str) -> None:
    tape.created(1).done(2, 0, "image_generation_call", result=given_)
    [before], [after] = tape.capture.images(), tape.capture.redacted().images()
    assert (after.mime, after.size) == (before.mime, before.size)
    assert bytes(range(20, 60)) not in after.data


def test_a_fine_tuned_model_is_named_by_its_base_only(tape, cells) -> None:
    tape.created(1, "r1", model="ft:gpt-4o-mini:acme:secret:id").created(2, "r2", model="gpt-5.6")
    assert cells(tape.capture.redacted().responses(), "model") == ["ft:gpt-4o-mini", "gpt-5.6"]


def test_arguments_that_are_json_stay_json(tape, cells) -> None:
    tape.done(1, 0, "function_call", name="pay", arguments='{"to": "Bob", "sum": 5, "now": true, "list": [1, "a"]}')
    [arguments] = cells(tape.capture.redacted().tools(), "arguments")
    assert list(json.loads(arguments).values()) == ["xxx", 0, False, [0, "x"]]
    assert "sum" not in json.loads(arguments)


def test_a_redacted_capture_is_saved_and_played_like_any_other(tape, tmp_path) -> None:
    tape.sent(1, input=SECRET).created(2).added(2, 0, "message").text(3, SECRET).ended(4)
    tape.capture.redacted().save(tmp_path / "r.jsonl")
    loaded = Capture.load(tmp_path / "r.jsonl")
    assert loaded.source == "redacted"
    assert loaded.replay(speed=None).get_final_response().output_text == "x" * len(SECRET)
