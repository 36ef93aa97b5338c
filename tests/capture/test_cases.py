"""The collected cases about frames and CSV: what once went wrong elsewhere, and must not here."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pandas as pd
import pytest

from nbresponses.capture import schema
from nbresponses.capture.export import write_csv
from nbresponses.capture.record import Capture

CASES = [
    *("B163", "B165", "B166", "B167", "B169", "B171", "B173", "B175", "B176", "B179", "B181", "B183", "B184", "B193"),
]


def frames(capture: Capture) -> Iterator[tuple[pd.DataFrame, tuple[schema.Column, ...]]]:
    for name, columns in schema.FRAMES.items():
        yield getattr(capture, name)(), columns
    yield capture.events(payload=True), (*schema.EVENTS, schema.PAYLOAD)
    yield capture.logprobs(alternatives=True), schema.ALTERNATIVES
    yield capture.tools(arguments=True), schema.TOOL_ARGUMENTS


def strict_json(text: str) -> object:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", CASES)
def test_every_frame_has_its_schema_and_can_be_written_and_read(name, open_case, record, tmp_path) -> None:
    wire, _ = open_case(name)
    for frame, columns in frames(record(wire)):
        assert [(column, str(dtype)) for column, dtype in frame.dtypes.items()] == [
            (column.name, column.dtype) for column in columns
        ]
        frame.to_parquet(tmp_path / "f.parquet")
        again = pd.read_parquet(tmp_path / "f.parquet")
        assert list(map(str, again.dtypes)) == list(map(str, frame.dtypes))
        if len(frame):  # without a row Parquet keeps no categories
            pd.testing.assert_frame_equal(again, frame)
            assert again.attrs == frame.attrs
        rows = strict_json(frame.to_json(orient="records"))
        assert isinstance(rows, list)
        assert len(rows) == len(frame)
        for cell in frame.astype(object).to_numpy().ravel():
            assert not isinstance(cell, (dict, list, tuple, bytes))


@pytest.mark.parametrize("name", CASES)
def test_the_number_of_rows_is_the_number_of_events(name, open_case, record) -> None:
    wire, expected = open_case(name)
    frame = record(wire).events()
    assert len(frame) == wire.count(b"\n\n")
    assert expected.get("n_json_events", len(frame)) == len(frame)
    assert expected.get("dataframe", {}).get("rows", len(frame)) == len(frame)


def test_nested_values_stay_json_text(open_case, record, tmp_path) -> None:
    for name in ("B163", "B165", "B166", "B171", "B184"):
        wire, _ = open_case(name)
        capture = record(wire)
        capture.events(payload=True).to_parquet(tmp_path / "f.parquet")
        again = pd.read_parquet(tmp_path / "f.parquet")["payload"]
        assert [json.loads(text) for text in again] == [
            message.facts() for message in capture if message.kind == "event"
        ]


def test_b163_empty_metadata_is_an_empty_object(open_case, record) -> None:
    wire, _ = open_case("B163")
    assert record(wire).responses()["metadata"].tolist() == ["{}"]


def test_b167_error_codes_are_texts(open_case, record) -> None:
    wire, _ = open_case("B167")
    assert record(wire).events()["error_code"].tolist() == ["server_error", "400"]
    assert record(wire).responses()["error_code"].tolist() == ["server_error", "400"]


def test_b169_an_error_is_null_where_there_is_none(open_case, record) -> None:
    wire, expected = open_case("B169")
    frame = record(wire).events()
    codes = [None if pd.isna(code) else code for code in frame["error_code"]]
    assert codes == expected["dataframe"]["column_values"]["error_code"]
    assert frame["error_message"].tolist()[1] == "m1"


def test_b171_digits_beyond_2_to_the_53_stay(open_case, record) -> None:
    wire, expected = open_case("B171")
    [metadata] = record(wire).responses()["metadata"]
    for text in expected["dataframe"]["json_column_contains"]:
        assert str(text) in metadata


def test_b173_a_character_cut_in_two_is_whole_in_its_cell_and_as_it_came_in_the_capture(open_case, record) -> None:
    wire, expected = open_case("B173")
    capture = record(wire)
    frame = capture.deltas()
    assert frame["delta"].tolist() == ["hi 😀", "!"]
    assert frame["start"].tolist() == [0, 4]
    assert frame.attrs["repaired"] == capture.events().attrs["repaired"] == 2
    assert rb"\ud83d" in capture[4].payload
    assert capture.replay(speed=None).get_final_response().output_text == expected["output_text"]


def test_b176_nan_in_a_response_is_read(open_case, record) -> None:
    wire, _ = open_case("B176")
    frame = record(wire).events()
    assert frame["type"].tolist()[0] == "response.created"
    assert frame["response_id"].tolist() == ["resp_a1"] * 5


def test_b179_a_carriage_return_stays_inside_its_cell(open_case, record) -> None:
    wire, expected = open_case("B179")
    target = io.StringIO()
    write_csv(record(wire).events(), target)
    again = pd.read_csv(io.StringIO(target.getvalue(), newline=""))
    assert len(again) == expected["dataframe"]["csv_roundtrip_rows"]
    assert again["delta"].dropna().tolist() == [expected["dataframe"]["csv_roundtrip_text"]]


def test_b181_joined_frames_keep_the_category(open_case, record, wire_of) -> None:
    wire, expected = open_case("B181")
    events = [json.loads(block.split(b"data: ")[1]) for block in wire.split(b"\n\n")[:-1]]
    at = expected["dataframe"]["split_at"]
    parts = [record(wire_of(part)).events() for part in (events[:at], events[at:])]
    joined = pd.concat(parts, ignore_index=True)
    assert joined["type"].dtype == parts[0]["type"].dtype == parts[1]["type"].dtype
    assert joined["type"].tolist() == [event["type"] for event in events]
    assert "object" not in set(map(str, joined.dtypes))


def test_b183_pictures_are_sizes_not_texts(open_case, record) -> None:
    wire, _ = open_case("B183")
    frame = record(wire).events()
    images = frame[frame["type"] == "response.image_generation_call.partial_image"]
    assert len(images) == 3
    assert images["delta"].isna().all()
    assert (images["bytes"] > 200).all()
    assert "QUJD" not in frame.to_csv() + frame.to_html() + repr(frame)


def test_b184_free_keys_never_become_columns(open_case, record) -> None:
    wire, expected = open_case("B184")
    capture = record(wire)
    frame = capture.events()
    assert frame.columns.is_unique
    assert frame["type"].tolist() == expected["dataframe"]["event_types"]
    [metadata] = capture.responses()["metadata"]
    assert json.loads(metadata) == {"a.b": "1", "a": {"b": "2"}, "type": "mine"}


def test_b193_a_formula_is_disarmed_in_csv_and_nowhere_else(open_case, record) -> None:
    wire, expected = open_case("B193")
    frame = record(wire).events()
    formula = expected["output_text"]
    safe, plain = io.StringIO(), io.StringIO()
    write_csv(frame, safe)
    write_csv(frame, plain, spreadsheet=False)
    assert pd.read_csv(io.StringIO(safe.getvalue()))["delta"].dropna().tolist() == [
        expected["dataframe"]["csv_safe_first_char"] + formula
    ]
    assert pd.read_csv(io.StringIO(plain.getvalue()))["delta"].dropna().tolist() == [formula]
    assert frame["delta"].dropna().tolist() == [formula]
