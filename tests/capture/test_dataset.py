"""Frames as a Parquet dataset: where rows lie, and that they come back as they were."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbresponses import Capture, Captures, load, scan
from nbresponses.capture.dataset import NO_MODEL, STORED, write_files
from nbresponses.capture.frames import deltas_parts, events_parts
from nbresponses.capture.scanning import _read_stored, bundles
from nbresponses.core.events import EVENT_TYPES

dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def read(folder: Path, name: str, **options: object) -> pd.DataFrame:
    frame, _, argument = name.partition(".")
    return getattr(scan(folder), frame)(**({argument: True} if argument else {}), **options).compute()


def frames(record: Capture | Captures) -> dict[str, pd.DataFrame]:
    names = [name for name in STORED if name not in {"alternatives", "tool_arguments"}]
    long = {
        "logprobs.alternatives": record.logprobs(alternatives=True),
        "tools.arguments": record.tools(arguments=True),
    }
    return {name: getattr(record, name)() for name in names} | long


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in an order of their own: those of a dataset lie by date and model. Categories as texts."""
    plain = frame.astype(
        {name: "str" for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)}
    )
    return plain.sort_values(list(plain.columns), ignore_index=True, na_position="first")


def test_rows_lie_by_the_date_and_model_of_their_response(tape, tmp_path) -> None:
    tape.created(1, "r1", model="m/1").text(2, "a").ended(3, "r1", usage={"total_tokens": 5})
    tape.got(4, "keepalive").created(13 * 3600, "r2", model="m2").text(13 * 3600, "b").ended(13 * 3600, "r2")
    written = tape.capture.to_parquet(tmp_path, frames=["events", "responses", "usage"])
    places = {str(path.parent.relative_to(tmp_path / "events")) for path in written.files if "events" in path.parts}
    assert places == {
        "date=2026-01-31/model=m%2F1",
        "date=2026-02-01/model=m2",
        f"date=2026-01-31/model={NO_MODEL}",
    }
    assert written.rows == {"events": 7, "responses": 2, "usage": 1}
    assert written.bytes == sum(path.stat().st_size for path in written.files)
    assert read(tmp_path, "responses")["model"].tolist() == ["m/1", "m2"]
    assert read(tmp_path, "usage")["model"].tolist() == ["m/1"]
    assert scan(tmp_path, model="m2").events().compute()["response_id"].tolist() == ["r2"] * 3
    assert scan(tmp_path, date="2026-01").events().compute().shape[0] == 4
    assert scan(tmp_path, date="2026-02", model=["m/1"]).events().compute().empty
    with pytest.raises(ValueError, match="has no frame items"):
        scan(tmp_path).items()


def test_a_response_without_an_id_keeps_its_model(tape, tmp_path) -> None:
    tape.got(1, "response.created", response={"model": "m1"}).got(2, "response.completed", response={"usage": {"n": 1}})
    tape.created(3, "r2", model="m2")
    tape.capture.to_parquet(tmp_path)
    assert read(tmp_path, "responses")["model"].tolist() == ["m1", "m2"]
    assert read(tmp_path, "usage")["model"].tolist() == ["m1"]


def test_other_programs_read_it_as_a_hive_dataset(tape, tmp_path) -> None:
    tape.created(1, "r1", model="m1").ended(2, "r1")
    tape.capture.to_parquet(tmp_path)
    frame = pd.read_parquet(tmp_path / "responses")
    assert frame["model"].tolist() == ["m1"]
    assert [str(date) for date in frame["date"]] == ["2026-01-31"]


def test_writing_again_replaces_what_the_same_capture_had(tape, tmp_path) -> None:
    tape.created(1, "r1", model="m1").ended(2, "r1")
    Captures([tape.capture], ["a"]).to_parquet(tmp_path)
    Captures([tape.capture], ["b"]).to_parquet(tmp_path)
    tape.created(3, "r2", model="m2").ended(4, "r2")
    Captures([Capture.load(_saved(tape.capture.select(response_id="r2"), tmp_path))], ["a"]).to_parquet(tmp_path)
    responses = read(tmp_path, "responses")
    assert sorted(zip(responses["source"], responses["model"], strict=True)) == [("a", "m2"), ("b", "m1")]
    assert not list(tmp_path.rglob("*.part"))


