"""What became of each response: the columns of `responses()` and `usage()`. Imported when one of them is asked for.

A response's start is the moment its request was sent (see turns.py). Where none was recorded (a resumed stream, a
foreign capture) it is the first event.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from datetime import timedelta
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from nbresponses.capture.frames import attrs
from nbresponses.capture.messages import dump_json
from nbresponses.capture.prices import check_prices, cost_of, price_name
from nbresponses.capture.rows import NO_NUMBER, well_formed
from nbresponses.capture.schema import DELTA_KINDS, RESPONSES, USAGE
from nbresponses.capture.turns import found_turns
from nbresponses.capture.typed import frame_of_rows
from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.turns import Turn

__all__ = ["response_rows", "responses_frame", "stall_length", "usage_frame", "word"]

T = TypeVar("T")

_ENDINGS = {f"response.{word}": word for word in ("completed", "incomplete", "failed", "cancelled")}
_ANSWER = "response.output_text.delta"


class _Facts(msgspec.Struct):
    """The fields of a response object that frames show. Any value is taken; what it is worth is decided later."""

    model: Any = None
    status: Any = None
    previous_response_id: Any = None
    usage: Any = None
    error: Any = None
    incomplete_details: Any = None
    metadata: Any = None


class _Holder(msgspec.Struct):
    response: _Facts


_decode = msgspec.json.Decoder(_Holder).decode
_NAMES = _Facts.__struct_fields__


def responses_frame(
    events: EventColumns, prices: Mapping[str, Mapping[str, float]] | None = None, stall: float = 1.0
) -> pd.DataFrame:
    """One row per response, in order of their first events: `schema.RESPONSES`."""
    return frame_of_rows(RESPONSES, response_rows(events, prices, stall), attrs("responses", events))


def response_rows(
    events: EventColumns, prices: Mapping[str, Mapping[str, float]] | None = None, stall: float = 1.0
) -> list[dict[str, Any]]:
    """The same as dicts; times in µs."""
    check_prices(prices or {})
    facts, measure = _response_facts(events), _Measure(events, stall)
    rows = []
    for turn in found_turns(events):
        row = {"response_id": turn.response_id, **_described(facts[turn.number]), **measure.turn(turn)}
        seconds = row["streamed"] / 1e6
        row["tokens_per_second"] = row["output_tokens"] / seconds if row["output_tokens"] and seconds > 0 else None
        row["cost"] = _cost(row, prices or {})
        rows.append(row)
    return rows


def usage_frame(events: EventColumns) -> pd.DataFrame:
    """One row per number of each response's usage: `schema.USAGE`."""
    facts = _response_facts(events)
    rows = []
    for turn in found_turns(events):
        told = facts[turn.number]
        of = {"response_id": turn.response_id, "lane": turn.lane, "model": word(told.model)}
        rows += [
            {**of, "counter": well_formed(path), "count": _whole(value), "value": _float(value)}
            for path, value in _numbers(told.usage)
        ]
    return frame_of_rows(USAGE, rows, attrs("usage", events))


def _response_facts(events: EventColumns) -> dict[int, _Facts]:
    """Number of a turn → what the response objects say; of each field the latest value that isn't null."""
    facts: dict[int, _Facts] = defaultdict(_Facts)
    numbers = events.turn_numbers()
    for mark in events.marks:
        known = facts[int(numbers[mark.row])]
        try:
            told = _decode(mark.payload).response
        except (msgspec.MsgspecError, RecursionError):
            response = open_json(mark.payload).get("response")
            told = _Facts(**{name: response.get(name) for name in _NAMES}) if isinstance(response, dict) else _Facts()
        for name in _NAMES:
            value = getattr(told, name)
            if value is not None:
                setattr(known, name, value)
    return facts


def _described(facts: _Facts) -> dict[str, Any]:
    usage = facts.usage
    metadata = facts.metadata
    return {
        "model": word(facts.model),
        "status": word(facts.status),
        "previous_response_id": word(facts.previous_response_id),
        "input_tokens": _whole(_inside(usage, "input_tokens")),
        "cached_tokens": _whole(_inside(usage, "input_tokens_details", "cached_tokens")),
        "output_tokens": _whole(_inside(usage, "output_tokens")),
        "reasoning_tokens": _whole(_inside(usage, "output_tokens_details", "reasoning_tokens")),
        "total_tokens": _whole(_inside(usage, "total_tokens")),
        "incomplete_reason": word(_inside(facts.incomplete_details, "reason")),
        "metadata": None if metadata is None else dump_json(metadata).decode(),
    }


def _cost(row: Mapping[str, Any], prices: Mapping[str, Mapping[str, float]]) -> float | None:
    name, asked, answered = price_name(row["model"], prices), row["input_tokens"], row["output_tokens"]
    if name is None or asked is None or answered is None:
        return None
    return cost_of(prices[name], read=asked, cached=row["cached_tokens"] or 0, written=answered)


