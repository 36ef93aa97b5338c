"""docs/captures.md and docs/frames.md are held against the code: each column and its meaning; each key of the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbresponses.capture import plots, schema
from nbresponses.capture.asked import FrameMethods
from nbresponses.capture.files import _Line

DOCS = Path(__file__).parents[2] / "docs"
FRAMES = (DOCS / "frames.md").read_text()


def tables(doc: str, section: str) -> list[list[list[str]]]:
    """The tables under a heading, as lists of rows of cells, without their head lines."""
    body = re.split(r"^##+ ", doc.split(section, 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", body, flags=re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in each.splitlines()] for each in found]


MORE = {
    "events": (schema.PAYLOAD,),
    "logprobs": schema.ALTERNATIVES,
    "tools": schema.TOOL_ARGUMENTS,
}
"""Frame → the second table under its heading: what a keyword adds or gives instead."""


@pytest.mark.parametrize("name", schema.FRAMES)
def test_the_columns_are_as_documented(name: str) -> None:
    expected = [schema.FRAMES[name], *([MORE[name]] if name in MORE else [])]
    assert [
        [schema.Column(name.strip("`"), dtype.strip("`"), unit, meaning) for name, dtype, unit, meaning in table]
        for table in tables(FRAMES, f"### `capture.{name}()`\n")
    ] == [list(columns) for columns in expected]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("## `nbresponses.summarize(...)`", [schema.SUMMARY]),
        ("## `nbresponses.compare(a, b)`", [schema.DIFFERENCES, schema.LATENCIES]),
    ],
)
def test_the_other_columns_are_as_documented(section: str, expected: list[tuple[schema.Column, ...]]) -> None:
    assert [
        [schema.Column(name.strip("`"), dtype.strip("`"), unit, meaning) for name, dtype, unit, meaning in table]
        for table in tables(FRAMES, section)
    ] == [list(columns) for columns in expected]


def test_every_plot_is_listed() -> None:
    listed = re.findall(r"^plots\.(\w+)\(", FRAMES, flags=re.MULTILINE)
    assert sorted(listed) == sorted(plots.__all__)


def test_every_frame_is_a_method_and_is_listed() -> None:
    [block] = re.findall(r"```python\n((?:capture\..*\n)+)```", FRAMES.split("Each frame has exactly")[0])
    listed = re.findall(r"^capture\.(\w+)\(\) +# one row per \S", block, flags=re.MULTILINE)
    assert sorted(listed) == sorted(schema.FRAMES)
    assert all(callable(getattr(FrameMethods, name)) for name in schema.FRAMES)


def test_the_keys_of_a_line_are_as_documented() -> None:
    [keys] = tables((DOCS / "captures.md").read_text(), "## The file")
    assert [row[0].strip("`") for row in keys] == list(_Line.__struct_fields__)


def test_the_number_of_known_types_is_as_documented() -> None:
    assert f"62 types of the API and\n{len(schema.KNOWN_TYPES) - 62} more" in FRAMES
    assert len(set(schema.KNOWN_TYPES)) == len(schema.KNOWN_TYPES)
