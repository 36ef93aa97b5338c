"""Captures on Dask: the same frames, and the same summary, as in memory."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nbresponses import Captures, load, scan, summarize
from nbresponses.capture import schema
from nbresponses.capture.messages import Message
from nbresponses.errors import MissingExtra

dask = pytest.importorskip("dask")

FRAMES = [*schema.FRAMES]


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, recorder, wire_maker):
    """Six captures of three models on two days, 20 to 120 pieces each; and a dataset of them in `set`."""
    folder = tmp_path_factory.mktemp("captures")
    for number in range(6):
        model = f"m{number % 3}"
        events = [{"type": "response.created", "response": {"id": f"r{number}", "model": model}}]
        events += [{"type": "response.output_text.delta", "output_index": 0, "delta": "x"}] * 20 * (number + 1)
        usage = {"input_tokens": number, "output_tokens": 20 * (number + 1), "total_tokens": 1}
        ending = "completed" if number != 4 else "incomplete"
        events.append(
            {"type": f"response.{ending}", "response": {"id": f"r{number}", "usage": usage, "status": ending}}
        )
        recorder(wire_maker(events), piece=50 + 17 * number, days=number % 2).save(folder / f"{number}.jsonl")
    load(f"{folder}/*.jsonl").to_parquet(folder / "set")
    return folder


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    categories = {name: "str" for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)}
    return frame.astype(categories).reset_index(drop=True)


@pytest.mark.parametrize("name", FRAMES)
def test_scanned_files_have_the_frames_of_loaded_ones(folder, name: str, monkeypatch) -> None:
    monkeypatch.setattr("nbresponses.capture.scanning.CAPTURE_BUNDLE", 20_000)  # several partitions
    lazily = getattr(scan(f"{folder}/*.jsonl"), name)()
    expected = getattr(load(f"{folder}/*.jsonl"), name)()
    assert lazily.npartitions > 1
    assert [(each, str(dtype)) for each, dtype in lazily.dtypes.items()] == [
        ("source", "category"),
        *((column.name, column.dtype) for column in schema.FRAMES[name]),
    ]
    pd.testing.assert_frame_equal(plain(lazily.compute()), plain(expected))


def test_options_go_to_the_files(folder) -> None:
    files = scan(f"{folder}/*.jsonl")
    assert files.gaps(stall=0.0005).compute().shape[0] > files.gaps().compute().shape[0]
    priced = files.responses({"m1": {"input": 1e6, "output": 0}}).compute()
    assert priced["cost"].tolist()[:3] == [pd.NA, 1, pd.NA]
    assert files.events(payload=True).compute()["payload"].str.startswith("{").all()
    assert files.logprobs(alternatives=True).compute().empty
    with pytest.raises(ValueError, match="stall: a dataset has its frames as they were written"):
        scan(folder / "set").responses(stall=2)


def test_models_and_dates_can_be_chosen(folder) -> None:
    for source in (folder / "set", f"{folder}/*.jsonl"):
        responses = scan(source, model="m1").responses().compute()
        assert sorted(responses["response_id"]) == ["r1", "r4"]
        events = scan(source, model=["m0", "m1"], date="2026-02-01").events().compute()
        assert set(events["response_id"]) == {"r1", "r3"}
        assert scan(source, date="2027").events().compute().empty


def test_a_question_reads_only_the_columns_that_it_needs(folder, monkeypatch) -> None:
    read = []
    original = pd.read_parquet
    monkeypatch.setattr(pd, "read_parquet", lambda *args, **kw: read.append(kw["columns"]) or original(*args, **kw))
    events = scan(folder / "set").events()
    assert events.groupby("type", observed=True)["bytes"].sum().compute().sum() > 0
    assert set(map(tuple, read)) == {("type", "bytes")}


def test_nothing_is_read_before_something_is_computed(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text("no capture")
    frame = scan(tmp_path / "a.jsonl").events()
    with pytest.raises(ValueError, match="line 1"):
        frame.compute()


def test_without_dask_the_extra_is_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    with pytest.raises(MissingExtra, match=r"nbresponses\[dask\]"):
        scan(tmp_path)


def test_dask_is_not_imported_before_it_is_needed() -> None:
    code = "import sys; from nbresponses import load, scan; print('dask' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# ── Summary ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_summary_is_the_same_from_memory_from_files_and_from_a_dataset(folder) -> None:
    expected = summarize(load(f"{folder}/*.jsonl"))
    assert [(name, str(dtype)) for name, dtype in expected.dtypes.items()] == [
        (column.name, column.dtype) for column in schema.SUMMARY
    ]
    pd.testing.assert_frame_equal(summarize(scan(f"{folder}/*.jsonl")), expected)
    pd.testing.assert_frame_equal(summarize(scan(folder / "set")), expected)
    some = expected[(expected["model"] == "m1") & (expected["date"] == "2026-01-31")].reset_index(drop=True)
    for source in (folder / "set", f"{folder}/*.jsonl"):
        pd.testing.assert_frame_equal(summarize(scan(source, model="m1", date="2026-01-31")), some)


def test_the_summary_adds_up(folder) -> None:
    frame = summarize(load(f"{folder}/*.jsonl"))
    assert list(zip(frame["model"], frame["date"], strict=True)) == [
        (model, date) for model in ("m0", "m1", "m2") for date in ("2026-01-31", "2026-02-01")
    ]
    responses = load(f"{folder}/*.jsonl").responses()
    for name in ("events", "bytes", "characters", "output_tokens", "input_tokens", "total_tokens"):
        assert frame[name].sum() == responses[name].sum(), name
    assert frame["responses"].tolist() == [1] * 6
    assert frame["completed"].sum() == 5
    assert frame["incomplete"].sum() == 1
    assert frame["seconds"].sum() == pytest.approx(responses["duration"].sum().total_seconds())
    row = frame.iloc[0]
    streamed = (responses["duration"] - responses["to_first_event"]).iloc[0].total_seconds()
    assert row["tokens_per_second"] == pytest.approx(20 / streamed)


def test_quantiles_endings_and_stalls(tape) -> None:
    for number in range(1, 101):
        id_ = f"r{number}"
        tape.sent(number * 100).created(number * 100 + number, id_, model="m").text(number * 100 + 2 * number, "a")
        if number % 2:
            tape.text(number * 100 + 2.5 * number, "b").ended(number * 100 + 3 * number, id_)
    tape.noted(99_999, "ended", ending="interrupted").created(100_000, "x").ended(100_001, "x")
    [row] = summarize(tape.capture).dropna(subset=["model"]).to_dict("records")
    assert (row["responses"], row["completed"], row["cut_off"], row["interrupted"]) == (100, 50, 49, 1)
    assert [row[f"to_first_event_{share}"].total_seconds() for share in ("p50", "p90", "p99")] == [50, 90, 99]
    assert row["to_first_text_p50"].total_seconds() == 100
    assert row["gap_p50"].total_seconds() == 24.5
    assert row["longest_gap"].total_seconds() == 100
    assert row["stalls"] == 100 + 2 * 49  # the gaps of the first are shorter


def test_quantiles_in_memory_are_exact_however_many_values(tape) -> None:
    tape.created(0, model="m")
    spans = np.random.default_rng(7).lognormal(9, 1, 40_000).astype(int)
    payload = b'{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}'
    at = np.cumsum(spans) / 1e6
    tape.capture.add([Message(each, "in", "event", "sse", None, None, payload) for each in at.tolist()])
    [row] = summarize(tape.capture).to_dict("records")
    gaps = tape.capture.deltas()["gap"].dropna()
    for label, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert (gaps <= row[f"gap_{label}"]).sum() >= share * len(gaps) > (gaps < row[f"gap_{label}"]).sum()


def test_a_stream_and_its_capture_are_summed_up_alike(tape) -> None:
    stream = SimpleNamespace(capture=tape.created(0, model="m").ended(1).capture)
    pd.testing.assert_frame_equal(summarize(stream), summarize(stream.capture))


@pytest.mark.parametrize("wrong", ["captures/*.jsonl", 3, None, [3], pd.DataFrame()])
def test_what_cannot_be_summed_up_is_named(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"a scan can be summed up, not (str 'captures|int|NoneType|list|DataFrame)"):
        summarize(wrong)


@pytest.mark.parametrize("model", ["", "long/" * 40, "ü %", "__"])
def test_a_model_is_found_by_its_whole_name_however_it_is_written_in_the_path(tape, tmp_path, model: str) -> None:
    tape.created(0, model=model).ended(1).capture.to_parquet(tmp_path)
    assert len(scan(tmp_path, model=model).events().compute()) == 2
    assert len(scan(tmp_path, model="other").events().compute()) == 0


def test_a_date_is_a_day_or_a_month(folder) -> None:
    day = load(f"{folder}/*.jsonl").responses()["started"].dt.date.min()
    assert (
        0
        < len(scan(folder / "set", date=day).responses().compute())
        == len(scan(folder / "set", date=str(day)).responses().compute())
    )
    for wrong in ("31.1.2026", "2026-1-1", ""):
        with pytest.raises(ValueError, match=r"date: a day or a month is expected, such as 2026-01-31"):
            scan(folder / "set", date=wrong)


def test_a_summary_of_nothing_has_its_columns(tape) -> None:
    assert list(summarize(tape.capture).columns) == [column.name for column in schema.SUMMARY]
    assert summarize(Captures([])).empty
