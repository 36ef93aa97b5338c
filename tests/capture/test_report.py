"""Captures as notebooks show them."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

from IPython.lib.pretty import pretty

from nbresponses import Capture, Captures
from nbresponses.capture.report import glance, sparkline


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag: str, _attrs: list) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_capture_at_a_glance(tape) -> None:
    tape.noted(0.5, "opened").sent(1, input="hi").created(1.25).text(2.5, "x").text(3, "y").ended(4)
    told = glance(tape.capture)
    assert (told.received, told.sent, told.noted, told.ending, told.lanes) == (4, 1, 1, "completed", 1)
    assert (told.first_event, told.first_text, told.duration) == (0.25, 1.5, 4)
    html = Tags(tape.capture._repr_html_())
    assert "completed · 4 received · 1 sent · 1 noted" in html.text
    assert "first event 0.250 s · first text 1.500 s · all 4.000 s" in html.text
    assert "tape · 2026-01-31 12:00:00 UTC" in html.text
    assert told.chart in html.text


def test_on_one_line_of_a_terminal(tape) -> None:
    tape.sent(1, input="hi").created(1.25).text(2.5, "x").ended(4)
    said = pretty(tape.capture)
    assert said.startswith("<Capture: 3 received, 1 sent, 0 noted; completed; 4.000 s; first event 0.250 s; first text")
    assert said.endswith(f"1.500 s; |{glance(tape.capture).chart}|>")
    assert "\n" not in said
    assert pretty(type(tape)().capture) == "<Capture: 0 received, 0 sent, 0 noted; no ending; 0.000 s>"


def test_an_empty_capture_and_one_that_was_cut_off(tape) -> None:
    assert "no ending · 0 received" in Tags(tape.capture._repr_html_()).text
    tape.created(1)
    tape.capture.truncated = True
    assert "truncated" in tape.capture._repr_html_()


def test_lanes_are_counted_and_names_escaped(tape) -> None:
    tape.sent(1, "<b>").created(2, "r1", "<b>").created(3, "r2").noted(4, "ended", ending="<script>")
    tape.capture.source = "<img src=x onerror=alert(1)> $x$"
    html = Tags(tape.capture._repr_html_())
    assert "2 lanes" in html.text
    assert set(html.tags) <= {"div", "b", "br", "code", "span"}
    assert "<img src=x" in html.text
    many = Tags(Captures([tape.capture] * 25, ["<b>"] * 25)._repr_html_())
    assert many.tags.count("b") == 1
    assert "and 5 more" in many.text


def test_blocks_show_where_events_are_many() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "█" + " " * 39
    assert sparkline([0, 1, 1, 1, 1, 2], 4) == "▂ █▂"
    assert len(sparkline(range(1000))) == 40
    assert set(sparkline(range(1000))) == {"█"}


def test_it_needs_no_pandas(tape, tmp_path) -> None:
    tape.created(1).capture.save(tmp_path / "c.jsonl")
    code = (
        "import sys; from nbresponses import Capture; print(len(Capture.load(sys.argv[1])._repr_html_()) > 100, "
        "'pandas' in sys.modules)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "c.jsonl")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
    assert Capture.load(tmp_path / "c.jsonl")._repr_html_()
