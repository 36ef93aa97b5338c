"""The tool that executes and saves notebooks: what it takes for the same, and what it leaves in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output


def printed(*texts: str, tags: tuple[str, ...] = ()) -> Any:
    outputs = [new_output("stream", name="stdout", text=text) for text in texts]
    return new_code_cell("print()", outputs=outputs, metadata={"tags": list(tags)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resp_" + "0a" * 24, "resp_" + "1b" * 24),
        ("call_GuGX8jsW9dYDvfgNDffWIU0t", "call_oFgkpFYtBIqXIxsht8Xptule"),
        ("at http://127.0.0.1:4001/v1", "at http://127.0.0.1:50002/v1"),
        ("demo · 2.4 s · 61 tokens/s", "demo · 11 s · 9.5 tokens/s"),
        ("2026-01-31 12:00:00.123456+00:00", "2027-02-01 13:10:11+00:00"),
        ("0 days 00:00:00.002122", "0 days 00:00:01"),
        ("<object at 0x7feee91b2c40>", "<object at 0x7feee8c3c2c0>"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a   b\n", "a b"),
    ],
)
def test_what_differs_from_run_to_run_does_not_count(differences: Any, one: str, other: str) -> None:
    assert not differences(new_notebook(cells=[printed(one)]), [printed(other)])


@pytest.mark.parametrize(
    ("one", "other"), [("16 events", "17 events"), ("True", "False"), ("resp_1", "resp_2"), ("", "more")]
)
def test_everything_else_does(differences: Any, one: str, other: str) -> None:
    [found] = differences(new_notebook(cells=[printed(one)]), [printed(other)])
    assert "cell 0" in found


def test_pieces_of_what_is_printed_do_not_count(differences: Any) -> None:
    assert not differences(new_notebook(cells=[printed("a", "b")]), [printed("a b")])


def test_of_a_cell_that_varies_only_the_kinds_count(differences: Any) -> None:
    saved = new_notebook(cells=[printed("14 stalls", tags=("varies",))])
    assert not differences(saved, [printed("9 stalls", tags=("varies",))])
    assert differences(saved, [printed(tags=("varies",))])


def test_saving_takes_all_outputs_of_the_run_and_nothing_of_the_machine(execute: Any, tmp_path: Path) -> None:
    saved = new_notebook(cells=[printed("lane a at 127.0.0.1:4001"), printed("16 events")])
    saved.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    saved.cells[0].metadata["execution"] = {"shell.execute_reply": "2026-01-31T12:00:00Z"}
    executed = new_notebook(cells=[printed("lane a at 127.0.0.1:4002"), printed("17 events")])
    execute.save(tmp_path / "made.ipynb", saved, executed)
    made = nbformat.read(tmp_path / "made.ipynb", as_version=4)
    assert [cell.outputs[0].text for cell in made.cells] == ["lane a at 127.0.0.1:4002", "17 events"]
    assert "widgets" not in made.metadata
    assert "execution" not in made.cells[0].metadata


@pytest.mark.parametrize(("says", "written"), [("took 9.9 s", False), ("17 events", True)])
def test_a_notebook_that_says_nothing_new_is_left_as_it_was(
    execute: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, written: bool
) -> None:
    path = tmp_path / "made.ipynb"
    nbformat.write(new_notebook(cells=[printed("took 2.4 s")]), path)
    before = path.read_bytes()
    monkeypatch.setattr(execute, "execute", lambda _notebook: new_notebook(cells=[printed(says)]))
    assert execute.main([str(path)]) == 0
    assert (path.read_bytes() != before) is written
