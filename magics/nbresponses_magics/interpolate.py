r"""`{{expression}}` in a prompt: evaluated once in the notebook's namespace, its text put in its place.

Values are never looked at again, so braces inside them stay as they are. `\{{` is a literal `{{`. Single braces, dollar
signs and percent signs mean nothing here. In a JSON body a value is written as JSON, or escaped inside a string.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import CodeType

__all__ = ["interpolate", "interpolate_json"]

_OPEN, _CLOSE = "{{", "}}"
# An expression may hold "}}" itself, so further ones are tried; bounded, because each trial compiles the text so far.
_TRIALS = 64


def interpolate(text: str, namespace: Mapping[str, Any]) -> str:
    """Replace each `{{expression}}` by `str()` of its value.

    Raises:
        UsageError: names the expression, and the unknown name where that is the reason.
    """
    return _join(text, namespace, lambda value, _before: str(value))


def interpolate_json(text: str, namespace: Mapping[str, Any]) -> str:
    """The same in a JSON text: a value inside a string is escaped, any other is written as JSON."""

    def write(value: Any, before: list[str]) -> str:
        if _in_string("".join(before)):
            return json.dumps(str(value))[1:-1]
        try:
            return json.dumps(value)
        except (TypeError, ValueError):
            return json.dumps(str(value))

    return _join(text, namespace, write)


def _join(text: str, namespace: Mapping[str, Any], write: Callable[[Any, list[str]], str]) -> str:
    if _OPEN not in text:
        return text
    done: list[str] = []
    for piece, code in _pieces(text):
        done.append(piece if code is None else write(_evaluate(piece, code, namespace), done))
    return "".join(done)


def _pieces(text: str) -> Iterator[tuple[str, CodeType | None]]:
    """Literal text with None, and the source of each expression with its code."""
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        if start > at and text[start - 1] == "\\":
            yield text[at : start - 1] + _OPEN, None
            at = start + len(_OPEN)
            continue
        yield text[at:start], None
        source, code, at = _expression(text, start + len(_OPEN))
        yield source, code
    yield text[at:], None


def _expression(text: str, start: int) -> tuple[str, CodeType, int]:
    """The shortest text up to a "}}" that is a Python expression, its code, and where the text goes on."""
    end = text.find(_CLOSE, start)
    for _ in range(_TRIALS):
        if end < 0:
            break
        source = text[start:end].strip()
        try:
            return source, compile(source, f"{_OPEN}{source}{_CLOSE}", "eval"), end + len(_CLOSE)
        except (SyntaxError, ValueError):
            end = text.find(_CLOSE, end + 1)
    shown = text[start - len(_OPEN) :].split("\n", 1)[0][:40]
    raise UsageError(
        f"no Python expression up to a closing }}}} at: {shown}  (write \\{{{{ for a literal {{{{, or --raw)"
    )


def _evaluate(source: str, code: CodeType, namespace: Mapping[str, Any]) -> Any:
    try:
        return eval(code, dict(namespace))  # noqa: S307  # the notebook's author wrote it, in their own notebook
    except NameError as error:
        raise UsageError(f"unknown name {error.name!r} in {_OPEN}{source}{_CLOSE}") from None
    except Exception as error:
        said = str(error).split("\n", 1)[0]
        raise UsageError(f"{_OPEN}{source}{_CLOSE} failed: {type(error).__name__}: {said}") from None


def _in_string(text: str) -> bool:
    """Whether a JSON text that begins with `text` is inside a string after it."""
    inside, escaped = False, False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = inside
        elif char == '"':
            inside = not inside
    return inside
