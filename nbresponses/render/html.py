"""Blocks → HTML that stands on its own: inline styles; no script, no style sheet, nothing loaded from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.render import styles
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
from nbresponses.render.escaping import html_attribute, html_text
from nbresponses.render.pictures import Picture
from nbresponses.render.text_html import link_html, markdown_html, pre_html
from nbresponses.render.titles import error_title, image_title, reasoning_title, search_title, tool_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbresponses.render.blocks import Source
    from nbresponses.render.status import StatusLine

__all__ = ["block_html", "mark_html", "status_html", "to_html"]


def to_html(blocks: Iterable[Block], status: StatusLine | None = None, *, allow_remote_images: bool = False) -> str:
    """All blocks and the status line as one HTML fragment."""
    body = "\n".join(block_html(block, allow_remote_images=allow_remote_images) for block in blocks)
    return f'<div style="{styles.BODY}">\n{body}\n{status_html(status)}</div>'


def mark_html(name: str) -> str:
    """An empty element of this class, which a script finds."""
    return f'<div class="{html_attribute(name)}"></div>\n'


def status_html(status: StatusLine | None) -> str:
    """The status line as HTML, "" where there is none."""
    line = html_text(status.text()) if status else ""
    return f'<div style="{styles.LINE}">{line}</div>\n' if line else ""


def block_html(block: Block, *, allow_remote_images: bool = False) -> str:
    """One block as HTML: for a view that draws only what changed."""
    if isinstance(block, Text):
        return _text(block, allow_remote_images)
    if isinstance(block, Reasoning):
        return _reasoning(block, allow_remote_images)
    return _WRITERS[type(block)](block)


def _text(block: Text, remote: bool) -> str:
    style = ' style="opacity:0.8"' if block.phase == "commentary" else ""
    return f"<div{style}>{markdown_html(block.text, remote=remote)}{_sources('Sources', block.citations)}</div>"


def _reasoning(block: Reasoning, remote: bool) -> str:
    parts = [markdown_html(part, remote=remote) for part in (*block.summary, block.text) if part]
    summary = f'<summary style="{styles.SUMMARY}">{html_text(reasoning_title(block))}</summary>'
    shown = "" if block.done else " open"
    return (
        f'<details{shown} style="{styles.DETAILS}">{summary}<div style="opacity:0.8">{"".join(parts)}</div></details>'
    )


def _refusal(block: Refusal) -> str:
    return f'<div style="{styles.NOTICE}"><strong>Refused:</strong> {_lines(block.text)}</div>'


def _tool(block: ToolCall) -> str:
    body = [
        pre_html(block.arguments) if block.arguments else "",
        _part("Result", block.result),
        *(_picture(picture, "result") for picture in block.pictures),
        _failure(block.error),
    ]
    return _card(tool_title(block), body)


def _tools(block: ToolList) -> str:
    rows = "".join(f"<li><strong>{html_text(name)}</strong> {html_text(said)}</li>" for name, said in block.tools)
    title = (block.label, block.server, f"{len(block.tools)}")
    return _card(title, [_folded("Show", f"<ul>{rows}</ul>") if rows else "", _failure(block.error)])


def _code(block: Code) -> str:
    outputs = (_picture(out, "output") if isinstance(out, Picture) else _part("Output", out) for out in block.outputs)
    return _card(("code", block.language, block.status), [pre_html(block.code) if block.code else "", *outputs])


def _search(block: Search) -> str:
    hits = "".join(
        f"<li><strong>{html_text(hit.name)}</strong>{'' if hit.score is None else f' ({hit.score:.2f})'}"
        f"<br>{_lines(hit.text[:1000])}</li>"
        for hit in block.hits
    )
    found = _folded(f"{len(block.hits)} results", f"<ul>{hits}</ul>") if hits else ""
    sources = _sources("Sources", block.sources)
    return _card(search_title(block), [f"<div>{html_text('; '.join(block.queries))}</div>", sources, found])


def _shell(block: Shell) -> str:
    body = [pre_html("\n".join(f"$ {command}" for command in block.commands)) if block.commands else ""]
    for output in block.outputs:
        body += [_part("Output", output.stdout), _part("Errors", output.stderr)]
        body.append(f'<div style="{styles.MUTED}">{html_text(output.outcome)}</div>' if output.outcome else "")
    return _card(("shell", "", block.status), body)


def _patch(block: Patch) -> str:
    body = [pre_html(block.diff) if block.diff else "", _part("Result", block.result)]
    return _card(("patch", f"{block.operation} {block.path}".strip(), block.status), body)


def _image(block: Image) -> str:
    caption = f'<div style="{styles.MUTED}">{html_text(image_title(block))}</div>'
    picture = _picture(block.picture, block.prompt or "generated image") if block.picture else ""
    return f'<div style="margin:0.6em 0">{picture}{caption}{_failure(block.error)}</div>'


def _audio(block: Audio) -> str:
    player = ""
    if block.mime:
        player = f'<audio controls src="data:{block.mime};base64,{html_attribute(block.data)}"></audio>'
    elif block.data and block.done:
        player = f'<div style="{styles.MUTED}">audio, in a format that browsers do not play</div>'
    return f'<div style="margin:0.6em 0">{player}<div>{_lines(block.transcript)}</div></div>'


def _compaction(_block: Compaction) -> str:
    return f'<div style="{styles.MUTED}">— the conversation so far was compacted —</div>'


def _error(block: Error) -> str:
    title = html_text(error_title(block))
    return f'<div style="{styles.ERROR}"><strong>{title}</strong><br>{_lines(block.message)}</div>'


def _notice(block: Notice) -> str:
    return f'<div style="{styles.NOTICE}">{html_text(block.text)}</div>'


def _unknown(block: Unknown) -> str:
    return _folded(block.type, pre_html(block.json))


# ── pieces ──


def _card(title: Sequence[str], body: Iterable[str]) -> str:
    first, *rest = (html_text(part) for part in title)
    badges = [f'<span style="{styles.BADGE}">{part}</span>' for part in rest if part]
    head = " ".join(
        [f"<strong>{first}</strong>", *badges]
    )  # blanks: a page without styles and what is copied have no margins
    inside = "".join(body)
    inside = f'<div style="{styles.INSIDE}">{inside}</div>' if inside else ""
    return f'<div style="{styles.CARD}"><div style="{styles.HEAD}">{head}</div>{inside}</div>'


def _part(label: str, source: str) -> str:
    return f'<div style="{styles.MUTED}">{label}</div>{pre_html(source)}' if source else ""


def _failure(message: str) -> str:
    return f'<div style="{styles.ERROR}">{_lines(message)}</div>' if message else ""


def _folded(title: str, body: str) -> str:
    summary = f'<summary style="{styles.SUMMARY}">{html_text(title)}</summary>'
    return f'<details style="{styles.DETAILS}">{summary}{body}</details>'


def _lines(source: str) -> str:
    return html_text(source).replace("\n", "<br>\n")


def _picture(picture: Picture, label: str) -> str:
    return f'<div><img src="{picture.uri}" alt="{html_attribute(label)}" style="{styles.IMAGE}"></div>'


def _sources(title: str, sources: Sequence[Source]) -> str:
    if not sources:
        return ""
    links = "".join(f"<li>{link_html(source.url, source.title)}</li>" for source in sources)
    return f'<div style="{styles.MUTED}">{title}<ol style="margin:0.2em 0">{links}</ol></div>'


_WRITERS: dict[type[Block], Callable[..., str]] = {
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
