"""What all tests share: the captured streams (kept outside the repository) and the small cases in data/cases.

A test that takes `stream_file` runs once per captured stream; one marked `cases("sse", …)` that takes `case` once per
case of these areas. The streams are looked for in $NBRESPONSES_STREAMS, then in ../shared/data/streams beside the
repository. Where they are missing such a test is skipped, but fails when CI is set; $NBRESPONSES_STREAMS=none says that
they are left out, and skips it there too.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
CASES = Path(__file__).parent / "data" / "cases"
NO_STREAMS = "none"
TOLD = "told"
"""The property of a test's report that holds a line for the end of the run."""


def streams_folder() -> Path:
    given = os.environ.get("NBRESPONSES_STREAMS")
    return Path(given) if given else ROOT.parent / "shared" / "data" / "streams"


@cache
def captured_streams() -> tuple[Path, ...]:
    folder = streams_folder()
    inner = folder / "raw"
    return tuple(sorted((inner if inner.is_dir() else folder).glob("*.sse")))


@cache
def load_cases() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.json")))


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def missing_streams() -> None:
    if os.environ.get("NBRESPONSES_STREAMS") == NO_STREAMS:
        pytest.skip(f"NBRESPONSES_STREAMS={NO_STREAMS}: the captured streams are left out")
    reason = f"no captured streams in {streams_folder()}; set NBRESPONSES_STREAMS to a folder that holds some"
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes a line that is printed at the end of the run, whatever the verbosity."""

    def tell(line: str) -> None:
        request.node.user_properties.append((TOLD, line))  # what a worker process hands to the one that prints

    return tell


@pytest.fixture
def names_a_test() -> Callable[[str], None]:
    """Fails unless `folder/test_module.py::test_name`, below this folder, is there."""

    def check(place: str) -> None:
        module, _, name = place.partition("::")
        tree = ast.parse((Path(__file__).parent / module).read_text(encoding="utf-8"))
        found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in found, f"no {name} in {module}"

    return check


@pytest.fixture(scope="session")
def stream_files() -> tuple[Path, ...]:
    """All captured streams."""
    if not captured_streams():
        missing_streams()
    return captured_streams()


@pytest.fixture
def stream_file(request: pytest.FixtureRequest) -> Path:
    """One captured stream; the test runs once for each."""
    if request.param is None:
        missing_streams()
    path: Path = request.param
    return path


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("nbresponses", deadline=None)  # a busy machine is not a failure
    settings.load_profile("nbresponses")
    config.addinivalue_line("markers", "cases(*areas): run once for each case of these areas, given as `case`")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "stream_file" in metafunc.fixturenames:
        files = captured_streams()
        metafunc.parametrize("stream_file", files or [None], ids=[path.stem for path in files] or None, indirect=True)
    marker = metafunc.definition.get_closest_marker("cases")
    if marker is not None:
        chosen = [case for case in load_cases() if case["area"] in marker.args]
        assert chosen, f"no cases of the areas {marker.args} in {CASES}"
        metafunc.parametrize("case", chosen, ids=[case["id"] for case in chosen])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """In several processes: a file's tests share one, since they share its fixtures; those of the browser too, since
    two browsers at a time are more than two cores can bear."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "tests/browser" if file.startswith("tests/browser/") else file

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    lines = [line for report in reports for name, line in report.user_properties if name == TOLD]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.line(line)
