"""The four questions of notebook 06, asked of the captured streams and answered again by a few lines of their own.

The streams are recorded as if a thousand bytes came each millisecond, and as if each had stood still for two seconds in
the middle. So an independent reader can tell from the bytes alone when each event came.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import pandas as pd
import pytest

from nbresponses import Capture, Captures, compare, summarize
from nbresponses.core.decode import EventDecoder

PIECE, PAUSE = 1000, 2.0


class Came(NamedTuple):
    """An event, by the independent reader."""

    at: float
    data: dict[str, Any]


def moment(piece: int, of: int) -> float:
    """When a piece came, in seconds since the request."""
    return (piece + 1) / 1000 + (PAUSE if piece >= of // 2 else 0.0)


def recorded(wire: bytes, source: str) -> Capture:
    capture, decoder = Capture(datetime(2026, 1, 31, tzinfo=UTC), source=source), EventDecoder()
    capture.sent({"model": "m", "input": "hi"}, 0.0)
    pieces = [wire[first : first + PIECE] for first in range(0, len(wire), PIECE)]
    for number, piece in enumerate(pieces):
        capture.received(decoder.feed(piece), moment(number, len(pieces)))
    capture.received(decoder.finish(), moment(len(pieces) - 1, len(pieces)))
    return capture


def came(wire: bytes) -> list[Came]:
    """Blocks end with a blank line; the piece that has its last byte brings the event."""
    assert b"\r" not in wire.replace(b"\r\n", b"")
    end, found, count = 0, [], -(-len(wire) // PIECE)
    blank = b"\r\n\r\n" if b"\r\n\r\n" in wire else b"\n\n"
    for block in wire.split(blank):
        end = min(end + len(block) + len(blank), len(wire))
        text = "".join(line[5:] for line in block.decode().splitlines() if line.startswith("data:")).strip()
        if text not in ("", "[DONE]"):
            found.append(Came(moment((end - 1) // PIECE, count), json.loads(text)))
    return found


@pytest.fixture(scope="module")
def streams(stream_files) -> tuple[Captures, dict[str, list[Came]]]:
    wires = {path.name: path.read_bytes() for path in stream_files}
    captures = Captures([recorded(wire, name) for name, wire in wires.items()])
    return captures, {name: came(wire) for name, wire in wires.items()}


def seconds(spans: pd.Series) -> list[float]:
    return [round(span.total_seconds(), 6) for span in spans]


def test_what_is_the_time_to_first_token_by_model(streams, told) -> None:
    captures, read = streams
    times = defaultdict(list)
    for events in read.values():
        models = [event.data["response"]["model"] for event in events if event.data.get("response", {}).get("model")]
        texts = [event.at for event in events if event.data["type"].endswith(".delta") and "audio" not in str(event)]
        if models and texts:
            times[models[-1]].append(texts[0])
    found = captures.responses().dropna(subset=["model", "to_first_token"]).groupby("model")["to_first_token"]
    assert found.count().to_dict() == {model: len(own) for model, own in times.items()}
    medians = dict(zip(found.median().index, seconds(found.median()), strict=True))
    assert medians == {model: pytest.approx(statistics.median(own), abs=2e-6) for model, own in times.items()}
    by_day = summarize(captures)
    assert set(by_day["model"].dropna()) >= set(times)
    told(f"questions: {len(times)} models, {sum(map(len, times.values()))} times to the first token")


def test_where_did_streams_stall(streams, told) -> None:
    captures, read = streams
    after = {}
    for name, events in read.items():
        longest = max(pairwise(events), key=lambda pair: pair[1].at - pair[0].at, default=None)
        if longest is not None and longest[1].at - longest[0].at >= 1:
            after[name] = (longest[1].data["type"], round(longest[1].at - longest[0].at, 6))
    stalls = captures.gaps(stall=1.0).query("kind == 'stall'")
    found = {
        str(source): (str(type_), round(span.total_seconds(), 6))
        for source, type_, span in zip(stalls["source"], stalls["type"], stalls["duration"], strict=True)
    }
    assert len(found) == len(stalls), "one each"
    assert found == after
    assert len(found) > 0.8 * len(read)
    told(f"questions: {len(found)} of {len(read)} streams stalled, where they stood still")


def test_which_answer_had_the_least_certain_tokens(streams, told) -> None:
    captures, read = streams
    means = {}
    for name, events in read.items():
        scored = [event.data.get("logprobs") or [] for event in events if event.data["type"].endswith("text.delta")]
        chances = [math.exp(min(token["logprob"], 0.0)) for each in scored for token in each]
        if chances:
            means[name] = statistics.fmean(chances)
    found = captures.logprobs().groupby("source", observed=True)["probability"].mean()
    assert {str(name): value for name, value in found.items()} == pytest.approx(means)
    assert found.idxmin() == min(means, key=means.get)
    told(f"questions: {len(means)} answers with log probabilities, the least certain {min(means, key=means.get)}")


def test_how_do_two_answers_differ(streams, told) -> None:
    captures, read = streams
    texts = {}
    for name, events in read.items():
        whole = [each.data["text"] for each in events if each.data["type"] == "response.output_text.done"]
        pieces = [each.data["delta"] for each in events if each.data["type"] == "response.output_text.delta"]
        texts[name] = "".join(whole or pieces)
    of_capture = dict(zip(captures.sources, captures, strict=True))
    answers = {name: of_capture[name].items()["type"].eq("message").sum() for name in texts}
    alone = [name for name, text in texts.items() if text and answers[name] == 1]
    compared = 0
    for one, other in zip(alone[::5], alone[1::5], strict=False):
        found = compare(of_capture[one], of_capture[other], by="words")
        assert found.texts == (texts[one], texts[other])
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(texts[one], texts[other], strict=False))))
        assert found.parts_at is None or found.parts_at[0] <= same
        assert "".join(found.text["a"].dropna()) == texts[one]
        compared += 1
    assert compared > 20
    told(f"questions: {compared} pairs of answers compared")
