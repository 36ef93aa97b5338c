"""One payload → its event, or a DecodeError and no other failure; what strict JSON refuses has a defined reading."""

from __future__ import annotations

import gc
import json
import math
import traceback
import weakref
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import decode_event
from nbresponses.core.events import (
    EVENT_TYPES,
    Event,
    ResponseCompletedEvent,
    ResponseCreatedEvent,
    ResponseErrorEvent,
    ResponseTextDeltaEvent,
    UnknownEvent,
)
from nbresponses.core.items import joined
from nbresponses.core.sse import ServerSentEvent
from nbresponses.errors import DecodeError, NBResponsesError, ProtocolError

DELTA = '"type":"response.output_text.delta"'


def test_text_bytes_and_server_sent_events_decode_alike() -> None:
    payload = '{"type":"response.output_text.delta","delta":"ü€😀","output_index":3}'
    event = decode_event(payload)
    assert event == ResponseTextDeltaEvent(delta="ü€😀", output_index=3, payload=payload.encode())
    assert decode_event(payload.encode()) == event
    assert decode_event(bytearray(payload.encode())) == event  # type: ignore[arg-type]
    assert decode_event(ServerSentEvent(payload, event="ignored")) == event


# ── The type ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("payload", "name", "type_"),
    [
        ('{"type":"response.created"}', "response.completed", "response.created"),
        ('{"a":1}', None, "message"),
        ('{"a":1}', "", "message"),
        ('{"a":1}', "ping", "ping"),
        ('{"delta":"x"}', "response.output_text.delta", "response.output_text.delta"),
        ('{"error":{"message":"m"}}', "ping", "error"),
        ('{"error":"m"}', None, "message"),
        ('{"error":null}', "ping", "ping"),
        ('{"type":null}', None, "message"),
        ('{"type":5}', "ping", "ping"),
        ('{"type":["response.created"]}', None, "message"),
        ('{"type":true,"error":{}}', None, "error"),
        ('{"type":""}', "ping", ""),
        ('{"type":"keepalive"}', "response.created", "keepalive"),
        ('{"type":"invalid"}', None, "invalid"),
        ("{}", None, "message"),
    ],
)
def test_the_json_type_decides_and_where_there_is_none_the_error_then_the_name(
    payload: str, name: str | None, type_: str
) -> None:
    event = decode_event(ServerSentEvent(payload, event=name))
    assert event.type == type_
    assert type(event) is EVENT_TYPES.get(type_, UnknownEvent)
    assert event.to_dict() == json.loads(payload)


def test_an_event_typed_by_its_name_has_its_fields() -> None:
    event = decode_event(ServerSentEvent('{"delta":"x","item_id":"m"}', event="response.output_text.delta"))
    assert isinstance(event, ResponseTextDeltaEvent)
    assert (event.delta, event.item_id) == ("x", "m")


def test_an_error_without_a_type_is_an_error_event() -> None:
    event = decode_event('{"error":{"message":"boom","code":"server_error"}}')
    assert isinstance(event, ResponseErrorEvent)
    assert event.error == {"type": None, "code": "server_error", "message": "boom", "param": None}


@pytest.mark.parametrize("name", ["thread.created", "thread.message.delta", "thread.run.completed"])
def test_events_of_the_older_assistants_stream_are_unknown_events(name: str) -> None:
    event = decode_event(ServerSentEvent('{"id":"thread_1","object":"thread"}', event=name))
    assert isinstance(event, UnknownEvent)
    assert event.type == name
    assert event.to_dict()["id"] == "thread_1"


# ── What strict JSON refuses, and what is refused here too ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("payload", "reason", "offset"),
    [
        ("", "empty", 0),
        (" \n\t", "empty", 0),
        ("null", "null", None),
        ("true", "a boolean", None),
        ("12", "a number", None),
        ("1.5", "a number", None),
        ("NaN", "a number", None),
        ('"s3cr3t"', "a string", None),
        ("[]", "an array", None),
        ("[DONE]", "malformed JSON", 1),
        ("{", "malformed JSON", 1),
        ('{"s3cr3t', "malformed JSON", 1),
        ('{"a":1;}', "malformed JSON", 6),
        ("{'s3cr3t':1}", "malformed JSON", 1),
        ('{"s3cr3t":1} x', "extra data", 13),
        ('{"a":"ü€😀" s3cr3t}', "malformed JSON", 17),
        ('{"a":01}', "malformed JSON", 6),
        ('{"a":"\\q"}', "malformed JSON", 6),
        ("data: {}", "malformed JSON", 0),
        ('\ufeff{"a":1}', "malformed JSON", 0),
        ('{"type":"response.created"}{"type":"response.created"}', "extra data", 27),
    ],
)
def test_what_is_no_json_object_is_a_decode_error(payload: str, reason: str, offset: int | None) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_event(payload)
    error = caught.value
    assert isinstance(error, ProtocolError)
    assert isinstance(error, NBResponsesError)
    assert reason in error.reason
    assert error.offset == offset
    assert error.length == len(payload.encode())
    shown = f"{error} {error!r} {''.join(traceback.format_exception(error))}"
    assert "s3cr3t" not in shown
    assert f"{error.length} bytes" in str(error)
    assert error.excerpt in payload


