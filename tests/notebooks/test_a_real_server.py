"""Notebook 07 against llama.cpp's server, where it can be started; and what it says where there is none."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAME = "07_a_real_server"
SERVER = "http://127.0.0.1:8080"
NOBODY = "http://127.0.0.1:9"
ID = re.compile(r"\b(resp|msg|rs|fc|call)_[0-9A-Za-z]{20,}")  # as this server makes them
RATE = re.compile(r" · [\d.]+ tokens/s")  # left out of an answer that came within a millisecond


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers = load(Path(__file__).parents[1] / "peers" / "conftest.py")


def comparable(cells: list[Any]) -> Any:
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    return nbformat.reads(RATE.sub("", ID.sub(r"\1_ID", text)), as_version=4)


@pytest.fixture(scope="module")
def ran(executed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with peers.running("start-llama-server.sh", "/health", tmp_path_factory.mktemp("peer") / "log") as address:
        yield executed(NAME, address=address)


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.timeout(peers.READY_WITHIN + 240)
def test_it_says_what_its_file_says_and_its_exercises_tell_right_from_wrong(ran: Any, differences: Any) -> None:
    found = differences(comparable(ran.saved.cells), comparable(ran.cells).cells)
    assert not found, "\n".join(found)
    assert len(ran.solved) == 3
    for right, wrong in ran.solved:
        assert right.startswith("Right."), right
        assert all(hint.startswith("Hint: ") for hint in wrong), wrong


@pytest.mark.timeout(120)
def test_without_a_server_its_first_cell_says_so_in_one_line(executed: Any) -> None:
    with pytest.raises(CellExecutionError) as caught:
        executed(NAME, address=NOBODY)
    [line] = [line for line in str(caught.value).splitlines() if "UsageError" in line and NOBODY in line]
    assert "no connection" in line
    assert "Start a server as shown above" in line
    assert "Traceback" not in str(caught.value)


def test_it_names_the_address_once() -> None:
    cells = nbformat.read(NOTEBOOKS / f"{NAME}.ipynb", as_version=4).cells
    assert sum(cell.source.count(SERVER) for cell in cells) == 1
