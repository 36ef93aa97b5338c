"""Plain text: only what is new, in order, with no escape codes where there is no terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from nbresponses import ResponseStream
from nbresponses.display import choose_view, follow
from nbresponses.display.plain import PlainView, QuietView
from nbresponses.display.updating import UpdatingView

CREATED = {"type": "response.created", "response": {"id": "r", "status": "in_progress", "model": "m", "output": []}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(stream: ResponseStream, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    follow(stream, PlainView(out), interval=0)
    return out.getvalue()


def delta(kind: str, text: str, *, index: int = 0, place: str = "content_index") -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, place: 0, "delta": text}


def reasoning(*deltas: str) -> list[dict[str, Any]]:
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "t"}}
    return [CREATED, added, *(delta("reasoning_summary_text", text, place="summary_index") for text in deltas)]


def test_the_text_and_the_closing_line(events: Any, played: Any) -> None:
    text = printed(played(events("One\n", "two ", "three.")))
    answer, closing = text.rstrip("\n").rsplit("\n", 1)
    assert answer == "One\ntwo three."
    assert closing.startswith("[a-model · completed · ")
    assert closing.endswith("]")


def test_each_piece_once_as_it_comes(events: Any, played: Any) -> None:
    writes: list[str] = []

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            writes.append(text)
            return len(text)

    stream = played(events("a ", "b ", "c"))
    view = PlainView(Out())
    view.start(stream)
    for change in stream.changes():
        view.apply([change])
    assert writes == ["a ", "b ", "c"]


def test_text_that_only_the_done_event_brings(events: Any, played: Any) -> None:
    whole = [event for event in events("the whole") if not event["type"].endswith("delta")]
    assert printed(played(whole)).startswith("the whole\n[")


def test_an_answer_that_comes_at_once(events: Any, played: Any) -> None:
    assert printed(played(events("all of it")[-1:])).startswith("all of it\n[")


def test_reasoning_is_dim_on_a_terminal_and_quoted_elsewhere(events: Any, played: Any) -> None:
    steps = [*reasoning("I ", "think\nso"), delta("output_text", "Yes.", index=1)]
    assert printed(played(steps)).startswith("> I think\n> so\n\nYes.\n")
    assert printed(played(steps), Terminal()).startswith("\x1b[2mI think\nso\x1b[0m\n\nYes.\n")


def test_no_escape_codes_into_pipes(events: Any, played: Any) -> None:
    hostile = "a\x1b[2K\x1b[1Ab\x1b[31mred\x1b[0m\x07 \x9b2J\x1b]0;title\x07\x08"
    assert printed(played(events(hostile))).startswith("abred ")
    for text in (printed(played(events(*hostile))), printed(played(reasoning(*hostile)))):
        assert not any(ord(char) < 32 and char != "\n" for char in text)
        assert "\x9b" not in text
    assert printed(played(events(*"a\x1b[31mred\x1b[0m"))).startswith("ared\n")
    assert printed(played(events("a\r", "\nb"))).startswith("a\nb\n")


def test_calls_images_and_sources(played: Any, events: Any) -> None:
    def done(index: int, item: dict[str, Any]) -> dict[str, Any]:
        return {"type": "response.output_item.done", "output_index": index, "item": item}

    call = {"type": "function_call", "name": "f", "arguments": '{"a": 1}', "call_id": "c", "status": "completed"}
    note = {"type": "url_citation", "title": "T", "url": "https://t.test/"}
    part = {"type": "output_text", "text": "Said.", "annotations": [note]}
    said = {"type": "message", "content": [part], "status": "completed"}
    text = printed(played([CREATED, done(0, call), delta("output_text", "Said.", index=1), done(1, said)]))
    assert text.startswith(
        '[f · function call · completed]\n  {\n    "a": 1\n  }\n\nSaid.\n\n[1] T <https://t.test/>\n'
    )


@pytest.mark.parametrize(
    ("last", "says"),
    [
        (
            {"type": "response.incomplete", "response": {"status": "incomplete"}},
            "[Incomplete.]",
        ),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "c", "message": "m\x1b[2K"}},
            },
            "[Failed · c] m",
        ),
    ],
)
def test_why_an_answer_is_not_whole(events: Any, played: Any, last: dict[str, Any], says: str) -> None:
    lines = printed(played([*events("Half")[:-1], last])).splitlines()
    assert lines[:2] == ["Half", says]


def test_a_terminal_that_knows_few_characters(events: Any, played: Any) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    follow(played(events("naïve €")), PlainView(out), interval=0)
    out.flush()
    assert raw.getvalue().startswith(b"na?ve ?\n[a-model ")


def test_quiet_says_only_what_must_not_be_missed(events: Any, played: Any, capsys: Any) -> None:
    follow(played(events("text")), QuietView())
    assert capsys.readouterr().out == ""
    last = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}
    follow(played([*events("text")[:-1], last]), QuietView())
    assert capsys.readouterr().out == "[Incomplete: a content filter stopped it.]\n"


def test_the_view_that_a_host_gets() -> None:
    class Kernel:
        kernel = object()

    assert isinstance(choose_view(None), PlainView)
    assert isinstance(choose_view(object()), PlainView)
    assert isinstance(choose_view(Kernel()), UpdatingView)
    assert isinstance(choose_view(Kernel(), quiet=True), QuietView)
