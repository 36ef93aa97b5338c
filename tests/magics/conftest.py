"""Shells for the magics' tests: fresh, in memory, away from the user's own settings and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbresponses import DemoServer


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A new shell without history file, in an empty folder, with no key in the environment."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("")
    monkeypatch.chdir(work)
    monkeypatch.setattr(HistoryManager, "enabled", False)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config())
    yield made
    made.extension_manager.unload_extension("nbresponses")
    made.restore_sys_module_state()
    InteractiveShell.clear_instance()


@pytest.fixture
def loaded(shell: Any) -> Any:
    """The same, with the extension loaded."""
    shell.run_line_magic("load_ext", "nbresponses")
    return shell


@pytest.fixture
def server() -> Iterator[DemoServer]:
    """A demo server of the test's own, that does not wait between events."""
    with DemoServer(delay=0) as running:
        yield running


@pytest.fixture
def bodies() -> Callable[[DemoServer], list[Any]]:
    """What was posted to a demo server, in order."""
    return lambda server: [request.body for request in server.requests if request.method == "POST" and request.body]


@pytest.fixture
def cell(
    loaded: Any, server: DemoServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> Callable[[str], Any]:
    """Runs a cell against `server`, after the module's DEFINITIONS; (its result, what was printed)."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    loaded.run_line_magic("config", "Responses.model = 'demo-echo'")
    assert loaded.run_cell(request.module.DEFINITIONS).success

    def run(source: str) -> tuple[Any, str]:
        capsys.readouterr()
        done = loaded.run_cell(source)
        told = capsys.readouterr()
        return done, told.out + told.err

    return run
