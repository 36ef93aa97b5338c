"""The small cases that broke tools of this kind, as far as they are about what is shown."""

from __future__ import annotations

import builtins
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import decode_event
from nbresponses.render import bundle
from tests.render.checks import paired_dollars, read_html, read_markdown, squeezed

CASES = Path(__file__).parents[1] / "data" / "cases"
NAMES = ["B132", "B145", "B147", "B185", "B187", "B189", "B190", "B191", "B201"]


def shown(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """The expectations; what is shown after the event they name, and at the end. No file or socket is opened."""
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    accumulator = Accumulator()
    part: dict[str, str] = {}

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("rendering opens nothing")

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        patch.setattr(socket, "socket", refuse)
        for number, event in enumerate(case["input"]["events"]):
            accumulator.apply(decode_event(json.dumps(event)))
            if number == case["expect"].get("renders", {}).get("after_event"):
                part = bundle(accumulator.response)
        accumulator.finish()
        whole = bundle(accumulator.response)
    return case["expect"], part, whole


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expect, part, whole = shown(name, monkeypatch)
    renders = expect["renders"]
    in_html, in_markdown = read_html(whole["text/html"]), read_markdown(whole["text/markdown"])
    checked = 0
    for text in (renders.get("text_shown"), renders.get("visible_text")):
        if text is not None:
            assert in_html == in_markdown == squeezed(text)
            assert whole["text/plain"] == text
            checked += 1
    if "math_spans" in renders:
        assert paired_dollars(whole["text/html"]) == renders["math_spans"]
        checked += 1
    for code in renders.get("code_unchanged", []):
        assert f"\n{code}\n" in part["text/markdown"]
        assert f"\n{code}\n" in whole["text/markdown"]
        assert squeezed(code) in read_html(part["text/html"])
        checked += 1
    if "plain_text" in renders:
        assert whole["text/plain"] == renders["plain_text"]
        assert in_html == in_markdown == renders["plain_text"]
        checked += 1
    if renders.get("no_remote_src"):
        assert " src=" not in whole["text/html"]
        assert "![" not in whole["text/markdown"]
        checked += 1
    if renders.get("no_raw_html"):
        assert not any(tag in whole["text/html"] for tag in ("<script", "<iframe", "<b ", "<i>"))
        assert "<iframe" not in whole["text/markdown"]
        checked += 1
    if "html_export_contains_no" in renders:
        assert renders["html_export_contains_no"] not in whole["text/html"]
        checked += 1
    assert checked
    if expect.get("error"):
        assert squeezed(expect["error"]["message"]) in in_html
        assert expect["error"]["message"] in whole["text/plain"]
