"""Reads what was rendered the way its viewers do, and fails where something in it could act.

HTML: an allow-list of elements, attributes and addresses, and every element closed. Markdown: CommonMark with HTML
live, and once more after mathematics was taken out of it as JupyterLab does before it parses.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

VOID = {"br", "hr", "img"}
ELEMENTS = {
    "div", "span", "p", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "table", "thead",
    "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "a", "details", "summary", "audio", *VOID,
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "target", "rel", "title", "style"},
    "img": {"src", "alt", "style"},
    "audio": {"controls", "src"},
    "details": {"open", "style"},
    "ol": {"start", "style"},
}
IMAGE = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}")
LINK = re.compile(r"(?:https?://[^\s/]|mailto:)", re.IGNORECASE)
STYLE = re.compile(r"[-a-z0-9:;.,#%() ]*")
OWN = re.compile(r"</?(?:span|code|em|strong|del|sub)>")
OWN_BLOCK = re.compile(r"<pre><code>[^<>]*</code></pre>\s*|<details><summary>[^<>]*</summary>\s*|</details>\s*")


# What acts on a terminal, or on the order of the text around it.
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _Reader(HTMLParser):
    def __init__(self, remote: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.remote = remote
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, f"element {tag} {attrs}"
        for name, value in attrs:
            assert name in ATTRIBUTES.get(tag, {"style"}), f"attribute {name}={value!r} of {tag}"
            if name == "style":
                assert STYLE.fullmatch(value or ""), f"style {value!r}"
                assert not re.search(r"url|position|expression|import", value or ""), f"style {value!r}"
        given = dict(attrs)
        if tag == "a":
            assert LINK.match(given["href"] or ""), f"link to {given['href']!r}"
            assert {"noopener", "noreferrer", "nofollow"} <= set((given["rel"] or "").split())
            assert given["target"] == "_blank"
        if tag == "img":
            source = given["src"] or ""
            assert IMAGE.fullmatch(source) or (self.remote and LINK.match(source)), f"image from {source!r}"
            self.text.append(given.get("alt") or "")
        if tag == "audio":
            assert re.match(r"data:audio/(?:wav|mpeg|ogg|flac);base64,", given["src"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment {data!r}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def read_html(source: str, *, remote: bool = False) -> str:
    """The visible text, blanks left out. Fails on anything that is not on the list."""
    source.encode("utf-8")
    reader = _Reader(remote)
    reader.feed(source)
    reader.close()
    assert not reader.open, f"never closed: {reader.open}"
    return squeezed(_harmless("".join(reader.text)))


def read_markdown(source: str, *, remote: bool = False) -> str:
    """The visible text as JupyterLab shows it, blanks left out. Fails on live HTML and on unsafe images and links."""
    source.encode("utf-8")
    _check_tokens(source, remote)
    taken, formulas = take_out_mathematics(source)
    shown = _check_tokens(taken, remote)
    for number, formula in enumerate(formulas):
        shown = shown.replace(f"@@{number}@@", formula)
    return squeezed(_harmless(shown))


def _check_tokens(source: str, remote: bool) -> str:
    md = MarkdownIt("commonmark", {"html": True, "maxNesting": 200}).enable(["table", "strikethrough"])
    tokens = md.parse(source)
    for token in tokens:
        if token.type == "html_block":
            lines = token.content.strip("\n").split("\n")
            assert all(OWN_BLOCK.fullmatch(line) for line in lines), f"HTML {token.content!r}"
        for child in token.children or []:
            if child.type == "html_inline":
                assert OWN.fullmatch(child.content), f"HTML {child.content!r}"
            if child.type == "image":
                source_ = str(child.attrs["src"])
                assert IMAGE.fullmatch(source_) or (remote and LINK.match(source_)), f"image from {source_!r}"
            if child.type == "link_open":
                assert LINK.match(str(child.attrs["href"])), f"link to {child.attrs['href']!r}"
    rendered = md.renderer.render(tokens, md.options, {})
    labelled = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"\1", rendered)
    return html.unescape(re.sub(r"<[^>]*>", "", labelled))


_MARKS = re.compile(r"(\$\$?|\\(?:begin|end)\{[a-z]*\*?\}|\\[{}$]|[{}]|\n\s*\n|@@\d+@@|\\\\[()\[\]])", re.IGNORECASE)
_FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"(^|[^\\])(`+)([^\n]*?[^`\n])\2(?!`)", re.MULTILINE)


def take_out_mathematics(source: str) -> tuple[str, list[str]]:
    """What JupyterLab does first: formulas become @@number@@, outside code, between a pair of signs and blank lines."""
    for code in (_FENCED, _QUOTED):
        source = code.sub(lambda match: match[0].replace("$", "\ue000"), source)
    out: list[str] = []
    formulas: list[str] = []
    pieces = _MARKS.split(source)
    held: list[str] = []
    closing, depth = "", 0
    for position, piece in enumerate(pieces):
        mark = position % 2 == 1
        if mark and re.fullmatch(r"@@\d+@@", piece) and not closing:
            out.append(f"@@{len(formulas)}@@")
            formulas.append(piece)
        elif not closing:
            closing = _closing_of(piece) if mark else ""
            held, depth = ([piece], 0) if closing else ([], 0)
            out.append("" if closing else piece)
        else:
            held.append(piece)
            if mark and piece == closing and depth == 0:
                out.append(f"@@{len(formulas)}@@")
                formulas.append("".join(held))
                closing = ""
            elif mark and piece.count("\n") > 1:
                out += held
                closing = ""
            depth += {"{": 1, "}": -1 if depth else 0}.get(piece, 0) if mark else 0
    out += held if closing else []
    return "".join(out).replace("\ue000", "$"), [formula.replace("\ue000", "$") for formula in formulas]


def _closing_of(mark: str) -> str:
    if mark in {"$", "$$"}:
        return mark
    if mark in {"\\\\(", "\\\\["}:
        return {"\\\\(": "\\\\)", "\\\\[": "\\\\]"}[mark]
    return "\\end" + mark[6:] if mark.startswith("\\begin") else ""


def _harmless(text: str) -> str:
    found = ACTING.search(text)
    assert found is None, f"U+{ord(found[0]):04X} at {found.start()}"
    return text


def squeezed(text: str) -> str:
    return "".join(text.split())


def paired_dollars(source: str) -> list[str]:
    """The formulas that a renderer of mathematics finds in HTML: it pairs signs within one run of text."""
    found: list[str] = []
    without_code = re.sub(r"<(pre|code)\b.*?</\1>", "<hr>", source, flags=re.DOTALL)
    for run in re.split(r"<[^>]*>", without_code):
        found += re.findall(
            r"\$\$.+?\$\$|\$.+?\$|\\\(.+?\\\)|\\\[.+?\\\]|\\begin\{.+?\\end\{", html.unescape(run), re.DOTALL
        )
    return found
