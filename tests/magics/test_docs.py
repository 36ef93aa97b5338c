"""docs/magics.md against the parser, the commands and the settings: what is there is told, what is told is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from nbresponses_magics.commands import COMMANDS, EXAMPLES
from nbresponses_magics.data import DATA_COMMANDS, DATA_FLAGS
from nbresponses_magics.lanes import LANE_COMMANDS
from nbresponses_magics.options import OPTIONS, parse
from nbresponses_magics.records import RECORD_COMMANDS
from nbresponses_magics.settings import Responses, read_project

from nbresponses.capture.schema import FRAMES

PAGE = (Path(__file__).parents[2] / "docs" / "magics.md").read_text(encoding="utf-8")
FLAGS = {flag for option in OPTIONS for flag in option.flags}
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `-")]


def test_every_option_has_its_row() -> None:
    told = {flag for row in ROWS for flag in re.findall(r"--?[a-zA-Z][a-z-]*", row.split("|")[1])}
    assert told == FLAGS
    assert len(ROWS) == len(OPTIONS)


def test_every_row_names_the_value_as_the_help_does() -> None:
    by_flag = {option.flags[-1]: option.value for option in OPTIONS}
    for row in ROWS:
        last = row.split("|")[1].strip().strip("`").split("`")[-1]
        flag, _, value = last.partition(" ")
        assert by_flag[flag] == (value or None)


def test_every_flag_on_the_page_exists() -> None:
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", prose)) <= FLAGS.union(*DATA_FLAGS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("`")[1])
def test_the_examples_parse(row: str) -> None:
    examples = re.findall(r"`((?:--?[a-zA-Z]|%%?responses )[^`]*)`", row.split("|", 2)[2])
    for example in examples:
        if example.startswith("--reasoning") or example in FLAGS:
            continue
        parse(re.sub(r"^%%?responses ", "", example))


def test_the_examples_of_the_help_parse() -> None:
    for line in EXAMPLES.splitlines():
        if line.startswith("%%responses"):
            parse(line.removeprefix("%%responses"))


def test_every_command_is_told() -> None:
    told = set(re.findall(r"^\| `%responses (\w+)` \|", PAGE, flags=re.MULTILINE))
    assert told == {*COMMANDS, *LANE_COMMANDS, *RECORD_COMMANDS, *DATA_COMMANDS}


def test_the_frames_of_df_are_told() -> None:
    told = PAGE[PAGE.index("### `%responses df") : PAGE.index("## Settings")]
    assert {*FRAMES} <= set(re.findall(r"`(\w+)`", told))
    assert {*DATA_FLAGS["df"]} <= set(re.findall(r"--\w+", told))


def test_every_setting_is_told() -> None:
    table = PAGE[PAGE.index("| setting |") : PAGE.index("A `pyproject.toml` comes")]
    names = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.strip().splitlines()]
    told = {name for row in names for name in row}
    assert told == set(Responses.class_trait_names(config=True))


def test_the_project_example_is_valid(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example is not None
    tomllib.loads(example[1])
    (tmp_path / "pyproject.toml").write_text(example[1])
    assert read_project(tmp_path) == {"model": "gpt-5-mini", "max_output_tokens": 2000}