def test_the_offset_is_left_out_where_bytes_are_not_utf8() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_event(b'{"a":"\xff\xff" x}')
    assert caught.value.offset is None


def test_the_excerpt_is_short_and_only_an_attribute() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_event('{"s3cr3t":' + "x" * 10_000)
    assert caught.value.excerpt.startswith('{"s3cr3t":')
    assert len(caught.value.excerpt) == 200
    assert "s3cr3t" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("type_", ["response.output_text.delta", "unheard.of"])
def test_nan_and_infinity_are_read(type_: str) -> None:
    event = decode_event(f'{{"type":"{type_}","delta":"x","a":NaN,"b":[Infinity,-Infinity],"c":1e999}}')
    assert type(event) is EVENT_TYPES.get(type_, UnknownEvent)
    fields = event.to_dict()
    assert math.isnan(fields["a"])
    assert fields["b"] == [math.inf, -math.inf]
    assert fields["c"] == math.inf


def test_a_log_probability_of_minus_infinity_is_read() -> None:
    event = decode_event(f'{{{DELTA},"delta":"a","logprobs":[{{"token":"a","logprob":-Infinity,"bytes":[97]}}]}}')
    assert isinstance(event, ResponseTextDeltaEvent)
    assert event.logprobs is not None
    assert (event.logprobs[0].token, event.logprobs[0].logprob, event.logprobs[0].bytes) == ("a", -math.inf, (97,))


def test_a_surrogate_pair_split_over_two_deltas_is_repaired_when_joined() -> None:
    halves = [decode_event(f'{{{DELTA},"delta":"{half}"}}') for half in ("x\\ud83d", "\\ude00y")]
    assert [type(event) for event in halves] == [ResponseTextDeltaEvent] * 2
    assert joined([event.to_dict()["delta"] for event in halves]) == "x😀y"
    assert joined(["\ud83d", "-", "\ude00"]) == "\ud83d-\ude00", "what is no pair stays"


def test_text_with_a_lone_surrogate_means_the_same_as_its_escape() -> None:
    event = decode_event(f'{{{DELTA},"delta":"\ud83d"}}')
    assert event == decode_event(f'{{{DELTA},"delta":"\\ud83d"}}')
    assert decode_event('{"type":"\ud83d"}').type == "\ud83d"
    with pytest.raises(DecodeError):
        decode_event("\ud83d")


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 10**4000])
@pytest.mark.parametrize("type_", ["response.output_text.delta", "unheard.of"])
def test_integers_beyond_64_bits_keep_all_digits(number: int, type_: str) -> None:
    event = decode_event(f'{{"type":"{type_}","sequence_number":{number},"x":{{"n":[{number}]}}}}')
    assert event.to_dict()["x"]["n"] == [number]
    assert event.to_dict()["sequence_number"] == number
    assert event.sequence_number == number


@pytest.mark.parametrize("type_", ["response.output_text.delta", "unheard.of"])
def test_integers_that_python_refuses_are_read_as_floats(type_: str) -> None:
    event = decode_event(f'{{"type":"{type_}","n":{"9" * 5000},"m":-{"9" * 5000}}}')
    assert (event.to_dict()["n"], event.to_dict()["m"]) == (math.inf, -math.inf)


def nested(depth: int, type_: str) -> str:
    deep = "[" * depth + "]" * depth
    return f'{{"type":"{type_}","x":{deep},"response":{{"y":{deep}}}}}'


@pytest.mark.parametrize("type_", ["response.created", "response.audio.done", "unheard.of"])
def test_moderate_nesting_is_read_and_too_deep_is_a_decode_error(type_: str) -> None:
    event = decode_event(nested(300, type_))
    assert type(event) is EVENT_TYPES.get(type_, UnknownEvent)
    assert event.to_dict() == json.loads(nested(300, type_))
    for depth in (100_000, 1_000_000):
        with pytest.raises(DecodeError, match="nested too deeply"):
            decode_event(nested(depth, type_))
        with pytest.raises(DecodeError):
            decode_event('{"a":' * depth)


def test_of_a_key_that_stands_twice_the_last_value_counts() -> None:
    event = decode_event('{"type":"response.created","type":"response.completed","response":1,"response":{"id":"r"}}')
    assert isinstance(event, ResponseCompletedEvent)
    assert event.response.id == "r"
    delta = decode_event(f'{{{DELTA},"delta":"a","delta":"b"}}')
    assert isinstance(delta, ResponseTextDeltaEvent)
    assert delta.delta == delta.to_dict()["delta"] == "b"


@pytest.mark.parametrize("escape", ["\t", "\x00", "\x1f", "\n"])
def test_control_characters_inside_strings_are_read(escape: str) -> None:
    assert decode_event(f'{{{DELTA},"delta":"a{escape}b"}}').to_dict()["delta"] == f"a{escape}b"


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    event = decode_event(b'{"type":"response.output_text.delta","delta":"a\xff\xe2\x82b"}')
    assert isinstance(event, ResponseTextDeltaEvent)
    assert event.delta == "a\ufffd\ufffdb"


