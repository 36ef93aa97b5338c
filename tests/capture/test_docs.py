"""docs/captures.md is held against the code: each column, dtype, unit and meaning; each key of the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbresponses.capture import schema
from nbresponses.capture.files import _Line

DOC = (Path(__file__).parents[2] / "docs" / "captures.md").read_text()


def tables(section: str) -> list[list[list[str]]]:
    """The tables under a heading, as lists of rows of cells, without their head lines."""
    body = re.split(r"^##+ ", DOC.split(section, 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", body, flags=re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in each.splitlines()] for each in found]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("### `capture.events()`", [schema.EVENTS, (schema.PAYLOAD,)]),
        ("### `capture.deltas()`", [schema.DELTAS]),
        ("### `capture.responses()`", [schema.RESPONSES]),
    ],
)
def test_the_columns_are_as_documented(section: str, expected: list[tuple[schema.Column, ...]]) -> None:
    assert [
        [schema.Column(name.strip("`"), dtype.strip("`"), unit, meaning) for name, dtype, unit, meaning in table]
        for table in tables(section)
    ] == [list(columns) for columns in expected]


def test_the_keys_of_a_line_are_as_documented() -> None:
    [keys] = tables("## The file")
    assert [row[0].strip("`") for row in keys] == list(_Line.__struct_fields__)


def test_the_number_of_known_types_is_as_documented() -> None:
    assert f"62 types of the API and\n{len(schema.KNOWN_TYPES) - 62} more" in DOC
    assert len(set(schema.KNOWN_TYPES)) == len(schema.KNOWN_TYPES)
