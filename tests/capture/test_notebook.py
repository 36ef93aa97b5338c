"""Notebook 06: its four questions are answered, on the demo's captures and on real servers'.

That a run says what the file says is tested with all notebooks; so what the file says is looked at here.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("dask")

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCE = NOTEBOOKS / "06_streams_as_data.ipynb"


def read() -> Any:
    return nbformat.read(SOURCE, as_version=4)


def texts(cells: list[Any]) -> str:
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def pictures(cells: list[Any]) -> int:
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_its_questions_are_answered() -> None:
    cells = read().cells
    said = texts(cells)
    assert "11 captures" in said
    assert pictures(cells) == 6
    for model in ("demo-text", "demo-reasoning", "demo-search", "demo-slow"):
        assert model in said
    assert "to_first_token" in said
    assert "slow.jsonl" in said
    assert "93% alike by tokens" in said
    assert "the same from Dask and from memory: True" in said
    assert "careful" in said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_its_questions_are_answered_on_the_captured_streams(stream_files, recorder, tmp_path) -> None:
    spec = importlib.util.spec_from_file_location("execute", NOTEBOOKS / "execute.py")
    execute = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(execute)
    folder = tmp_path / "captures"
    folder.mkdir()
    for path in stream_files:
        recorder(path.read_bytes(), piece=1000).save(folder / f"{path.stem}.jsonl")
    notebook = read()
    for cell in notebook.cells:
        cell.source = cell.source.replace('folder = ""', f"folder = {str(folder)!r}")
    cells = execute.execute(notebook, timeout=500).cells
    said = texts(cells)
    assert f"{len(stream_files)} captures" in said
    assert "captures: 100%" in said, "a long load shows a progress bar"
    assert pictures(cells) == 6
    assert "gpt-4" in said
    assert "TokenLogProbabilities" in said, "the answer that was least certain"
    assert "the same from Dask and from memory: True" in said
    assert said.count("Not answered yet") == 3
