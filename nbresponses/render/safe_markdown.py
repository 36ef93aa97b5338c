"""A model's Markdown → Markdown that is safe to show where HTML is live and remote images load.

The text is parsed and written anew, never patched: what goes out are the forms of this module, so raw HTML, images and
links that were not let through can only come out as text, and another parser sees the same structure. Inside code
nothing is changed. Code that JupyterLab could take for mathematics inside a quotation, where no blank line ends it, is
written as one HTML line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nbresponses.render.escaping import code_html
from nbresponses.render.inline import formula_markdown, inline_markdown
from nbresponses.render.parsing import parse
from nbresponses.render.untrusted import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbresponses.render.parsing import Token

__all__ = ["code_block", "code_in", "fence_for", "safe_markdown", "write"]

_BACKQUOTES = re.compile(r"`{3,}")
_LONGEST_FENCE = 30
_NO_INFO = re.compile(r"[^A-Za-z0-9_+#.-]")
_DRAWN = {
    "mermaid",
    "math",
    "latex",
    "html",
    "svg",
    "geojson",
    "topojson",
    "stl",
}  # a viewer would draw, not show these


def fence_for(code: Iterable[str]) -> str:
    """A fence longer than any run of backquotes in the code that stands in one document."""
    runs = (len(run) for source in code for run in _BACKQUOTES.findall(source))
    return "`" * (max((run for run in runs if run <= _LONGEST_FENCE), default=2) + 1)


def code_in(tokens: Iterable[Token]) -> Iterator[str]:
    """The contents of the code blocks."""
    return (token.content for token in tokens if token.type in {"fence", "code_block"})


def safe_markdown(source: str, *, remote: bool = False) -> str:
    """The text as safe Markdown. Text that cannot be parsed (`parse`) becomes one block of code."""
    source = clean(source)
    tokens = parse(source)
    fence = fence_for([source] if tokens is None else code_in(tokens))
    return "\n".join(code_block(source, "text", fence) if tokens is None else write(tokens, fence, remote=remote))


def write(tokens: list[Token], fence: str, *, remote: bool = False) -> list[str]:
    """Block tokens as lines of Markdown."""
    return _joined(_Blocks(fence, remote).sequence(iter(tokens), ""))


def code_block(source: str, info: str, fence: str, *, quoted: bool = False) -> list[str]:
    """A block of code as lines of Markdown."""
    if (quoted and ("$" in source or "\\" in source)) or fence in source:
        return [f"<pre><code>{code_html(source)}</code></pre>"]
    words = info.split()
    language = _NO_INFO.sub("", words[0])[:40] if words else ""
    if language.lower() in _DRAWN:
        language = "text"
    return [f"{fence}{language}", *source.split("\n"), fence]


class _Block(NamedTuple):
    kind: str  # the type of the token it came from; "tight" for a paragraph in a list without blank lines
    lines: list[str]


def _joined(blocks: list[_Block], between: tuple[str, ...] = ("",)) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        if lines:
            lines.extend(between)
        lines.extend(block.lines)
    return lines


class _Blocks:
    """Writes block tokens, each as its lines. Containers put their prefix before the lines of what they hold."""

    def __init__(self, fence: str, remote: bool) -> None:
        self._fence = fence
        self._remote = remote
        self._quotes = 0

    def sequence(self, tokens: Iterator[Token], closing: str) -> list[_Block]:
        """The blocks up to the closing token."""
        blocks: list[_Block] = []
        before = ""  # the marker of the list that came just before: the next one needs another, or they become one
        for token in tokens:
            if token.type == closing:
                break
            marker, kind = "", token.type
            if kind in {"bullet_list_open", "ordered_list_open"}:
                marker = _marker(kind, before)
                lines = self._list(token, tokens, marker)
            else:
                kind = "tight" if token.hidden else kind
                lines = self._block(token, tokens)
            before = marker
            if lines:
                blocks.append(_Block(kind, lines))
        return blocks

    def _block(self, token: Token, tokens: Iterator[Token]) -> list[str]:
        match token.type:
            case "paragraph_open":
                lines = self._inline(tokens).split("\n")
            case "heading_open":
                content = self._inline(tokens, one_lined=True)
                lines = [f"{'#' * int(token.tag[1:])} {content}".rstrip(" ")]
            case "fence" | "code_block":
                code = token.content.removesuffix("\n")
                lines = code_block(code, token.info, self._fence, quoted=self._quotes > 0)
            case "blockquote_open":
                lines = self._quotation(tokens)
            case "table_open":
                lines = self._table(tokens)
            case "math_display":
                lines = [formula_markdown(token)]
            case "hr":
                lines = ["***"]
            case _:  # nothing else is switched on in the parser
                lines = []
        return lines

    def _quotation(self, tokens: Iterator[Token]) -> list[str]:
        self._quotes += 1
        lines = _joined(self.sequence(tokens, "blockquote_close"))
        self._quotes -= 1
        return [f"> {line}" if line else ">" for line in lines] or [">"]

    def _inline(self, tokens: Iterator[Token], *, one_lined: bool = False, cell: bool = False) -> str:
        """The inline token that follows, and its closing token passed over."""
        token = next(tokens)
        next(tokens)
        return inline_markdown(token.children or [], one_lined=one_lined or cell, cell=cell, remote=self._remote)

    def _list(self, opening: Token, tokens: Iterator[Token], marker: str) -> list[str]:
        kind = opening.type.removesuffix("_open")
        start = int(opening.attrs.get("start", 1))
        items: list[list[_Block]] = []
        for token in tokens:
            if token.type == f"{kind}_close":
                break
            items.append(self.sequence(tokens, "list_item_close"))
        tight = all(_is_tight(item) for item in items)
        lines: list[str] = []
        for position, item in enumerate(items):
            sign = marker if kind == "bullet_list" else f"{min(start + position, 999_999_999)}{marker}"
            body = _joined(item, () if tight else ("",)) or [""]
            if lines and not tight:
                lines.append("")
            lines.append(f"{sign} {body[0]}" if body[0] else sign)
            indent = " " * (len(sign) + 1)
            lines.extend(f"{indent}{line}" if line else "" for line in body[1:])
        return lines

    def _table(self, tokens: Iterator[Token]) -> list[str]:
        lines: list[str] = []
        cells: list[str] = []
        aligned: list[str] = []
        for token in tokens:
            if token.type == "table_close":
                break
            if token.type in {"th_open", "td_open"}:
                if token.type == "th_open":
                    aligned.append(_ALIGNED.get(str(token.attrs.get("style", "")), "---"))
                cells.append(self._inline(tokens, cell=True))
            elif token.type == "tr_close":
                lines.append(f"| {' | '.join(cells)} |")
                cells = []
            elif token.type == "thead_close":
                lines.append(f"| {' | '.join(aligned)} |")
        return lines


_ALIGNED = {"text-align:left": ":--", "text-align:right": "--:", "text-align:center": ":-:"}


def _is_tight(item: list[_Block]) -> bool:
    """Whether a list item can go without blank lines: it is a paragraph, or a paragraph and such a list."""
    kinds = [block.kind for block in item]
    return kinds[:1] == ["tight"] and (
        len(kinds) == 1 or (len(kinds) == 2 and kinds[1].endswith("list_open") and "" not in item[1].lines)
    )


def _marker(kind: str, before: str) -> str:
    choices = ("-", "*") if kind == "bullet_list_open" else (".", ")")
    return choices[1] if before == choices[0] else choices[0]
