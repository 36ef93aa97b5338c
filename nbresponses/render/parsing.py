"""A model's Markdown as markdown-it tokens that are safe to write out again. Raw HTML is not a thing here: it is text.

CommonMark with tables and strikethrough, and mathematics by the rules of `maths`. A bare http(s) address becomes a
link. An address that `safe_url` does not let through leaves its Markdown as text, so the reader sees what was written.
Text that is nested too deeply or made of markers alone is not parsed: `parse` returns None and it is shown as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nbresponses.render.maths import add_maths
from nbresponses.render.pictures import read_picture
from nbresponses.render.untrusted import clean, one_line, safe_url

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Token", "image_source", "parse", "plain"]

_NESTING = 40  # of markdown-it: some twenty lists within each other; what is deeper it would leave out
_BUDGET = 200_000  # the weight of one text's markers: a few seconds of parsing
_MARKERS = re.compile(r"[*_~`&<>|\\$!{}@:]")
_BARE_URL = re.compile(r"https?://[^\s<>\"\\`{}|^\[\]$]{1,2000}", re.IGNORECASE)
_LONGEST_ADDRESS = 100  # characters shown of an address that is no link
_NOT_URL_END = ".,;:!?'*_~"


def parse(source: str) -> list[Token] | None:
    """The block tokens of a cleaned text, or None where parsing it would lose some of it or take too long."""
    if 20 * source.count("[") + 10 * source.count("\n") + sum(1 for _ in _MARKERS.finditer(source)) > _BUDGET:
        return None
    tokens = _parser().parse(source)
    if source.strip() and not tokens:  # it defines links and says nothing
        return None
    if any(token.nesting == 1 and token.level >= _NESTING - 2 for token in tokens):
        return None
    for token in tokens:
        if token.children:
            token.children = list(_finished(token.children))
    return tokens


def _parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING}).enable(["table", "strikethrough"])
    md.validateLink = _link_allowed  # type: ignore[method-assign]
    add_maths(md)
    return md


def _link_allowed(url: str) -> bool:
    return safe_url(url) is not None or url[:5].lower() == "data:"


def image_source(token: Token, *, remote: bool) -> str | None:
    """What an image token may load: a picture that it carries itself, or an http(s) address if `remote`."""
    source = token.attrs.get("src")
    picture = read_picture(source) if str(source)[:5].lower() == "data:" else None
    if picture:
        return picture.uri
    return safe_url(source) if remote and str(source)[:4].lower() == "http" else None


def plain(tokens: list[Token]) -> str:
    """The visible text of inline tokens on one line."""
    return " ".join("".join(token.content or plain(token.children or []) or " " for token in tokens).split())


def _finished(children: list[Token]) -> Iterator[Token]:
    """The inline tokens: text cleaned (entities can bring control characters), bare addresses linked, links checked."""
    links: list[str] = []  # what stands at the end of each open link that was not let through, "" for the others
    for token in children:
        if token.type == "link_open":
            href = token.attrs.get("href")
            links.append("" if safe_url(href) else f"]({one_line(str(href), _LONGEST_ADDRESS)})")
            yield _text("[") if links[-1] else token
        elif token.type == "link_close":
            ending = links.pop()
            yield _text(ending) if ending else token
        elif token.type != "text":
            yield token
        elif links or "://" not in token.content:
            yield _text(token.content)
        else:
            yield from _linked(clean(token.content))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=clean(content))


def _linked(content: str) -> Iterator[Token]:
    start = 0
    for match in _BARE_URL.finditer(content):
        url = _trimmed(match[0])
        if safe_url(url) is None or content[match.start() - 1 : match.start()].isalnum():
            continue
        yield _text(content[start : match.start()])
        yield Token("link_open", "a", 1, attrs={"href": url}, markup="autolink")
        yield _text(url)
        yield Token("link_close", "a", -1, markup="autolink")
        start = match.start() + len(url)
    yield _text(content[start:])


def _trimmed(url: str) -> str:
    """Without the punctuation that ends the sentence, and without a bracket that the address did not open."""
    spare = url.count(")") - url.count("(")
    while url and (url[-1] in _NOT_URL_END or (url[-1] == ")" and spare > 0)):
        spare -= url[-1] == ")"
        url = url[:-1]
    return url
