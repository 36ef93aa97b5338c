"""A model's Markdown → HTML out of a fixed set of elements. No raw HTML goes through, nothing loads from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.render import styles
from nbresponses.render.escaping import html_attribute, html_text
from nbresponses.render.inline import DEEPEST_EMPHASIS, image_label
from nbresponses.render.maths import DISPLAY, INLINE
from nbresponses.render.parsing import image_source, parse, plain
from nbresponses.render.untrusted import clean, one_line, safe_url

if TYPE_CHECKING:
    from nbresponses.render.parsing import Token

__all__ = ["link_html", "markdown_html", "pre_html"]

_PLAIN = {
    "paragraph": "p",
    "bullet_list": "ul",
    "list_item": "li",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "strong": "strong",
    "em": "em",
    "s": "del",
}
_EMPHASIS = {"strong", "em", "s"}
_STYLED = {"blockquote": ("blockquote", styles.QUOTE)}
_MARKUP = {"$": ("$", "$"), "$$": ("$$", "$$"), "\\(": ("\\(", "\\)"), "\\[": ("\\[", "\\]"), "": ("", "")}


def markdown_html(source: str, *, remote: bool = False) -> str:
    """The text as HTML. Text that cannot be parsed (`parse`) becomes one block of code."""
    source = clean(source)
    tokens = parse(source)
    return pre_html(source) if tokens is None else _Writer(remote).html(tokens)


def pre_html(source: str) -> str:
    """Text as it is, its line ends kept."""
    first = "\n" if source.startswith("\n") else ""  # HTML drops a line end that comes first
    return f'<pre style="{styles.PRE}">{first}{html_attribute(source)}</pre>'


def link_html(url: str | None, label: str) -> str:
    """A link that leaves the page without taking anything along; the label alone where the address is not safe."""
    address = safe_url(url)
    return f"{_link_start(address)}{html_text(label)}</a>" if address else html_text(label)


def _link_start(address: str) -> str:
    href = html_attribute(address)
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer nofollow" title="{href}" style="{styles.LINK}">'


class _Writer:
    """Writes tokens one after the other; each opening has its closing, so the elements nest as the tokens do."""

    def __init__(self, remote: bool) -> None:
        self._remote = remote
        self._out: list[str] = []
        self._links: list[bool] = []
        self._emphasis = 0

    def html(self, tokens: list[Token]) -> str:
        self._write(tokens)
        return "".join(self._out)

    def _write(self, tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "inline":
                self._write(token.children or [])
            elif token.nesting:
                self._element(token)
            else:
                self._leaf(token)

    def _element(self, token: Token) -> None:
        opens = token.nesting == 1
        kind = token.type.rpartition("_")[0]
        if kind in _EMPHASIS:
            self._emphasis += token.nesting
            if self._emphasis + (not opens) <= DEEPEST_EMPHASIS:
                self._out.append(f"<{'' if opens else '/'}{_PLAIN[kind]}>")
        elif kind == "link":
            self._link(token)
        elif token.hidden:  # the paragraphs of a list without blank lines
            self._out.append("" if opens else "\n")
        else:
            self._out.append(_opening(kind, token) if opens else _closing(kind, token))

    def _link(self, token: Token) -> None:
        if token.nesting == 1:
            address = safe_url(token.attrs.get("href"))
            self._links.append(address is not None)
            self._out.append(_link_start(address) if address else "")
        elif self._links.pop():
            self._out.append("</a>")

    def _leaf(self, token: Token) -> None:
        match token.type:
            case "text":
                written = html_text(token.content)
            case "softbreak":
                written = "\n"
            case "hardbreak":
                written = "<br>\n"
            case "hr":
                written = "<hr>\n"
            case "code_inline":
                written = f'<code style="{styles.CODE}">{html_attribute(token.content)}</code>'
            case "fence" | "code_block":
                written = pre_html(token.content.removesuffix("\n")) + "\n"
            case "image":
                written = self._image(token)
            case _:
                written = _formula(token) if token.type in {INLINE, DISPLAY} else html_text(token.content)
        self._out.append(written)

    def _image(self, token: Token) -> str:
        source = image_source(token, remote=self._remote)
        if source:
            label = html_attribute(one_line(plain(token.children or [])))
            return f'<img src="{html_attribute(source)}" alt="{label}" style="{styles.IMAGE}">'
        url = None if any(self._links) else safe_url(token.attrs.get("src"))
        return link_html(url, image_label(token))


def _formula(token: Token) -> str:
    """The formula as it was written, in an element of its own, for the page's own renderer of mathematics."""
    opening, closing = _MARKUP[token.markup]
    formula = html_attribute(f"{opening}{token.content}{closing}")
    if token.block:
        return f'<div style="{styles.SCROLL}">{formula}</div>\n'
    return f"<span>{formula}</span>"


def _opening(kind: str, token: Token) -> str:
    if kind == "heading":
        return f"<{token.tag}>"
    if kind == "ordered_list":
        start = int(token.attrs.get("start", 1))
        return f'<ol start="{start}">\n' if start != 1 else "<ol>\n"
    if kind == "table":
        return f'<div style="{styles.SCROLL}"><table style="{styles.TABLE}">\n'
    if kind in {"th", "td"}:
        side = str(token.attrs.get("style", "")).removeprefix("text-align:")
        return f'<{kind} style="{styles.CELL}{side if side in {"right", "center"} else "left"}">'
    if kind in _STYLED:
        element, style = _STYLED[kind]
        return f'<{element} style="{style}">\n'
    return f"<{_PLAIN[kind]}>"


def _closing(kind: str, token: Token) -> str:
    if kind == "table":
        return "</table></div>\n"
    return f"</{token.tag}>\n"
