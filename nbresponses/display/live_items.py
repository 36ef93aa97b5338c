"""A block as a page draws it: one of a few kinds, with facts, texts by name, notes (what it cites), pictures and sound.

Kinds: message, refusal, reasoning, card (any tool call and all that has no look of its own), image, audio, alert. All
is plain data, and text stays text: the page escapes it. Makes no markup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from nbresponses.render.titles import error_title, image_title, search_title, tool_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbresponses.render.blocks import Source

__all__ = ["LiveItem", "item_of"]

_LAST = 1_000_000  # the place of what belongs to the response as a whole: below everything else


@dataclass(slots=True)
class LiveItem:
    """What a page shows of one block."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    notes: list[dict[str, str]] = field(default_factory=list)
    pictures: list[tuple[Picture, str]] = field(default_factory=list)
    """Each with its caption."""
    audio: tuple[str, str] | None = None
    """Media type and base64."""
    key: str = ""


def item_of(block: Block) -> LiveItem:
    """The block as the page draws it; its key is "output index.kind.number"."""
    item = _READERS[type(block)](block)
    place, kind, number = block.key
    item.key = f"{place}.{kind}.{number}"
    order = (place if place >= 0 else _LAST) * 100 + min(number, 99)
    item.facts = {"kind": item.kind, "order": order, "done": block.done, **item.facts}
    item.texts = {name: text for name, text in item.texts.items() if text}
    return item


def _card(title: str, label: Iterable[str] = (), status: str = "", *, bad: bool = False, **texts: str) -> LiveItem:
    facts = {"title": title, "label": " · ".join(word for word in label if word), "status": status, "bad": bad}
    return LiveItem("card", facts, texts)


def _sources(sources: Iterable[Source]) -> list[dict[str, str]]:
    return [{"words": source.title or source.url, "url": source.url} for source in sources]


def _text(block: Text) -> LiveItem:
    return LiveItem("message", {"phase": block.phase}, {"text": block.text}, _sources(block.citations))


def _refusal(block: Refusal) -> LiveItem:
    return LiveItem("refusal", {}, {"text": block.text})


def _reasoning(block: Reasoning) -> LiveItem:
    texts = {f"summary:{number}": part for number, part in enumerate(block.summary)}
    return LiveItem("reasoning", {}, texts | {"text:0": block.text})


def _tool(block: ToolCall) -> LiveItem:
    title, *label = tool_title(block)[:-1]
    item = _card(title, label, block.status, bad=bool(block.error), arguments=block.arguments)
    item.texts |= {"result": block.result, "error": block.error}
    item.pictures = [(picture, picture.name) for picture in block.pictures]
    return item


def _tools(block: ToolList) -> LiveItem:
    lines = "\n".join(f"{name} — {about}" if about else name for name, about in block.tools)
    return _card(block.label, [block.server], bad=bool(block.error), tools=lines, error=block.error)


def _code(block: Code) -> LiveItem:
    item = _card("code interpreter", [block.language], block.status, code=block.code)
    for number, output in enumerate(block.outputs):
        if isinstance(output, Picture):
            item.pictures.append((output, output.name))
        else:
            item.texts[f"logs:{number}"] = output
    return item


def _search(block: Search) -> LiveItem:
    title, *label = search_title(block)[:-1]
    item = _card(title, label, block.status, query="\n".join(block.queries))
    for number, hit in enumerate(block.hits):
        score = f" ({hit.score:g})" if hit.score is not None else ""
        item.texts[f"hit:{number}"] = f"{hit.name}{score}\n{hit.text}".rstrip()
    item.notes = _sources(block.sources)
    return item


def _shell(block: Shell) -> LiveItem:
    item = _card("shell", status=block.status)
    for number in range(max(len(block.commands), len(block.outputs))):
        if number < len(block.commands):
            item.texts[f"shell_command:{number}"] = block.commands[number]
        if number < len(block.outputs):
            output = block.outputs[number]
            parts = (output.stdout, output.stderr, f"[{output.outcome}]" if output.outcome else "")
            item.texts[f"shell_output:{number}"] = "\n".join(part for part in parts if part)
    return item


def _patch(block: Patch) -> LiveItem:
    return _card(block.path or "patch", [block.operation], block.status, diff=block.diff, result=block.result)


def _image(block: Image) -> LiveItem:
    title = image_title(block)
    facts = {"title": block.prompt or "Generated image", "final": block.final, "words": block.error or title}
    return LiveItem("image", facts, pictures=[(block.picture, title)] if block.picture else [])


def _audio(block: Audio) -> LiveItem:
    playable = (block.mime, block.data) if block.mime and block.data else None
    return LiveItem("audio", {}, {"transcript": block.transcript}, audio=playable)


def _compaction(_block: Compaction) -> LiveItem:
    return _card("context compacted", ["the conversation so far was packed together here"])


def _unknown(block: Unknown) -> LiveItem:
    return _card(block.type, json=block.json)


def _error(block: Error) -> LiveItem:
    return LiveItem("alert", {"title": error_title(block), "bad": True}, {"text": block.message})


def _notice(block: Notice) -> LiveItem:
    return LiveItem("alert", {"title": "", "bad": False}, {"text": block.text})


_READERS: dict[type[Block], Callable[[Any], LiveItem]] = {
    Audio: _audio,
    Code: _code,
    Compaction: _compaction,
    Error: _error,
    Image: _image,
    Notice: _notice,
    Patch: _patch,
    Reasoning: _reasoning,
    Refusal: _refusal,
    Search: _search,
    Shell: _shell,
    Text: _text,
    ToolCall: _tool,
    ToolList: _tools,
    Unknown: _unknown,
}
