"""Blocks → Markdown that is safe where HTML is live and remote images load: JupyterLab, GitHub, nbconvert, VS Code."""

from __future__ import annotations

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
from nbresponses.render.escaping import code_html, markdown_text, url_for_markdown
from nbresponses.render.inline import bare_address
from nbresponses.render.parsing import parse
from nbresponses.render.pictures import Picture
from nbresponses.render.safe_markdown import code_block, code_in, fence_for, write
from nbresponses.render.titles import error_title, image_title, reasoning_title, search_title, tool_title
from nbresponses.render.untrusted import safe_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbresponses.render.blocks import Source
    from nbresponses.render.status import StatusLine

__all__ = ["to_markdown"]


def to_markdown(
    blocks: Iterable[Block],
    status: StatusLine | None = None,
    *,
    allow_remote_images: bool = False,
    images: bool = True,
) -> str:
    """All blocks and the status line as Markdown. `images=False` names pictures in words instead of holding them."""
    writer = _Writer(allow_remote_images, images)
    parts = [_WRITERS[type(block)](writer, block) for block in blocks]
    if status and (line := status.text()):
        parts.append([f"<sub>{_inline(line)}</sub>"])
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _inline(source: str) -> str:
    """Text of one line; line ends become spaces."""
    return markdown_text(" ".join(source.split("\n")))


class _Writer:
    """Writes each block as lines."""

    def __init__(self, remote: bool, images: bool) -> None:
        self._remote = remote
        self._images = images

    def _prose(self, source: str) -> list[str]:
        tokens = parse(source)
        if tokens is None:
            return self._code(source)
        return write(tokens, fence_for(code_in(tokens)), remote=self._remote)

    def _code(self, source: str, language: str = "") -> list[str]:
        return code_block(source, language, fence_for([source]))

    def text(self, block: Text) -> list[str]:
        return _spaced(self._prose(block.text), _sources(block.citations))

    def reasoning(self, block: Reasoning) -> list[str]:
        parts = [self._prose(part) for part in (*block.summary, block.text) if part]
        start = f"<details><summary>{code_html(reasoning_title(block))}</summary>"
        return _spaced([start], *parts, ["</details>"])

    def refusal(self, block: Refusal) -> list[str]:
        return [f"**Refused:** {_inline(block.text)}"]

    def tool(self, block: ToolCall) -> list[str]:
        language = "json" if block.arguments[:1] in {"{", "["} else ""
        parts = [self._code(block.arguments, language)] if block.arguments else []
        parts.append(self._part("Result", block.result))
        parts += [self._picture(picture, "result") for picture in block.pictures]
        return _spaced([_title(tool_title(block))], *parts, _failure(block.error))

    def tools(self, block: ToolList) -> list[str]:
        rows = [f"- {_inline(f'{name}: {said}' if said else name)}" for name, said in block.tools]
        title = _title((block.label, block.server, str(len(block.tools))))
        return _spaced([title], rows, _failure(block.error))

    def code(self, block: Code) -> list[str]:
        parts = [self._code(block.code, block.language)] if block.code else []
        for out in block.outputs:
            parts.append(self._picture(out, "output") if isinstance(out, Picture) else self._part("Output", out))
        return _spaced([_title(("code", block.language, block.status))], *parts)

    def search(self, block: Search) -> list[str]:
        queries = [_inline("; ".join(block.queries))] if block.queries else []
        hits = [f"- {_inline(f'{hit.name}: {hit.text[:1000]}')}" for hit in block.hits]
        return _spaced([_title(search_title(block))], queries, _sources(block.sources), hits)

    def shell(self, block: Shell) -> list[str]:
        parts = [self._code("\n".join(f"$ {command}" for command in block.commands), "console")]
        for output in block.outputs:
            parts += [self._part("Output", output.stdout), self._part("Errors", output.stderr)]
            parts.append([_inline(output.outcome)] if output.outcome else [])
        return _spaced([_title(("shell", "", block.status))], *(parts if block.commands else parts[1:]))

    def patch(self, block: Patch) -> list[str]:
        title = _title(("patch", f"{block.operation} {block.path}".strip(), block.status))
        diff = self._code(block.diff, "diff") if block.diff else []
        return _spaced([title], diff, self._part("Result", block.result))

    def image(self, block: Image) -> list[str]:
        picture = self._picture(block.picture, "generated image") if block.picture and self._images else []
        return _spaced(picture, [f"<sub>{_inline(image_title(block))}</sub>"], _failure(block.error))

    def audio(self, block: Audio) -> list[str]:
        return [f"**Audio:** {_inline(block.transcript)}"]

    def compaction(self, _block: Compaction) -> list[str]:
        return ["<sub>— the conversation so far was compacted —</sub>"]

    def error(self, block: Error) -> list[str]:
        return [f"**{_inline(error_title(block))}** — {_inline(block.message)}"]

    def notice(self, block: Notice) -> list[str]:
        return [f"**{_inline(block.text)}**"]

    def unknown(self, block: Unknown) -> list[str]:
        start = f"<details><summary>{code_html(block.type)}</summary>"
        return _spaced([start], self._code(block.json, "json"), ["</details>"])

    def _part(self, label: str, source: str) -> list[str]:
        return _spaced([f"{label}:"], self._code(source)) if source else []

    def _picture(self, picture: Picture, label: str) -> list[str]:
        if not self._images:
            return [f"{label}: {picture.name} image, {picture.size} bytes"]
        return [f"![{label}]({picture.uri})"]


def _spaced(*parts: Sequence[str]) -> list[str]:
    """The parts that hold something, a blank line between them."""
    lines: list[str] = []
    for part in parts:
        if part:
            lines += ["", *part] if lines else part
    return lines


def _title(parts: Sequence[str]) -> str:
    first, *rest = (_inline(part) for part in parts)
    return " · ".join([f"**{first}**", *(part for part in rest if part)])


def _failure(message: str) -> list[str]:
    return [f"**Error:** {_inline(message)}"] if message else []


def _sources(sources: Sequence[Source]) -> list[str]:
    rows: list[str] = []
    for number, source in enumerate(sources, 1):
        address = safe_url(source.url)
        label = markdown_text(source.title, label=True)
        link = f"[{label}]({url_for_markdown(address)})" if address else label
        rows.append(f"{number}. " + (f"<{address}>" if source.title == address and bare_address(address) else link))
    return rows


_WRITERS: dict[type[Block], Callable[..., list[str]]] = {
    Text: _Writer.text,
    Reasoning: _Writer.reasoning,
    Refusal: _Writer.refusal,
    ToolCall: _Writer.tool,
    ToolList: _Writer.tools,
    Code: _Writer.code,
    Search: _Writer.search,
    Shell: _Writer.shell,
    Patch: _Writer.patch,
    Image: _Writer.image,
    Audio: _Writer.audio,
    Compaction: _Writer.compaction,
    Error: _Writer.error,
    Notice: _Writer.notice,
    Unknown: _Writer.unknown,
}