class _Measure:
    """What the events say about a turn: times, sizes, errors, how it ended. Times in µs."""

    def __init__(self, events: EventColumns, stall: float = 1.0) -> None:
        self._began = events.began
        self._stall = stall_length(stall)
        self._times = events.column("time")
        self._types = events.column("type")
        self._sizes = events.column("bytes")
        self._codes = events.column("error_code")
        self._messages = events.column("error_message")
        self._type_words, self._code_words = events.types.listed(), events.codes.listed()
        self._message_words = events.messages.listed()
        lengths = events.lengths()
        of_text = np.array([type_ in DELTA_KINDS for type_ in self._type_words])
        self._pieces = np.where(of_text[self._types], lengths, 0)
        self._answer = np.where(self._types == events.types[_ANSWER], lengths, 0)
        self._notes = _Notes(events)

    def turn(self, turn: Turn) -> dict[str, Any]:
        rows = turn.rows
        times, answer = self._times[rows], self._answer[rows]
        start = turn.asked.time if turn.asked is not None else int(times[0])
        failed = rows[np.flatnonzero((self._codes[rows] >= 0) | (self._messages[rows] >= 0))[:1]]
        gaps = np.diff(times)
        stalls = gaps[gaps >= self._stall]
        return {
            "lane": turn.lane,
            "ending": self.ending(turn),
            "started": self._began + start,
            "to_first_byte": self._notes.first_byte(turn, start),
            "to_first_event": int(times[0]) - start,
            "to_first_token": _first(times, self._pieces[rows], start),
            "to_first_text": _first(times, answer, start),
            "duration": int(times[-1]) - start,
            "streamed": int(times[-1] - times[0]),
            "events": len(rows),
            "bytes": int(self._sizes[rows].sum()),
            "characters": int(answer.sum()),
            "longest_gap": int(gaps.max()) if len(gaps) else None,
            "stalls": len(stalls),
            "stalled": int(stalls.sum()),
            "retries": turn.retries,
            "error_code": _at(self._code_words, self._codes[failed[0]]) if len(failed) else None,
            "error_message": _at(self._message_words, self._messages[failed[0]]) if len(failed) else None,
        }

    def ending(self, turn: Turn) -> str | None:
        types = [self._type_words[number] for number in np.unique(self._types[turn.rows])]
        for type_ in types:
            if type_ in _ENDINGS:
                return _ENDINGS[type_]
        return "error" if "error" in types else self._notes.ending(turn)


class _Notes:
    """What was noted about connections and endings."""

    def __init__(self, events: EventColumns) -> None:
        self._endings: dict[str | None, list[tuple[int, str]]] = defaultdict(list)
        self._replies: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
        for other in events.others:
            if other.channel.direction != "note":
                continue
            if other.channel.kind == "status":
                self._replies[other.channel.lane].append((other.row, other.time))
            elif other.channel.kind == "ended":
                self._endings[other.channel.lane].append((other.row, str(_noted(other.payload, "ending"))))
            elif other.channel.kind == "closed":  # by the connection: what was in progress on it is cut off
                self._endings[None].append((other.row, "cut_off"))

    def ending(self, turn: Turn) -> str | None:
        """What was noted after the turn's last event; a note without a lane is everyone's. Another turn cuts it off."""
        noted = _of_lane(self._endings, turn.lane)
        place = bisect_right(noted, int(turn.rows[-1]), key=_row)
        found = noted[place] if place < len(noted) else None
        if turn.until is not None and (found is None or found[0] > turn.until):
            return "cut_off"
        return found[1] if found is not None else None

    def first_byte(self, turn: Turn, start: int) -> int | None:
        """When the latest reply before its first event began to come."""
        replies = _of_lane(self._replies, turn.lane)
        place = bisect_right(replies, int(turn.rows[0]), key=_row)
        time = replies[place - 1][1] if place and turn.asked is not None else None
        return time - start if time is not None and time >= start else None


_row = itemgetter(0)


def _of_lane(noted: dict[str | None, list[T]], lane: str | None) -> list[T]:
    """What was noted on a lane; where nothing was, what was noted without one."""
    return noted.get(lane) or noted.get(None, [])


def stall_length(stall: Any) -> int:
    """Seconds, or a timedelta, → µs. ValueError for what is no length of time."""
    seconds = stall.total_seconds() if isinstance(stall, timedelta) else stall
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 <= float(seconds) < math.inf:
        raise ValueError(f"stall: a number of seconds is expected, 0 or more, not {stall!r}")
    return round(float(seconds) * 1e6)


def _noted(payload: bytes, name: str) -> Any:
    try:
        return open_json(payload).get(name)
    except DecodeError:
        return None


def _first(times: NDArray[np.int64], lengths: NDArray[np.int64], start: int) -> int | None:
    texts = np.flatnonzero(lengths)
    return int(times[texts[0]]) - start if len(texts) else None


def _at(words: list[str], number: int) -> str | None:
    return words[number] if number >= 0 else None


def _inside(value: Any, *path: str) -> Any:
    """What stands at the path in nested dicts; None where it ends before."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def word(value: Any) -> str | None:
    """A text that a cell can hold; None for anything else."""
    return well_formed(value) if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """An integer that a cell can hold; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < -NO_NUMBER else None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, int | float]]:
    """(path, number) of all numbers inside, in order."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value
    if isinstance(value, (dict, list)):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for name, entry in entries:
            yield from _numbers(entry, f"{path}.{name}" if path else str(name))
