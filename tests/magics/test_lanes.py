"""Lanes from cells: continue, fork, start anew, warm up, steer, return at once; and the commands."""

from __future__ import annotations

import time
from typing import Any

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.completion import Known, complete
from nbresponses_magics.options import parse

from nbresponses import LaneError, ResponseFailed


def run(shell: Any, line: str, cell: str) -> Any:
    shell.run_cell_magic("responses", line, cell)
    return shell.user_ns["_responses"]


def test_a_lane_continues_its_latest_answer(loaded: Any) -> None:
    assert run(loaded, "-m demo-echo --lane a -q", "one").response.output_text == "Demo turn 1: one"
    assert run(loaded, "-m demo-echo --lane a -q", "two").response.output_text == "Demo turn 2: two"
    assert run(loaded, "-m demo-echo --lane b -q", "other").response.output_text == "Demo turn 1: other"
    assert run(loaded, "-m demo-echo --lane a --new -q", "anew").response.output_text == "Demo turn 1: anew"
    assert run(loaded, "-m demo-echo --default-lane -q", "none").response.output_text == "Demo turn 1: none"


def test_a_fork_continues_from_the_lane_it_names(loaded: Any) -> None:
    first = run(loaded, "-m demo-echo --lane planner -q", "plan")
    fork = run(loaded, "-m demo-echo --lane critic --fork-from planner -q", "gaps")
    assert fork.response.output_text == "Demo turn 2: gaps"
    assert fork.response.previous_response_id == first.id
    assert run(loaded, "-m demo-echo --lane planner -q", "more").response.output_text == "Demo turn 2: more"


def test_the_table_of_lanes_says_how_a_failed_one_ended(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "-m demo-echo --lane good -q", "one")
    with pytest.raises(ResponseFailed):
        run(loaded, "-m demo-echo --lane bad --previous resp_unknown -q", "two")
    capsys.readouterr()
    loaded.run_line_magic("responses", "lanes")
    table = capsys.readouterr().out
    assert "\nbad: the latest request ended as error" in table
    assert "good:" not in table


def test_previous_names_any_response(loaded: Any) -> None:
    first = run(loaded, "-m demo-echo --lane a -q", "one")
    run(loaded, "-m demo-echo --lane a -q", "two")
    again = run(loaded, f"-m demo-echo --lane a --previous {first.id} -q", "branch")
    assert again.response.output_text == "Demo turn 2: branch"


