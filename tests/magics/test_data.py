"""`%responses df` and `%responses capture`: which record a name means, which frame comes back, what is refused."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from nbresponses_magics.completion import Known, complete

from nbresponses import Capture, Captures
from nbresponses.capture.schema import FRAMES


def ask(shell: Any, line: str, cell: str = "Hello") -> Any:
    shell.run_cell_magic("responses", line, cell)
    return shell.user_ns["_responses"]


def command(shell: Any, line: str) -> Any:
    return shell.run_line_magic("responses", line)


@pytest.fixture
def answered(loaded: Any) -> Any:
    ask(loaded, "-m demo-echo -q -o answer", "first")
    ask(loaded, "-m demo-echo -q", "second")
    return loaded


def test_the_events_of_the_last_answer(answered: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    frame = command(answered, "df")
    pd.testing.assert_frame_equal(frame, answered.user_ns["_responses"].capture.events())
    assert "second" in "".join(frame["delta"].dropna())
    assert capsys.readouterr().out == "", "a value is not printed too"


def test_any_frame_of_a_variable(answered: Any) -> None:
    for frame in FRAMES:
        expected = getattr(answered.user_ns["answer"].capture, frame)()
        for line in (f"df answer --frame {frame}", f"df --frame={frame} answer.capture"):
            pd.testing.assert_frame_equal(command(answered, line), expected)


def test_it_is_the_value_of_the_cell(answered: Any) -> None:
    assert answered.run_cell("df = %responses df answer --frame deltas").success
    assert "first" in "".join(answered.user_ns["df"]["delta"])
    done = answered.run_cell("%responses df --frame responses")
    assert done.result["ending"].tolist() == ["completed"]


def test_cost_by_the_notebooks_prices(answered: Any) -> None:
    line = "df answer --frame responses"
    assert command(answered, line)["cost"].isna().all()
    prices = {"demo": {"input": 1_000_000, "cached_input": 0, "output": 0}}
    answered.run_line_magic("config", f"Responses.prices = {prices}")
    row = command(answered, line).iloc[0]
    assert row["cost"] == row["input_tokens"] - row["cached_tokens"] > 0
    answered.run_line_magic("config", "Responses.prices = {'demo': {'input': 1}}")
    with pytest.raises(UsageError, match=r"Responses\.prices: 'demo' has no price for output"):
        command(answered, line)


def test_a_stream_that_runs_gives_what_has_come(loaded: Any) -> None:
    slow = ask(loaded, "-m demo-slow --lane a --no-wait")
    while not slow.response.output_text:
        time.sleep(0.02)
    first = command(loaded, "df")
    assert slow.ending is None
    assert len(first) > 0
    command(loaded, "stop a")
    command(loaded, "wait a")
    assert len(command(loaded, "df")) >= len(first)


def test_lanes_apart_and_together(loaded: Any) -> None:
    ask(loaded, "-m demo-echo --lane planner -q", "plan")
    ask(loaded, "-m demo-echo --lane critic --fork-from planner -q", "gaps")
    assert command(loaded, "df --frame lanes")["forked_from"].isna().all(), "one answer doesn't know its parent's lane"
    together = command(loaded, "df --lanes --frame lanes").set_index("lane")
    assert together.index.tolist() == ["planner", "critic"]
    assert together.loc["critic", "forked_from"] == "planner"
    assert command(loaded, "df critic --frame lanes")["lane"].tolist() == ["critic"]
    whole = command(loaded, "capture --lanes")
    assert isinstance(whole, Capture)
    assert whole.lineage()["fork"].tolist() == [False, True]
    loaded.user_ns["critic"] = whole
    assert len(command(loaded, "df critic --frame lanes")) == 2, "a variable goes before a lane of its name"


def test_files(answered: Any) -> None:
    capture = answered.user_ns["answer"].capture
    for name in ("one.jsonl", "two.jsonl"):
        capture.save(name)
    assert command(answered, "capture one.jsonl") == capture
    assert command(answered, f"df {Path.cwd() / 'one.jsonl'}").equals(capture.events())
    assert command(answered, "df *.jsonl")["source"].unique().tolist() == ["one.jsonl", "two.jsonl"]
    many = command(answered, "capture *.jsonl")
    assert isinstance(many, Captures)
    answered.user_ns["many"] = many
    assert len(command(answered, "df many --frame responses")) == 2


WRONG = [
    ("df answr", "%responses df: 'answr' is no variable, no lane and no capture file here, did you mean answer?"),
    ("df number", "number is of type int; a stream or a capture is needed"),
    ("df answer.nothing", "answer has no 'nothing'"),
    ("df answer --frame respones", "no frame is called 'respones', did you mean responses?; there are events, "),
    ("df --frame", "no frame is called ''; there are events"),
    ("df answer other", "takes one name: answer, or other"),
    ("df --fram x", "has no option --fram; there is --frame and --lanes"),
    ("capture --frame events", "has no option --frame; there is --lanes"),
    ("df answer --lanes", "--lanes means all lanes of this notebook"),
    ("df --lanes", "No lane has been used yet"),
    ("df missing.jsonl", "missing.jsonl"),
    ("df no*thing", "no file has such a name"),
    ("df bad.jsonl", "something else instead of the header of a capture"),
]


def test_what_is_wrong_is_said(answered: Any, tmp_path: Any) -> None:
    answered.user_ns["number"] = 3
    (tmp_path / "work" / "bad.jsonl").write_text("hello\n")
    for line, said in WRONG:
        with pytest.raises(UsageError, match=re.escape(said)):
            command(answered, line)


def test_nothing_was_asked(loaded: Any) -> None:
    with pytest.raises(UsageError, match="nothing was asked yet; run a %%responses cell"):
        command(loaded, "df")


KNOWN = Known(names=("table", "answer"), lanes=("planner",), records=("answer", "runs"))


@pytest.mark.parametrize(
    ("line", "replaced", "offered"),
    [
        ("%responses df an", "an", ["answer"]),
        ("%responses df ", "", ["answer", "planner", "runs"]),
        ("%responses df --", "--", ["--frame", "--lanes"]),
        ("%responses df answer ", "", ["--frame", "--lanes"]),
        ("%responses df --frame li", "li", ["lineage"]),
        ("%responses df --frame=de", "de", ["deltas"]),
        ("%responses df --frame events pl", "pl", ["planner"]),
        ("df = %responses df answer --frame ga", None, None),
        ("%responses capture --f", "--f", []),
    ],
)
def test_completion(
    line: str, replaced: str | None, offered: list[str] | None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = None if replaced is None else (replaced, offered)
    assert complete(line, KNOWN) == expected


def test_completion_knows_the_records_of_the_notebook(answered: Any) -> None:
    answered.user_ns["ansatz"] = 3
    text = "%responses df ans"
    with provisionalcompleter():
        found = [completion.text for completion in answered.Completer.completions(text, len(text))]
    assert found == ["answer"]
