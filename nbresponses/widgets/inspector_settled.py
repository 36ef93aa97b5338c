"""An inspector as static texts: a table of the event types, then the responses as they ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.render import blocks, to_html, to_markdown, to_text
from nbresponses.render.escaping import markdown_text
from nbresponses.render.text_html import markdown_html
from nbresponses.render.untrusted import one_line

if TYPE_CHECKING:
    from nbresponses.core.response import Response
    from nbresponses.widgets.capture_index import CaptureIndex
    from nbresponses.widgets.capture_replay import Replay

__all__ = ["TOO_DEEP", "inspector_bundle"]

TOO_DEEP = "This response is nested too deeply to be shown."

_TYPES = 60
_RESPONSES = 32


def inspector_bundle(index: CaptureIndex, replay: Replay) -> dict[str, str]:
    """The capture as `{"text/html", "text/markdown", "text/plain"}`."""
    types = [(one_line(name, 100), count) for name, count in index.types()[:_TYPES]]
    span = max(index.times, default=0.0) - min(index.times, default=0.0)
    head = f"{len(index):,} messages in {span:.2f} s"
    rows = [f"| {_cell(name)} | {count:,} |" for name, count in types]
    table = "\n".join([head, "", "| type | messages |", "|---|--:|", *rows])
    html, markdown = [markdown_html(table)], [table]
    text = ["\n".join([head, *(f"{count:9,}  {name}" for name, count in types)])]
    for response in _responses(index, replay):
        try:
            shown = blocks(response)
            made = to_html(shown), to_markdown(shown), to_text(shown)
        except RecursionError:
            made = (TOO_DEEP,) * 3
        for texts, one in zip((html, markdown, text), made, strict=True):
            texts.append(one)
    return {"text/html": "\n".join(html), "text/markdown": "\n\n".join(markdown), "text/plain": "\n\n".join(text)}


def _responses(index: CaptureIndex, replay: Replay) -> list[Response]:
    """The last ones, in the order in which they began."""
    last = {number: row for row, number in enumerate(index.responses) if number}
    found = (replay.at(last[number]) for number in sorted(last)[-_RESPONSES:])
    return [response for response in found if response is not None]


def _cell(words: str) -> str:
    return markdown_text(words, line_start=False).replace("|", "&#124;")
