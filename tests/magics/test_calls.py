"""Cells that call functions, answer as objects, show pictures, take responses up; and what was asked so far."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

from nbresponses import DemoServer, FormatError, Response

DEFINITIONS = (
    "from dataclasses import dataclass\n"
    "def look(place: str = 'here') -> str:\n    'Look.'\n    calls.append(place)\n    return 'seen ' + place\n"
    "@dataclass\nclass Book:\n    title: str\n    year: int\n"
    "calls, books = [], list[Book]\n"
)


def test_functions_are_called_and_their_calls_told(cell: Any, loaded: Any, server: DemoServer, bodies: Any) -> None:
    done, out = cell('%%responses -m demo-rounds --tools look -o run -p \'metadata={"demo_rounds": "2"}\'\nGo.')
    assert done.success, out
    assert len(loaded.user_ns["calls"]) == 2
    assert out.count("-> seen ") == 2
    assert "returned: seen" in out
    run = loaded.user_ns["run"]
    assert (run.ending, len(run.rounds)) == ("answered", 3)
    assert loaded.user_ns["_responses"].response.output_text == run.output_text
    assert [body.get("previous_response_id") for body in bodies(server)] == [
        None,
        *[each.id for each in run.rounds[:2]],
    ]


def test_functions_on_a_lane(cell: Any, loaded: Any) -> None:
    done, out = cell("%%responses -m demo-rounds --lane a --tools look\nGo.")
    assert done.success, out
    assert len(loaded.user_ns["calls"]) == 3


@pytest.mark.parametrize(("answer", "called"), [("y", True), ("", False), ("no", False)])
def test_the_user_is_asked(cell: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch, answer: str, called: bool) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    done, out = cell("%%responses -m demo-tools --tools look --confirm\nGo.")
    assert done.success, out
    assert asked[0].startswith("Call look(place=")
    assert bool(loaded.user_ns["calls"]) is called


def test_what_nobody_answers_is_named_and_not_run(cell: Any) -> None:
    custom = '[{"type": "custom", "name": "run_sql"}]'
    done, out = cell(f"%%responses -m demo-tools --tools look -p 'tools={custom}'\nGo.")
    assert done.success
    assert "waits for calls that nobody answers: run_sql" in out


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--tools lok", "'lok' is not defined in this notebook, did you mean look?"),
        ("--tools calls", "calls is a list, not a function"),
        ("--tools f()", "expected names of functions"),
        ("--format Bok", "'Bok' is not defined"),
        ("--format Book.x", "Book has no 'x'"),
        ("--image none.png", "cannot be read"),
        ("--image look", "not function"),
        ("--tools look --no-wait", "exclude --no-wait"),
        ("--cancel-on-interrupt", "needs --background or --resume"),
        ("--resume resp_1", "the cell below it stays empty"),
    ],
)
def test_mistakes_are_one_line(cell: Any, server: DemoServer, line: str, text: str, bodies: Any) -> None:
    done, out = cell(f"%%responses {line}\nGo.")
    assert isinstance(done.error_in_exec, UsageError)
    assert text in out
    assert not bodies(server)


def test_an_answer_as_an_object(cell: Any, loaded: Any) -> None:
    done, out = cell("%%responses -m demo-text --format books\nBooks.")
    assert done.success, out
    parsed = loaded.user_ns["_responses"].response.parsed
    assert parsed
    assert {type(each).__name__ for each in parsed} == {"Book"}
    assert "title" in out  # the table
    done, out = cell("%%responses -m demo-refusal --format Book\nBooks.")
    assert isinstance(done.error_in_exec, FormatError)
    assert "the model refused to answer" in out


def test_pictures_and_files_go_along(cell: Any, loaded: Any, server: DemoServer, bodies: Any) -> None:
    Path("a.csv").write_text("a,b")
    loaded.run_cell("import numpy, pandas\npicture = numpy.zeros((2, 2))\nframe = pandas.DataFrame({'x': [1]})")
    done, out = cell("%%responses --image picture --file a.csv --file frame\nWhat is it?")
    assert done.success, out
    (message,) = bodies(server)[0]["input"]
    assert [part["type"] for part in message["content"]] == ["input_text", "input_image", "input_file", "input_text"]
    assert message["content"][3]["text"].startswith("Table frame: 1 rows")


def test_a_background_response_is_taken_up(cell: Any, loaded: Any, server: DemoServer) -> None:
    cell("%%responses --background\nGo.")
    id_ = loaded.user_ns["_responses"].id
    text = loaded.user_ns["_responses"].response.output_text
    done, out = cell(f"%responses --resume {id_}")
    assert done.success, out
    assert loaded.user_ns["_responses"].response.output_text == text
    assert text in out
    assert server.requests[-1].method == "GET"


@pytest.mark.parametrize("cancel", [False, True])
def test_an_interrupt_of_a_background_response(
    cell: Any, server: DemoServer, monkeypatch: pytest.MonkeyPatch, cancel: bool
) -> None:
    def follow(stream: Any, view: Any) -> None:
        next(stream)
        raise KeyboardInterrupt

    monkeypatch.setattr("nbresponses.display.follow", follow)
    done, out = cell(f"%%responses -m demo-slow --background {'--cancel-on-interrupt' * cancel}\nGo.")
    assert isinstance(done.error_in_exec, KeyboardInterrupt)
    if cancel:
        assert "is cancelled on the server" in out
        until = time.monotonic() + 5
        while server.active and time.monotonic() < until:
            time.sleep(0.01)
        assert not server.active
    else:
        assert "goes on on the server. Take it up again: %responses --resume resp_" in out
        assert server.active


def test_the_request_is_shown_with_its_tools_and_format(cell: Any, server: DemoServer, bodies: Any) -> None:
    done, out = cell("%%responses -N --tools look --format Book\nGo.")
    assert done.success, out
    body = json.loads(out[out.index("{") :])
    assert body["tools"][0]["name"] == "look"
    assert body["text"]["format"]["name"] == "Book"
    assert not bodies(server)


# ── What was asked so far ──


def test_usage_is_summed_and_priced(cell: Any, loaded: Any) -> None:
    assert "Nothing was asked yet" in cell("%responses usage")[1]
    cell("%%responses\nOne.")
    cell("%%responses -m demo-text\nTwo.")
    out = cell("%responses usage")[1]
    assert [line.split()[0] for line in out.splitlines()] == ["model", "demo-echo", "demo-text", "all"]
    assert "cost" not in out
    loaded.run_line_magic("config", "Responses.prices = {'demo-echo': {'input': 1e6, 'output': 0}}")
    out = cell("%responses usage")[1]
    usage = loaded.user_ns["_responses"].response.usage
    assert usage is not None
    assert "cost: " in out
    assert "without a price: demo-text" in out
    loaded.run_line_magic("config", "Responses.prices = {'demo': {'input': 1e6, 'output': 0}}")
    out = cell("%responses usage")[1]
    assert "begins with: demo-echo by 'demo', demo-text by 'demo'" in out
    assert "without a price" not in out


@pytest.mark.parametrize(
    ("prices", "text"),
    [
        ({"demo": 3}, "'demo' must be a model's name with a table"),
        ({3: {"input": 1, "output": 1}}, "3 must be a model's name with a table"),
        ({"demo": {"input": 1}}, "'demo' has no price for output; it has input"),
        ({"demo": {"inptu": 1}}, "'demo' has no price for input and output; it has inptu"),
        ({"demo": {"input": "1", "output": 1}}, "input must be a number, 0 or above, not '1'"),
        ({"demo": {"input": 1, "output": float("nan")}}, "output must be a number, 0 or above, not nan"),
        ({"demo": {"input": 1, "cached_input": -1, "output": 1}}, "cached_input must be a number, 0 or above, not -1"),
    ],
)
def test_a_price_table_that_is_wrong_prices_nothing(cell: Any, loaded: Any, prices: Any, text: str) -> None:
    cell("%%responses\nOne.")
    loaded.user_ns["nan"] = float("nan")
    loaded.run_line_magic("config", f"Responses.prices = {prices}")
    for command in ("%responses usage", "%responses df --frame responses"):
        out = cell(command)[1]
        assert out.startswith("UsageError: Responses.prices: ")
        assert text in out


def test_a_response_taken_up_again_is_counted_once(cell: Any, loaded: Any) -> None:
    cell("%%responses --background\nMy name is Ada.")
    id_ = loaded.user_ns["_responses"].response.id
    once = cell("%responses usage")[1]
    cell(f"%responses --resume {id_}")
    assert loaded.user_ns["_responses"].response.id == id_
    assert cell("%responses usage")[1] == once
    cell("%%responses -c\nAnd now?")
    assert cell("%responses history")[1].startswith("### User\n\nMy name is Ada.\n\n### Assistant")


@pytest.mark.parametrize("where", ["", "--lane a "])
def test_an_answer_whose_calls_nobody_answered_is_not_continued(cell: Any, loaded: Any, where: str) -> None:
    loaded.user_ns["unanswered"] = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    cell("%%responses --json " + where + '\n{"model": "demo-tools", "input": "Go.", "tools": {{unanswered}}}')
    out = cell(f"%%responses {where or '-c'}\nAnd now?")[1]
    assert "No tool output found" in out
    assert "remedy: the answer that this continues waits for results of its calls: start anew" in out
    assert cell(f"%%responses {where and where + '--new'}\nAnew.")[0].success


def test_an_id_that_the_server_does_not_know(cell: Any) -> None:
    out = cell("%responses --resume resp_nobody")[1]
    assert "this server keeps no response of that id" in out


def test_the_conversation_as_markdown_and_as_items(cell: Any, loaded: Any) -> None:
    cell("%%responses\nSomething else.")
    cell("%%responses\nMy name is Ada.")
    cell("%%responses -c\nAnd now?")
    out = cell("%responses history")[1]
    assert out.startswith("### User\n\nMy name is Ada.\n\n### Assistant")
    assert "Something else" not in out
    cell("%responses history items")
    assert [item["role"] for item in loaded.user_ns["items"]] == ["user", "assistant"] * 2
    for wrong in ("3", "class", "a.b", "a b"):
        assert "takes the name" in cell(f"%responses history {wrong}")[1]


def test_a_code_block_goes_into_the_next_cell_and_is_not_run(cell: Any, loaded: Any) -> None:
    assert "no code block" in cell("%responses code")[1]

    class Shown:
        part = {"type": "output_text", "text": "```py\n1/0\n```\n```\n2\n```"}
        response = Response({"output": [{"type": "message", "content": [part]}]})

    loaded.user_ns["_responses"] = Shown
    put: list[str] = []
    loaded.set_next_input = lambda text, **_: put.append(text)
    assert "Block 1 of 2" in cell("%responses code")[1]
    cell("%responses code 2")
    assert put == ["1/0", "2"]
    assert "1 to 2" in cell("%responses code 3")[1]
