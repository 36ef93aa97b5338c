"""A lane board as static texts: a table of the lanes, then their latest answers. Pure; `render` makes the markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.render import blocks, clean, duration, to_html, to_markdown, to_text
from nbresponses.render.escaping import markdown_text
from nbresponses.render.text_html import markdown_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbresponses.core.response import Response

__all__ = ["board_bundle"]

_HEAD = ("lane", "state", "time", "tokens", "asked last")
_WHY = "why"
_EMPTY = "No lane has been used yet."


def board_bundle(rows: Iterable[Mapping[str, Any]], answers: Iterable[tuple[str | None, Response]]) -> dict[str, str]:
    """The board as `{"text/html", "text/markdown", "text/plain"}`. Where a lane failed, a column says why."""
    rows = list(rows)
    if not rows:
        return {"text/html": markdown_html(_EMPTY), "text/markdown": _EMPTY, "text/plain": _EMPTY}
    failed = any(row.get("why") for row in rows)
    head = (*_HEAD, _WHY) if failed else _HEAD
    cells = [head, *(_cells(row, failed=failed) for row in rows)]
    marks = "|---|---|--:|--:|---|" + ("---|" if failed else "")
    table = "\n".join([_line(head), marks, *(_line(row) for row in cells[1:])])
    html, markdown, text = [markdown_html(table)], [table], [_columns(cells)]
    for lane, response in answers:
        shown = blocks(response)
        heading = f"#### {markdown_text(clean(lane or '(default)'), line_start=False)}"
        html += [markdown_html(heading), to_html(shown)]
        markdown += [heading, to_markdown(shown)]
        text += [f"── {clean(lane or '(default)')} ──", to_text(shown)]
    return {"text/html": "\n".join(html), "text/markdown": "\n\n".join(markdown), "text/plain": "\n\n".join(text)}


def _cells(row: Mapping[str, Any], *, failed: bool) -> tuple[str, ...]:
    begun, ended, tokens = row.get("begun"), row.get("ended"), row.get("tokens")
    took = duration(ended - begun) if begun is not None and ended is not None else ""
    asked = _short(_one_line(row["asked"]))
    cells = (
        row["name"],
        _one_line(row["state"]).replace("_", " "),
        took,
        "" if tokens is None else f"{tokens:,}",
        asked,
    )
    return (*cells, _one_line(row.get("why", ""))) if failed else cells


def _one_line(words: object) -> str:
    return " ".join(str(words).split())


def _short(words: str, limit: int = 60) -> str:
    return words if len(words) <= limit else f"{words[:limit]}…"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown_text(cell, line_start=False).replace("|", "&#124;") for cell in cells) + " |"


def _columns(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
