"""Candidates for the end of a line, and the matcher inside a real IPython completer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from nbresponses_magics.completion import Known, complete
from nbresponses_magics.options import EFFORTS, HOSTED_TOOLS, OPTIONS

KNOWN = Known(("demo", "help", "models", "reset"), ("demo-text", "demo-image", "gpt-5"), ("answer", "table"))


def candidates(line: str) -> list[str]:
    found = complete(line, KNOWN)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("line", "replaced", "offered"),
    [
        ("%%responses --mo", "--mo", ["--model"]),
        ("%%responses -q --con", "--con", ["--confirm", "--continue"]),
        ("%%responses -m demo", "demo", ["demo-image", "demo-text"]),
        ("%%responses x << --model demo-i", "demo-i", ["demo-image"]),
        ("%%responses --model=gp", "gp", ["gpt-5"]),
        ("%%responses --reasoning ", "", sorted(EFFORTS)),
        ("%%responses --hosted image", "image", ["image_generation"]),
        ("%%responses --hosted image_generation:par", "par", ["partial_images="]),
        ("%%responses --hosted image_generation:size=1,qu", "qu", ["quality="]),
        ("%%responses -o a", "a", ["answer"]),
        ("%%responses --tools answer,ta", "ta", ["table"]),
        ("%%responses --format ", "", ["answer", "table"]),
        ("%%responses --image ans", "ans", ["answer"]),
        ("%%responses --out ", "", ["answer", "table"]),
        ("%responses ", "", ["demo", "help", "models", "reset"]),
        ("%responses mo", "mo", ["models"]),
        ("%responses --rep", "--rep", ["--replay"]),
        ("%%responses --temperature ", "", []),
    ],
)
def test_candidates(line: str, replaced: str, offered: list[str]) -> None:
    assert complete(line, KNOWN) == (replaced, offered)


def test_all_options_are_offered() -> None:
    assert candidates("%%responses -") == sorted(flag for option in OPTIONS for flag in option.flags)
    assert all(flag.startswith("--") for flag in candidates("%%responses "))
    assert sorted(HOSTED_TOOLS) == candidates("%%responses --hosted ")


@pytest.mark.parametrize("line", ["", "x = 1", "%%responsesx ", "%%respons", "print('%%responses ')", "%%ai --mo"])
def test_other_lines_are_left_alone(line: str) -> None:
    assert complete(line, KNOWN) is None


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.jsonl").touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.jsonl").touch()
    (tmp_path / ".hidden").touch()
    monkeypatch.chdir(tmp_path)
    assert candidates("%%responses --replay ") == ["run.jsonl", "runs/"]
    assert candidates("%%responses --capture run") == ["run.jsonl", "runs/"]
    assert candidates("%responses --replay runs/") == ["runs/one.jsonl"]
    assert candidates(f"%%responses --replay {tmp_path}/run") == [f"{tmp_path}/run.jsonl", f"{tmp_path}/runs/"]
    assert candidates("%%responses --replay nowhere/x") == []


def offered(shell: Any, text: str) -> list[str]:
    with provisionalcompleter():
        return [text[: found.start] + found.text for found in shell.Completer.completions(text, len(text))]


@pytest.mark.parametrize("use_jedi", [True, False])
def test_in_the_shell(loaded: Any, use_jedi: bool) -> None:
    loaded.Completer.use_jedi = use_jedi
    loaded.user_ns["answer_one"] = 1
    assert offered(loaded, "%%responses --mo") == ["%%responses --model"]
    assert offered(loaded, "%responses mod") == ["%responses models"]
    assert offered(loaded, "%%responses --model=demo-ech") == ["%%responses --model=demo-echo"]
    assert offered(loaded, "%%responses -o answer_") == ["%%responses -o answer_one"]
    assert "%%responses" in offered(loaded, "%%respon")
    efforts = [f"%%responses --reasoning {effort}" for effort in sorted(EFFORTS)]
    assert offered(loaded, "%%responses --reasoning ") == efforts, "and no Python names"
    hosted = "%%responses --hosted image_generation:par"
    assert offered(loaded, hosted) == ["%%responses --hosted image_generation:partial_images="]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_by_the_older_interface(loaded: Any) -> None:
    assert loaded.complete("--mo", "%%responses --mo", 16)[1] == ["--model"]
    assert loaded.Completer.complete(line_buffer="%%responses --temp")[1] == ["--temperature"]


def test_only_on_the_first_line_of_a_cell(loaded: Any) -> None:
    assert "--model" not in " ".join(offered(loaded, "x = 1\n%%responses --mo"))
    body = "%%responses -q\nsome --mo"
    assert all("--model" not in text for text in offered(loaded, body))
