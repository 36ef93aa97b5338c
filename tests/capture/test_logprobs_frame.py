"""Log probabilities and usage: numbers as the server sent them, and what follows from them."""

from __future__ import annotations

import json
import math

import pytest


def token(text: str, logprob: object, *tops: tuple[str, object]) -> dict:
    alternatives = [{"token": top, "logprob": value, "bytes": [1]} for top, value in tops]
    return {"token": text, "logprob": logprob, "bytes": [1], "top_logprobs": alternatives}


def test_a_token_has_its_probability_rank_and_entropy(tape, cells) -> None:
    half, quarter = math.log(0.5), math.log(0.25)
    tape.created(1).text(2, "Hi", item_id="m", logprobs=[token("Hi", quarter, ("Yo", half), ("Hi", quarter))])
    frame = tape.text(3, " all", logprobs=[token(" a", half), token("ll", quarter)]).capture.logprobs()
    assert cells(frame, "token") == ["Hi", " a", "ll"]
    assert cells(frame, "position") == [0, 1, 2]
    assert cells(frame, "probability") == pytest.approx([0.25, 0.5, 0.25])
    assert cells(frame, "rank") == [2, None, None]
    assert cells(frame, "alternatives") == [2, 0, 0]
    assert cells(frame, "entropy")[0] == pytest.approx(1.5)  # a half, a quarter, and the quarter that is left
    assert cells(frame, "entropy")[1:] == [None, None]
    assert cells(frame, "item_id") == ["m", None, None]
    assert frame["time"].diff().dt.total_seconds().tolist()[1:] == [1, 0]
    assert cells(tape.capture.deltas(), "tokens") == [1, 2]


def test_alternatives_are_ranked_by_probability(tape, cells) -> None:
    tape.created(1).text(2, "a", logprobs=[token("a", -1.0, ("b", -2.0), ("a", -1.0), ("c", -9.0))])
    frame = tape.text(3, "z", logprobs=[token("z", -0.5, ("z", -0.5))]).capture.logprobs(alternatives=True)
    assert cells(frame, "token") == ["a", "b", "c", "z"]
    assert cells(frame, "rank") == [1, 2, 3, 1]
    assert cells(frame, "chosen") == [True, False, False, True]
    assert cells(frame, "position") == [0, 0, 0, 1]


def test_parts_and_responses_count_their_tokens_anew(tape, cells) -> None:
    for response in ("r1", "r2"):
        tape.created(1, response).text(2, "a", logprobs=[token("a", -1)])
        tape.text(2, "b", content_index=1, logprobs=[token("b", -1)]).text(2, "c", logprobs=[token("c", -1)])
        tape.ended(3, response)
    assert cells(tape.capture.logprobs(), "position") == [0, 0, 1] * 2


def test_they_are_taken_from_the_finished_text_only_where_the_deltas_had_none(tape, cells) -> None:
    done = {"output_index": 0, "content_index": 0, "text": "ab", "logprobs": [token("a", -1), token("b", -2)]}
    tape.created(1, "r1").text(2, "ab").got(3, "response.output_text.done", **done).ended(4, "r1")
    tape.created(5, "r2").text(6, "ab", logprobs=done["logprobs"]).got(7, "response.output_text.done", **done)
    frame = tape.capture.logprobs()
    assert cells(frame, "token") == ["a", "b"] * 2
    assert cells(frame, "response_id") == ["r1", "r1", "r2", "r2"]


def test_minus_infinity_is_kept_and_what_is_no_number_is_null(tape, cells) -> None:
    odd = [token("a", -math.inf), token("b", math.nan), token("c", "x"), token("d", None), token("e", True)]
    frame = tape.created(1).text(2, "abcde", logprobs=odd).capture.logprobs()
    assert cells(frame, "logprob") == [-math.inf, None, None, None, None]
    assert cells(frame, "probability") == [0, None, None, None, None]
    assert [row["logprob"] for row in json.loads(frame.to_json(orient="records"))] == [None] * 5


@pytest.mark.parametrize("odd", [None, [], "x", 5, {}, [5], [None, "x"]])
def test_odd_logprobs_are_none(tape, odd: object) -> None:
    tape.created(1).text(2, "x", logprobs=odd)
    assert tape.capture.logprobs().empty
    assert tape.capture.logprobs(alternatives=True).empty
    assert tape.capture.deltas()["tokens"].isna().all()


def test_half_a_character_in_a_token_is_replaced(tape, cells) -> None:
    tape.created(1).text(2, "\ud83d", logprobs=[token("\ud83d", -1.0, ("\ude00", -2.0))])
    assert cells(tape.capture.logprobs(), "token") == ["�"]
    assert cells(tape.capture.logprobs(alternatives=True), "token") == ["�"]


# ── Usage ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_number_in_usage_is_a_row(tape, cells) -> None:
    usage = {"input_tokens": 3, "details": {"cached": 1, "note": "x", "cost": 0.25}, "per_turn": [4, 5], "flag": True}
    tape.created(1, model="m").ended(2, usage=usage | {"big": 2**53 + 1, "huge": 2**80})
    frame = tape.capture.usage()
    assert cells(frame, "counter") == [
        "input_tokens",
        "details.cached",
        "details.cost",
        "per_turn.0",
        "per_turn.1",
        "big",
        "huge",
    ]
    assert cells(frame, "count") == [3, 1, None, 4, 5, 2**53 + 1, None]
    assert cells(frame, "value")[:5] == [3, 1, 0.25, 4, 5]
    assert cells(frame, "value")[6] == 2.0**80
    assert set(cells(frame, "model")) == {"m"}
