"""`make demo` shows the first notebook while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FIRST = NOTEBOOKS / "01_first_response.ipynb"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[float, str]], Path]:
    """Runs the demo as a user's first command would: (when it came, text) of all it printed, and the saved notebook."""
    import time

    copy = tmp_path_factory.mktemp("demo") / FIRST.name
    notebook = nbformat.read(FIRST, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, copy)
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "sk-never-sent-0123456789",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }
    command = [sys.executable, str(NOTEBOOKS / "run.py"), str(copy), "--save"]
    came: list[tuple[float, str]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        while piece := os.read(process.stdout.fileno(), 65536):
            came.append((time.monotonic(), piece.decode()))
        assert process.wait(50) == 0
    return came, copy


def test_the_demo_streams(demo: tuple[list[tuple[float, str]], Path]) -> None:
    came, _ = demo
    text = "".join(piece for _, piece in came)
    first, last = shown_at(came, "A demo answer"), shown_at(came, "Now try another")
    pieces = [at for at, _ in came if first < at < last]
    assert len(pieces) >= 5, "the answer came in one piece"
    assert text.index("A demo answer") < text.index("· completed ·") < text.index("ending: completed")
    assert "first text after 0." in text
    assert "response.output_text.delta" in text[text.index("capture.events()") :]
    assert text.count("Money is text: $5 and $6 stay as they are.") == 1, "what was shown once is printed once"
    assert "ResponseFailed: " in text
    assert "remedy: " in text
    assert "\x1b" not in text
    assert "sk-never" not in text
    assert "Not answered yet" not in text, "exercises are not for a terminal"


def shown_at(came: list[tuple[float, str]], phrase: str) -> float:
    """When all of a phrase had been printed; pieces end anywhere."""
    so_far = ""
    for at, piece in came:
        so_far += piece
        if phrase in so_far:
            return at
    raise AssertionError(f"{phrase!r} was never printed")


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def test_what_it_saves_is_what_the_repository_has(demo: tuple[list[tuple[float, str]], Path]) -> None:
    """The same cells with the same kinds of outputs; ids, times and the port differ from run to run."""

    def kinds(path: Path) -> list[Any]:
        return [
            (cell.source, [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs])
            for cell in code_cells(path)
        ]

    assert kinds(demo[1]) == kinds(FIRST)


def test_the_failing_cell_shows_one_block_and_the_next_one_still_runs() -> None:
    cells = code_cells(FIRST)
    place = next(number for number, cell in enumerate(cells) if "raises-exception" in cell.metadata.get("tags", ()))
    failing, after = cells[place : place + 2]
    assert failing.outputs[-1].output_type == "error"
    assert [line.split(":")[0] for line in failing.outputs[-1].traceback] == [
        *("ResponseFailed", "request id", "kept", "remedy")
    ]
    assert after.outputs[0].data["text/plain"] == "('failed', 'This demo is going to fail soon.')"