def _saved(capture: Capture, folder: Path) -> Path:
    capture.save(folder / "saved.jsonl")
    return folder / "saved.jsonl"


@pytest.mark.parametrize("model", ["../../etc", ".", "", "a" * 300, "grün 😀", "x=y/z%2F", None, 5, "\ud83d", "a\x00b"])
def test_no_model_name_leads_elsewhere_or_is_lost(tape, tmp_path, model: object) -> None:
    tape.created(1, "r1", model=model).ended(2, "r1")
    written = tape.capture.to_parquet(tmp_path / "d", frames=["responses"])
    [path] = written.files
    assert path.resolve().is_relative_to(tmp_path / "d" / "responses")
    assert unquote(path.parent.name).startswith("model=")
    expected = tape.capture.responses()["model"]
    pd.testing.assert_series_equal(read(tmp_path / "d", "responses")["model"], expected)


def test_unknown_frames_are_named(tape, tmp_path) -> None:
    with pytest.raises(ValueError, match="no frame is called nonsense"):
        tape.capture.to_parquet(tmp_path, frames=["events", "nonsense"])
    with pytest.raises(FileNotFoundError, match="no Parquet dataset"):
        scan(tmp_path)


def test_halves_of_characters_are_counted(tape, tmp_path) -> None:
    tape.created(1).text(2, "hi \ud83d").text(3, "\ude00!").text(4, "\ude00")
    written = tape.capture.to_parquet(tmp_path)
    assert written.repaired == 3
    assert "3 repaired" in repr(written)
    assert "".join(read(tmp_path, "deltas")["delta"]) == "hi 😀!�"


def test_payloads_are_kept_where_asked_for(tape, tmp_path) -> None:
    given = {"a.b": {}, "n": 9007199254740993, "list": [{}, {"x": None}, {"y": [1, "a"]}], "s": "\ud83d", "f": 1e400}
    tape.got(1, "odd", data=given).created(2)
    tape.capture.to_parquet(tmp_path / "with", payload=True)
    texts = scan(tmp_path / "with").events(payload=True).compute()["payload"]
    assert sorted(texts) == sorted(message.text for message in tape.capture)
    assert [event for text in texts if (event := json.loads(text))["type"] == "odd"] == [{"type": "odd", "data": given}]
    assert "payload" not in read(tmp_path / "with", "events")
    tape.capture.to_parquet(tmp_path / "without")
    with pytest.raises(ValueError, match="has no payloads"):
        scan(tmp_path / "without").events(payload=True)


@pytest.mark.parametrize("case", ["B163", "B165", "B166", "B167", "B169", "B171", "B173", "B175", "B183", "B184"])
def test_the_collected_cases_come_back(case, open_case, record, tmp_path) -> None:
    wire, _ = open_case(case)
    captures = Captures([record(wire)], ["case"])
    captures.to_parquet(tmp_path)
    for name, expected in frames(captures).items():
        again = read(tmp_path, name)
        assert list(map(str, again.dtypes)) == list(map(str, expected.dtypes)), name
        pd.testing.assert_frame_equal(in_order(again), in_order(expected))


