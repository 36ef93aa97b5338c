"""docs/client.md is held against the code: its examples run, its tables name what there is and the defaults."""

from __future__ import annotations

import asyncio
import inspect
import re
from dataclasses import fields
from pathlib import Path

from nbresponses.client import AsyncClient, Client, ResponseStream
from nbresponses.client.base import BaseClient
from nbresponses.client.patience import LONGEST_WAIT
from nbresponses.client.settings import Timeouts

DOC = (Path(__file__).parents[2] / "docs" / "client.md").read_text()


def table(section: str) -> list[list[str]]:
    body = re.split(r"^## ", DOC.split(f"## {section}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    [rows] = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", body, flags=re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_examples_run(capsys):
    namespace: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", DOC, flags=re.MULTILINE | re.DOTALL):
        exec(block, namespace)  # noqa: S102  our own page
        if "main" in namespace:
            assert asyncio.run(namespace.pop("main")())  # type: ignore[operator]
    assert "demo" in capsys.readouterr().out
    assert namespace["rest"].ending == "completed"  # type: ignore[attr-defined]
    for name in ("client", "other"):
        namespace[name].close()  # type: ignore[attr-defined]


def test_the_arguments_are_those_of_both_clients():
    named = [name for row in table("Where requests go") for name in code(row[0])]
    for kind in (Client, AsyncClient, BaseClient):
        assert named == [name for name in inspect.signature(kind).parameters if name != "self"]
    defaults = inspect.signature(BaseClient).parameters
    assert defaults["max_retries"].default == 2
    assert defaults["max_event_bytes"].default == 64 << 20


def test_the_limits_and_their_defaults():
    rows = [(code(row[0])[0], row[1]) for row in table("Limits")]
    assert rows == [
        (field.name, "none" if field.default is None else f"{field.default:g}") for field in fields(Timeouts)
    ]
    assert f"up to {LONGEST_WAIT:g} s" in DOC


def test_what_a_stream_has():
    for name in re.findall(r"`(?:stream)?\.([a-z_]+)", "".join(row[0] for row in table("A stream"))):
        assert hasattr(ResponseStream, name) or name in {"request", "capture"}, name


def test_the_endings():
    named = {name for row in table("Endings and errors") for name in code(row[0])}
    assert named == {"completed", "incomplete", "failed", "error", "cancelled", "cut_off", "interrupted"}
