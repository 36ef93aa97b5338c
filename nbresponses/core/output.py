"""The output of a response, joined from what its own events list and the streamed items. Never invents an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["merged_output", "output_so_far"]

_STREAMED = (
    "content", "summary", "arguments", "code", "input", "result", "output", "outputs", "action", "operation",
    "text", "refusal", "annotations", "logprobs",
)  # fmt: skip
"""Fields that hold what was streamed. Ids, statuses and names are the server's own affair."""

_Placed = tuple[int, dict[str, Any]]  # an item with its place in the output
_Sign = Callable[[int, dict[str, Any]], Any]

_SIGNS: tuple[tuple[_Sign, bool], ...] = (
    (lambda _place, item: item.get("id"), False),
    (lambda _place, item: item.get("call_id"), False),
    (lambda _place, _item: "any", True),
    (lambda place, _item: place, False),
    (lambda _place, _item: "any", False),
)
"""What tells that a final item is a streamed one of its type, the surest sign first: ids rotate, and places shift.

The second value: only where there are as many streamed items with this sign as final ones.
"""


def output_so_far(announced: Any, own: list[_Placed]) -> list[Any]:
    """Before the end: the streamed items, and those that an earlier event of a resumed response listed."""
    earlier = enumerate(announced if isinstance(announced, list) else [])
    places, ids = {place for place, _ in own}, {str(item.get("id")) for _, item in own}
    missing = [
        (place, item)
        for place, item in earlier
        if isinstance(item, dict) and place not in places and str(item.get("id")) not in ids
    ]
    return [item for _, item in sorted(own + missing, key=lambda placed: placed[0])]


def merged_output(final: Any, own: list[_Placed]) -> list[Any]:
    """At the end: the terminal event's list wins where it has items; streamed items fill its gaps.

    `own` is in order of place. Takes both over: the result may share their parts.
    """
    if not isinstance(final, list) or not final:
        return [item for _, item in own]
    open_ = {place: item for place, item in enumerate(final) if isinstance(item, dict)}
    rest = dict(enumerate(own))
    for sign, evenly in _SIGNS:
        _pair(sign, evenly, open_, rest)
    for place, item in rest.values():
        final.insert(min(max(place, 0), len(final)), item)
    return final


def _pair(sign: _Sign, evenly: bool, open_: dict[int, dict[str, Any]], rest: dict[int, _Placed]) -> None:
    """Fill the final items that have the same sign as a streamed one; both are then done with."""
    waiting: dict[str, list[int]] = {}
    for number in reversed(rest):
        waiting.setdefault(_key(sign, *rest[number]), []).append(number)
    keys = {place: _key(sign, place, item) for place, item in open_.items()}
    counts = Counter(keys.values())
    uneven = {key for key in counts if evenly and counts[key] != len(waiting.get(key, ()))}
    for place, key in keys.items():
        if key and key not in uneven and waiting.get(key):
            _fill(open_.pop(place), rest.pop(waiting[key].pop())[1])


def _key(sign: _Sign, place: int, item: dict[str, Any]) -> str:
    value = sign(place, item)
    return "" if value is None or value == "" else f"{item.get('type')} {value}"


def _fill(final: dict[str, Any], own: dict[str, Any]) -> None:
    for name in _STREAMED:
        mine, theirs = own.get(name), final.get(name)
        if mine and not theirs:
            final[name] = mine
        elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):  # else they don't match
            for entry, other in zip(theirs, mine, strict=True):
                if isinstance(entry, dict) and isinstance(other, dict) and entry.get("type") == other.get("type"):
                    _fill(entry, other)
