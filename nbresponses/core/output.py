"""The terminal output and the streamed items, joined: the server's list wins, streamed content fills its gaps."""

from __future__ import annotations

from typing import Any

__all__ = ["merged_output"]

_STREAMED = (
    "content", "summary", "arguments", "code", "input", "result", "output", "outputs", "action", "operation",
    "text", "refusal", "annotations", "logprobs",
)  # fmt: skip
"""Fields that hold what was streamed. Ids, statuses and names are the server's own affair."""


def merged_output(final: Any, own: list[dict[str, Any]]) -> list[Any]:
    """The output of a response.

    `final` is what the last lifecycle event said (a list, or anything else where it said nothing), `own` the streamed
    items in order. Takes both over: the result may share their parts.
    """
    if not isinstance(final, list) or not final:
        return own
    rest = list(own)
    for item in final:
        if isinstance(item, dict) and (same := _counterpart(item, rest)) is not None:
            rest = [other for other in rest if other is not same]
            _fill(item, same)
    for item in rest:
        final.insert(next(place for place, other in enumerate(own) if other is item), item)
    return final


def _counterpart(item: dict[str, Any], candidates: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The streamed item that a final one is: the same id, the same call, or (ids rotate) the next of its type."""
    alike = [other for other in candidates if other.get("type") == item.get("type")]
    for key in ("id", "call_id"):
        if item.get(key):
            for other in alike:
                if other.get(key) == item[key]:
                    return other
    return alike[0] if alike else None


def _fill(final: dict[str, Any], own: dict[str, Any]) -> None:
    for name in _STREAMED:
        mine, theirs = own.get(name), final.get(name)
        if mine and not theirs:
            final[name] = mine
        elif isinstance(mine, list) and isinstance(theirs, list):
            for entry, other in zip(theirs, mine, strict=False):
                if isinstance(entry, dict) and isinstance(other, dict):
                    _fill(entry, other)