def test_a_warm_up_needs_no_cell(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_line_magic("responses", "-m demo-echo --lane a --warm-up")
    said = capsys.readouterr().out
    assert "a is warm" in said
    answer = run(loaded, "-m demo-echo --lane a -q", "one")
    assert answer.response.previous_response_id in said


def test_a_cell_that_does_not_wait_returns_at_once(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    slow = run(loaded, "-m demo-slow --lane a --no-wait", "one")
    assert slow.ending is None
    quick = run(loaded, "-m demo-echo --lane b -q", "two")
    assert quick.ending == "completed"
    while not slow.response.output_text:
        time.sleep(0.05)
    assert slow.ending is None
    loaded.run_line_magic("responses", "stop a")
    loaded.run_line_magic("responses", "wait")
    assert slow.ending == "interrupted"
    assert slow.response.output_text
    assert slow.response.output_text.split()[0] in capsys.readouterr().out


def test_waiting_shows_everything_to_its_end(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "abc":
        run(loaded, f"-m demo-echo --lane {name} --no-wait", f"hello {name}")
    loaded.run_line_magic("responses", "wait")
    said = capsys.readouterr().out
    for name in "abc":
        assert f"Demo turn 1: hello {name}" in said
    assert "3 of 32 names" in said


def test_steering_shows_the_successor(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(loaded, "-m demo-slow --lane a --no-wait -q", "a long story")
    for _ in first.changes():
        if first.response.output_text:
            break
    successor = run(loaded, "-m demo-echo --lane a --steer -q", "shorter")
    assert "steering" in capsys.readouterr().out
    assert successor is not first
    assert successor.response.previous_response_id == first.id
    assert successor.ending == "completed"


def test_steering_where_nothing_runs_fails_the_cell(loaded: Any) -> None:
    run(loaded, "-m demo-echo --lane a -q", "one")
    with pytest.raises(LaneError, match="runs nothing"):
        loaded.run_cell_magic("responses", "--lane a --steer", "x")


def test_the_board_shows_the_lanes_of_the_cells(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_line_magic("responses", "board")
    assert "No lane has been used yet" in capsys.readouterr().out
    for name in ("planner", "critic"):
        run(loaded, f"-m demo-echo --lane {name} -q", f"hello {name}")
    capsys.readouterr()
    loaded.run_line_magic("responses", "board")
    shown = capsys.readouterr().out
    assert "Demo turn 1: hello planner" in shown
    assert "critic   completed" in shown
    loaded.run_line_magic("responses", "board settle")
    for wrong in ("board settle", "board planner"):
        with pytest.raises(UsageError):
            loaded.run_line_magic("responses", wrong)


def test_compacting_a_lane(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "-m demo-echo --lane a -q", "one")
    loaded.run_line_magic("config", "Responses.model = 'demo-echo'")
    loaded.run_line_magic("responses", "compact a")
    assert "a: the next request starts from a window of" in capsys.readouterr().out


def test_the_table_of_lanes(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_line_magic("responses", "lanes")
    assert "No lane has been used" in capsys.readouterr().out
    answer = run(loaded, "-m demo-echo --lane planner -q", "one")
    loaded.run_line_magic("responses", "lanes")
    table = capsys.readouterr().out
    assert "planner" in table
    assert answer.id in table
    assert "websocket: 0 of 16 in flight, 1 of 32 names" in table


def test_the_board_of_lanes(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def told(words: str) -> str:
        loaded.run_line_magic("responses", words)
        return capsys.readouterr().out

    assert "No lane has been used" in told("board")
    with pytest.raises(UsageError, match="no lane board is shown"):
        loaded.run_line_magic("responses", "board settle")
    run(loaded, "-m demo-echo --lane planner -q", "one")
    assert "Demo turn 1: one" in told("board"), "a terminal gets the static copy"
    run(loaded, "-m demo-echo --lane planner -q", "two")
    assert "Demo turn 2: two" in told("board settle")


def test_the_lanes_settings_reach_the_connection(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_line_magic("config", "Responses.lanes = {'transport': 'http'}")
    assert run(loaded, "-m demo-echo --lane a -q", "one").ending == "completed"
    loaded.run_line_magic("responses", "lanes")
    assert "http: 0 of 16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--lane a --default-lane", "exclude each other"),
        ("--fork-from a", "--fork-from needs --lane"),
        ("--new", "--new needs --lane"),
        ("--warm-up", "--warm-up needs --lane"),
        ("--steer", "--steer needs --lane"),
        ("--lane a --new --previous resp_1", "exclude each other"),
        ("--lane a --fork-from b --new", "exclude each other"),
        ("--lane a -c", "--continue is not needed"),
        ("--lane a --background", "not possible on a lane"),
        ("--lane a --steer --warm-up", "--steer adds"),
    ],
)
def test_what_contradicts_itself_is_refused(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(line)


def test_commands_name_lanes_that_exist(loaded: Any) -> None:
    run(loaded, "-m demo-echo --lane a -q", "one")
    for line, says in (
        ("stop", "needs the name"),
        ("stop b", "no lane 'b'"),
        ("wait b", "no lane 'b'"),
        ("lanes a", "takes nothing more"),
    ):
        with pytest.raises(UsageError, match=says):
            loaded.run_line_magic("responses", line)


def test_an_interrupt_of_a_wait_shows_one_line(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    slow = run(loaded, "-m demo-slow --lane a --no-wait -q", "one")
    monkeypatch.setattr("nbresponses_magics.lanes.time.sleep", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        loaded.run_line_magic("responses", "wait a")
    assert vars(caught.value)["_render_traceback_"]() == ["interrupted: what runs goes on"]
    assert slow.ending is None


def test_unloading_waits_for_no_stream_that_it_stops(loaded: Any) -> None:
    stream = run(loaded, "-m demo-slow --no-wait -q", "one")
    before = time.monotonic()
    loaded.extension_manager.unload_extension("nbresponses")
    assert time.monotonic() - before < 1.5
    assert stream.ending == "interrupted"


def test_lane_names_complete() -> None:
    known = Known(commands=("lanes", "stop"), lanes=("planner", "critic"))
    assert complete("%%responses --lane pl", known) == ("pl", ["planner"])
    assert complete("%%responses --lane critic --fork-from ", known) == ("", ["critic", "planner"])
    assert complete("%responses stop c", known) == ("c", ["critic"])
