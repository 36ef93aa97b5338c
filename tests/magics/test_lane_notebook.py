"""Notebook 04 from a clean kernel: every answer ends up settled in the output of its own cell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCE = NOTEBOOKS / "04_lanes_and_forks.ipynb"


def kinds(path: Path) -> list[Any]:
    """The cells with the kinds of their outputs; ids, times and the port differ from run to run."""
    return [
        (cell.source, [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs])
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    ]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("lanes") / SOURCE.name
    notebook = nbformat.read(SOURCE, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, copy)
    command = [sys.executable, str(NOTEBOOKS / "run.py"), str(copy), "--save"]
    subprocess.run(command, check=True, timeout=55, stdout=subprocess.DEVNULL)
    return copy


def test_what_it_saves_is_what_the_repository_has(executed: Path) -> None:
    assert kinds(executed) == kinds(SOURCE)


def test_each_answer_is_settled_in_its_own_cell(executed: Path) -> None:
    answers = {}
    for cell in nbformat.read(executed, as_version=4).cells:
        if cell.source.startswith("%%responses"):
            [shown] = [output for output in cell.outputs if output.output_type == "display_data"]
            answers[cell.source.splitlines()[-1]] = shown.data["text/plain"]
    assert len(answers) == 4
    for prompt, text in answers.items():
        assert f"Demo turn {1 if 'List' in prompt or 'Draft' in prompt else 2}: {prompt}" in text
        assert "· completed ·" in text


def test_no_cell_fails(executed: Path) -> None:
    outputs = [output for cell in nbformat.read(executed, as_version=4).cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("True" in output.get("data", {}).get("text/plain", "") for output in outputs)
