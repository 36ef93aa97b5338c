"""The words above blocks: the same in Markdown, HTML and plain text. Cleaned, not escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.render.status import duration

if TYPE_CHECKING:
    from nbresponses.render.blocks import Error, Image, Reasoning, Search, ToolCall

__all__ = ["error_title", "image_title", "reasoning_title", "search_title", "tool_title"]


def reasoning_title(block: Reasoning) -> str:
    """One line; while it goes on, with the first line of its latest part."""
    took = f" · {duration(block.seconds)}" if block.seconds is not None else ""
    return f"Reasoning{took}" if block.done else f"Reasoning…{took}"


def tool_title(block: ToolCall) -> tuple[str, ...]:
    """What was called first, then what kind of call it is and how it stands."""
    server = f"on {block.server}" if block.server else ""
    return (block.name or block.label, block.label if block.name else "", server, block.status)


def search_title(block: Search) -> tuple[str, ...]:
    return (f"{block.where} search", block.action, block.status)


def image_title(block: Image) -> str:
    if block.picture is None:
        state = block.status or ("no image" if block.done else "in progress")
    elif block.final:
        state = f"{block.picture.name}, {_size(block.picture.size)}"
    else:
        state = "preview" if block.preview is None else f"preview {block.preview + 1}"
    return " · ".join(part for part in ("image", state, block.prompt) if part)


def error_title(block: Error) -> str:
    return " · ".join(part for part in ("Failed", block.code, block.type if block.type != block.code else "") if part)


def _size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{max(size // 1000, 1)} kB"
