"""Reading what a model or a server wrote: any field may be missing or of a wrong type. Never raises on such input.

Text is cleaned here of what acts instead of being read: terminal escape sequences and control characters are removed,
lone surrogates (which cannot be sent as UTF-8) become U+FFFD, and the characters that reorder the text around them are
shown by their numbers. Addresses are let through only in the few schemes that a reader may follow.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = [
    "clean",
    "fields",
    "is_json",
    "items",
    "number",
    "objects",
    "one_line",
    "pretty_json",
    "safe_url",
    "text",
]

# ECMA-48: control sequences (final byte optional, so that one cut in two by streaming goes too), control strings up to
# their terminator, and the two-byte escapes. U+0080 to U+009F are the one-byte forms of the same.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c))?"
    r"|\x1b[ -/]*+[0-~]?"
)
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_REORDERING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")  # embeddings, overrides and isolates; the plain marks stay
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

_SAFE_URL = re.compile(r"https?://[^\s/?#\\]|mailto:[^\s\\]", re.IGNORECASE)
_NO_URL_CHARACTER = re.compile(r"[\s\x00-\x20\x7f-\xa0\ud800-\udfff\u202a-\u202e\u2066-\u2069<>\"\\]")

_JSON_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_EMPTY = {"{": "}", "[": "]"}
_DEEPEST_INDENT = 60


def clean(source: str) -> str:
    """The text with nothing in it that acts on a terminal or on the text around it. Idempotent."""
    if _SUSPECT.search(source) is None:
        return source
    source = _ESCAPES.sub("", source)
    source = _LINE_BREAKS.sub("\n", source)
    source = _CONTROLS.sub("", source)
    source = _SURROGATES.sub("\ufffd", source)
    return _REORDERING.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", source)


def one_line(source: str, limit: int = 400) -> str:
    """The cleaned text on one line, at most `limit` characters: for names, titles and labels."""
    line = " ".join(clean(source[: 4 * limit]).split())
    return line if len(line) <= limit and len(source) <= 4 * limit else f"{line[:limit]}…"


def text(value: object) -> str:
    """Any JSON value as cleaned text: a string as it is, None as nothing, all else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=repr))
    except (ValueError, TypeError, RecursionError):
        return "(cannot be shown: nested too deeply, or a number too long)"


def number(value: object) -> float | None:
    """The value if it is a finite number of a sensible size, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e15 < value < 1e15 else None


def fields(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def objects(value: object) -> list[dict[str, Any]]:
    """The JSON objects of a JSON array."""
    return [entry for entry in items(value) if isinstance(entry, dict)]


def safe_url(value: object) -> str | None:
    """The address if it is absolute and http, https or mailto; None for all else (scripts, files, data, relative)."""
    if not isinstance(value, str):
        return None
    address = value.strip()
    if len(address) > 8192 or _NO_URL_CHARACTER.search(address) or _SAFE_URL.match(address) is None:
        return None
    return address


def is_json(source: str) -> bool:
    """Whether the text is one complete JSON value that can be read here."""
    try:
        json.loads(source)
    except (ValueError, RecursionError):
        return False
    return True


def pretty_json(source: str) -> str:
    """The JSON text indented, its values as written (no number rounded, no key dropped); other text unchanged."""
    if not is_json(source):
        return source
    out: list[str] = []
    depth = 0
    before = ""
    for word in _JSON_TOKENS.findall(source):
        if word in {"]", "}"}:
            depth -= 1
            out.append(word if _EMPTY.get(before) == word else f"{_new_line(depth)}{word}")
        else:
            if before in {"[", "{", ","}:
                out.append(_new_line(depth))
            depth += word in {"[", "{"}
            out.append(": " if word == ":" else _readable(word))
        before = word
    return "".join(out)


def _new_line(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST_INDENT)


def _readable(token: str) -> str:
    """A JSON string with its \\uXXXX escapes read, where that leaves a string that can be shown on one line."""
    if not token.startswith('"') or "\\u" not in token:
        return token
    return clean(json.dumps(json.loads(token), ensure_ascii=False))
