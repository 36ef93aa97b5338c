"""Notebook 06 from a clean kernel: its four questions are answered, on the demo's captures and on real servers'."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("dask")

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCE = NOTEBOOKS / "06_streams_as_data.ipynb"


def execute(folder: Path, change: Callable[[str], str] = str, timeout: float = 55) -> list[Any]:
    """The code cells after a run in a new kernel, in another folder."""
    notebook = nbformat.read(SOURCE, as_version=4)
    for cell in notebook.cells:
        cell.source = change(cell.source)
        if cell.cell_type == "code":
            cell.outputs = []
    copy = folder / SOURCE.name
    nbformat.write(notebook, copy)
    command = [sys.executable, str(NOTEBOOKS / "run.py"), str(copy), "--save"]
    done = subprocess.run(command, timeout=timeout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [cell for cell in nbformat.read(copy, as_version=4).cells if cell.cell_type == "code"]


def texts(cells: list[Any]) -> str:
    outputs = [output for cell in cells for output in cell.outputs]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def pictures(cells: list[Any]) -> int:
    return sum("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)


def kinds(cells: list[Any]) -> list[Any]:
    return [
        (cell.source, [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs])
        for cell in cells
    ]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return execute(tmp_path_factory.mktemp("data"))


def test_what_it_saves_is_what_the_repository_has(executed) -> None:
    saved = [cell for cell in nbformat.read(SOURCE, as_version=4).cells if cell.cell_type == "code"]
    assert kinds(executed) == kinds(saved)


def test_its_questions_are_answered(executed) -> None:
    said = texts(executed)
    assert "11 captures" in said
    assert pictures(executed) == 6
    for model in ("demo-text", "demo-reasoning", "demo-search", "demo-slow"):
        assert model in said
    assert "93% alike by tokens" in said
    assert "the same from Dask and from memory: True" in said
    assert "careful" in said


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_questions_are_answered_on_the_captured_streams(stream_files, recorder, tmp_path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for path in stream_files:
        recorder(path.read_bytes(), piece=1000).save(folder / f"{path.stem}.jsonl")
    cells = execute(tmp_path, lambda source: source.replace('folder = ""', f"folder = {str(folder)!r}"), timeout=280)
    said = texts(cells)
    assert f"{len(stream_files)} captures" in said
    assert pictures(cells) == 6
    assert "gpt-4" in said
    assert "the same from Dask and from memory: True" in said
