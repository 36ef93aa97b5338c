"""Every notebook runs from a clean kernel in an empty folder, says what its file says, and checks its exercises."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
WITH_A_SERVER = {"07_a_real_server"}  # of somebody else: executed in test_a_real_server.py
NEEDS = {"06_streams_as_data": ("matplotlib", "dask"), "08_at_scale": ("dask",)}
TEXTS = {"text/html", "text/markdown", "text/plain"}


def parameter(name: str) -> Any:
    missing = [package for package in NEEDS.get(name, ()) if importlib.util.find_spec(package) is None]
    marks = [pytest.mark.timeout(240)]
    if missing:
        marks.append(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
    return pytest.param(name, marks=marks, id=name)


each = pytest.mark.parametrize("name", [parameter(name) for name in NAMES if name not in WITH_A_SERVER])
every_file = pytest.mark.parametrize("name", NAMES)


def read(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def tags(cell: Any) -> list[str]:
    found: list[str] = cell.metadata.get("tags", [])
    return found


@each
def test_it_says_what_its_file_says_and_its_exercises_tell_right_from_wrong(
    name: str, executed: Any, differences: Any
) -> None:
    """Both in one test, so that each notebook is executed once, however tests are shared among processes."""
    ran = executed(name)
    found = differences(ran.saved, ran.cells)
    assert not found, "\n".join([f"{name}: run `make notebooks`", *found])
    for right, wrong in ran.solved:
        assert right.startswith("Right."), right
        for hint in wrong:
            assert hint, "no hint"
            assert not hint.startswith(("Right", "Not answered"))


@every_file
def test_its_exercises_are_open(name: str) -> None:
    """A cell for the answer, holding an Ellipsis, and behind it the cell that checks it and says so."""
    cells = read(name).cells
    for number, cell in enumerate(cells):
        if "answer" in tags(cell):
            assert re.search(r"^(answer_?\w*) = \.\.\.", cell.source, re.MULTILINE)
            assert "check" in tags(cells[number + 1])
            assert cells[number + 1].outputs[0].text.startswith("Not answered yet")


@every_file
def test_only_cells_that_teach_an_error_fail(name: str) -> None:
    for cell in read(name).cells:
        errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        assert bool(errors) == ("raises-exception" in tags(cell)), cell.source


@every_file
def test_its_file_can_be_read_anywhere(name: str) -> None:
    """On a page without a kernel and without scripts: texts and pictures; and nothing of the machine it was made on."""
    path = NOTEBOOKS / f"{name}.ipynb"
    text = path.read_text(encoding="utf-8")
    notebook = read(name)
    nbformat.validate(notebook)
    assert len(text) < 600_000  # plots are pictures
    assert "widgets" not in notebook.metadata
    assert "<script" not in text
    for folder in (Path.home(), NOTEBOOKS.parent, Path("/home"), Path("/tmp")):  # noqa: S108
        assert f"{folder}/" not in text
    for cell in notebook.cells:
        assert "execution" not in cell.metadata
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output.text  # a warning
            if output.output_type in {"display_data", "execute_result"}:
                assert output.data.keys() <= TEXTS | {"image/png"}
                assert output.data.keys() & {"text/html", "text/plain", "image/png"}


@every_file
def test_its_cells_are_short_and_its_code_is_python(name: str) -> None:
    for cell in read(name).cells:
        assert cell.source.strip(), "an empty cell"
        if cell.cell_type == "code" and not cell.source.startswith("%"):
            assert cell.source.count("\n") < 30
            ast.parse(re.sub(r"^%.*$", "pass", cell.source, flags=re.MULTILINE))
