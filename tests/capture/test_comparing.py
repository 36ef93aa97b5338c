"""Two captures side by side: the differences make up both texts, and times are those of the frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses import Capture, Client, DemoServer, compare
from nbresponses.capture import comparing, schema


def said(new_tape, *pieces: str, source: str = "", logprobs: bool = False) -> Capture:
    """A capture of one answer, a piece each second."""
    tape = new_tape()
    tape.sent(0).created(1, "r")
    for at, piece in enumerate(pieces, 2):
        scores = [{"token": piece, "logprob": -1.0}] if logprobs else []
        tape.text(at, piece, logprobs=scores)
    tape.ended(len(pieces) + 2, "r", usage={"output_tokens": len(pieces)})
    tape.capture.source = source
    return tape.capture


def test_half_a_character_is_compared_as_frames_have_it(new_tape) -> None:
    a, b = said(new_tape, "x \ud83d", "\ude00 \udc00"), said(new_tape, "x 😀 y")
    found = compare(a, b)
    assert found.texts == ("x 😀 \ufffd", "x 😀 y")
    assert found.text["a"].tolist() == ["x 😀 ", "\ufffd"]
    assert compare(a, b, by="pieces").same is False
    assert "\ufffd" in found._repr_html_()


@pytest.mark.parametrize("other", [(), ("same",)])
def test_one_side_says_nothing(new_tape, other) -> None:
    nothing = said(new_tape)
    found = compare(nothing, said(new_tape, *other))
    assert found.same is not bool(other)
    assert found.parts_at == ((0, 0) if other else None)
    assert found.similarity == (0.0 if other else 1.0)
    assert found._repr_html_().count("<td") > 5


def test_where_two_answers_part(new_tape, cells) -> None:
    a = said(new_tape, "The cat ", "sat ", "on the mat.", source="one")
    b = said(new_tape, "The cat ", "slept on the ", "old mat.", source="two")
    found = compare(a, b)
    assert (found.same, found.by, found.names) == (False, "words", ("one", "two"))
    assert found.parts_at == (8, 4)
    assert cells(found.text, "op") == ["equal", "replace", "equal", "insert", "equal"]
    assert cells(found.text, "a") == ["The cat ", "sat", " on the", None, " mat."]
    assert cells(found.text, "b") == ["The cat ", "slept", " on the", " old", " mat."]
    assert cells(found.text, "b_start") == [0, 8, 13, 20, 24]
    assert 0.8 < found.similarity < 0.9
    assert "85%" in repr(found)
    latency = found.latency.set_index("metric")
    assert latency.loc["duration", ["a", "b", "difference", "unit"]].tolist() == [5, 5, 0, "s"]
    assert latency.loc["characters", "difference"] == len("slept") + len("old ") - len("sat")


def test_the_schema_of_both_frames(new_tape) -> None:
    found = compare(said(new_tape, "a"), said(new_tape))
    for frame, columns in ((found.text, schema.DIFFERENCES), (found.latency, schema.LATENCIES)):
        assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [(c.name, c.dtype) for c in columns]
    assert compare(said(new_tape), said(new_tape)).similarity == 1


def test_the_same_text_in_other_pieces_is_the_same(new_tape) -> None:
    found = compare(said(new_tape, "The cat sat."), said(new_tape, "The", " cat", " sat."))
    assert found.same
    assert found.parts_at is None
    assert found.similarity == 1.0
    assert "the same text" in repr(found)
    assert "Both say the same." in found._repr_html_()


def test_tokens_where_both_have_them_and_pieces_on_request(new_tape, cells) -> None:
    a = said(new_tape, "un", "believ", "able", logprobs=True)
    b = said(new_tape, "un", "think", "able", logprobs=True)
    assert compare(a, b).by == "tokens"
    assert cells(compare(a, b).text, "op") == ["equal", "replace", "equal"]
    assert compare(a, said(new_tape, "unthinkable")).by == "words"
    assert cells(compare(a, b, by="words").text, "op") == ["replace"]
    assert cells(compare(said(new_tape, "a b", "c"), said(new_tape, "a b", "d"), by="pieces").text, "a") == ["a b", "c"]
    with pytest.raises(ValueError, match="the tokens of these captures don't make up"):
        compare(a, said(new_tape, "unthinkable"), by="tokens")


def test_streams_files_and_parts_of_captures(new_tape, tmp_path) -> None:
    said(new_tape, "one two").save(tmp_path / "a.jsonl")
    said(new_tape, "one three").save(tmp_path / "b.jsonl")
    found = compare(tmp_path / "a.jsonl", str(tmp_path / "b.jsonl"))
    assert found.names == (str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert found.parts_at == (4, 2)
    with DemoServer(delay=0) as server, Client(base_url=server.base_url, api_key="k") as client:
        with (
            client.stream(model="demo-echo", input="same") as one,
            client.stream(model="demo-echo", input="same") as two,
        ):
            one.until_done()
            two.until_done()
            assert compare(one, two).same
        with client.lanes(model="demo-echo") as lanes:
            lanes["plan"].create("Draft.")
            lanes["plan"].fork("left").create("Go left.")
            lanes["plan"].fork("right").create("Go right.")
            capture = lanes.capture
    forks = compare(capture.select(lane="left"), capture.select(lane="right"))
    assert forks.names == ("left", "right")
    assert forks.text.iloc[1][["a", "b"]].tolist() == ["left", "right"]


def test_all_answers_count_and_latencies_are_by_response(tape, new_tape, cells) -> None:
    tape.sent(0).created(1).text(2, "one").ended(3).sent(4).created(5, "r2").text(6, "two").ended(7, "r2")
    found = compare(tape.capture, said(new_tape, "one"))
    assert found.texts == ("one\n\ntwo", "one")
    assert cells(found.latency, "response") == sorted([0, 1] * (len(found.latency) // 2))
    second = found.latency[(found.latency["response"] == 1) & (found.latency["metric"] == "duration")].iloc[0]
    assert second["a"] == 3
    assert second.isna()["b"]
    assert second.isna()["difference"]


def test_what_a_model_wrote_stays_text_in_the_html(new_tape) -> None:
    html = compare(
        said(new_tape, "<script>alert(1)</script> $x$", source="<b>"), said(new_tape, "<img src=x>", source="two")
    )._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


texts = st.text(st.sampled_from("ab \n.é"), max_size=40)


@given(texts, texts, st.sampled_from([4_000_000, 20, 0]))
def test_the_differences_make_up_both_texts(one, other, most) -> None:
    tokens = [comparing._WORDS.findall(text) for text in (one, other)]
    before = comparing._MOST
    comparing._MOST = most  # as for texts that are too long to be compared directly
    try:
        frame = comparing._differences(*tokens)
    finally:
        comparing._MOST = before
    assert "".join(frame["a"].dropna()) == one
    assert "".join(frame["b"].dropna()) == other
    assert frame["a_tokens"].sum() == len(tokens[0])
    equal = frame[frame["op"] == "equal"]
    assert equal["a"].tolist() == equal["b"].tolist()
    assert not (frame["op"].astype("str") == frame["op"].astype("str").shift()).any()
    assert [len(text) for text in frame["a"].dropna()] == frame["a_start"][frame["a"].notna()].diff(-1).abs().fillna(
        len(one) - frame["a_start"][frame["a"].notna()].iloc[-1] if frame["a"].notna().any() else 0
    ).astype(int).tolist()


def test_long_texts_take_no_time(new_tape) -> None:
    line = "The quick brown fox jumps over the lazy dog number {} and goes on.\n"
    one = "".join(line.format(number) for number in range(3_000))
    other = "".join(line.format(number if number % 100 else -number) for number in range(3_000))
    found = compare(said(new_tape, one), said(new_tape, other))
    assert (found.text["op"] != "equal").sum() == 29
    assert found.text["b_tokens"].sum() - found.text["a_tokens"].sum() == 29


def test_what_cannot_be_compared_is_named(tape) -> None:
    with pytest.raises(ValueError, match="by: 'chars' is none of tokens, words, pieces"):
        compare(tape.capture, tape.capture, by="chars")
    with pytest.raises(TypeError, match="can be compared, not DataFrame"):
        compare(tape.capture, tape.capture.events())
