"""One message in words: a line for its row, the fields of its event, and its payload as it came. Pure.

Everything is cleaned of what acts on the text around it, and cut to a length that a page can show.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbresponses.errors import DecodeError
from nbresponses.render import clean
from nbresponses.render.untrusted import one_line, pretty_json

if TYPE_CHECKING:
    from nbresponses.capture.messages import Message

__all__ = ["cut", "decoded", "raw", "summary"]

_LONGEST = 200_000  # characters of a payload
_LONGEST_FIELD = 20_000
_LONGEST_LINE = 160
_READ = 100_000  # bytes of a payload above which a row says only its size
_SAID = ("delta", "text", "arguments", "code", "input", "refusal", "transcript", "message", "summary")


def summary(message: Message) -> str:
    """What a message says, on one line: its delta or text in quotes, else its status, name or facts."""
    if len(message.payload) > _READ:
        return f"{len(message.payload):,} bytes"
    try:
        data = message.facts()
    except DecodeError:
        return one_line(message.text, _LONGEST_LINE)
    if message.direction == "note":
        return one_line(", ".join(f"{name}: {value}" for name, value in data.items()), _LONGEST_LINE)
    for name in _SAID:
        if isinstance(data.get(name), str) and data[name]:
            return one_line(json.dumps(data[name][: 2 * _LONGEST_LINE], ensure_ascii=False), _LONGEST_LINE)
    return one_line(" ".join(_short_facts(data)), _LONGEST_LINE)


def _short_facts(data: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for name in ("response", "item", "part"):
        inner = data.get(name)
        if isinstance(inner, dict):
            found += [str(inner[key]) for key in ("type", "name", "status", "id") if isinstance(inner.get(key), str)]
    return found or [str(data[key]) for key in ("model", "code") if isinstance(data.get(key), str)]


def raw(message: Message) -> str:
    """The payload, indented where it is JSON; numbers and keys as they came."""
    return cut(clean(pretty_json(message.text)))


def decoded(message: Message) -> dict[str, Any]:
    """The class that the message was read as, and its fields: `{"class", "fields": [[name, JSON text] …]}`."""
    event = message.event()
    try:
        fields = message.facts() if event is None else event.to_dict()
    except DecodeError as error:
        fields = {"error": str(error)}
    name = type(event).__name__ if event is not None else f"{message.direction} {message.kind}"
    named = [("bytes", len(message.payload)), *fields.items()]
    return {"class": name, "fields": [[one_line(str(key), 80), _value(value)] for key, value in named]}


def _value(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (ValueError, RecursionError):
        text = "… nested too deeply to be shown here"
    return cut(clean(text), _LONGEST_FIELD)


def cut(text: str, longest: int = _LONGEST) -> str:
    """The text, or its beginning and how much is missing."""
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest:,} characters more"
