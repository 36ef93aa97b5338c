"""Bytes → events: the fast path and the thorough one agree, the end marker, bad payloads, the end of a stream."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresponses.core import decode
from nbresponses.core.decode import EventDecoder, decode_kept
from nbresponses.core.events import Event, InvalidEvent, ResponseCompletedEvent, ResponseTextDeltaEvent, UnknownEvent
from nbresponses.core.sse import SSEDecoder
from nbresponses.errors import DecodeError


def text(delta: str) -> str:
    return json.dumps({"type": "response.output_text.delta", "delta": delta})


def block(payload: str, name: str | None = "response.output_text.delta") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {payload}\n\n".encode()


def decoded(*pieces: bytes) -> list[Event]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


def deltas(events: list[Event]) -> list[str]:
    return [event.delta for event in events if isinstance(event, ResponseTextDeltaEvent)]


# ── Both paths ───────────────────────────────────────────────────────────────────────────────────────────────────────

BLOCKS = [
    block(text("a")),
    block(text("b"), None),
    block(text("[DONE]")),
    block('{"type":"response.completed","response":{"id":"r"}}', "response.completed"),
    block('{"type":"keepalive","sequence_number":3}', "keepalive"),
    block('{"delta":"by name"}'),
    block('{"type":"response.output_text.delta","delta":"\\ud83d","x":NaN}'),
    block("not JSON"),
    block("[1, 2]", None),
    block("", None),
    b"data\n\n",
    b": a comment\n\n",
    b": inside\nevent: x\n: and\ndata: " + text("c").encode() + b"\n\n",
    b'data: {"type":\ndata: "response.output_text.delta",\ndata: "delta":"lines"}\n\n',
    b"id: 5\nretry: 10\nevent: x\ndata:" + text("no space").encode() + b"\n\n",
    b"data: " + text("data first").encode() + b"\nevent: x\n\n",
    b"event: x\n\n",
    b"\n",
    b"event: x\nevent: response.output_text.delta\ndata: " + text("two names").encode() + b"\n\n",
    b"event: event: x\ndata: data: {}\n\n",
    b"event: x\ndata: " + "\u2028".encode() + text("e").encode() + b"\n\n",
    b"event: x\ndata: {}\x00\n\n",
    b'event: x\ndata: {"type":"\xff\xfe"}\n\n',
]


def by_the_rules(stream: bytes) -> list[tuple[str, dict[str, object]]]:
    """Type and content of each event, by the SSE decoder and the standard library's JSON alone."""
    decoder = SSEDecoder()
    rows: list[tuple[str, dict[str, object]]] = []
    for event in decoder.feed(stream) + decoder.finish():
        if not event.data.strip():
            continue
        if event.data.strip() == "[DONE]":
            break
        try:
            fields = json.loads(event.data)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            rows.append(("invalid", {}))
            continue
        rows.append((fields.get("type", event.event or "message"), fields))
    return rows


def rows(events: list[Event]) -> str:
    return repr([(event.type, event.to_dict()) for event in events])  # NaN is not equal to itself, its text is


@settings(max_examples=150)
@given(blocks=st.lists(st.sampled_from(BLOCKS), max_size=12), seed=st.integers(0, 2**32))
def test_all_paths_agree_with_the_rules(blocks: list[bytes], seed: int) -> None:
    stream = b"".join(blocks)
    expected = repr(by_the_rules(stream))
    assert rows(decoded(stream)) == expected
    assert rows(decoded(*(stream[i : i + 1] for i in range(len(stream))))) == expected
    cuts = sorted(random.Random(seed).choices(range(len(stream) + 1), k=6))
    assert rows(decoded(*(stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)))) == expected
    assert rows(decoded(stream.replace(b"\n", b"\r\n"))) == expected
    assert rows(decoded(b"\xef\xbb\xbf" + stream.replace(b"\n", b"\r"))) == expected


def test_a_run_above_the_fast_path_s_size_is_read_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = b"".join(BLOCKS)
    fast = decoded(stream)
    monkeypatch.setattr(decode, "_LARGE", 0)
    slow = decoded(stream)
    assert rows(slow) == rows(fast)
    assert [type(event) for event in slow] == [type(event) for event in fast]
    assert [event.payload for event in slow] == [event.payload for event in fast]


def test_events_come_as_soon_as_their_blank_line_does() -> None:
    decoder = EventDecoder()
    stream = block(text("a")) + block(text("b"))
    assert decoder.feed(stream[:-1]) == decoded(block(text("a")))
    assert deltas(decoder.feed(stream[-1:])) == ["b"]


def test_the_payload_is_kept_as_received() -> None:
    payload = '{ "type" : "response.output_text.delta", "delta":"\\u0061", "extra":[1.0, 1e2] }'
    (event,) = decoded(block(payload))
    assert event.payload == payload.encode()
    assert event.to_dict() == json.loads(payload)


# ── The end marker, empty data ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("marker", [b"data: [DONE]\n\n", b"data:[DONE] \n\n", b"event: x\ndata: \t[DONE]\n\n"])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_done_ends_the_decoder(marker: bytes, size: int) -> None:
    stream = block(text("a")) + marker + block(text("b")) + b"data: junk\n\n"
    decoder = EventDecoder()
    events = [event for i in range(0, len(stream), size) for event in decoder.feed(stream[i : i + size])]
    assert deltas(events) == ["a"]
    assert len(events) == 1
    assert decoder.done
    assert decoder.feed(block(text("c"))) == []
    assert decoder.finish() == []


