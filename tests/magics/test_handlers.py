"""Cells whose calls go to the user's own handlers, and what a cell of several rounds leaves when it ends early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

from nbresponses import Client, DemoServer, Rejected, ResponseFailed
from nbresponses.client.lanes import Lane

ROUNDS = '-p \'metadata={"demo_rounds": "5"}\''
CUSTOM = '-p \'tools=[{"type": "custom", "name": "run_sql"}]\''
DEFINITIONS = (
    "got = []\n"
    "def look(place: str = 'here') -> str:\n    'Look.'\n    got.append(place)\n"
    "    if len(got) == 3:\n        raise KeyboardInterrupt\n    return 'seen ' + place\n"
    "def sql(item):\n    got.append(item.input)\n    return '3 rows'\n"
    "mine = {'run_sql': sql, 'mcp_approval_request': lambda item: item.name == 'lend_book',\n"
    "        'apply_patch_call': lambda item: got.append(item.operation) or True,\n"
    "        'shell_call': lambda item: got.append(item.action) or 'done'}\n"
)


def test_a_custom_tool_goes_to_its_handler(cell: Any, loaded: Any, server: DemoServer, bodies: Any) -> None:
    done, out = cell(f"%%responses -m demo-tools --handlers mine -o run {CUSTOM}\nGo.")
    assert done.success, out
    assert loaded.user_ns["got"] == ["Go."]
    assert "-> 3 rows" in out
    assert loaded.user_ns["run"].ending == "answered"
    (answer,) = bodies(server)[1]["input"]
    assert (answer["type"], answer["output"]) == ("custom_tool_call_output", "3 rows")


def test_an_approval_goes_to_its_handler(cell: Any, server: DemoServer, bodies: Any) -> None:
    done, out = cell("%%responses -m demo-mcp --handlers mine\nLend it.")
    assert done.success, out
    assert "the book is yours" in out
    (answer,) = bodies(server)[1]["input"]
    assert (answer["type"], answer["approve"]) == ("mcp_approval_response", True)


def test_handlers_and_functions_side_by_side_on_a_lane(cell: Any, loaded: Any) -> None:
    done, out = cell(f"%%responses -m demo-tools --lane a --handlers mine --tools look {CUSTOM} -o run\nGo.")
    assert done.success, out
    run = loaded.user_ns["run"]
    assert [(each.name, each.outcome) for each in run.calls] == [("look", "ok"), ("run_sql", "ok")]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--handlers mien", "'mien' is not defined in this notebook, did you mean mine?"),
        ("--handlers look", "look is a function; a dict is expected, such as"),
        ("--handlers wrong", "'run_sql' must be an item type or tool name, with a function for it"),
        ("--handlers mine --no-wait", "--handlers exclude --no-wait"),
        ("--capture none/run.jsonl", "--capture: "),
        ("--capture none/run.jsonl --handlers mine", "--capture: "),
        ("--capture none/run.jsonl --lane a", "--capture: "),
        ("--capture .", "--capture: "),
        ("--format list[Bok]", "'Bok' is not defined"),
        ("--format look()", "is no type; write NAME"),
        ("--lane b --fork-from c", "no lane 'c' has been used here; used: a"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_sent(
    cell: Any, monkeypatch: pytest.MonkeyPatch, line: str, text: str
) -> None:
    cell("%%responses --lane a\nGo." if "--fork-from" in line else "wrong = {'run_sql': 'look'}")
    begun: list[Any] = []
    for face in (Client, Lane):
        monkeypatch.setattr(face, "stream", lambda *_args, **fields: begun.append(fields))
    done, out = cell(f"%%responses {line}\nGo.")
    assert isinstance(done.error_in_exec, UsageError)
    assert text in out
    assert out.count("\n") == 1
    assert not begun


@pytest.mark.parametrize(
    ("line", "told"),
    [("--reasoning hihg", "Invalid value: 'hihg'"), ("--hosted web_serach", "Invalid value: 'web_serach'")],
)
def test_the_demo_refuses_the_words_that_the_api_refuses(cell: Any, line: str, told: str) -> None:
    done, out = cell(f"%%responses {line}\nGo.")
    assert isinstance(done.error_in_exec, Rejected)
    assert told in out


def test_the_check_of_a_capture_file_changes_nothing(cell: Any, server: DemoServer) -> None:
    Path("kept.jsonl").write_text("kept")
    cell("%%responses --capture kept.jsonl -m demo-none\nGo.")  # refused: but a stream began, and its record with it
    assert Path("kept.jsonl").read_text().startswith('{"nbresponses"') or Path("kept.jsonl").read_text() == "kept"
    cell("%%responses --capture kept.jsonl --continue\nGo.")
    cell("%%responses --capture new.jsonl --tools nobody\nGo.")
    assert not Path("new.jsonl").exists()
    done, _ = cell("%%responses --capture new.jsonl\nGo.")
    assert done.success
    assert Path("new.jsonl").read_text().count("\n") > 3


def test_an_answer_as_a_list(cell: Any, loaded: Any, server: DemoServer) -> None:
    loaded.run_cell("from dataclasses import dataclass\n@dataclass\nclass Book:\n    title: str\n    year: int = 1\n")
    done, out = cell("%%responses -m demo-text --format list[Book]\nBooks.")
    assert done.success, out
    assert {type(each).__name__ for each in loaded.user_ns["_responses"].response.parsed} == {"Book"}
    assert "title" in out  # the table
    done, _ = cell("%%responses -m demo-text --format 'Book | None'\nBooks.")
    assert type(loaded.user_ns["_responses"].response.parsed).__name__ == "Book"


# ── Ended early ──


def test_an_interrupt_leaves_the_whole_run(cell: Any, loaded: Any) -> None:
    done, out = cell(f"%%responses -m demo-rounds --tools look -o run {ROUNDS}\nGo.")
    assert isinstance(done.error_in_exec, KeyboardInterrupt)
    run = loaded.user_ns["run"]
    assert (run.ending, len(run.rounds), len(run.calls)) == ("interrupted", 3, 2)
    assert done.error_in_exec.partial is run  # type: ignore[attr-defined]
    assert loaded.user_ns["_responses"].response.id == run.response.id
    assert "what came is in _responses, all 3 rounds and 2 results in run" in out


def test_a_failure_in_a_later_round_leaves_the_whole_run(cell: Any, loaded: Any, monkeypatch: Any) -> None:
    loaded.run_cell("def change(place: str = '') -> str:\n    'Changes.'\n    switch()\n    return 'x'")
    from nbresponses.client.stream import ResponseStream

    real = ResponseStream.get_final_response

    def fail(stream: Any, *args: Any) -> Any:
        response = real(stream, *args)
        raise ResponseFailed("no more", response=response, ending="failed")

    loaded.user_ns["switch"] = lambda: monkeypatch.setattr(ResponseStream, "get_final_response", fail)
    done, out = cell(f"%%responses -m demo-rounds --tools change {ROUNDS}\nGo.")
    assert isinstance(done.error_in_exec, ResponseFailed)
    assert (done.error_in_exec.partial.ending, len(done.error_in_exec.partial.rounds)) == ("failed", 2)
    assert "_responses, all 2 rounds and 1 results in sys.last_value.partial" in out


def test_an_answer_that_broke_off_names_what_was_not_called(cell: Any, loaded: Any, monkeypatch: Any) -> None:
    from nbresponses.client.tools import ToolRun
    from nbresponses.core.tools import ToolCall
    from nbresponses.core.wire import WireObject

    item = WireObject({"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"place": "x"}'})
    real = ToolRun.__init__

    def told(run: Any, rounds: Any, calls: Any = (), ending: str = "answered", **more: Any) -> None:
        real(run, rounds, calls, "incomplete", pending=(ToolCall(item, 1),))

    monkeypatch.setattr(ToolRun, "__init__", told)
    done, out = cell("%%responses --tools look\nGo.")
    assert done.success, out
    assert 'The answer broke off; not called: look(place="x")' in out


def test_the_help_fits_its_width(cell: Any) -> None:
    _, out = cell("%responses help")
    told = out[out.index("commands, after %responses") :]
    assert max(map(len, told.splitlines())) <= 100
    assert {"models", "lanes", "history", "df"} <= set(told.split())
