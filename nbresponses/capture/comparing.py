"""Two captures side by side: where their answers part, what differs, how long each took. Changes neither.

Texts are compared token by token: by the tokens that came with log probabilities where both have them for the whole
text, else by words. Texts that are too long for that are first compared line by line, and then token by token where
their lines differ.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
import pandas as pd

from nbresponses.capture.record import Capture
from nbresponses.capture.rows import well_formed
from nbresponses.capture.schema import DIFFERENCES, LATENCIES
from nbresponses.capture.typed import frame_of_rows
from nbresponses.core.accumulator import Accumulator
from nbresponses.render.escaping import html_text
from nbresponses.render.styles import CELL, PRE, TABLE
from nbresponses.render.untrusted import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

__all__ = ["Comparison", "answers", "compare"]

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST = 4_000_000  # pairs of alike tokens: what a direct comparison goes through
_SHOWN = 4_000  # characters of a difference that are shown
_TIMES = ("to_first_byte", "to_first_event", "to_first_token", "to_first_text", "duration", "longest_gap", "stalled")
_NUMBERS = {
    "events": "",
    "characters": "characters",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "reasoning_tokens": "tokens",
    "tokens_per_second": "tokens/s",
    "stalls": "",
    "retries": "",
}
_DELETED = "background-color:rgba(208,82,79,0.25);text-decoration:line-through"
_INSERTED = "background-color:rgba(46,148,100,0.25);text-decoration:none"

By = Literal["tokens", "words", "pieces"]


class HasCapture(Protocol):
    """A stream, for instance."""

    @property
    def capture(self) -> Capture: ...


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found, shown in a notebook as the texts with their differences marked.

    `names` and `texts` are those of both, a first. `by` says what the tokens are: "tokens", "words" or "pieces".
    """

    names: tuple[str, str]
    texts: tuple[str, str]
    by: By
    text: pd.DataFrame
    """The differences: `schema.DIFFERENCES`, one row per stretch that is equal or differs, in order."""
    latency: pd.DataFrame
    """Latencies and sizes side by side: `schema.LATENCIES`, one row per response and measure."""

    @property
    def same(self) -> bool:
        """Whether the answers are the same, character by character."""
        return self.texts[0] == self.texts[1]

    @property
    def parts_at(self) -> tuple[int, int] | None:
        """Where the answers part: (characters, tokens) that both begin with. None if they don't part."""
        if self.same:
            return None
        first = self.text.iloc[0]
        return (len(first["a"]), int(first["a_tokens"])) if first["op"] == "equal" else (0, 0)

    @property
    def similarity(self) -> float:
        """Tokens in common, twice, over the tokens of both: 1 for the same text."""
        equal = self.text[self.text["op"] == "equal"]["a_tokens"].sum()
        both = self.text["a_tokens"].sum() + self.text["b_tokens"].sum()
        return float(2 * equal / both) if both else 1.0

    def __repr__(self) -> str:
        what = "the same text" if self.same else f"{self.similarity:.0%} alike by {self.by}, parting at {self.parts_at}"
        return f"<Comparison of {self.names[0]!r} and {self.names[1]!r}: {what}>"

    def _repr_html_(self) -> str:
        names = [html_text(one_line(name)) for name in self.names]
        said = "Both say the same." if self.same else _html_of(self.text)
        rows = "".join(
            f'<tr><td style="{CELL}left">{row.metric}</td>'
            + "".join(f'<td style="{CELL}right">{_figure(value)}</td>' for value in (row.a, row.b, row.difference))
            + f'<td style="{CELL}left">{row.unit}</td></tr>'
            for row in self.latency.itertuples()
            if row.response == 0
        )
        head = "".join(f'<th style="{CELL}left">{name}</th>' for name in ("", *names, "difference", ""))
        return (
            f'<div style="{PRE}"><del style="{_DELETED}">{names[0]}</del> <ins style="{_INSERTED}">{names[1]}</ins>\n'
            f'{said}</div><table style="{TABLE}"><tr>{head}</tr>{rows}</table>'
        )


