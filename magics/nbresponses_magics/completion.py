"""Tab completion on `%responses` and `%%responses` lines: options, models, efforts, hosted tools, files and names.

A pure function from the line up to the cursor to candidates, and a matcher that hands it to IPython. Asks no server:
model names are those that the session has seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses.capture.schema import FRAMES
from nbresponses_magics.data import DATA_FLAGS
from nbresponses_magics.options import EFFORTS, HOSTED_TOOLS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Known", "complete", "matcher"]

LANE_COMMANDS = frozenset({"wait", "stop", "compact"})
"""The commands that take names of lanes."""

_PARTS = re.compile(r"[,[|]")  # between names: f,g and list[Book]
_MAGIC = re.compile(r"\s*%(%?)responses\s")
_BY_FLAG = {flag: option for option in OPTIONS for flag in option.flags}


@dataclass(frozen=True, slots=True)
class Known:
    """What only the session knows."""

    commands: tuple[str, ...] = ()
    models: Iterable[str] = ()
    names: Iterable[str] = field(default=(), repr=False)
    lanes: Iterable[str] = ()
    records: Iterable[str] = field(default=(), repr=False)


def complete(line: str, known: Known) -> tuple[str, list[str]] | None:
    """Candidates for the end of `line`: (the text that they replace, the candidates). None off a responses line."""
    match = _MAGIC.match(line)
    if match is None:
        return None
    words = line[match.end() :].split()
    word = words.pop() if words and not line[-1].isspace() else ""
    if not match[1] and words and words[0] in DATA_FLAGS:
        return _of_data(words, word, known)
    before = words[-1] if words else ""
    flag, equals, part = word.partition("=")
    if equals and flag in _BY_FLAG:
        return part, _values(_BY_FLAG[flag].completes, part, known)
    option = _BY_FLAG.get(before)
    if option is not None and option.value is not None:
        return _value_of(option.completes, word, known)
    if not match[1] and words and words[0] in LANE_COMMANDS:
        return word, _starting(word, known.lanes)
    if not match[1] and not words:
        candidates = [*known.commands, *_BY_FLAG] if word else list(known.commands)
    else:
        candidates = list(_BY_FLAG) if word.startswith("-") else [flag for flag in _BY_FLAG if flag.startswith("--")]
    return word, _starting(word, candidates)


def _of_data(words: list[str], word: str, known: Known) -> tuple[str, list[str]]:
    """For the commands that take a record: its name, a file, and which frame of it."""
    flags = DATA_FLAGS[words[0]]
    flag, equals, part = word.partition("=")
    if "--frame" in flags and (words[-1] == "--frame" or (equals and flag == "--frame")):
        part = part if equals else word
        return part, _starting(part, FRAMES)
    named = any(not after.startswith("-") and before != "--frame" for before, after in pairwise(words))
    if word.startswith("-") or named:
        return word, _starting(word, [flag for flag in flags if flag not in words])
    return word, [*_starting(word, [*known.records, *known.lanes]), *_files(word)]


def _value_of(kind: str, word: str, known: Known) -> tuple[str, list[str]]:
    if kind == "hosted" and ":" in word:
        tool, _, pairs = word.partition(":")
        part = pairs.rpartition(",")[2]
        return part, _starting(part, [f"{key}=" for key in HOSTED_TOOLS.get(tool, ())])
    if kind == "name":
        word = _PARTS.split(word)[-1]
    return word, _values(kind, word, known)


def _values(kind: str, word: str, known: Known) -> list[str]:
    if kind == "file":
        return _files(word)
    if kind == "source":
        return sorted({*_starting(word, known.names), *_files(word)})
    candidates: dict[str, Iterable[str]] = {
        "model": known.models,
        "effort": EFFORTS,
        "hosted": HOSTED_TOOLS,
        "name": known.names,
        "lane": known.lanes,
    }
    return _starting(word, candidates.get(kind, ()))


def _starting(word: str, candidates: Iterable[str]) -> list[str]:
    return sorted({candidate for candidate in candidates if candidate.startswith(word)})


def _files(word: str) -> list[str]:
    """Paths that begin with `word`; folders end in a slash; hidden files only when asked for."""
    folder, slash, start = word.rpartition("/")
    try:
        found = sorted(Path(folder or slash or ".").expanduser().iterdir())
    except OSError:
        return []
    shown = [path for path in found if path.name.startswith(start) and (start or not path.name.startswith("."))]
    return [f"{folder}{slash}{path.name}" + ("/" if path.is_dir() else "") for path in shown]


def matcher(known: Callable[[], Known]) -> Any:
    """A matcher for `IPCompleter.custom_matchers`. Where it finds something, Python names and files are left out."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher(identifier="nbresponses")  # type: ignore[untyped-decorator, unused-ignore]
    def responses_matcher(context: Any) -> dict[str, Any]:
        lines = context.full_text.split("\n")
        nowhere = {"completions": [], "suppress": False}
        if context.cursor_line >= len(lines):
            return nowhere
        line = lines[context.cursor_line][: context.cursor_position]
        if line.lstrip().startswith("%%") and any(above.strip() for above in lines[: context.cursor_line]):
            return nowhere  # a cell magic is one only at the top of its cell
        found = complete(line, known())
        if found is None:
            return nowhere
        replaced, candidates = found
        completions = [SimpleCompletion(text=text, type="magic") for text in candidates]
        return {"completions": completions, "matched_fragment": replaced, "suppress": bool(completions)}

    return responses_matcher
