"""A response as a list of blocks: what a reader sees, one value each, in order. Made from partial responses too.

A block's key names its place and never changes while the response grows: a view compares blocks by key, draws what is
new or different, and leaves alone what is done. Text in blocks is cleaned but not escaped; that is the writers' job.
Never raises, whatever a server sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nbresponses.render.pictures import Picture

__all__ = [
    "Audio",
    "Block",
    "Code",
    "Compaction",
    "Error",
    "Hit",
    "Image",
    "Key",
    "Notice",
    "Patch",
    "Reasoning",
    "Refusal",
    "Search",
    "Shell",
    "ShellOutput",
    "Source",
    "Text",
    "ToolCall",
    "ToolList",
    "Unknown",
]


class Key(NamedTuple):
    """Where a block belongs: the item's place in the output (-1: the whole response), its kind, its part in it.

    Unique within a response.
    """

    output_index: int
    kind: str
    part: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What all blocks have. `done`: nothing more is expected for it."""

    key: Key
    done: bool = True


class Source(NamedTuple):
    """Something cited or searched: `url` is "" where it has no address."""

    title: str
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Block):
    """What the model says; `text` is Markdown. `phase`: "commentary" or "final_answer" where the server says so."""

    text: str
    citations: tuple[Source, ...] = ()
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning(Block):
    """Summary parts and raw reasoning, both Markdown. `seconds` it took, None where not known."""

    summary: tuple[str, ...] = ()
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Block):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Block):
    """A call of a tool that has no block of its own. `label` says what kind; complete JSON arguments are indented."""

    label: str
    name: str = ""
    server: str = ""
    arguments: str = ""
    status: str = ""
    result: str = ""
    error: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList(Block):
    """The tools that a server offers, as (name, description)."""

    label: str
    server: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Block):
    """Code that a hosted interpreter ran, and what it put out: texts and pictures, in order."""

    code: str
    language: str = "python"
    status: str = ""
    outputs: tuple[str | Picture, ...] = ()


class Hit(NamedTuple):
    """One result of a file search; `score` is None where the server gave none."""

    name: str
    text: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Block):
    """A web or file search. `action` says what was done where it was not a plain search."""

    where: str
    queries: tuple[str, ...] = ()
    action: str = ""
    sources: tuple[Source, ...] = ()
    hits: tuple[Hit, ...] = ()
    status: str = ""


class ShellOutput(NamedTuple):
    """What one command put out; `outcome` is "exit 0", "timeout" …, "" where not known."""

    stdout: str = ""
    stderr: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell(Block):
    commands: tuple[str, ...] = ()
    outputs: tuple[ShellOutput, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch(Block):
    """A change to a file. `operation`: "create", "update", "delete" …; `result` is what applying it said."""

    operation: str = ""
    path: str = ""
    diff: str = ""
    status: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Block):
    """A generated image: the final one, or its latest preview (`preview` is its number, None where not known)."""

    picture: Picture | None = None
    final: bool = False
    preview: int | None = None
    prompt: str = ""
    status: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio(Block):
    """Spoken output. `mime` is "" while it is not complete, and where browsers cannot play its format."""

    transcript: str = ""
    data: str = ""
    mime: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Block):
    """The conversation so far was packed together here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(Block):
    """Why the response failed, as the server said it."""

    message: str
    code: str = ""
    type: str = ""
    param: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Block):
    """Something a reader must not miss: why the answer is not whole."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Block):
    """An item or part of a type that is not known here, as indented JSON."""

    type: str
    json: str
