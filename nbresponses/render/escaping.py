"""Text written into Markdown and HTML so that it is read as text there, by CommonMark, GitHub and JupyterLab alike.

JupyterLab takes mathematics out of Markdown before it parses it, and sets what looks like mathematics in the HTML that
results. So a dollar sign that is money, and a backslash that would open mathematics, stand in an element of their own:
no renderer of mathematics pairs delimiters across elements.
"""

from __future__ import annotations

import html
import re

__all__ = ["code_html", "code_span", "html_attribute", "html_text", "markdown_text", "url_for_markdown"]

_OPENS_MATHS = r"\\(?=[()\[\]\\$]|begin|end|ref|eqref|\Z)"
_SPECIAL = re.compile(
    r"[\\`$<&*_~\[\]|]|[^\S ]"
    r"|[!#]\Z"  # a ! would make an image of the link that follows, a # would end a heading
    r"|(?<=www)\.|:(?=//)|(?<=\w)@",  # GitHub links these by rules of its own, and shows the escapes inside
    re.IGNORECASE,
)
_BY_NUMBER = "<`@#"
_OPENS = re.compile(_OPENS_MATHS)
_LINE_START = re.compile(r"([-+=>#:])|(\d{1,9})(?=[.)](?:\s|\Z))")
_ENTITY = re.compile(r"&(?=#?\w+;|\Z)")
_IN_HTML = re.compile(r"\$|" + _OPENS_MATHS)
_NO_CODE_SPAN = re.compile(r"[\\$`|\s]")
_PUNCTUATION = re.compile(r"[^\w ]|_", re.ASCII)
_URL_CHARACTER = re.compile(r"[^A-Za-z0-9\-._~:/?#@!&'+,;=%]")


def html_text(source: str) -> str:
    """Text as the content of an HTML element that renderers of mathematics look into (all but `code` and `pre`)."""
    return _IN_HTML.sub(lambda match: f"<span>{match[0]}</span>", html.escape(source))


def html_attribute(source: str) -> str:
    """Text as the value of an HTML attribute, or as the content of `code` and `pre`."""
    return html.escape(source)


def markdown_text(
    source: str, *, line_start: bool = True, line_end: bool = True, lone_dollar: bool = False, label: bool = False
) -> str:
    """Text for Markdown. `lone_dollar`: its paragraph holds one dollar sign only, which then can pair with none.

    `label`: it is part of a link's or image's label. There brackets are written by number; elsewhere [ is escaped,
    which leaves a ] nothing to close, and never both (some viewers read \\[ … \\] as mathematics).
    """
    body = source
    lead = tail = ""
    if line_start and (match := re.match(r" +", body)):
        lead, body = "&#32;" * match.end(), body[match.end() :]
    if line_end and body.endswith(" "):
        tail, body = "&#32;", body[:-1]
    escaped = _SPECIAL.sub(lambda match: _escape(match, lone_dollar, label), body)
    if line_start and not lead and (match := _LINE_START.match(escaped)):
        escaped = f"{match[2] or ''}\\{escaped[len(match[2] or '') :]}"
    return f"{lead}{escaped}{tail}"


def _escape(match: re.Match[str], lone_dollar: bool, label: bool) -> str:
    character, source, at = match[0], match.string, match.start()
    written = f"\\{character}"
    if character in "[]" and (label or character == "]"):
        written = f"&#{ord(character)};" if label else character
    elif character == "\\" and _OPENS.match(source, at):
        written = "<span>&#92;</span>"
    elif character == "$" and not lone_dollar:
        written = "<span>&#36;</span>"
    elif character == "&":
        written = "&amp;" if _ENTITY.match(source, at) else "&"
    elif character == "_" and source[at - 1 : at].isalnum() and source[at + 1 : at + 2].isalnum():
        written = "_"
    elif character in _BY_NUMBER or character.isspace():
        written = "&lt;" if character == "<" else f"&#{ord(character)};"
    return written


def url_for_markdown(url: str) -> str:
    """A checked address as a Markdown link destination: nothing in it can end the link or open anything else."""
    encoded = _URL_CHARACTER.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), url)
    return _ENTITY.sub("&amp;", encoded)


def code_span(source: str) -> str:
    """Inline code for Markdown. Backquotes where nothing inside can be taken for mathematics, a table or their end."""
    line = " ".join(source.split("\n"))
    if line and not _NO_CODE_SPAN.search(line.replace(" ", "")) and line.strip(" ") == line:
        return f"`{line}`"
    return f"<code>{code_html(line)}</code>"


def code_html(source: str) -> str:
    """Code for an HTML element inside Markdown, on one line, each sign of punctuation and line end by its number."""
    return _PUNCTUATION.sub(lambda match: f"&#{ord(match[0])};", source)