# ── Fields that do not fit ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "field",
    [
        '"delta":null', '"delta":5', '"delta":{"a":1}', '"content_index":true', '"output_index":"0"',
        '"output_index":1.5', '"item_id":7', '"sequence_number":true', '"sequence_number":"3"', '"stream_id":1',
        '"logprobs":{}', '"logprobs":[1]', '"logprobs":[{"token":5}]', '"<payload>":"x"',
    ],
)  # fmt: skip
def test_an_event_whose_fields_do_not_fit_its_type_is_kept_whole_as_unknown(field: str) -> None:
    event = decode_event(f"{{{DELTA},{field}}}")
    assert isinstance(event, UnknownEvent)
    assert event.type == "response.output_text.delta"
    assert event.to_dict() == json.loads(f"{{{DELTA},{field}}}")


def test_an_unknown_event_has_what_fits_and_no_boolean_is_a_number() -> None:
    event = decode_event('{"type":"x","sequence_number":4,"stream_id":"s","output_index":2,"item_id":"i"}')
    assert isinstance(event, UnknownEvent)
    assert (event.sequence_number, event.stream_id, event.output_index, event.item_id) == (4, "s", 2, "i")
    event = decode_event('{"type":"x","sequence_number":true,"stream_id":1,"output_index":true,"item_id":5}')
    assert isinstance(event, UnknownEvent)
    assert (event.sequence_number, event.stream_id, event.output_index, event.item_id) == (None, None, None, None)


@pytest.mark.parametrize("name", ["<payload>", "<opened>", "payload", "opened", "_fields", "__class__"])
def test_no_field_of_the_wire_reaches_the_insides_of_an_event(name: str) -> None:
    payload = json.dumps({"type": "response.created", "response": {"id": "r"}, name: {"response": {"id": "false"}}})
    event = decode_event(payload)
    assert event.payload == payload.encode()
    if isinstance(event, ResponseCreatedEvent):
        assert event.response.id == "r"
    assert event.to_dict()["response"]["id"] == "r"


# ── No other failure ─────────────────────────────────────────────────────────────────────────────────────────────────


def decodes_or_says_why(payload: Any) -> Event | None:
    try:
        event = decode_event(payload)
    except DecodeError:
        return None
    fields = event.to_dict()
    assert isinstance(fields, dict)
    assert isinstance(event.type, str)
    assert isinstance(repr(event), str)
    assert hash(event) == hash(decode_event(payload))
    for name in ("response", "item", "part", "annotation", "error", "delta", "output", "steer", "required_input"):
        getattr(event, name, None)
    assert event.to_dict().keys() == fields.keys()
    return event


@settings(max_examples=300)
@given(payload=st.binary(max_size=60) | st.binary(max_size=40).map(lambda inner: b'{"type":"' + inner + b'"}'))
@example(payload=b'{"type":"response.created","response":"\xed\xa0\x80"}')
def test_any_bytes_decode_or_are_a_decode_error(payload: bytes) -> None:
    decodes_or_says_why(payload)


@settings(max_examples=200)
@given(
    payload=st.text(st.characters(exclude_categories=()), max_size=60)
    | st.text('{}[]":,\\u0019dea-+.eEtrufalsnNI \ud800x', max_size=60)
)
def test_any_text_decodes_or_is_a_decode_error(payload: str) -> None:
    decodes_or_says_why(payload)


_any_character = st.characters(exclude_categories=())  # lone surrogates included
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(_any_character, max_size=6) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from(
    ["delta", "response", "item", "part", "output_index", "content_index", "item_id", "logprobs", "sequence_number",
     "text", "error", "code", "message", "annotation", "output", "stream_id", "steer", "type", "status", "unheard"]
)  # fmt: skip


@settings(max_examples=150)
@given(type_=st.sampled_from([*EVENT_TYPES, "unheard.of"]), fields=st.dictionaries(_names, _values, max_size=5))
def test_any_object_decodes_and_nothing_is_lost(type_: str, fields: dict[str, Any]) -> None:
    sent = {"type": type_, **fields}
    event = decodes_or_says_why(json.dumps(sent))
    assert event is not None
    assert repr(event.to_dict()) == repr(json.loads(json.dumps(sent)))


def test_errors_can_be_let_go() -> None:
    kept = []
    for _ in range(3):
        try:
            decode_event('{"a":')
        except DecodeError as error:
            kept.append(weakref.ref(error))
    gc.collect()
    assert [ref() for ref in kept] == [None] * 3


@pytest.mark.parametrize("type_", ["response.output_text.delta", "error", "response.completed"])
def test_half_a_character_where_a_number_belongs_is_an_unknown_event(type_):
    text = json.dumps({"type": type_, "sequence_number": "\ud800"})
    event = decode_event(text)
    assert (type(event), event.type, event.to_dict()) == (UnknownEvent, type_, json.loads(text))
    Accumulator().apply(event)  # reads the fields that do fit
