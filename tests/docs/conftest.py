"""A demo server that the environment names, and a shell that runs what stands in the pages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbresponses import Client, DemoServer

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    """A server as a reader has one: by the environment. Of other models than the demo's it gives the demo's text."""
    with DemoServer(delay=0) as server:
        for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-reader")
        yield server


@pytest.fixture
def folder(server: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a project's settings, and captures such as the pages read."""
    work = tmp_path / "work"
    captures = work / "captures"
    captures.mkdir(parents=True)
    (work / "pyproject.toml").write_text('[tool.nbresponses]\nmodel = "demo-text"\n')  # as the server needs one
    monkeypatch.chdir(work)
    with Client() as client:
        fields: dict[str, Any] = {"include": ["message.output_text.logprobs"], "top_logprobs": 3}
        with client.stream("Hello", model="demo-text", **fields) as stream:
            stream.until_done().capture.save(captures / "answer.jsonl")
        with client.lanes(model="demo-text", store=False) as lanes:
            for name in ("bold", "careful"):
                lanes[name].create(f"Be {name}.")
            lanes.capture.save(captures / "lanes.jsonl")
    return work


@pytest.fixture
def shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A new shell in that folder, with the magics loaded."""
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(HistoryManager, "enabled", False)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config())
    made.run_line_magic("load_ext", "nbresponses")
    yield made
    made.extension_manager.unload_extension("nbresponses")
    made.restore_sys_module_state()
    InteractiveShell.clear_instance()
