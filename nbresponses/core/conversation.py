"""A conversation as plain data: its code blocks, its items as Markdown. Pure text; makes no HTML and shows nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CodeBlock", "code_blocks_in", "to_markdown"]

_LINE_END = re.compile(r"\r\n|\n|\r")  # of Markdown; other characters that end lines may stand in code
_OPENING = re.compile(r"( *)(`{3,}|~{3,})[ \t]*([^`\n]*)")
_LIST = re.compile(r" *(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADINGS = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "Developer"}


class CodeBlock(NamedTuple):
    """A fenced block. `language` is the first word after the fence, "" where there is none."""

    language: str
    code: str


def code_blocks_in(text: str) -> list[CodeBlock]:
    """The fenced code blocks of a Markdown text, in order. One that was cut off ends with the text.

    A fence ends at one of the same kind that is at least as long, and what it is indented by is no part of the code
    (CommonMark, section 4.5). More than three spaces indent a fence in a list only.
    """
    blocks: list[CodeBlock] = []
    lines: list[str] = []
    fence = language = ""
    indent, in_list = 0, False
    for line in _LINE_END.split(text):
        if fence:
            if re.fullmatch(rf" *{re.escape(fence[0])}{{{len(fence)},}}[ \t]*", line):
                blocks.append(CodeBlock(language, "\n".join(lines)))
                fence = ""
            else:
                lines.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
            continue
        begins = _OPENING.fullmatch(line)
        if begins is not None and (in_list or len(begins[1]) <= 3):
            indent, fence, lines = len(begins[1]), begins[2], []
            language = begins[3].split()[0] if begins[3].split() else ""
        elif line.strip():
            in_list = _LIST.match(line) is not None or (in_list and line.startswith(" "))
    return [*blocks, CodeBlock(language, "\n".join(lines))] if fence else blocks


def to_markdown(items: Iterable[Mapping[str, Any]]) -> str:
    """Items, input and output alike, as one Markdown text: messages under headings, calls and results as code."""
    return "\n\n".join(part for item in items if (part := _item(item)))


def _item(item: Mapping[str, Any]) -> str:
    kind = str(item.get("type") or "message")
    if kind == "message":
        heading = _HEADINGS.get(str(item.get("role")), str(item.get("role") or "Message"))
        return f"### {heading}\n\n{_content(item.get('content'))}"
    if kind == "reasoning":
        texts = [str(part.get("text", "")) for part in item.get("summary") or () if isinstance(part, dict)]
        return "\n".join(f"> {line}" for text in texts for line in text.splitlines())
    if kind in {"function_call", "custom_tool_call"}:
        return f"**Call** `{item.get('name')}`\n\n{_fenced(item.get('arguments') or item.get('input'))}"
    if kind.endswith("_output"):
        return f"**Result**\n\n{_fenced(item.get('output'))}"
    name = item.get("name") or item.get("query") or item.get("status") or ""
    return f"*{kind}* {name}".strip()


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    shown = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            text = part.get("text") or part.get("refusal") or part.get("transcript")
            shown.append(str(text) if text else f"*({part.get('filename') or part.get('type')})*")
    return "\n\n".join(shown)


def _fenced(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
