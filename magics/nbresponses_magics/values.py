"""The value of an option, as text → what it means. An ArgumentTypeError says what was expected instead."""

from __future__ import annotations

import argparse
import json
import keyword
from typing import Any

__all__ = ["as_value", "hosted", "name", "names", "pair", "speed"]


def as_value(text: str) -> Any:
    """A value as JSON, else as the string it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"expected key=value, not {text!r}")
    return key.strip(), as_value(value)


def hosted(text: str) -> dict[str, Any]:
    kind, _, rest = text.partition(":")
    if not kind.strip():
        raise argparse.ArgumentTypeError(f"expected TOOL or TOOL:key=value,..., not {text!r}")
    tool = {"type": kind.strip(), **dict(pair(each) for each in _at_commas(rest))}
    if tool["type"] == "code_interpreter":
        tool.setdefault("container", {"type": "auto"})  # the API refuses the tool without one
    return tool


def names(text: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in text.split(",") if word.strip())
    if not found or not all(part.isidentifier() for word in found for part in word.split(".")):
        raise argparse.ArgumentTypeError(f"expected names of functions, as f,g, not {text!r}")
    return found


def _at_commas(text: str) -> list[str]:
    """Cut at the commas that are outside brackets and quotes, so that JSON lists and objects can be values."""
    pieces, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == '"' and (at == 0 or text[at - 1] != "\\"):
            quoted = not quoted
        elif not quoted and char in "[{":
            depth += 1
        elif not quoted and char in "]}":
            depth -= 1
        elif char == "," and not quoted and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        times = float(text)
    except ValueError:
        times = 0.0
    if not 0 < times < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, or max, not {text!r}")
    return times


def name(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a variable name")
    return text
