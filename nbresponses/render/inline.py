"""Inline tokens → Markdown: emphasis, code, links and formulas written out in the forms that all parsers read alike."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbresponses.render.escaping import code_span, markdown_text, url_for_markdown
from nbresponses.render.maths import DISPLAY, INLINE, portable
from nbresponses.render.parsing import image_source, plain
from nbresponses.render.untrusted import one_line, safe_url

if TYPE_CHECKING:
    from nbresponses.render.parsing import Token

__all__ = ["DEEPEST_EMPHASIS", "bare_address", "formula_markdown", "image_label", "inline_markdown"]

DEEPEST_EMPHASIS = 20

_MARKS = {"strong": ("**", "strong"), "em": ("_", "em"), "s": ("~~", "del")}
_BARE = re.compile(r"https?://[A-Za-z0-9\-._~:/?#@!+,;=%()]+(?:&(?![A-Za-z0-9#]+;)[A-Za-z0-9\-._~:/?#@!+,;=%()]*)*")
_BREAKS = {"softbreak", "hardbreak"}


@dataclass(slots=True)
class _Mark:
    """One end of an emphasis, as it will be written."""

    kind: str
    opens: bool
    written: str = ""


def inline_markdown(tokens: list[Token], *, one_lined: bool = False, cell: bool = False, remote: bool = False) -> str:
    """Inline tokens as Markdown. `one_lined`: in a heading or a table cell, `cell`: in a table, where | is a border."""
    return _Inline(tokens, one_lined, cell, remote).markdown()


class _Inline:
    def __init__(self, tokens: list[Token], one_lined: bool, cell: bool, remote: bool) -> None:
        self._tokens = tokens
        self._one_lined = one_lined
        self._cell = cell
        self._remote = remote
        self._pieces: list[str | _Mark] = []
        self._links: list[str | None] = []  # the addresses of the links that are open
        dollars = sum(token.content.count("$") if token.type == "text" else token.type == INLINE for token in tokens)
        self._lone_dollar = dollars == 1

    def markdown(self) -> str:
        bare = _bare_addresses(self._tokens)
        for position, token in enumerate(self._tokens):
            if position in bare:
                self._pieces.append(bare[position])
            elif token.type == "text":
                self._text(position, token.content)
            else:
                self._other(token)
        _decide(self._pieces)
        return "".join(piece if isinstance(piece, str) else piece.written for piece in self._pieces)

    def _text(self, position: int, content: str) -> None:
        before = self._tokens[position - 1].type if position else "softbreak"
        after = self._tokens[position + 1].type if position + 1 < len(self._tokens) else "softbreak"
        self._pieces.append(
            markdown_text(
                content,
                line_start=before in _BREAKS,
                line_end=after in _BREAKS,
                lone_dollar=self._lone_dollar,
                label=any(self._links),
            )
        )

    def _other(self, token: Token) -> None:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind in _MARKS:
            self._pieces.append(_Mark(kind, token.nesting == 1))
        elif token.type in _BREAKS:
            broken = "\n" if token.type == "softbreak" else "\\\n"
            self._pieces.append(" " if self._one_lined else broken)
        elif token.type == "code_inline":
            self._pieces.append(code_span(token.content))
        elif token.type in {INLINE, DISPLAY}:
            if self._pieces and str(self._pieces[-1]).endswith("$"):
                self._pieces.append("<span></span>")  # or the two formulas would read as one with double signs
            self._pieces.append(formula_markdown(token, cell=self._cell))
        elif token.type == "link_open":
            self._links.append(safe_url(token.attrs.get("href")))
            self._pieces.append("[" if self._links[-1] else "")
        elif token.type == "link_close":
            url = self._links.pop()
            self._pieces.append(f"]({url_for_markdown(url)})" if url else "")
        elif token.type == "image":
            self._image(token)
        else:  # nothing else is switched on in the parser
            self._pieces.append(markdown_text(token.content))

    def _image(self, token: Token) -> None:
        label = one_line(plain(token.children or []))
        source = image_source(token, remote=self._remote)
        if source:
            picture = source if source.startswith("data:") else url_for_markdown(source)
            self._pieces.append(f"![{markdown_text(label, line_start=False, label=True)}]({picture})")
            return
        shown = markdown_text(image_label(token), line_start=False, label=True)
        url = safe_url(token.attrs.get("src"))
        self._pieces.append(f"[{shown}]({url_for_markdown(url)})" if url and not any(self._links) else shown)


def bare_address(url: str) -> bool:
    """Whether an address can be written <address>."""
    return _BARE.fullmatch(url) is not None


def _bare_addresses(tokens: list[Token]) -> dict[int, str]:
    """Links whose text is their address, written <address>: what stands for each of their three tokens."""
    written: dict[int, str] = {}
    for position, token in enumerate(tokens[:-2]):
        url = tokens[position + 1].content
        if token.markup == "autolink" and token.attrs.get("href") == url and bare_address(url):
            written |= {position: f"<{url}>", position + 1: "", position + 2: ""}
    return written


def image_label(token: Token) -> str:
    """What stands for an image that is not loaded: its description and its address, so that both can be judged."""
    label = one_line(plain(token.children or []))
    return (
        f"image: {label} — {one_line(str(token.attrs.get('src', '')))}" if label else f"image: {token.attrs.get('src')}"
    )


def formula_markdown(token: Token, *, cell: bool = False) -> str:
    """A formula between dollar signs, which JupyterLab, GitHub and nbconvert all read; on one line."""
    content = portable(token.content)
    if cell:
        content = content.replace("\\|", "\\Vert{}").replace("|", "\\vert{}")
    if token.type == INLINE:
        return f"${content}$"
    return content if token.markup == "" else f"$${content}$$"


def _decide(pieces: list[str | _Mark]) -> None:
    """Writes each emphasis with its signs where every parser agrees on them there, with its HTML element elsewhere."""
    written = [piece for piece in pieces if isinstance(piece, _Mark) or piece]
    stack: list[tuple[int, _Mark]] = []
    depths = dict.fromkeys(_MARKS, 0)
    pairs: list[tuple[int, int, int]] = []
    for position, piece in enumerate(written):
        if not isinstance(piece, _Mark):
            continue
        if piece.opens:
            depths[piece.kind] += 1
            stack.append((position, piece))
        elif stack:
            start, opening = stack.pop()
            if len(stack) < DEEPEST_EMPHASIS:  # deeper ones are dropped: nobody can see them
                pairs.append((start, position, depths[opening.kind]))
            depths[opening.kind] -= 1
    for start, end, depth in pairs:
        kind = _kind(written[start])
        signs, element = _MARKS[kind]
        simple = depth == 1 and _plain_ends(written, start, end, kind)
        for position in (start, end):
            mark = written[position]
            if isinstance(mark, _Mark):
                mark.written = signs if simple else f"<{'' if mark.opens else '/'}{element}>"


def _kind(piece: str | _Mark) -> str:
    return piece.kind if isinstance(piece, _Mark) else ""


def _plain_ends(pieces: list[str | _Mark], start: int, end: int, kind: str) -> bool:
    outside = _class_of(pieces, start - 1, last=True, kind=kind), _class_of(pieces, end + 1, last=False, kind=kind)
    inside = _class_of(pieces, start + 1, last=False, kind=kind), _class_of(pieces, end - 1, last=True, kind=kind)
    if start + 1 == end or "odd" in outside + inside or "space" in inside:
        return False
    return all(
        out in {"space", "sign"} or (out == inner == "word" and kind == "strong")
        for out, inner in zip(outside, inside, strict=True)
    )


def _class_of(pieces: list[str | _Mark], position: int, *, last: bool, kind: str) -> str:
    """The character beside an emphasis: space (or the text's end), word, sign; or odd, where parsers may differ."""
    if not 0 <= position < len(pieces):
        return "space"
    piece = pieces[position]
    if isinstance(piece, _Mark):
        return "odd" if piece.kind == kind else "sign"
    character = piece[-1 if last else 0]
    if character.isspace():
        return "space"
    if character in "*_~":
        return "odd"
    if character.isalnum():
        return "word"
    return "sign" if character.isascii() or unicodedata.category(character).startswith("P") else "odd"
