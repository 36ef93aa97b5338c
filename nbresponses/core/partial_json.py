"""A JSON text that has not ended yet, read as far as it goes. Linear in its length; never raises."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["open_partial"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+|\s+', re.DOTALL)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSERS = {"{": "}", "[": "]"}


def open_partial(text: str) -> Any:
    """The value so far: what is open is closed, what cannot be told yet (half a key, number or word) is left out.

    None where there is nothing yet, or where it is no JSON.
    """
    end, closers, tail = _cut(text)
    try:
        return json.loads(text[:end] + tail + closers, strict=False)
    except (ValueError, RecursionError):
        return None


def _cut(text: str) -> tuple[int, str, str]:
    """(where to cut, the brackets to close, what else ends there)."""
    stack: list[str] = []  # of open brackets; none opens or closes behind a safe place
    safe = 0
    key_next = False
    place = 0
    while (token := _TOKEN.match(text, place)) is not None:
        word, place = token[0], token.end()
        if word.isspace():
            continue
        is_value = True
        if word in _CLOSERS:
            stack.append(word)
            key_next = word == "{"
        elif word in "}]":
            if stack:
                stack.pop()
            key_next = False
        elif word == ",":
            key_next, is_value = bool(stack) and stack[-1] == "{", False
        elif word == ":":
            key_next, is_value = False, False
        elif word[0] != '"':
            is_value = place < len(text)  # a number or word at the very end may go on
        else:
            is_value = not key_next
        if is_value:
            safe = place
    in_string = place < len(text) and not key_next
    if not in_string:
        return safe, _closing(stack), ""
    cut = _CUT_ESCAPE.search(text, place)
    escaped = cut is not None and (len(text[: cut.start()]) - len(text[: cut.start()].rstrip("\\"))) % 2 == 0
    return cut.start() if cut is not None and escaped else len(text), _closing(stack), '"'


def _closing(opened: list[str]) -> str:
    return "".join(_CLOSERS[bracket] for bracket in reversed(opened))
