"""An answer as a MIME bundle, settled or on its way: it shows the same everywhere, without a kernel or a widget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbresponses.render.blocks import Audio, Block, Code, Image, Key, Notice, ToolCall
from nbresponses.render.html import mark_html, to_html
from nbresponses.render.markdown import to_markdown
from nbresponses.render.reading import blocks
from nbresponses.render.text import to_text
from nbresponses.render.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbresponses.core.response import Response
    from nbresponses.render.reading import Preview
    from nbresponses.render.status import StatusLine

__all__ = ["bundle", "metadata", "unfinished"]

_UNFINISHED = "Still streaming when this was written: show(_responses) shows the answer while its kernel runs."


def bundle(
    response: Response | Mapping[str, Any],
    status: StatusLine | None = None,
    *,
    allow_remote_images: bool = False,
    seconds: Mapping[int, float] | None = None,
    previews: Mapping[int, Preview] | None = None,
    results: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The response as `{"text/html", "text/markdown", "text/plain"}`; the arguments are those of `blocks`.

    The pictures are in the HTML, which notebooks show first; the Markdown names them, so that a notebook does not hold
    each of them twice.
    """
    shown = blocks(response, seconds=seconds, previews=previews, results=results)
    return {
        "text/html": to_html(shown, status, allow_remote_images=allow_remote_images),
        "text/markdown": to_markdown(shown, status, allow_remote_images=allow_remote_images, images=False),
        "text/plain": to_text(shown, status),
    }


def unfinished(found: Sequence[Block], status: StatusLine | None, *, mark: str) -> dict[str, str]:
    """What there is of an answer on its way, for a file that is saved now: without pictures and sound.

    `mark` is the class of an empty element by which a live view finds its place on the page.
    """
    shown = [_light(block) for block in found]
    if shown:
        shown.append(Notice(key=Key(-1, "unfinished", 0), done=True, text=_UNFINISHED))
    return {
        "text/html": mark_html(mark) + to_html(shown, status),
        "text/markdown": to_markdown(shown, status, images=False),
        "text/plain": to_text(shown, status),
    }


def _light(block: Block) -> Block:
    if isinstance(block, Image):
        return replace(block, picture=None)
    if isinstance(block, Audio):
        return replace(block, mime="", data="")
    if isinstance(block, ToolCall):
        return replace(block, pictures=())
    if isinstance(block, Code):
        return replace(block, outputs=tuple(output for output in block.outputs if isinstance(output, str)))
    return block


def metadata(response: Response) -> dict[str, Any]:
    """The facts that a saved output keeps in its metadata: model, response id, status, ending, usage."""
    facts: dict[str, Any] = {
        "model": one_line(response.model or ""),
        "response_id": one_line(response.id or ""),
        "status": one_line(response.status or ""),
        "ending": response.ending or "",
        "usage": {
            name: value
            for name, value in (response.usage or {}).items()
            if isinstance(value, int) and not isinstance(value, bool)
        },
    }
    return {"nbresponses": {name: value for name, value in facts.items() if value}}
