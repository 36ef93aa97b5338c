"""Many captures as one set; parts of one capture."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from nbresponses import Capture, CaptureError, Captures, Client, DemoServer, load
from nbresponses.capture import schema
from nbresponses.capture.many import files_of


@pytest.fixture
def folder(tmp_path, recorder, wire_of):
    """Three captures: a.jsonl, b.jsonl.gz, deep/c.jsonl; response n says n+1 pieces."""
    (tmp_path / "deep").mkdir()
    for number, name in enumerate(["a.jsonl", "b.jsonl.gz", "deep/c.jsonl"]):
        events = [{"type": "response.created", "response": {"id": "r", "model": f"m{number}"}}]
        events += [{"type": "response.output_text.delta", "output_index": 0, "delta": name[0]}] * (number + 1)
        events.append({"type": "response.completed", "response": {"id": "r", "usage": {"total_tokens": number}}})
        recorder(wire_of(events), source="same").save(tmp_path / name)
    return tmp_path


def test_paths_and_patterns(folder) -> None:
    names = [f"{folder}/a.jsonl", f"{folder}/b.jsonl.gz", f"{folder}/deep/c.jsonl"]
    assert files_of(f"{folder}/**/*.jsonl*") == names
    assert files_of(folder / "a.jsonl") == names[:1]
    assert files_of([folder / "deep/c.jsonl", f"{folder}/*.jsonl", folder / "a.jsonl"]) == [names[2], names[0]]
    (folder / "odd[1].jsonl").write_bytes((folder / "a.jsonl").read_bytes())
    assert files_of(folder / "odd[1].jsonl") == [f"{folder}/odd[1].jsonl"]
    with pytest.raises(FileNotFoundError, match="no file has such a name"):
        files_of(f"{folder}/*.txt")
    with pytest.raises(FileNotFoundError, match="no paths"):
        files_of([])


def test_a_set_has_the_frames_of_its_captures_with_their_source(folder) -> None:
    captures = load(f"{folder}/**/*.jsonl*")
    assert (len(captures), captures[1:].sources) == (3, captures.sources[1:])
    assert isinstance(captures[0], Capture)
    for name, columns in schema.FRAMES.items():
        frame = getattr(captures, name)()
        expected = [("source", "category"), *((column.name, column.dtype) for column in columns)]
        assert [(each, str(dtype)) for each, dtype in frame.dtypes.items()] == expected, name
        assert len(frame) == sum(len(getattr(capture, name)()) for capture in captures), name
    assert captures.deltas()["delta"].tolist() == ["a", "b", "b", "d", "d", "d"]
    assert captures.responses()["source"].tolist() == list(captures.sources)
    assert captures.responses()["model"].tolist() == ["m0", "m1", "m2"]
    assert "payload" in captures.events(payload=True)
    assert captures.responses({"m1": {"input": 1, "output": 1}}, stall=9)["cost"].isna().all()


def test_one_source_for_all_is_told_all_the_same(folder) -> None:
    captures = load([f"{folder}/a.jsonl"])
    assert captures.events()["source"].unique().tolist() == [f"{folder}/a.jsonl"]
    assert Captures(captures).events()["source"].unique().tolist() == ["same"]
    with pytest.raises(ValueError, match="2 names for 1"):
        Captures(captures, ["a", "b"])
    with pytest.raises(ValueError, match="no captures"):
        Captures([]).events()


def test_a_damaged_file_is_named(folder) -> None:
    (folder / "z.jsonl").write_text("no capture")
    with pytest.raises(CaptureError, match=r"z\.jsonl, line 1"):
        load(f"{folder}/*.jsonl")


def test_a_folder_is_told_from_a_file(folder) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder; its captures are .*\*\.jsonl$"):
        load(folder)


def test_a_progress_bar_on_long_loads_only(folder, capfd, monkeypatch) -> None:
    load(f"{folder}/*.jsonl")
    assert capfd.readouterr().err == ""
    load(f"{folder}/**/*.jsonl*", progress=True)
    assert "captures: 100%" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    load(f"{folder}/**/*.jsonl*", progress=True)
    out, err = capfd.readouterr()
    assert "captures: 100%" in out
    assert err == ""
    read: list[int] = []
    Capture.load(folder / "a.jsonl", progress=read.append)
    assert sum(read) == (folder / "a.jsonl").stat().st_size


def test_a_stream_in_flight_has_frames_of_what_has_come() -> None:
    with DemoServer(delay=0.002) as server, Client(base_url=server.base_url, api_key="k") as client:
        with client.stream(model="demo-text", input="x") as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    break
            rows = len(stream.capture.events())
            assert stream.capture.responses()["ending"].isna().tolist() == [True]
            stream.until_done()
        assert len(stream.capture.events()) > rows >= 4
        assert stream.capture.responses()["ending"].tolist() == ["completed"]


# ── Parts of a capture ───────────────────────────────────────────────────────────────────────────────────────────────


def test_one_lane_alone(tape) -> None:
    tape.sent(1, "a").created(2, "r1", "a").sent(3).created(4, "r2").text(5, "x", "a").noted(6, "closed", "a")
    lane = tape.capture.select(lane="a")
    assert [(message.direction, message.lane) for message in lane] == [
        (way, "a") for way in ("out", "in", "in", "note")
    ]
    assert lane.responses()["started"].tolist() == tape.capture.responses()["started"].tolist()[:1]
    assert [message.lane for message in tape.capture.select(lane=None)] == [None, None]
    assert len(tape.capture.select(lane="none")) == 0


def test_one_response_alone(tape, cells) -> None:
    tape.sent(1, input="one").created(2).text(3, "x").noted(3, "status").ended(4)
    tape.sent(5, input="two").created(6, "r2").text(7, "y").ended(8, "r2")
    part = tape.capture.select(response_id="r2")
    assert [message.at for message in part] == [5, 6, 7, 8]
    assert cells(part.responses(), "to_first_event") == [pd.Timedelta(seconds=1)]
    assert part.deltas()["delta"].tolist() == ["y"]
    with pytest.raises(KeyError, match="r9"):
        tape.capture.select(response_id="r9")
