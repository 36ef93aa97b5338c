"""docs/tools.md and docs/servers.md against the code: the examples run, the tables name what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from nbresponses import Response
from nbresponses.client import tool_plan

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tools.md").read_text()


def rows(page: str, heading: str) -> list[str]:
    """The first cells of the table under a heading row."""
    body = page[page.index(heading) :].split("\n\n", 1)[0].splitlines()[2:]
    return [name for row in body for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_the_examples_run() -> None:
    namespace: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/tools.md", "exec"), namespace)  # noqa: S102  our own page
    try:
        assert namespace["run"].calls[0].output == "0 rows of Ask."  # type: ignore[attr-defined]
        assert "the book is yours" in namespace["approved"].output_text  # type: ignore[attr-defined]
        assert len(namespace["frame"]) == 3  # type: ignore[arg-type]
        assert namespace["recording"].response.output_text == "Hello"  # type: ignore[attr-defined]
    finally:
        namespace["client"].close()  # type: ignore[attr-defined]
        namespace["server"].stop()  # type: ignore[attr-defined]


def test_every_option_of_run_is_told() -> None:
    told = rows(PAGE, "| option of `run` |")
    fields = {field.name for field in dataclasses.fields(tool_plan.Plan)} - {"definitions"}
    assert set(told) == fields | {"strict"}
    assert f"rounds of calls, {tool_plan.MAX_ROUNDS};" in PAGE


def test_every_reason_of_a_format_error_is_told() -> None:
    source = (DOCS.parent / "nbresponses" / "core" / "formats.py").read_text()
    assert set(rows(PAGE, "| `reason` |")) == set(re.findall(r'FormatError\("(\w+)"', source))


def test_the_small_things_exist() -> None:
    section = PAGE[PAGE.index("## Small things") :]
    for name in re.findall(r"`response\.(\w+)", section):
        assert hasattr(Response, name), name


def test_the_servers_that_are_tested_are_those_that_tests_start() -> None:
    page = (DOCS / "servers.md").read_text()
    tested = {row.split("|")[1].strip() for row in page.splitlines() if re.match(r"(\|[^|]*){3}\| server\b", row)}
    started = "".join(path.read_text() for path in (DOCS.parent / "tests" / "peers").glob("test_*.py"))
    scripts = {"azure-ai-agentserver-responses": "azagent", "llama.cpp (`llama-server`)": "llama-server"}
    for name in tested - {"the demo server"}:
        assert f"start-{scripts.get(name, name.split('-')[0])}.sh" in started, name
    assert len(tested) == 5
