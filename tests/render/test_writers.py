"""Blocks as HTML, Markdown and plain text: that what a reader needs is there, in each of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbresponses.core.response import Response
from nbresponses.render import (
    StatusLine,
    block_html,
    block_text,
    blocks,
    bundle,
    duration,
    metadata,
    status_html,
    to_html,
    to_markdown,
    to_text,
)
from tests.render.checks import read_html, read_markdown, squeezed

PNG = "iVBORw0KGgoAAAANSUhEUgAA"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEA"
ITEMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "text": (
        {
            "type": "message",
            "content": [
                {
                    "type": "output_text",
                    "text": "Hello **you**",
                    "annotations": [{"type": "url_citation", "url": "https://a.b/c", "title": "Title"}],
                }
            ],
        },
        ["Hello", "you", "Title"],
    ),
    "reasoning": ({"type": "reasoning", "summary": [{"text": "Thinking **hard**"}]}, ["Reasoning", "Thinking", "hard"]),
    "refusal": ({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}, ["I won't."]),
    "call": (
        {"type": "function_call", "name": "get_weather", "arguments": '{"city":"Bern"}', "status": "completed"},
        ["get_weather", '"city": "Bern"', "completed"],
    ),
    "mcp": (
        {"type": "mcp_call", "name": "ask", "server_label": "wiki", "output": "answer", "error": "broke"},
        ["ask", "wiki", "answer", "broke"],
    ),
    "tools": (
        {"type": "mcp_list_tools", "server_label": "wiki", "tools": [{"name": "a", "description": "does it"}]},
        ["wiki", "a", "does it"],
    ),
    "code": ({"type": "code_interpreter_call", "code": "print(1)", "outputs": [{"logs": "one"}]}, ["print(1)", "one"]),
    "search": (
        {"type": "web_search_call", "action": {"type": "search", "query": "cats", "sources": [{"url": "https://a.b"}]}},
        ["web search", "cats", "https://a.b"],
    ),
    "files": (
        {"type": "file_search_call", "queries": ["q"], "results": [{"filename": "a.txt", "text": "inside"}]},
        ["file search", "a.txt", "inside"],
    ),
    "shell": (
        {"type": "shell_call", "action": {"commands": ["ls -a"]}, "status": "completed"},
        ["$ ls -a", "completed"],
    ),
    "patch": (
        {"type": "apply_patch_call", "operation": {"type": "update_file", "path": "a.py", "diff": "-a\n+b"}},
        ["update file a.py", "-a", "+b"],
    ),
    "image": ({"type": "image_generation_call", "result": PNG, "revised_prompt": "a cat"}, ["PNG", "a cat"]),
    "compaction": ({"type": "compaction"}, ["compacted"]),
    "unknown": ({"type": "new_thing", "value": "<b>"}, ["new_thing", '"value": "<b>"']),
}
each = pytest.mark.parametrize(("item", "expected"), ITEMS.values(), ids=ITEMS.keys())


@each
def test_each_kind_in_each_form(item: dict[str, Any], expected: list[str]) -> None:
    found = blocks({"output": [item]})
    for shown in (read_html(to_html(found)), read_markdown(to_markdown(found)), squeezed(to_text(found))):
        for word in expected:
            assert squeezed(word) in shown
    assert to_html(found).count(block_html(found[0])) == 1
    assert to_text(found) == block_text(found[0])


def test_reasoning_is_folded_when_done_and_open_while_it_goes_on() -> None:
    item = {"type": "reasoning", "summary": [{"text": "Thinking"}]}
    done = blocks({"output": [item]}, seconds={0: 7.24})
    live = blocks({"output": [item], "status": "in_progress"})
    assert "<details style=" in to_html(done)
    assert "<details open style=" in to_html(live)
    assert "Reasoning · 7.2 s" in to_text(done)
    assert "Reasoning…" in to_text(live)
    assert to_markdown(done).startswith("<details><summary>Reasoning")
    assert to_text(done).splitlines()[1] == "| Thinking"


def test_pictures_are_in_the_html_and_named_in_the_markdown() -> None:
    response = {"output": [{"type": "image_generation_call", "result": PNG}]}
    shown = bundle(response)
    assert f'<img src="data:image/png;base64,{PNG}"' in shown["text/html"]
    assert PNG not in shown["text/markdown"]
    assert f"](data:image/png;base64,{PNG})" in to_markdown(blocks(response))
    assert PNG not in shown["text/plain"]


def test_audio_has_a_player_where_it_can_be_played() -> None:
    response = Response({"output": []}, ending="completed", audio=WAV, audio_transcript="spoken")
    assert f'<audio controls src="data:audio/wav;base64,{WAV}">' in to_html(blocks(response))
    raw = Response({"output": []}, ending="completed", audio="AAAA" * 20, audio_transcript="spoken")
    assert "<audio" not in to_html(blocks(raw))
    for found in (blocks(response), blocks(raw)):
        assert "spoken" in to_text(found)
        assert "spoken" in to_markdown(found)


def test_errors_say_code_and_message() -> None:
    found = blocks({"status": "failed", "error": {"code": "rate_limit", "message": "slow\ndown"}, "output": []})
    for shown in (read_html(to_html(found)), read_markdown(to_markdown(found)), squeezed(to_text(found))):
        assert "rate_limit" in shown
        assert "slowdown" in shown


def test_every_citation_is_a_link_that_leaves_alone() -> None:
    notes = [{"type": "url_citation", "url": url, "title": "T"} for url in ("https://a.b", "javascript:x")]
    found = blocks({"output": [{"type": "message", "content": [{"text": "x", "annotations": notes}]}]})
    assert to_html(found).count("<a href=") == 1
    assert "javascript" not in to_html(found)
    assert "[T](https://a.b)" in to_markdown(found)
    assert "[1] T <https://a.b>" in to_text(found)


STATUS = StatusLine(
    model="gpt-x",
    state="in_progress",
    elapsed=12.34,
    first_token=0.411,
    output_tokens=1532,
    tokens_per_second=124.4,
    response_id="resp_1",
    notes=("resumed at event 5", "demo server: $0 and <b>"),
)


def test_the_status_line() -> None:
    expected = (
        "gpt-x · in progress · 12.3 s · first token 0.41 s · 1,532 tokens · 124 tokens/s · resp_1 · resumed at event 5"
    )
    assert STATUS.text() == f"{expected} · demo server: $0 and <b>"
    assert StatusLine().text() == ""
    assert StatusLine(elapsed=0.0, output_tokens=0, tokens_per_second=2.25).text() == "0.00 s · 0 tokens · 2.2 tokens/s"
    assert "&lt;b&gt;" in status_html(STATUS)
    assert status_html(None) == status_html(StatusLine()) == ""
    assert read_html(to_html([], STATUS)) == squeezed(STATUS.text())
    assert read_markdown(to_markdown([], STATUS)) == squeezed(STATUS.text())
    assert to_text([], STATUS) == f"[{STATUS.text()}]"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0.00 s"),
        (0, "0.00 s"),
        (0.414, "0.41 s"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min 00 s"),
        (125.4, "2 min 05 s"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_the_bundle_has_three_forms_of_the_same() -> None:
    response = Response(
        {"id": "resp_1", "model": "m", "status": "completed", "output": [ITEMS["text"][0]]}, ending="completed"
    )
    shown = bundle(response, STATUS)
    assert list(shown) == ["text/html", "text/markdown", "text/plain"]
    assert all("gpt-x" in form for form in shown.values())
    assert bundle(Response(), None)["text/plain"] == ""


def test_metadata_holds_facts_only() -> None:
    usage = {"output_tokens": 5, "cost": 0.1, "output_tokens_details": {"reasoning_tokens": 1}, "x": True}
    response = Response(
        {"id": "resp_1", "model": "m", "status": "completed", "usage": usage, "output": [ITEMS["text"][0]]},
        ending="completed",
    )
    facts = {
        "model": "m",
        "response_id": "resp_1",
        "status": "completed",
        "ending": "completed",
        "usage": {"output_tokens": 5},
    }
    assert metadata(response) == {"nbresponses": facts}
    assert metadata(Response()) == {"nbresponses": {}}


def test_nothing_is_drawn_that_a_notebook_would_strip() -> None:
    everything = {"output": [item for item, _ in ITEMS.values()], "status": "incomplete", "error": {"message": "m"}}
    written = bundle(everything, STATUS)["text/html"]
    for name in ("<style", "<script", "<svg", " id=", " class=", " on", "url("):
        assert name not in written.replace("&lt;", "")


def test_words_above_a_call_stay_apart_without_styles() -> None:
    """On a page that takes styles away, and in what a reader copies."""
    call, _ = ITEMS["call"]
    words = re.sub("<[^>]+>", "", to_html(blocks({"output": [call]})))
    assert words.strip().startswith("get_weather function call completed")
