"""Tokens with their log probabilities: the columns of `logprobs()`. Imported when that frame is asked for.

They come with the deltas; where a server sends them only with the finished text, they are taken from there. Values that
are no numbers are null, minus infinity stays what it is (probability 0).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nbresponses.capture.event_columns import NO_INDEX
from nbresponses.capture.frames import attrs
from nbresponses.capture.rows import well_formed
from nbresponses.capture.schema import ALTERNATIVES, LOGPROBS
from nbresponses.capture.typed import typed_frame
from nbresponses.core.wire import open_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["alternatives_frame", "logprobs_frame"]

_DELTA, _DONE = "response.output_text.delta", "response.output_text.done"


class _Alternative(msgspec.Struct, gc=False):
    token: str = ""
    logprob: float | None = None


class _Token(msgspec.Struct):
    token: str = ""
    logprob: float | None = None
    top_logprobs: list[_Alternative] | None = None


class _Scored(msgspec.Struct):
    logprobs: list[_Token] | None = None


class _Place(NamedTuple):
    """A token of an event: the event's row, and the token's place in its part."""

    row: int
    position: int
    token: _Token


_decode = msgspec.json.Decoder(_Scored).decode


def logprobs_frame(events: EventColumns) -> pd.DataFrame:
    """One row per token: `schema.LOGPROBS`."""
    places = list(_places(events))
    tokens = [place.token for place in places]
    times = events.column("time")
    data = {
        **_where(events, places),
        "item_id": _category(events, places, "item_id", events.items.listed()),
        "time": [int(times[place.row]) + events.began for place in places],
        "logprob": [token.logprob for token in tokens],
        "probability": [_probability(token.logprob) for token in tokens],
        "entropy": [_entropy(token.top_logprobs or ()) for token in tokens],
        "rank": [_rank(token) for token in tokens],
        "alternatives": [len(token.top_logprobs or ()) for token in tokens],
        "token": [token.token for token in tokens],
    }
    return typed_frame(LOGPROBS, data, attrs("logprobs", events))


def alternatives_frame(events: EventColumns) -> pd.DataFrame:
    """One row per alternative: `schema.ALTERNATIVES`."""
    places: list[_Place] = []
    ranks: list[int] = []
    alternatives: list[_Alternative] = []
    chosen: list[bool] = []
    for place in _places(events):
        ranked, rank = _ranked(place.token.top_logprobs or ()), _rank(place.token)
        places += [place] * len(ranked)
        ranks += range(1, len(ranked) + 1)
        alternatives += ranked
        chosen += [number == rank for number in range(1, len(ranked) + 1)]
    data = {
        **_where(events, places),
        "rank": ranks,
        "token": [each.token for each in alternatives],
        "logprob": [each.logprob for each in alternatives],
        "probability": [_probability(each.logprob) for each in alternatives],
        "chosen": chosen,
    }
    return typed_frame(ALTERNATIVES, data, attrs("alternatives", events))


def _where(events: EventColumns, places: Sequence[_Place]) -> dict[str, Any]:
    responses = events.response_numbers()
    return {
        "response_id": ([int(responses[place.row]) for place in places], events.response_ids()),
        "lane": _category(events, places, "lane", events.lanes.listed()),
        "output_index": _index(events, places, "output_index"),
        "content_index": _index(events, places, "content_index"),
        "position": [place.position for place in places],
    }


def _category(
    events: EventColumns, places: Sequence[_Place], name: str, words: list[str]
) -> tuple[list[int], list[str]]:
    numbers = events.column(name)
    return [int(numbers[place.row]) for place in places], words


def _index(events: EventColumns, places: Sequence[_Place], name: str) -> list[int | None]:
    numbers = events.column(name)
    return [int(numbers[place.row]) if numbers[place.row] != NO_INDEX else None for place in places]


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _places(events: EventColumns) -> Iterator[_Place]:
    """All tokens, in order of arrival."""
    counts = events.column("tokens")
    types, words = events.column("type"), events.types.listed()
    turns, lanes = events.turn_numbers(), events.column("lane")
    outputs, contents = events.column("output_index"), events.column("content_index")
    positions: dict[tuple[int, ...], int] = {}
    for row in (counts != NO_INDEX).nonzero()[0].tolist():
        type_ = words[types[row]]
        part = tuple(int(column[row]) for column in (turns, lanes, outputs, contents))
        if type_ not in {_DELTA, _DONE} or (type_ == _DONE and part in positions):
            continue
        first = positions.get(part, 0)
        tokens = _tokens(events.kept[row])
        positions[part] = first + len(tokens)
        yield from (_Place(row, first + number, token) for number, token in enumerate(tokens))


def _tokens(payload: bytes) -> list[_Token]:
    try:
        return _decode(payload).logprobs or []
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        entries = open_json(payload).get("logprobs")
    return [_token(entry) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _token(entry: dict[str, Any]) -> _Token:
    tops = entry.get("top_logprobs")
    listed = [each for each in tops if isinstance(each, dict)] if isinstance(tops, list) else []
    return _Token(
        _text(entry.get("token")),
        _number(entry.get("logprob")),
        [_Alternative(_text(each.get("token")), _number(each.get("logprob"))) for each in listed],
    )


def _text(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and value < math.inf  # NaN is not
    return float(value) if known else None


# ── Reckoning ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _probability(logprob: float | None) -> float | None:
    return None if logprob is None else math.exp(min(logprob, 0.0))


def _entropy(alternatives: Sequence[_Alternative]) -> float | None:
    """In bits: of the alternatives and of the rest that they leave of 1, taken as one."""
    chances = [chance for each in alternatives if (chance := _probability(each.logprob)) is not None]
    if not chances:
        return None
    rest = max(0.0, 1.0 - math.fsum(chances))
    return max(0.0, -math.fsum(chance * math.log2(chance) for chance in (*chances, rest) if chance > 0))


def _ranked(alternatives: Sequence[_Alternative]) -> list[_Alternative]:
    return sorted(alternatives, key=_order, reverse=True)


def _order(alternative: _Alternative) -> float:
    return -math.inf if alternative.logprob is None else alternative.logprob


def _rank(token: _Token) -> int | None:
    tops = token.top_logprobs or ()
    same = [each for each in tops if each.token == token.token]
    # Pieces of a character can look the same; then the logarithm tells which one it was.
    chosen = next((each for each in same if each.logprob == token.logprob), None)
    if chosen is None:
        chosen = max(same, key=_order, default=None)
    return None if chosen is None else 1 + next(n for n, each in enumerate(_ranked(tops)) if each is chosen)
