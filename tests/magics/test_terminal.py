"""The magics in a terminal IPython, as a process of its own with pipes for its terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit", "--colors=NoColor"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    (tmp_path / "pyproject.toml").write_text("")
    return {**kept, "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONUNBUFFERED": "1", "TERM": "dumb"}


def test_the_answer_is_printed_as_plain_text(tmp_path: Path, environment: dict[str, str]) -> None:
    lines = (
        "%load_ext nbresponses",
        "get_ipython().run_cell_magic('responses', '-m demo-reasoning', 'Hello')",
        "print('again:', _responses.response.output_text[:15])",
        "get_ipython().run_cell_magic('responses', '-m demo-failed', 'Hello')",
    )
    done = subprocess.run(
        COMMAND,
        input="\n".join([*lines, ""]),
        capture_output=True,
        text=True,
        timeout=55,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert "> The user said: Hello." in done.stdout
    assert "[demo-reasoning · completed · " in done.stdout
    assert "again: A demo thinks n" in done.stdout
    assert "remedy: run the cell again" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert "<IPython" not in done.stdout


def test_control_c(tmp_path: Path, environment: dict[str, str]) -> None:
    lines = (
        "%load_ext nbresponses",
        "get_ipython().run_cell_magic('responses', '-m demo-slow', 'Hello')",
        "print('ended', _responses.ending)",
        "",
    )
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines[:2]).encode() + b"\n")
        process.stdin.flush()
        seen = b""
        while b"takes its time" not in seen:
            seen += os.read(process.stdout.fileno(), 65536)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        while b"interrupted: what came is in _responses" not in seen:
            seen += os.read(process.stdout.fileno(), 65536)
        assert time.monotonic() - asked < 5
        rest, _ = process.communicate("\n".join(lines[2:]).encode(), timeout=30)
    text = (seen + rest).decode()
    assert "[Interrupted: the stream was stopped here." in text
    assert "ended interrupted" in text
    assert "Traceback" not in text
