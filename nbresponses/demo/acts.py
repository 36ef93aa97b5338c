"""The vocabulary of the scenarios: what a demo response may do, as values.

An act says what happens, never how it looks on the wire (`messages.py` and `tools.py` know that) and
never when (`runs.py` does). In texts, `«prompt»` stands for what the user said last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PROMPT = "«prompt»"


@dataclass(frozen=True, slots=True)
class UrlCitation:
    words: str  # the words of the text that the citation is about
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class FileCitation:
    words: str
    file_id: str
    filename: str


@dataclass(frozen=True, slots=True)
class Message:
    text: str
    citations: tuple[UrlCitation | FileCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """A message of so many deltas; `metadata.demo_count` asks for another number."""

    deltas: int


@dataclass(frozen=True, slots=True)
class Refuse:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    summaries: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    name: str
    arguments: str  # JSON


@dataclass(frozen=True, slots=True)
class CustomCall:
    name: str
    input: str


@dataclass(frozen=True, slots=True)
class Together:
    """Items that are open at the same time, their events interleaved."""

    acts: tuple[FunctionCall | CustomCall, ...]


@dataclass(frozen=True, slots=True)
class Code:
    code: str
    logs: str
    picture: bool = False  # the interpreter shows an image as well


@dataclass(frozen=True, slots=True)
class WebSearch:
    query: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSearch:
    queries: tuple[str, ...]
    results: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    partials: int = 3  # used where the request does not say
    size: int = 256  # pixels


@dataclass(frozen=True, slots=True)
class McpList:
    server: str
    tools: tuple[dict[str, Any], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class McpCall:
    server: str
    name: str
    arguments: str
    output: str | None = None
    error: dict[str, Any] | None = None
    approval: str | None = None  # id of the approval request that it answers


@dataclass(frozen=True, slots=True)
class McpApproval:
    server: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Command:
    line: str
    stdout: tuple[str, ...] = ()  # as it arrives
    stderr: str = ""
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Shell:
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    kind: str  # create_file, update_file or delete_file
    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class Speech:
    transcript: str
    seconds: float = 0.6


@dataclass(frozen=True, slots=True)
class Compact:
    """The server compacts the context on its own."""


@dataclass(frozen=True, slots=True)
class Fail:
    code: str
    message: str
    nested: bool  # the shape of the error event: nested as servers send it, or flat as it is documented


Act = (
    Message | Count | Refuse | Reasoning | FunctionCall | CustomCall | Together | Code | WebSearch | FileSearch
    | Picture | McpList | McpCall | McpApproval | Shell | Patch | Speech | Compact | Fail
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    model: str
    about: str
    acts: tuple[Act, ...]
    pace: float = 0.0  # seconds between events, at least
    budget: int | None = None  # output tokens, where the request sets none
    hosted: tuple[str, ...] = field(default=())  # tool types that lead demo-text here
