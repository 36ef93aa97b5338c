"""What counts as mathematics in a model's text: two rules for markdown-it, and the conditions a formula must meet.

Delimiters:
  \\( … \\)      inline
  \\[ … \\]      display
  $$ … $$      display
  $ … $        inline, by pandoc's rule and two conditions more: "the opening $ must have a non-space character
               immediately to its right, while the closing $ must have a non-space character immediately to its left,
               and must not be followed immediately by a digit"; here neither stands against a letter or digit on its
               outer side, and what begins with a number and goes on in words or other prices is money.
  \\begin{align} … \\end{align} and the other display environments, where they begin a line
  A display inside a line must hold at least one character of mathematics: "\\[sic\\]" and "$$ to $$$" are text.

Everything else is text, the dollar signs included. A formula never spans a blank line, its braces balance, and it holds
no command that defines, links, styles or reaches outside its own box: MathJax keeps definitions for the whole page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

__all__ = ["DISPLAY", "INLINE", "add_maths", "is_formula", "portable"]

INLINE = "math_inline"
DISPLAY = "math_display"

_LONGEST = 4000  # characters of one formula
_ENVIRONMENTS = "equation|align|alignat|gather|multline|eqnarray|flalign|split|math|displaymath"
_BEGIN = re.compile(r"\\begin\{((?:" + _ENVIRONMENTS + r")\*?)\}")
_TEX = re.compile(r"[\\^_={}+*/<>|]|\d\s*-|-\s*\d")
_MONEY = re.compile(r"[.,]?\d.*?(?:\s\(?[A-Za-z]{2,}\b|\\\$)", re.DOTALL)
_IN_BRACES = re.compile(r"\{[^{}]*\}")
_FORBIDDEN = re.compile(
    r"\\(?:href|url|class|cssId|style|data|html[A-Za-z]*|unicode|include[A-Za-z]*|input|require|mmlToken|bbox"
    r"|(?:g|e|x)?def|let|global|long|(?:re)?new(?:command|environment)|providecommand|Declare[A-Za-z]*|csname"
    r"|catcode|write|toggle|texttip|mathtip|label)(?![A-Za-z])"
)
_FAR = re.compile(r"\d{3,}(?:\.\d*)?\s*(?:em|ex|pt|px|mu|cm|mm|in|pc)\b")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)
_LINE_BREAK_AND_BRACE = re.compile(r"(\\\\)(?=[{}])|\\.", re.DOTALL)  # \\{ read as an escaped brace unbalances others
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")


def is_formula(content: str) -> bool:
    """Whether a text between delimiters may be handed to a formula renderer."""
    return (
        0 < len(content) <= _LONGEST
        and bool(content.strip())
        and "`" not in content
        and _BLANK_LINE.search(content) is None
        and _FORBIDDEN.search(content) is None
        and _FAR.search(content) is None
        and _balanced(content)
        and all(match[0] != "$" for match in _DOLLAR.finditer(content))
        and not content.rstrip().endswith(("\\", "\\$"))
    )


def _balanced(content: str) -> bool:
    depth = 0
    for match in _BRACES.finditer(content):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0


def portable(content: str) -> str:
    """The formula on one line, such that a viewer without mathematics sees no HTML, link or image in it.

    The blanks put in have no meaning in TeX.
    """
    line = " ".join(re.sub(r"(?<!\\)%[^\n]*", "", content).split())
    line = _LINE_BREAK_AND_BRACE.sub(lambda match: f"{match[0]} " if match[1] else match[0], line)
    line = re.sub(r"<(?=[A-Za-z/!?])", "< ", line)
    return re.sub(r"!\[", "! [", re.sub(r"\](?=[(\[:])", "] ", line))


def add_maths(md: MarkdownIt) -> None:
    """Teaches markdown-it both rules; their tokens are `math_inline` and `math_display`."""
    md.inline.ruler.before("escape", INLINE, _inline_rule)
    md.block.ruler.before("fence", DISPLAY, _block_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline_rule(state: StateInline, silent: bool) -> bool:
    start = state.src[state.pos : state.pos + 2]
    if start == "$$":
        return _dollars(state, silent)
    if start in {"\\(", "\\["}:
        return _backslashed(state, start, silent)
    if start == "\\b":
        return _environment(state, silent)
    return start[:1] == "$" and _dollar(state, silent)


def _dollars(state: StateInline, silent: bool) -> bool:
    """$$ … $$ in the middle of a line."""
    src, pos = state.src, state.pos
    if src.startswith("$$$", pos) or (pos and src[pos - 1] == "$"):
        return False
    end = _find(state, "$$", pos + 2)
    if end < 0 or src.startswith("$$$", end):
        return False
    content = src[pos + 2 : end]
    if _TEX.search(content) is None and len(content.split()) != 1:
        return False
    return _push(state, silent, DISPLAY, content, markup="$$", end=end + 2)


def _backslashed(state: StateInline, start: str, silent: bool) -> bool:
    closing = {"\\(": "\\)", "\\[": "\\]"}[start]
    end = _find(state, closing, state.pos + 2)
    if end < 0:
        return False
    content = state.src[state.pos + 2 : end]
    if start in content or (start == "\\[" and _TEX.search(content) is None):
        return False
    return _push(state, silent, INLINE if start == "\\(" else DISPLAY, content, markup=start, end=end + 2)


def _environment(state: StateInline, silent: bool) -> bool:
    """An environment that opens a line of a paragraph."""
    opening = _BEGIN.match(state.src, state.pos)
    if opening is None or (state.pos and state.src[state.pos - 1] != "\n"):
        return False
    closing = f"\\end{{{opening[1]}}}"
    end = _find(state, closing, opening.end())
    if end < 0:
        return False
    return _push(state, silent, DISPLAY, state.src[state.pos : end + len(closing)], markup="", end=end + len(closing))


def _dollar(state: StateInline, silent: bool) -> bool:
    """$ … $: the closing sign is the next unescaped one; if that cannot close, nothing does."""
    src, pos = state.src, state.pos
    before, after = src[pos - 1 : pos] if pos else "", src[pos + 1 : pos + 2]
    if not after or after.isspace() or after == "$" or before.isalnum() or before in {"$", "\\"}:
        return False
    end = _find(state, "$", pos + 1)
    if end < 0 or src[end - 1].isspace() or src[end + 1 : end + 2].isalnum() or src[end + 1 : end + 2] == "$":
        return False
    content = src[pos + 1 : end]
    if _MONEY.match(_IN_BRACES.sub("", portable(content))):
        return False
    return _push(state, silent, INLINE, content, markup="$", end=end + 1)


def _find(state: StateInline, closing: str, start: int) -> int:
    """Where the closing delimiter stands, -1 if nowhere near. Escaped dollars are passed over.

    A formula is short, so a search ends after a few thousand characters: text full of openings stays linear.
    """
    limit = min(start + _LONGEST, state.posMax)
    position = state.src.find(closing, start, limit)
    while closing == "$" and position > 0 and _escaped(state.src, position):
        position = state.src.find(closing, position + 1, limit)
    return position


def _escaped(src: str, position: int) -> bool:
    count = 0
    while count < position and src[position - 1 - count] == "\\":
        count += 1
    return count % 2 == 1


def _push(state: StateInline, silent: bool, kind: str, content: str, *, markup: str, end: int) -> bool:
    if not is_formula(content):
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content, token.markup = content, markup
    state.pos = end
    return True


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A display that begins a line and ends one: its lines are not read as lists, headings or rules."""
    if state.is_code_block(start):
        return False
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    opening = _BEGIN.match(first)
    markup = first[:2] if first[:2] in {"$$", "\\["} else ""
    if not markup and opening is None:
        return False
    closing = {"$$": "$$", "\\[": "\\]"}.get(markup) or f"\\end{{{opening[1] if opening else ''}}}"
    last = _closing_line(state, start, end, first[2:] if markup else first, closing)
    if last is None:
        return False
    source = state.getLines(start, last + 1, state.blkIndent, False).strip()
    content = source[2:-2] if markup else source
    if not is_formula(content):
        return False
    if silent:
        return True
    state.line = last + 1
    token = state.push(DISPLAY, "", 0)
    token.content, token.markup, token.block, token.map = content, markup, True, [start, state.line]
    return True


def _closing_line(state: StateBlock, start: int, end: int, rest: str, closing: str) -> int | None:
    """The line that the closing delimiter ends; None at a blank line, at the container's end, or past the limits.

    Of all openings together so many lines are read, so that text full of them stays linear.
    """
    line, size = start, 0
    while True:
        body = rest.rstrip()
        if closing in body:
            return line if body.index(closing) + len(closing) == len(body) else None
        line += 1
        size += len(rest)
        read = state.env["maths_lines"] = state.env.get("maths_lines", 0) + 1
        if line >= end or max(size, read // 5) > _LONGEST or state.isEmpty(line):
            return None
        if state.sCount[line] < state.blkIndent:
            return None
        rest = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
