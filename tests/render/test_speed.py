"""Much of one thing is shown whole, safely, and in a time that grows with its size. Fails on gross excess only."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from nbresponses.render import blocks, clean, to_html, to_markdown, to_text
from tests.render.checks import read_html, squeezed
from tests.render.hostile import PILES

SECONDS = 30.0


def answer(text: str) -> dict[str, object]:
    return {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}


@pytest.mark.parametrize("pile", PILES.values(), ids=PILES.keys())
def test_a_pile_is_shown_in_time(pile: str) -> None:
    started = time.process_time()
    found = blocks(answer(pile))
    written = to_html(found)
    to_markdown(found)
    assert to_text(found) == clean(pile)
    assert time.process_time() - started < SECONDS
    assert len(written) < 60 * len(pile) + 1000
    if "*" not in pile and "$" not in pile and "`" not in pile and "|" not in pile and "- a" not in pile:
        assert len(read_html(written)) >= len(squeezed(clean(pile))) // 2


@pytest.mark.parametrize("write", [to_html, to_markdown], ids=["html", "markdown"])
def test_twice_the_text_takes_about_twice_the_time(write: Callable[..., str]) -> None:
    unit = "Some **text** with `code`, [a link](https://a.b), $5 and $x^2$.\n\n- one\n- two\n\n```py\nx = 1\n```\n\n"

    def seconds(times: int) -> float:
        found = blocks(answer(unit * times))
        best = []
        for _ in range(3):
            started = time.process_time()
            write(found)
            best.append(time.process_time() - started)
        return min(best)

    assert seconds(800) < 8 * max(seconds(200), 0.01)