def compare(
    a: Capture | HasCapture | str | os.PathLike[str],
    b: Capture | HasCapture | str | os.PathLike[str],
    *,
    by: By | None = None,
) -> Comparison:
    """Compare two captures, streams or capture files; of lanes and responses `capture.select(...)`.

    All answers of one are compared with all of the other. `by` is what they are compared by: "tokens" (of log
    probabilities), "words", or "pieces" (as they arrived); None: tokens where both have them, else words. Raises
    ValueError for tokens or pieces that don't make up the whole text.
    """
    if by not in {None, *get_args(By)}:
        raise ValueError(f"by: {by!r} is none of {', '.join(get_args(By))}")
    records = [_opened(each) for each in (a, b)]
    texts = tuple("\n\n".join(answers(record)) for record in records)
    chosen = by or ("tokens" if all(_tokens(*each, "tokens") is not None for each in _zip(records, texts)) else "words")
    lists = [_tokens(record, text, chosen) for record, text in _zip(records, texts)]
    if lists[0] is None or lists[1] is None:
        raise ValueError(f"by: the {chosen} of these captures don't make up their whole texts; compare by words")
    return Comparison(
        names=_names(records),
        texts=(texts[0], texts[1]),
        by=chosen,
        text=_differences(lists[0], lists[1]),
        latency=_latencies(*records),
    )


def _opened(given: Capture | HasCapture | str | os.PathLike[str]) -> Capture:
    if isinstance(given, Capture):
        return given
    if isinstance(given, (str, os.PathLike)):
        capture = Capture.load(given)
        capture.source = os.fspath(given)
        return capture
    kept = getattr(given, "capture", None)
    if not isinstance(kept, Capture):
        raise TypeError(f"a capture, a stream or a capture file can be compared, not {type(given).__name__}")
    return kept


def _zip(records: Sequence[Capture], texts: Sequence[str]) -> list[tuple[Capture, str]]:
    return list(zip(records, texts, strict=True))


def _names(records: Sequence[Capture]) -> tuple[str, str]:
    """What tells them apart: their sources, else their lanes, else a and b."""
    sources = [record.source for record in records]
    lanes = [{message.lane for message in record if message.lane is not None} for record in records]
    if sources[0] == sources[1]:
        sources = [next(iter(each)) if len(each) == 1 else "" for each in lanes]
    return (sources[0], sources[1]) if sources[0] != sources[1] and all(sources) else ("a", "b")


def answers(capture: Capture) -> list[str]:
    """The text of each response, in order of their first events. What is half a character is U+FFFD, as in frames."""
    numbers = capture.with_columns(lambda events: events.turn_numbers())
    found: dict[int, Accumulator] = {}
    row = 0
    for message in capture[: len(capture)]:
        event = message.event() if row < len(numbers) else None
        if event is not None:
            if numbers[row] >= 0:
                found.setdefault(int(numbers[row]), Accumulator()).apply(event)
            row += 1
    texts = [well_formed(accumulator.response.output_text) for accumulator in found.values()]
    return [text for text in texts if text]


def _tokens(capture: Capture, text: str, by: By) -> list[str] | None:
    """The text in tokens; None where these are not all of it."""
    if by == "words":
        return _WORDS.findall(text)
    if by == "tokens":
        listed = capture.logprobs()["token"].tolist()
    else:
        deltas = capture.deltas()
        listed = deltas[deltas["kind"] == "text"]["delta"].tolist()
    return listed if "".join(listed) == text and listed else None


# ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _differences(a: list[str], b: list[str]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    places = [np.cumsum([0, *map(len, tokens)]) for tokens in (a, b)]
    for op, a1, a2, b1, b2 in _joined(_opcodes(a, b)):
        rows.append(
            {
                "op": op,
                "a": "".join(a[a1:a2]) if a2 > a1 else None,
                "b": "".join(b[b1:b2]) if b2 > b1 else None,
                "a_start": int(places[0][a1]),
                "b_start": int(places[1][b1]),
                "a_tokens": a2 - a1,
                "b_tokens": b2 - b1,
            }
        )
    return frame_of_rows(DIFFERENCES, rows, {"frame": "differences"})


_Opcode = tuple[str, int, int, int, int]


