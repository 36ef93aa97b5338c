"""Blocks → plain text for terminals and logs. Control characters are gone; Markdown is left as it was written."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from nbresponses.render.blocks import (
    Audio,
    Block,
    Code,
    Compaction,
    Error,
    Image,
    Notice,
    Patch,
    Reasoning,
    Refusal,
    Search,
    Shell,
    Text,
    ToolCall,
    ToolList,
    Unknown,
)
from nbresponses.render.pictures import Picture
from nbresponses.render.titles import error_title, image_title, reasoning_title, search_title, tool_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbresponses.render.blocks import Source
    from nbresponses.render.status import StatusLine

__all__ = ["block_text", "to_text"]


def to_text(blocks: Iterable[Block], status: StatusLine | None = None) -> str:
    """All blocks and the status line as plain text, a blank line between blocks."""
    parts = [block_text(block) for block in blocks]
    if status and (line := status.text()):
        parts.append(f"[{line}]")
    return "\n\n".join(part for part in parts if part)


def block_text(block: Block) -> str:
    """One block as plain text."""
    return _WRITERS[type(block)](block)


def _text(block: Text) -> str:
    return block.text + ("\n\n" + _sources(block.citations) if block.citations else "")


def _reasoning(block: Reasoning) -> str:
    parts = "\n\n".join(part for part in (*block.summary, block.text) if part)
    return f"[{reasoning_title(block)}]\n{_quoted(parts)}".rstrip()


def _tool(block: ToolCall) -> str:
    rows = [("", block.arguments), ("result", block.result), ("error", block.error)]
    rows += [("image", f"{picture.name}, {picture.size} bytes") for picture in block.pictures]
    return _card(tool_title(block), rows)


def _tools(block: ToolList) -> str:
    names = "\n".join(f"{name}: {said}" if said else name for name, said in block.tools)
    return _card((block.label, block.server, str(len(block.tools))), [("", names), ("error", block.error)])


def _code(block: Code) -> str:
    outputs = [
        ("output", f"image: {out.name}, {out.size} bytes" if isinstance(out, Picture) else out) for out in block.outputs
    ]
    return _card(("code", block.language, block.status), [("", block.code), *outputs])


def _search(block: Search) -> str:
    hits = "\n".join(f"{hit.name}: {' '.join(hit.text.split())[:200]}" for hit in block.hits)
    rows = [("", "; ".join(block.queries)), ("sources", _sources(block.sources)), ("results", hits)]
    return _card(search_title(block), rows)


def _shell(block: Shell) -> str:
    rows = [("", "\n".join(f"$ {command}" for command in block.commands))]
    for output in block.outputs:
        rows += [("output", output.stdout), ("errors", output.stderr), ("ended", output.outcome)]
    return _card(("shell", "", block.status), rows)


def _patch(block: Patch) -> str:
    title = ("patch", f"{block.operation} {block.path}".strip(), block.status)
    return _card(title, [("", block.diff), ("result", block.result)])


def _image(block: Image) -> str:
    return f"[{image_title(block)}]" + (f"\n  error: {block.error}" if block.error else "")


def _audio(block: Audio) -> str:
    return f"[audio] {block.transcript}".rstrip()


def _compaction(_block: Compaction) -> str:
    return "[the conversation so far was compacted]"


def _refusal(block: Refusal) -> str:
    return f"[refused] {block.text}"


def _error(block: Error) -> str:
    return f"[{error_title(block)}] {block.message}"


def _notice(block: Notice) -> str:
    return f"[{block.text}]"


def _unknown(block: Unknown) -> str:
    return f"[{block.type}]\n{indent(block.json, '  ')}"


def _card(title: Sequence[str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"[{' · '.join(part for part in title if part)}]"]
    for label, content in rows:
        if not content:
            continue
        if not label:
            lines.append(indent(content, "  "))
        elif "\n" in content:
            lines += [f"  {label}:", indent(content, "    ")]
        else:
            lines.append(f"  {label}: {content}")
    return "\n".join(lines)


def _quoted(source: str) -> str:
    return "\n".join(f"| {line}".rstrip() for line in source.split("\n")) if source else ""


def _sources(sources: Sequence[Source]) -> str:
    return "\n".join(
        f"[{number}] {source.title}" + (f" <{source.url}>" if source.url and source.url != source.title else "")
        for number, source in enumerate(sources, 1)
    )


_WRITERS: dict[type[Block], Callable[..., str]] = {
    Text: _text,
    Reasoning: _reasoning,
    Refusal: _refusal,
    ToolCall: _tool,
    ToolList: _tools,
    Code: _code,
    Search: _search,
    Shell: _shell,
    Patch: _patch,
    Image: _image,
    Audio: _audio,
    Compaction: _compaction,
    Error: _error,
    Notice: _notice,
    Unknown: _unknown,
}