@pytest.mark.parametrize("payload", ["[done]", "[DONE]x", '"[DONE]"', "[DONE][DONE]", "DONE"])
def test_only_exactly_done_is_the_marker(payload: str) -> None:
    decoder = EventDecoder()
    assert isinstance(decoder.feed(block(payload))[0], InvalidEvent)
    assert not decoder.done


def test_done_without_its_blank_line_is_no_event() -> None:
    decoder = EventDecoder()
    assert decoder.feed(block(text("a")) + b"data: [DONE]") != []
    assert decoder.finish() == []
    assert decoder.remainder == b""


@pytest.mark.parametrize(
    "empty", [b"data\n\n", b"data:\n\n", b"event: x\ndata: \n\n", b"data: \ndata: \n\n", b"data:  \t\n\n"]
)
def test_empty_data_is_no_event(empty: bytes) -> None:
    assert deltas(decoded(block(text("a")) + empty + block(text("b")))) == ["a", "b"]
    assert len(decoded(block(text("a")) + empty + block(text("b")))) == 2


# ── What is no JSON object ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_bad_payload_becomes_an_invalid_event_and_loses_nothing_around_it() -> None:
    events = decoded(block(text("a")) + block('{"type":"s3cr3t') + block(text("b")))
    assert [event.type for event in events] == ["response.output_text.delta", "invalid", "response.output_text.delta"]
    invalid = events[1]
    assert isinstance(invalid, InvalidEvent)
    assert isinstance(invalid.error, DecodeError)
    assert invalid.error.length == 15
    assert invalid.payload == b'{"type":"s3cr3t'
    assert invalid.to_dict() == {}
    assert invalid.sequence_number is None
    assert "s3cr3t" not in repr(invalid)


@pytest.mark.parametrize("size", [1, 16, 4096])
def test_an_event_above_the_limit_is_invalid_and_ends_the_decoder(size: int) -> None:
    stream = block(text("a")) + block(text("s3cr3t" * 100)) + block(text("b"))
    decoder = EventDecoder(max_event_bytes=300)
    events = [event for i in range(0, len(stream), size) for event in decoder.feed(stream[i : i + size])]
    assert [event.type for event in events] == ["response.output_text.delta", "invalid"]
    assert isinstance(events[1], InvalidEvent)
    assert "300 bytes" in str(events[1].error)
    assert "max_event_bytes" in str(events[1].error)
    assert "s3cr3t" not in repr(events[1]) + str(events[1].error)
    assert decoder.done
    assert decoder.finish() == []


def test_done_before_something_too_large_is_a_clean_end() -> None:
    decoder = EventDecoder(max_event_bytes=50)
    assert decoder.feed(b"data: [DONE]\n\n" + block(text("x" * 100))) == []
    assert decoder.done


# ── The end of a stream ──────────────────────────────────────────────────────────────────────────────────────────────


def test_finish_delivers_an_event_that_lacks_its_blank_line() -> None:
    stream = block(text("a")) + b'event: x\ndata: {"type":"response.completed","response":{}}'
    for rest in (b"", b"\n", b"\r"):
        decoder = EventDecoder()
        assert len(decoder.feed(stream + rest)) == 1
        (event,) = decoder.finish()
        assert isinstance(event, ResponseCompletedEvent)
        assert decoder.remainder == b""
        assert decoder.finish() == []
        assert decoder.feed(block(text("late"))) == []


@pytest.mark.parametrize(
    "rest", [b'data: {"type":"response.output_text.delta","delt', b"event: x\ndata: {", b'data: {"a":1}\ndata: {"b']
)
def test_finish_drops_a_block_cut_in_mid_json_and_says_what(rest: bytes) -> None:
    decoder = EventDecoder()
    assert len(decoder.feed(block(text("a")) + rest)) == 1
    assert decoder.finish() == []
    assert decoder.remainder == rest


@pytest.mark.parametrize("rest", [b"", b"event: response.comp", b": keep", b"data:", b"data: \n", b"\xef\xbb"])
def test_finish_has_nothing_to_say_of_a_block_without_data(rest: bytes) -> None:
    decoder = EventDecoder()
    decoder.feed(rest)
    assert decoder.finish() == []
    assert decoder.remainder == b""


def test_every_cut_of_a_stream_gives_its_whole_events_and_no_others() -> None:
    blocks = [block(text("ä")), block(text("b"), None), block('{"type":"response.completed","response":{"id":"r"}}')]
    stream = b"".join(blocks)
    whole = decoded(stream)
    ends = [len(b"".join(blocks[:n])) - 2 for n in (1, 2, 3)]  # where the JSON of each is complete
    for place in range(len(stream) + 1):
        assert decoded(stream[:place]) == whole[: sum(end <= place for end in ends)], place


# ── Kept payloads ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_kept_payload_decodes_to_the_same_event_again() -> None:
    for event in decoded(b"".join(BLOCKS)):
        again = decode_kept(event.payload, None if event.to_dict().get("type") else event.type)
        assert type(again) is type(event)
        assert rows([again]) == rows([event])
    assert isinstance(decode_kept(b""), InvalidEvent)
    assert isinstance(decode_kept(b'{"a":1}', "x\udc80"), UnknownEvent)
