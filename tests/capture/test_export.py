"""Frames for other programs: CSV, times without a zone, frames joined."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.capture.export import _FORMULA, concat_frames, naive_times, write_csv


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])  # noqa: RUF001
def test_formulas_are_disarmed_in_texts_and_categories(begin: str, cells) -> None:
    frame = pd.DataFrame({"text": [f"{begin}1", "a=1", None], "kind": pd.Categorical([f"{begin}k", "k", None])})
    frame["number"] = [-1.5, 2.0, 3.0]
    before = frame.copy(deep=True)
    target = io.StringIO()
    write_csv(frame, target)
    again = pd.read_csv(io.StringIO(target.getvalue(), newline=""))
    assert cells(again, "text") == [f"'{begin}1", "a=1", None]
    assert cells(again, "kind") == [f"'{begin}k", "k", None]
    assert again["number"].tolist() == [-1.5, 2.0, 3.0]
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("hidden", [" ", "\u00a0", "\u200b", "\ufeff", "\x00", "\x0b"])
def test_what_a_spreadsheet_does_not_see_hides_no_formula(hidden: str) -> None:
    target = io.StringIO()
    write_csv(pd.DataFrame({"text": [f"{hidden}=1", f"{hidden}x"]}), target)
    assert target.getvalue() == f'"text"\n"\'{hidden}=1"\n"{hidden}x"\n'


def test_formulas_are_disarmed_in_every_kind_of_text_and_in_names_of_columns() -> None:
    frame = pd.DataFrame({"=name()": ["x"], "string": pd.array(["=1"], dtype="string"), "any": [["x"]]})
    frame["mixed"] = pd.Series(["=1"], dtype=object)
    frame["arrow"] = pd.array(["=1"], dtype=pd.ArrowDtype(pa.string()))
    frame["whole"] = pd.array([-1], dtype="Int64")
    frame["yes"] = pd.array([True], dtype="boolean")
    frame["span"] = pd.to_timedelta([-1], unit="s")
    target = io.StringIO()
    write_csv(frame, target)
    head, row = csv.reader(io.StringIO(target.getvalue()))
    assert head[0] == "'=name()"
    assert row == ["x", "'=1", "['x']", "'=1", "'=1", "-1", "True", "-1 days +23:59:59"]


def test_columns_of_the_same_name_are_disarmed_each_by_itself() -> None:
    target = io.StringIO()
    write_csv(pd.DataFrame([["=1", "-2"]], columns=["a", "a"]), target)
    assert target.getvalue() == '"a","a"\n"\'=1","\'-2"\n'


def test_csv_goes_to_a_path_as_utf8(tmp_path) -> None:
    write_csv(pd.DataFrame({"text": ["grün\r\nzwei"]}), tmp_path / "f.csv")
    assert (tmp_path / "f.csv").read_bytes() == '"text"\n"grün\r\nzwei"\n'.encode()


def test_naive_times_are_utc_without_the_zone(tape) -> None:
    tape.text(1, "x")
    frame = naive_times(tape.capture.events())
    assert frame["time"].tolist() == [pd.Timestamp("2026-01-31 12:00:01.123456")]
    assert str(tape.capture.events()["time"].dtype) == "datetime64[us, UTC]"


def test_joined_frames_keep_every_category_and_name_their_sources(new_tape, cells, tmp_path) -> None:
    tapes = [new_tape().text(1, "x", item_id="i1"), new_tape().got(1, "brand.new", item_id="i2"), new_tape()]
    captures = [tape.capture for tape in tapes]
    for capture, source in zip(captures, ["one", "two", "none"], strict=True):
        capture.source = source
    frames = [capture.events() for capture in captures]
    joined = concat_frames(frames)
    assert cells(joined, "item_id") == ["i1", "i2"]
    assert cells(joined, "source") == ["one", "two"]
    assert [str(joined[name].dtype) for name in ("type", "item_id", "lane", "source")] == ["category"] * 4
    frames[2].to_parquet(tmp_path / "empty.parquet")
    again = concat_frames([pd.read_parquet(tmp_path / "empty.parquet"), frames[0]])
    assert list(map(str, again.dtypes)) == list(map(str, frames[0].dtypes))
    assert list(map(str, concat_frames(frames[2:]).dtypes)) == list(map(str, frames[2].dtypes))
    with pytest.raises(ValueError, match="at least one"):
        concat_frames([])


anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
texts = st.one_of(st.none(), anything, st.sampled_from(["=1", "'", '"', "\r", "\r\n", ",", "NA", "null", "1", "-1.5"]))


@given(st.lists(st.tuples(texts, st.integers(-(2**63) + 1, 2**63 - 1)), min_size=1))
def test_every_text_comes_back_from_csv(rows) -> None:
    frame = pd.DataFrame(
        {
            "text": pd.array([text for text, _ in rows], dtype="str"),
            "number": pd.array([number for _, number in rows], dtype="Int64"),
        }
    )
    for spreadsheet in (True, False):
        target = io.StringIO()
        write_csv(frame, target, spreadsheet=spreadsheet)
        again = list(csv.reader(io.StringIO(target.getvalue(), newline="")))
        assert again[0] == ["text", "number"]
        for (text, number), (cell, digits) in zip(rows, again[1:], strict=True):
            formula = spreadsheet and _FORMULA.match(text or "")
            assert cell == (f"'{text}" if formula else text or "")
            assert int(digits) == number
            assert not spreadsheet or not cell.lstrip().startswith(("=", "+", "-", "@"))
            assert not spreadsheet or not cell.startswith(("\t", "\r", "\n"))
