"""Notebooks, each executed once for all tests of a process; its exercises solved after its own cells."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SERVER = "http://127.0.0.1:8080"
"""Where a notebook looks for a real server."""


def load(path: Path) -> Any:
    """A module by its file, for those that are in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load(NOTEBOOKS / "execute.py")
solutions = load(Path(__file__).with_name("solutions.py"))


@dataclass(frozen=True)
class Exercise:
    answer: Any  # the learner's cell, tagged `answer`
    check: Any  # the cell behind it, tagged `check`


@dataclass(frozen=True)
class Executed:
    """A notebook as the repository has it, and after a run. `solved` holds, for each exercise, what its checking cell
    said to the right answer and to each wrong one."""

    saved: Any
    cells: list[Any]
    solved: list[tuple[str, list[str]]]


def tags(cell: Any) -> list[str]:
    found: list[str] = cell.metadata.get("tags", [])
    return found


def exercises(notebook: Any) -> list[Exercise]:
    """The pairs of an answering and a checking cell."""
    return [
        Exercise(cell, notebook.cells[number + 1])
        for number, cell in enumerate(notebook.cells)
        if "answer" in tags(cell)
    ]


def said(cell: Any) -> str:
    return "".join(output["text"] for output in cell.outputs if output.output_type == "stream")


@cache
def run(name: str, *, address: str = "") -> Executed:
    path = NOTEBOOKS / f"{name}.ipynb"
    saved = nbformat.read(path, as_version=4)
    started = nbformat.reads(path.read_text(encoding="utf-8").replace(SERVER, address or SERVER), as_version=4)
    pairs = list(zip(exercises(saved), solutions.SOLUTIONS.get(name, ()), strict=True))
    extra = [
        source
        for exercise, (right, wrong) in pairs
        for answer in (right, *wrong)
        for source in (answer, exercise.check.source)
    ]
    cells = tool.execute(started, extra=extra).cells
    own, checks = cells[: len(saved.cells)], iter(cells[len(saved.cells) + 1 :: 2])
    solved = [(said(next(checks)), [said(next(checks)) for _ in wrong]) for _, (_, wrong) in pairs]
    return Executed(saved, own, solved)


@pytest.fixture(scope="session")
def executed() -> Callable[[str], Executed]:
    """Executes a notebook, named without its suffix; `address=` stands in for that of a real server."""
    return run


@pytest.fixture(scope="session")
def differences() -> Callable[[Any, list[Any]], list[str]]:
    """What the cells of a run say that the notebook's file does not."""
    return lambda saved, cells: tool.differences(saved, nbformat.v4.new_notebook(cells=cells))


@pytest.fixture(scope="session")
def execute() -> Any:
    """The module that executes and saves notebooks."""
    return tool
