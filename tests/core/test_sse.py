"""Server-sent events, rule by rule as the HTML standard has them (section 9.2), and the encoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.core.sse import ServerSentEvent, SSEDecoder, encode_sse


def decode(*pieces: bytes) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


def data(*pieces: bytes) -> list[str]:
    return [event.data for event in decode(*pieces)]


# ── Lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_each_line_end_ends_a_line_and_twice_a_block(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"data: 3", b"", b""])
    assert decode(stream) == [ServerSentEvent("1", "a"), ServerSentEvent("2\n3")]


def test_line_ends_can_be_mixed() -> None:
    assert data(b"data: 1\r\ndata: 2\rdata: 3\n\rdata: 4\r\r\ndata: 5\n\r\n") == ["1\n2\n3", "4", "5"]


def test_cr_then_lf_is_one_line_end_even_in_two_pieces() -> None:
    assert data(b"data: 1\r", b"\ndata: 2\r", b"\n", b"\r", b"\ndata: 3\n\n") == ["1\n2", "3"]


def test_nothing_is_held_back_to_look_ahead() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: 1\r\r") == [ServerSentEvent("1")]
    assert decoder.feed(b"\ndata: 2\n\n") == [ServerSentEvent("2")]


@pytest.mark.parametrize("character", "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\x00")
def test_no_other_character_ends_a_line(character: str) -> None:
    assert data(f"data: a{character}b\n\n".encode()) == [f"a{character}b"]


def test_blank_lines_between_blocks_say_nothing() -> None:
    assert data(b"\n\n\ndata: 1\n\n\n\n\n", b"\n", b"\r\n", b"data: 2\n\n") == ["1", "2"]


# ── Bytes and characters ─────────────────────────────────────────────────────────────────────────────────────────────


def test_one_leading_byte_order_mark_is_removed() -> None:
    mark = b"\xef\xbb\xbf"
    assert data(mark + b"data: 1\n\n") == ["1"]
    assert data(b"\xef", b"\xbb", b"", b"\xbfdata: 1\n\n") == ["1"]
    assert data(mark + mark + b"data: 1\n\ndata: 2\n\n") == ["2"], "a second mark is part of the field's name"
    assert data(b"\n" + mark + b"data: 1\n\ndata: 2\n\n") == ["2"], "and so is one that does not lead"
    assert data(b"data: " + mark + b"1\n\n") == ["\ufeff1"]


def test_a_beginning_that_is_only_part_of_a_mark_is_kept() -> None:
    assert data(b"\xef\xbb", b"data: 1\n\ndata: 2\n\n") == ["2"]
    assert data(b"\xef\xbb") == []


def test_characters_cut_between_pieces_are_whole() -> None:
    stream = "data: €ü那😀\n\n".encode()
    assert data(*(stream[i : i + 1] for i in range(len(stream)))) == ["€ü那😀"]


@pytest.mark.parametrize(
    ("broken", "read"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"a\xe2\x82", "a\ufffd"),  # cut: one replacement for its longest valid beginning
        (b"\xe2\x82a", "\ufffda"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # a surrogate
        (b"\xc0\xaf", "\ufffd\ufffd"),  # overlong
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),  # beyond U+10FFFF
        (b"\xf0\x9f\x98", "\ufffd"),
    ],
)
def test_invalid_utf8_is_replaced_as_the_encoding_standard_says(broken: bytes, read: str) -> None:
    assert data(b"data: " + broken + b"\n\n") == [read]


# ── Fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"data:x", "x"),
        (b"data: x", "x"),
        (b"data:  x", " x"),
        (b"data:\tx", "\tx"),
        (b"data: x ", "x "),
        (b"data:", ""),
        (b"data: ", ""),
        (b"data", ""),
        (b"data: a:b: c", "a:b: c"),
        (b"data::", ":"),
    ],
)
def test_one_space_after_the_colon_is_removed_and_nothing_else(line: bytes, value: str) -> None:
    assert data(line + b"\n\n") == [value]


def test_data_lines_are_joined_by_line_feeds() -> None:
    assert data(b"data: {\ndata\ndata:  1\ndata: }\n\n") == ["{\n\n 1\n}"]


@pytest.mark.parametrize("line", [b": note", b":", b"Data: x", b"data : x", b" data: x", b"dat: x", b"x", b"\0"])
def test_comments_and_unknown_fields_are_ignored_anywhere(line: bytes) -> None:
    assert decode(line + b"\n\n" + line + b"\ndata: 1\n" + line + b"\ndata: 2\n\n") == [ServerSentEvent("1\n2")]


def test_the_event_name_is_that_of_its_own_block() -> None:
    stream = b"event: a\ndata: 1\n\ndata: 2\n\nevent: b\n\ndata: 3\n\nevent: c\nevent: d\ndata: 4\n\n"
    assert [event.event for event in decode(stream)] == ["a", None, None, "d"]


def test_an_empty_event_name_is_none() -> None:
    assert decode(b"event: a\nevent:\ndata: 1\n\n") == [ServerSentEvent("1")]


def test_a_block_without_data_is_no_event_but_one_with_empty_data_is() -> None:
    assert data(b"event: tick\n\nid: 1\n\nretry: 5\n\n: x\n\n") == []
    assert data(b"data\n\ndata:\n\n") == ["", ""]


def test_the_id_persists_and_counts_from_blocks_without_data_too() -> None:
    decoder = SSEDecoder()
    events = decoder.feed(b"data: 0\n\nid: 7\ndata: 1\n\ndata: 2\n\nid: 8\n\ndata: 3\n\nid\ndata: 4\n\n")
    assert [event.id for event in events] == ["", "7", "7", "8", ""]
    decoder.feed(b"id: 9\n\n")
    assert decoder.last_event_id == "9"


def test_an_id_with_nul_is_ignored() -> None:
    assert [event.id for event in decode(b"id: a\ndata: 1\n\nid: b\0\ndata: 2\n\n")] == ["a", "a"]


@pytest.mark.parametrize(
    "value", [b"+5", b"-5", b" 5", b"5 ", b"", b"5s", b"0x5", b"1_0", b"\xd9\xa3", b"1.5", b"\xb2"]
)
def test_retry_takes_ascii_digits_only(value: bytes) -> None:
    decoder = SSEDecoder()
    events = decoder.feed(b"retry: 250\ndata: 1\n\nretry: " + value + b"\ndata: 2\n\n")
    assert ([event.retry for event in events], decoder.retry) == ([250, None], 250)


def test_retry_persists_in_the_decoder_and_not_in_the_events() -> None:
    decoder = SSEDecoder()
    assert decoder.retry is None
    assert [event.retry for event in decoder.feed(b"retry: 010\ndata: 1\n\ndata: 2\n\n")] == [10, None]
    decoder.feed(b"retry: 20\n\n")
    assert decoder.retry == 20


def test_a_retry_of_any_length_is_a_number() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"retry: " + b"0" * 5000 + b"15\n\n")
    assert decoder.retry == 15
    decoder.feed(b"retry: " + b"9" * 5000 + b"\n\n")
    assert decoder.retry is not None
    assert decoder.retry > 10**15


# ── The end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rest", [b"event: a\ndata: 1", b"event: a\ndata: 1\n", b"event: a\r\ndata: 1\r"])
def test_a_last_block_without_its_blank_line_is_delivered(rest: bytes) -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: 0\n\n" + rest) == [ServerSentEvent("0")]
    assert decoder.finish() == [ServerSentEvent("1", "a")]
    assert decoder.finish() == []


def test_the_next_connection_starts_with_an_empty_block_and_keeps_id_and_retry() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"id: 3\nretry: 9\n\nevent: half")
    assert decoder.finish() == []
    assert decoder.feed(b"\xef\xbb\xbfdata: fresh\n\n") == [ServerSentEvent("fresh", id="3")]
    assert decoder.retry == 9


# ── The size limit ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
@pytest.mark.parametrize("size", [1, 2, 64])
def test_a_block_up_to_the_limit_passes_and_one_byte_more_does_not(end: bytes, size: int) -> None:
    fits = b"data: 0\n\n\n" + b"data:0123456789" + end + b"\n" + b"data: 1\n\n"
    for limit, expected in ((16, ["0", "0123456789", "1"]), (15, ["0"])):  # the line end counts, the blank line not
        decoder = SSEDecoder(max_event_bytes=limit)
        got = [event.data for i in range(0, len(fits), size) for event in decoder.feed(fits[i : i + size])]
        assert got == expected
        assert (decoder.error is None) == (limit == 16)


def test_above_the_limit_the_decoder_ends_and_says_why() -> None:
    decoder = SSEDecoder(max_event_bytes=100)
    assert [event.data for event in decoder.feed(b"data: 1\n\ndata: " + b"s3cr3t" * 20)] == ["1"]
    assert decoder.error is not None
    assert "100 bytes" in str(decoder.error)
    assert "max_event_bytes" in str(decoder.error)
    assert "s3cr3t" not in str(decoder.error) + repr(decoder.error)
    assert decoder.error.length == 126
    assert decoder.feed(b"\n\ndata: 2\n\n") == []
    assert decoder.finish() == []
    assert decoder.error is not None


def test_the_limit_is_for_one_event_not_for_the_stream() -> None:
    decoder = SSEDecoder(max_event_bytes=20)
    assert len(decoder.feed(b"data: 0123456789\n\n" * 50 + b"\n" * 50 + b"data: x\n\n")) == 51
    assert decoder.error is None


def test_the_default_limit_lets_large_images_pass() -> None:
    assert len(SSEDecoder().feed(b"data: " + b"A" * 20_000_000 + b"\n\n")) == 1


# ── The encoder ──────────────────────────────────────────────────────────────────────────────────────────────────────

_line = st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"), max_size=8)


@given(
    text=st.text(st.characters(codec="utf-8"), max_size=20),
    event=st.none() | _line.filter(bool),
    id_=st.none() | _line,
    retry=st.none() | st.integers(0, 10**17),
)
def test_what_is_encoded_decodes_to_the_same(text: str, event: str | None, id_: str | None, retry: int | None) -> None:
    block = encode_sse(text, event=event, id=id_, retry=retry)
    sent = ServerSentEvent(text.replace("\r\n", "\n").replace("\r", "\n"), event, id_ or "", retry)
    assert decode(block + block) == [sent, sent]
    assert encode_sse(text.encode(), event=event, id=id_, retry=retry) == block


def test_the_block_has_the_shape_that_servers_send() -> None:
    assert encode_sse('{"a":1}', event="response.created") == b'event: response.created\ndata: {"a":1}\n\n'
    assert encode_sse(b"a\r\nb", id="1", retry=3) == b"id: 1\nretry: 3\ndata: a\ndata: b\n\n"


@pytest.mark.parametrize(
    "fields", [{"event": "a\nb"}, {"event": "a\r"}, {"id": "a\nb"}, {"id": "\r"}, {"id": "a\0"}, {"retry": -1}]
)
def test_what_the_format_cannot_carry_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        encode_sse("x", **fields)  # type: ignore[arg-type]
