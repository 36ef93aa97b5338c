"""Captures on disk: nothing changes on the way, a crash costs one line at most, damage is named by file and line."""

from __future__ import annotations

import gzip
import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.capture.files import CaptureReader
from nbresponses.capture.messages import Channel
from nbresponses.capture.record import Capture
from nbresponses.core.decode import decode_event
from nbresponses.errors import CaptureError

STARTED = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)


def filled(count: int = 3) -> Capture:
    capture = Capture(STARTED, 10.0, "test")
    capture.sent({"model": "m", "input": "hi"}, 10.0)
    for number in range(count):
        capture.received([decode_event(f'{{"type":"keepalive","sequence_number":{number}}}')], 10.1 + number)
    return capture


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
payloads = st.one_of(
    st.binary(max_size=60),
    st.dictionaries(words, st.one_of(words, st.integers(), st.none()), max_size=4).map(
        lambda d: json.dumps(d).encode()
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(str.encode),
    st.just(rb'{"type":"x","delta":"\ud83d"}'),
    st.just(b'{"delta":"\xed\xa0\xbd"}'),
)
channels = st.builds(
    Channel,
    st.sampled_from(["in", "out", "note"]),
    st.sampled_from(["event", "remainder", "request", "status"]),
    st.sampled_from(["sse", "websocket"]),
    st.none() | words,
    st.none() | words,
)
times = st.floats(min_value=-1e9, max_value=1e9)


@given(
    messages=st.lists(st.tuples(payloads, times, channels), max_size=12),
    started=st.datetimes(timezones=st.just(UTC)),
    source=words,
    suffix=st.sampled_from([".jsonl", ".jsonl.gz"]),
)
def test_saving_and_loading_changes_nothing(tmp_path_factory, messages, started, source, suffix) -> None:
    capture = Capture(started, 0.0, source)
    for payload, at, channel in messages:
        capture._add([payload], [at], [capture._number(channel)])
    path = tmp_path_factory.mktemp("round") / f"capture{suffix}"
    capture.save(path)
    loaded = Capture.load(path)
    assert loaded == capture
    assert loaded.columns().payloads == capture.columns().payloads
    assert loaded.columns().times == capture.columns().times
    assert not loaded.truncated


def test_the_lines_are_as_documented(tmp_path) -> None:
    capture = filled(1)
    capture.received([decode_event('{"type":"x"}')], 12.5, transport="websocket", lane="planner")
    capture.remainder(b"data: \xff", 13.0)
    capture.save(tmp_path / "c.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_bytes().splitlines()]
    assert lines[0] == {
        "nbresponses": "capture",
        "version": 1,
        "started": "2026-01-31T12:00:00.123456Z",
        "source": "test",
    }
    assert lines[1] == {
        "at": 0.0,
        "direction": "out",
        "kind": "request",
        "transport": "http",
        "text": '{"model":"m","input":"hi"}',
    }
    assert lines[3] == {
        "at": 2.5,
        "direction": "in",
        "kind": "event",
        "transport": "websocket",
        "lane": "planner",
        "text": '{"type":"x"}',
    }
    assert lines[4]["base64"] == "ZGF0YTog/w=="
    assert "text" not in lines[4]


def test_live_writing_leaves_each_message_in_the_file_at_once(tmp_path) -> None:
    path = tmp_path / "live.jsonl"
    capture = filled(2)
    capture.tee(path)
    assert len(Capture.load(path)) == 3, "what was there already"
    for number in range(5):
        capture.received([decode_event('{"type":"keepalive"}')] * 2, 20.0 + number)
        assert Capture.load(path) == capture
    capture.close()
    capture.noted("closed", 30.0)
    assert len(Capture.load(path)) == len(capture) - 1


def test_a_file_that_cannot_be_written_any_more_is_noted_and_the_stream_goes_on(tmp_path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    capture = filled(1)
    path = tmp_path / "live.jsonl"
    capture.tee(path)
    assert capture._tee is not None
    capture._tee._file.close()
    capture._tee._file = full.open("wb", buffering=0)
    capture.received([decode_event('{"type":"keepalive"}')], 20.0)
    capture.received([decode_event('{"type":"keepalive"}')], 21.0)
    assert [message.kind for message in capture][-3:] == ["event", "tee_failed", "event"]
    assert "No space left" in capture[-2].facts()["reason"]


def test_appending_continues_the_clock_of_the_first_header(tmp_path) -> None:
    path = tmp_path / "two.jsonl"
    first = filled(1)
    first.save(path)
    second = Capture(STARTED + timedelta(seconds=60), 500.0, "again")
    second.tee(path, append=True)
    second.received([decode_event('{"type":"keepalive"}')], 501.5)
    second.close()
    loaded = Capture.load(path)
    assert [message.at for message in loaded] == pytest.approx([0.0, 0.1, 61.5])
    assert (loaded.started, loaded.source) == (STARTED, "test")


def test_without_append_an_existing_file_is_replaced(tmp_path) -> None:
    path = tmp_path / "one.jsonl"
    filled(9).save(path)
    fresh = filled(1)
    fresh.tee(path)
    fresh.close()
    assert Capture.load(path) == fresh


def test_appending_to_something_else_is_refused(tmp_path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text('{"cells": []}\n')
    with pytest.raises(CaptureError, match="instead of the header"):
        filled().tee(path, append=True)
    assert path.read_text() == '{"cells": []}\n'


def test_a_crash_at_any_byte_loses_only_the_line_it_was_in(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    capture = filled(3)
    capture.save(path)
    whole = path.read_bytes()
    ends = [end.end() for end in re.finditer(b"\n", whole)]
    for cut in range(ends[0], len(whole) + 1):
        path.write_bytes(whole[:cut])
        loaded = Capture.load(path)
        complete = sum(end - 1 <= cut for end in ends) - 1  # only the line end may be missing
        assert list(loaded) == list(capture)[:complete], cut
        assert loaded.truncated == (cut not in ends and cut + 1 not in ends), cut


def test_a_torn_line_in_the_middle_of_a_character_is_no_error(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    capture = Capture(STARTED, 0.0)
    capture.received([decode_event('{"type":"x","delta":"grün"}')], 1.0)
    capture.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: data.index("ü".encode()) + 1])
    assert Capture.load(path).truncated


def test_appending_after_a_crash_keeps_both_parts(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    capture = filled(3)
    capture.save(path)
    path.write_bytes(path.read_bytes()[:-20])
    more = Capture(STARTED, 0.0)
    more.noted("opened", 7.0)
    more.tee(path, append=True)
    more.close()
    loaded = Capture.load(path)
    assert list(loaded) == [*list(capture)[:-1], more[0]]
    assert loaded.truncated


def test_compressed_data_that_ends_early_is_truncated(tmp_path) -> None:
    path = tmp_path / "c.jsonl.gz"
    capture = Capture(STARTED, 0.0)
    for number in range(500):
        capture.noted("status", float(number), random=os.urandom(20).hex())
    capture.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    loaded = Capture.load(path)
    assert loaded.truncated
    assert 100 < len(loaded) < 500
    assert list(loaded) == list(capture)[: len(loaded)]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"", 1, "an empty file"),
        (b'data: {"type":"x"}\n\n', 1, "instead of the header of a capture"),
        (
            b'{"nbresponses":"capture","version":2,"begun":1}\n',
            1,
            "capture version 2; this nbresponses reads version 1",
        ),
        (b'{"nbresponses":"capture","version":1}\n', 1, "header is damaged: .*started"),
        (
            b'{"nbresponses":"capture","version":1,"started":"2026-01-31T12:00:00"}\n',
            1,
            "header is damaged: .*timezone",
        ),
        (b"HEAD\n{oops}\n", 2, "no complete JSON object"),
        (b"HEAD\nMESSAGE\n{oops}\nMESSAGE\n", 3, "no complete JSON object"),
        (b'HEAD\n\n{"at":1,"kind":"event"}\nMESSAGE\n', 3, "direction"),
        (b'HEAD\n{"at":1,"direction":"up","kind":"event","transport":"sse","text":""}\n', 2, "up"),
        (b'HEAD\n{"at":1,"direction":"in","kind":"event","transport":"sse"}\n', 2, "neither text nor base64"),
        (b'HEAD\n{"at":1,"direction":"in","kind":"event","transport":"sse","base64":"?"}\n', 2, "base64"),
        (b'HEAD\n{"at":1e300,"direction":"in","kind":"event","transport":"sse","text":""}\n', 2, "`at` out of range"),
        (b'HEAD\n{"nbresponses":"capture","version":9}\n', 2, "version 9"),
    ],
)
def test_damage_is_named_by_file_and_line(tmp_path, content: bytes, line: int, says: str) -> None:
    path = tmp_path / "c.jsonl"
    content = content.replace(b"HEAD", b'{"nbresponses":"capture","version":1,"started":"2026-01-31T12:00:00Z"}')
    path.write_bytes(
        content.replace(b"MESSAGE", b'{"at":1,"direction":"in","kind":"event","transport":"sse","text":"{}"}')
    )
    with pytest.raises(CaptureError, match=says) as caught:
        Capture.load(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_the_error_does_not_quote_the_line(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    filled(1).save(path)
    path.write_bytes(path.read_bytes() + b'{"at":1,"text":"s3cr3t"\n')
    with pytest.raises(CaptureError) as caught:
        Capture.load(path)
    assert "s3cr3t" not in str(caught.value) + repr(caught.value)


def test_damaged_compressed_data_is_a_capture_error(tmp_path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(b"no gzip at all")
    with pytest.raises(CaptureError, match="compressed data is damaged"):
        Capture.load(path)
    filled(1).save(path)
    data = bytearray(gzip.compress(b"\n" * 9) + path.read_bytes())
    path.write_bytes(data)
    with pytest.raises(CaptureError, match="something else instead of the header"):
        Capture.load(path)


def test_saving_is_all_or_nothing(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    before = filled(2)
    before.save(path)
    broken = filled(1)
    broken._payloads[0] = None  # type: ignore[call-overload]  # something that cannot be written
    with pytest.raises(AttributeError):
        broken.save(path)
    assert Capture.load(path) == before
    assert [each.name for each in tmp_path.iterdir()] == ["c.jsonl"]


def test_a_missing_folder_and_a_compressed_live_file_are_clear_errors(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        filled().save(tmp_path / "none" / "c.jsonl")
    with pytest.raises(ValueError, match="not compressed"):
        filled().tee(tmp_path / "c.jsonl.gz")
    with pytest.raises(FileNotFoundError):
        Capture.load(tmp_path / "missing.jsonl")


def test_the_reader_goes_message_by_message(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    capture = filled(40)
    capture.save(path)
    with CaptureReader(path) as reader:
        assert reader.header.source == "test"
        assert list(reader) == list(capture)


def test_damage_far_into_a_large_file_is_named_by_its_line(tmp_path) -> None:
    path = tmp_path / "c.jsonl"
    capture = Capture(STARTED, 0.0)
    for _ in range(40):
        capture.noted("status", 1.0, text="x" * 100_000)
    capture.save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:35], b"{}\n", *lines[35:]]))
    with pytest.raises(CaptureError) as caught:
        Capture.load(path)
    assert caught.value.line == 36