words = st.sampled_from(
    ["", "a", "gpt-5.6", "a/b", "😀", "\ud83d", "\ude00", "null", "NaN", "2026", "{}", "=1", "\r\n"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from([*EVENT_TYPES, "keepalive", "brand.new"])
FIELDS = (
    "sequence_number output_index content_index item_id delta response item error logprobs usage metadata model id "
    "status type arguments output call_id previous_response_id"
)
fields = st.sampled_from(FIELDS.split())
inside = st.dictionaries(fields, values, max_size=6)
events = st.tuples(types, st.dictionaries(fields, values | inside, max_size=6), inside, inside)


given_events = st.lists(events, min_size=1, max_size=8)
unhurried = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@settings(unhurried, max_examples=10)
@given(given_events)
def test_every_frame_of_anything_comes_back_from_a_dataset(new_tape, given_) -> None:
    assert_that_it_comes_back(new_tape(), given_)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(unhurried, max_examples=200)
@given(given_events)
def test_every_frame_of_anything_at_all_comes_back_from_a_dataset(new_tape, given_) -> None:
    assert_that_it_comes_back(new_tape(), given_)


def assert_that_it_comes_back(tape, given_) -> None:
    for at, (type_, flat, response, item) in enumerate(given_):
        tape.got(float(at), type_, **(flat | {"response": response, "item": item}))
    captures = Captures([tape.capture], ["any"])
    expected = frames(captures)
    names = dict(zip(expected, STORED, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        captures.to_parquet(folder)
        for name, frame in expected.items():
            files = scan(folder).stored(names[name])
            again = _read_stored(files, whole=list(frame.columns)) if files else frame.iloc[:0]
            pd.testing.assert_frame_equal(in_order(again), in_order(frame), obj=name)


# ── Files of any length ──────────────────────────────────────────────────────────────────────────────────────────────


def test_files_become_a_dataset_one_by_one(stream_files, recorder, tmp_path) -> None:
    for path in stream_files[:12]:
        recorder(path.read_bytes(), piece=1000).save(tmp_path / f"{path.stem}.jsonl")
    captures = load(f"{tmp_path}/*.jsonl")
    written = write_files(captures.sources, tmp_path / "set")
    assert written.rows["events"] == len(captures.events())
    for name, expected in frames(captures).items():
        pd.testing.assert_frame_equal(in_order(read(tmp_path / "set", name)), in_order(expected), obj=name)


def test_a_file_is_named_by_a_path_or_a_text(tape, tmp_path) -> None:
    tape.created(1, "r1", model="m")
    tape.capture.save(path := tmp_path / "one.jsonl")
    one = write_files([path], tmp_path / "set", frames=["events"])
    assert one.rows["events"] == 1
    assert write_files([str(path)], tmp_path / "set", frames=["events"]).files == one.files


def test_a_long_file_is_written_in_parts(tape, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("nbresponses.capture.dataset._ROWS", 10)
    tape.created(1, "r1", model="m")
    for number in range(33):
        tape.text(2, "x", sequence_number=number)
    written = tape.capture.to_parquet(tmp_path, frames=["events"])
    assert [pq.read_metadata(path).num_rows for path in written.files] == [10, 10, 10, 4]
    assert read(tmp_path, "events")["sequence_number"].tolist()[1:] == list(range(33))


def test_small_files_share_a_partition(tmp_path) -> None:
    for name, size in [("a", 5), ("b", 5), ("c", 1), ("d", 30), ("e", 2)]:
        (tmp_path / name).write_bytes(b"x" * size)
    paths = [str(tmp_path / name) for name in "abcde"]
    assert [[Path(path).name for path in part] for part in bundles(paths, 10)] == [["a", "b"], ["c"], ["d"], ["e"]]


@pytest.mark.parametrize("batch", [1, 3, 8192])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_the_parts_make_up_the_frame(tape, size: int, batch: int, monkeypatch) -> None:
    monkeypatch.setattr("nbresponses.capture.event_columns._ROWS", batch)
    for number in range(40):
        lane = "ab"[number % 2]
        if number % 16 < 2:
            tape.created(number, f"{lane}{number // 16}", lane)
        else:
            place = {"output_index": number % 3, "item_id": f"i{number % 5}"} if number < 30 else {"output_index": None}
            tape.text(number + number % 7 / 10, "xyz"[: number % 4], lane, sequence_number=number, **place)
    payloads = [message.payload for message in tape.capture]
    for whole, parts in (
        (tape.capture.events(payload=True), lambda columns: events_parts(columns, size, payloads)),
        (tape.capture.deltas(), lambda columns: deltas_parts(columns, size)),
    ):
        found = tape.capture.with_columns(lambda columns, parts=parts: list(parts(columns)))
        assert len(found) == -(-40 // size)
        pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), whole)
