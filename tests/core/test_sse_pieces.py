"""The same bytes in any pieces give the same events: against a reference written down from the standard's algorithm."""

from __future__ import annotations

import re
import time
import tracemalloc
from itertools import combinations, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbresponses.core.decode import EventDecoder
from nbresponses.core.sse import ServerSentEvent, SSEDecoder

Result = tuple[list[ServerSentEvent], str, int | None]


def reference(stream: bytes) -> Result:
    """The algorithm of the standard, character by character, with a last block delivered at the end."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    lines, line, after_cr = [], "", False
    for character in text:
        if character == "\n" and after_cr:
            after_cr = False
            continue
        after_cr = character == "\r"
        if character in "\r\n":
            lines.append(line)
            line = ""
        else:
            line += character
    lines += [line, ""] if line else [""]
    events: list[ServerSentEvent] = []
    data, name, last_id, retry, own_retry = "", "", "", None, None
    for line in lines:
        if not line:
            if data:
                events.append(ServerSentEvent(data.removesuffix("\n"), name or None, last_id, own_retry))
            data, name, own_retry = "", "", None
            continue
        field, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not field and colon:
            continue
        if field == "event":
            name = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            last_id = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            retry = own_retry = int(value)
    return events, last_id, retry


def decoded(pieces: list[bytes]) -> Result:
    decoder = SSEDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    events += decoder.finish()
    return events, decoder.last_event_id, decoder.retry


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    return [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]


SMALL = [
    b"\xef\xbb\xbfdata: 1\r\n\r\ndata: 2\r\r",
    b"event: a\r\ndata: \xe2\x82\xac\r\ndata:2\r\n\r\n",
    b": c\n\nid: 7\n\ndata\n\n\n\ndata: x",
    b"\r\n\r\ndata: \xf0\x9f\x98\x80\n\rdata: 1\r\n",
    b"retry: 12\ndata: a\n\nretry: -1\rdata: b\r\r\n",
    b"id: a\0\ndata: \xe2\x82\ndata:\xed\xa0\x80\n\n",
    b"\xef\xbbdata: 1\n\ndata: \xc2\x85\n\n\r",
    b"data: 1\r\n\ndata: 2\r\r\ndata: 3\n\r\n",
]


@pytest.mark.parametrize("stream", SMALL, ids=range(len(SMALL)))
def test_every_cut_and_every_pair_of_cuts(stream: bytes) -> None:
    expected = reference(stream)
    assert decoded([stream]) == expected
    for places in combinations(range(len(stream) + 1), 2):  # a cut at the border is an empty piece
        assert decoded(cut(stream, list(places))) == expected, places


TRICKY = [
    *(b"data", b"data:", b"data: ", b"event: ", b"event", b"id: ", b"id", b"retry: ", b"retry:12", b":", b"::", b" "),
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"\n", b"\r\n", b"\0", b"\t", b"\x0b", b"\x0c", b"\x1c"),
    *(b"\xef\xbb\xbf", b"\xef", b"\xbb", b"\xbf", b"\xe2\x82\xac", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xf0\x9f"),
    *(b"\xed\xa0\x80", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"x", b"7", b"-", b"[DONE]", b'{"a":1}', b"Data: "),
]


LINES = [b"", b"", b"", b"data: a", b"data", b"data:\xe2\x82\xac", b"event: e", b"id: 7", b"id", b"retry: 5", b": c"]
_lines = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=20)
_streams = st.lists(st.sampled_from(TRICKY), max_size=40) | _lines.map(
    lambda lines: [b for line in lines for b in line]
)


@settings(max_examples=500)
@given(parts=_streams, cuts=st.lists(st.integers(0, 200), max_size=8))
@example(parts=[b"data: a\r", b"\n\r"], cuts=[8])
@example(parts=[b"\xef\xbb\xbf", b"\xef\xbb\xbf", b"data: a\n\n", b"data: b"], cuts=[2, 4])
def test_any_pieces_of_any_stream_agree_with_the_standard(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    expected = reference(stream)
    assert decoded([stream]) == expected
    assert decoded(cut(stream, [place for place in cuts if place <= len(stream)])) == expected
    assert decoded([stream[i : i + 1] for i in range(len(stream))]) == expected


@settings(max_examples=200)
@given(
    parts=_streams,
    cuts=st.lists(st.integers(0, 200), max_size=8),
    limit=st.integers(1, 40),
)
def test_the_size_limit_does_not_depend_on_the_pieces(parts: list[bytes], cuts: list[int], limit: int) -> None:
    stream = b"".join(parts)

    def limited(pieces: list[bytes]) -> tuple[list[ServerSentEvent], bool]:
        decoder = SSEDecoder(max_event_bytes=limit)
        events = [event for piece in pieces for event in decoder.feed(piece)]
        return events + decoder.finish(), decoder.error is not None

    whole = limited([stream])
    assert limited(cut(stream, [place for place in cuts if place <= len(stream)])) == whole
    assert limited([stream[i : i + 1] for i in range(len(stream))]) == whole


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def one_event(size: int) -> bytes:
    """A partial image of `size` characters."""
    head = b'event: response.image_generation_call.partial_image\ndata: {"type":'
    head += b'"response.image_generation_call.partial_image","output_index":0,"partial_image_b64":"'
    return head + b"A" * size + b'"}\n\n'


def cpu_seconds(stream: bytes, size: int) -> float:
    decoder = EventDecoder()
    started = time.process_time()
    events = [event for i in range(0, len(stream), size) for event in decoder.feed(stream[i : i + size])]
    spent = time.process_time() - started
    assert len(events) == 1
    return spent


def test_a_large_event_in_one_byte_pieces_costs_linear_time() -> None:
    small, large = (cpu_seconds(one_event(size), 1) for size in (200_000, 800_000))
    assert large < 12 * small, "four times the bytes, and far from sixteen times the time"
    assert large < 20


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_megabytes_in_one_byte_pieces() -> None:
    assert cpu_seconds(one_event(10_000_000), 1) < 200


@pytest.mark.parametrize("size", [1024, 16 * 1024])
def test_sixteen_megabytes_cost_about_twice_eight(size: int) -> None:
    eight = min(cpu_seconds(one_event(8 << 20), size) for _ in range(3))
    sixteen = min(cpu_seconds(one_event(16 << 20), size) for _ in range(3))
    assert sixteen < 6 * eight + 0.2
    assert sixteen < 10


@pytest.mark.parametrize("size", [1, 100, 16 * 1024])
def test_memory_stays_near_the_size_of_the_event(size: int) -> None:
    stream = one_event(300_000 if size == 1 else 3_000_000)
    decoder = EventDecoder()
    tracemalloc.start()
    try:
        for i in range(0, len(stream), size):
            decoder.feed(stream[i : i + size])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(stream)


def test_what_is_too_large_is_not_kept() -> None:
    decoder = EventDecoder(max_event_bytes=100_000)
    tracemalloc.start()
    try:
        for _ in range(2000):
            decoder.feed(b"data: " + b"A" * 10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert decoder.done
    assert peak < 1_000_000