def _opcodes(a: list[str], b: list[str]) -> Iterator[_Opcode]:
    """As difflib's, with what both begin and end with taken off first."""
    start = _common(zip(a, b, strict=False))
    end = _common(zip(reversed(a[start:]), reversed(b[start:]), strict=False))
    if start:
        yield "equal", 0, start, 0, start
    inner_a, inner_b = a[start : len(a) - end], b[start : len(b) - end]
    for op, a1, a2, b1, b2 in _inner(inner_a, inner_b):
        yield op, a1 + start, a2 + start, b1 + start, b2 + start
    if end:
        yield "equal", len(a) - end, len(a), len(b) - end, len(b)


def _common(pairs: Any) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _inner(a: list[str], b: list[str]) -> Iterator[_Opcode]:
    if not a or not b:
        if a or b:
            yield ("delete" if a else "insert"), 0, len(a), 0, len(b)
    elif _pairs(a, b) <= _MOST:
        yield from SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    else:
        yield from _by_lines(a, b)


def _pairs(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    counts = Counter(b)
    return sum(counts[each] for each in a)


def _by_lines(a: list[str], b: list[str]) -> Iterator[_Opcode]:
    """Line by line, and token by token where the lines differ, if these are few enough."""
    lines_a, lines_b = _lines(a), _lines(b)
    if _pairs(lines_a, lines_b) > _MOST or min(len(lines_a), len(lines_b)) < 2:
        yield "replace", 0, len(a), 0, len(b)
        return
    starts = [np.cumsum([0, *map(len, lines)]) for lines in (lines_a, lines_b)]
    for op, a1, a2, b1, b2 in SequenceMatcher(None, lines_a, lines_b, autojunk=False).get_opcodes():
        x1, x2 = int(starts[0][a1]), int(starts[0][a2])
        y1, y2 = int(starts[1][b1]), int(starts[1][b2])
        if op != "replace":
            yield op, x1, x2, y1, y2
        elif _pairs(a[x1:x2], b[y1:y2]) > _MOST:
            yield "replace", x1, x2, y1, y2
        else:
            for kind, u1, u2, v1, v2 in _opcodes(a[x1:x2], b[y1:y2]):
                yield kind, u1 + x1, u2 + x1, v1 + y1, v2 + y1


def _lines(tokens: list[str]) -> list[tuple[str, ...]]:
    lines: list[list[str]] = [[]]
    for token in tokens:
        lines[-1].append(token)
        if "\n" in token:
            lines.append([])
    return [tuple(line) for line in lines if line]


def _joined(opcodes: Iterator[_Opcode]) -> Iterator[_Opcode]:
    """Neighbours of the same kind as one."""
    before: _Opcode | None = None
    for each in opcodes:
        if before is not None and before[0] == each[0]:
            before = (each[0], before[1], each[2], before[3], each[4])
        else:
            if before is not None:
                yield before
            before = each
    if before is not None:
        yield before


# ── Latencies ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _latencies(a: Capture, b: Capture) -> pd.DataFrame:
    sides = [capture.responses() for capture in (a, b)]
    rows = []
    for number in range(max(map(len, sides))):
        both = [frame.iloc[number] if number < len(frame) else None for frame in sides]
        for metric, unit in {**dict.fromkeys(_TIMES, "s"), **_NUMBERS}.items():
            one, other = (None if row is None else _value(row[metric]) for row in both)
            difference = None if one is None or other is None else other - one
            row = {"response": number, "metric": metric, "unit": unit, "a": one, "b": other, "difference": difference}
            rows.append(row)
    return frame_of_rows(LATENCIES, rows, {"frame": "latencies"})


def _value(value: Any) -> float | None:
    if pd.isna(value):
        return None
    return float(value.total_seconds() if isinstance(value, pd.Timedelta) else value)


def _figure(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:.4g}"


def _html_of(text: pd.DataFrame) -> str:
    """The differences, marked; long stretches that are equal are cut."""
    parts = []
    for row in text.itertuples():
        if row.op == "equal":
            parts.append(html_text(clean(_cut(str(row.a)))))
            continue
        if isinstance(row.a, str):
            parts.append(f'<del style="{_DELETED}">{html_text(clean(row.a[:_SHOWN]))}</del>')
        if isinstance(row.b, str):
            parts.append(f'<ins style="{_INSERTED}">{html_text(clean(row.b[:_SHOWN]))}</ins>')
    return "".join(parts)


def _cut(text: str, edge: int = 200) -> str:
    return text if len(text) <= 2 * edge + 20 else f"{text[:edge]} … {text[-edge:]}"
