"""The captured streams of real servers, all of them: recorded, saved, loaded, and counted by an independent reader."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from nbresponses.capture import schema
from nbresponses.capture.record import Capture

TERMINAL = {"response.completed", "response.incomplete", "response.failed"}
PIECES = (1 << 20, 1000)


def read_independently(wire: bytes) -> list[dict]:
    """The JSON objects of a stream, by nothing but str methods and json."""
    blocks = wire.decode().replace("\r\n", "\n").split("\n\n")
    data = [[line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:")] for block in blocks]
    texts = ["\n".join(lines) for lines in data if lines]
    return [json.loads(text) for text in texts if text.strip() not in ("", "[DONE]")]


@pytest.fixture(scope="session")
def wires(stream_files: tuple[Path, ...]) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in stream_files]


def test_every_stream_survives_record_save_and_load(wires, record, tmp_path) -> None:
    for name, wire in wires:
        for piece in PIECES:
            capture = record(wire, piece=piece, source=name)
            capture.save(tmp_path / "c.jsonl")
            loaded = Capture.load(tmp_path / "c.jsonl")
            assert loaded == capture, name
            assert loaded.columns().payloads == capture.columns().payloads, name
            assert not loaded.truncated


def test_every_events_frame_agrees_with_an_independent_reader(wires, record, tmp_path) -> None:
    rows = 0
    for name, wire in wires:
        record(wire, source=name).save(tmp_path / "c.jsonl")
        frame = Capture.load(tmp_path / "c.jsonl").events()
        objects = read_independently(wire)
        rows += len(frame)
        assert len(frame) == len(objects), name
        assert frame["type"].tolist() == [each["type"] for each in objects], name
        for column in ("sequence_number", "output_index", "content_index", "summary_index"):
            told = [each.get(column) for each in objects]
            assert [None if pd.isna(value) else value for value in frame[column]] == told, (name, column)
        texts = [each["delta"] for each in objects if isinstance(each.get("delta"), str)]
        shell = [each for each in objects if isinstance(each.get("delta"), dict)]
        assert len(frame["delta"].dropna()) == len(texts) + len(shell), name
        if not shell:
            assert frame["delta"].dropna().tolist() == texts, name
        ids = {each["response"]["id"] for each in objects if each.get("response", {}).get("id") is not None}
        assert set(frame["response_id"].dropna()) == ids, name
    print(f"\n{len(wires)} streams, {rows} events")


def test_every_frame_of_every_stream_has_its_schema(wires, record) -> None:
    for name, wire in wires:
        capture = record(wire)
        for frame, columns in (
            (capture.events(), schema.EVENTS),
            (capture.deltas(), schema.DELTAS),
            (capture.responses(), schema.RESPONSES),
        ):
            assert [(each, str(dtype)) for each, dtype in frame.dtypes.items()] == [
                (column.name, column.dtype) for column in columns
            ], name


def test_every_piece_of_text_starts_where_the_one_before_ended(wires, record) -> None:
    for name, wire in wires:
        frame = record(wire).deltas()
        by_part = frame.groupby(["output_index", "kind", "part_index"], dropna=False, observed=True)
        for _, part in by_part:
            whole = "".join(part["delta"])
            for row in part.itertuples():
                assert whole[row.start : row.start + len(row.delta)] == row.delta, name


def test_the_responses_agree_with_the_terminal_events(wires, record) -> None:
    endings: dict[str, int] = {}
    for name, wire in wires:
        objects = read_independently(wire)
        terminal = [
            each
            for each in objects
            if each["type"] in {f"response.{word}" for word in ("completed", "incomplete", "failed")}
        ]
        frame = record(wire).responses()
        assert frame["ending"].dropna().tolist() == [each["type"].removeprefix("response.") for each in terminal], name
        assert frame["events"].sum() <= len(objects)
        told = [each["response"].get("usage") or {} for each in terminal]
        assert sum(usage.get("output_tokens", 0) for usage in told) == frame["output_tokens"].sum(), name
        assert sum(usage.get("input_tokens", 0) for usage in told) == frame["input_tokens"].sum(), name
        answered = [each["delta"] for each in objects if each["type"] == "response.output_text.delta"]
        if frame["events"].sum() == len(objects):
            assert frame["characters"].sum() == len("".join(answered)), name
        for ending in frame["ending"]:
            endings[str(ending)] = endings.get(str(ending), 0) + 1
    print(f"\n{endings}")


def test_all_events_joined_keep_the_type_category(wires, record) -> None:
    frames = [record(wire).events() for _, wire in wires]
    joined = pd.concat(frames, ignore_index=True)
    assert isinstance(joined["type"].dtype, pd.CategoricalDtype)
    assert "object" not in set(map(str, joined.dtypes))
