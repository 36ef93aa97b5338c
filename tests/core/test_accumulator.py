"""The rules of the accumulator: endings, changes that stay true, snapshots as copies, texts, audio, images."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.core.decode import decode_event
from nbresponses.core.events import InvalidEvent, ResponseTextDeltaEvent

Json = dict[str, Any]


def feed(accumulator: Accumulator, *events: Json) -> list[Change]:
    return [change for event in events for change in accumulator.apply(decode_event(json.dumps(event)))]


def after(*events: Json) -> Accumulator:
    accumulator = Accumulator()
    feed(accumulator, *events)
    return accumulator


def added(item: Json, index: int | None = 0) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: Json, index: int | None = 0) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(text: str | None, index: int | None = 0, part: int | None = 0, **more: Any) -> Json:
    where = {"item_id": "m", "output_index": index, "content_index": part}
    return {"type": "response.output_text.delta", **where, "delta": text, **more}


def text_done(text: str | None, index: int | None = 0, part: int | None = 0) -> Json:
    return {**delta(None, index, part), "type": "response.output_text.done", "text": text}


def ends(type_: str, **response: Any) -> Json:
    return {"type": f"response.{type_}", "response": {"id": "r", **response}}


MESSAGE = {"id": "m", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
ERROR = {"type": "error", "error": {"type": "t", "code": "c", "message": "m", "param": None}}

# ── Endings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("events", "ending", "status"),
    [
        ([], "cut_off", None),
        ([ends("in_progress", status="in_progress")], "cut_off", "in_progress"),
        ([ends("completed", status="completed")], "completed", "completed"),
        ([ends("completed")], "completed", "completed"),
        ([ends("incomplete", status="incomplete")], "incomplete", "incomplete"),
        ([ends("failed", status="failed")], "failed", "failed"),
        ([ends("failed", status="cancelled")], "cancelled", "cancelled"),
        ([ends("completed", status="cancelled")], "cancelled", "cancelled"),
        ([ends("completed", note="cancelled", status="completed")], "completed", "completed"),
        ([ends("cancelled", status="cancelled")], "cancelled", "cancelled"),
        ([ends("cancelled")], "cancelled", "cancelled"),
        ([ends("completed", status="incomplete")], "completed", "incomplete"),
        ([ends("incomplete", status=None)], "incomplete", "incomplete"),
        ([ends("in_progress", status="in_progress"), ERROR], "error", "in_progress"),
        ([ERROR, ends("failed", status="failed")], "failed", "failed"),
        ([ERROR, ends("completed", status="completed")], "error", None),
        ([ERROR, ERROR], "error", None),
        ([ends("completed", status="completed"), ERROR], "completed", "completed"),
        ([ends("failed", status="failed"), ends("completed", status="completed")], "failed", "failed"),
        ([ends("completed", sequence="x"), ends("failed")], "completed", "completed"),
    ],
)
def test_the_first_ending_stands_but_for_failed_after_error(
    events: list[Json], ending: str, status: str | None
) -> None:
    accumulator = after(delta("partial"), *events)
    changes = accumulator.finish()
    assert accumulator.ending == ending
    response = accumulator.response
    assert (response.ending, response.status) == (ending, status)
    assert response.output_text == "partial", "all endings keep what came"
    assert len(changes) == (ending == "cut_off")


def test_a_stopped_stream_is_interrupted_but_only_where_no_ending_came() -> None:
    accumulator = after(delta("a"))
    (change,) = accumulator.finish("interrupted")
    assert (change.event, change.part, change.delta, change.snapshot) == (None, ("response", None), None, "")
    assert accumulator.ending == accumulator.response.ending == "interrupted"
    assert accumulator.finish() == []
    accumulator = after(ERROR)
    assert accumulator.finish("interrupted") == []
    assert accumulator.ending == "error"


def test_an_ending_is_a_change_of_the_response() -> None:
    for event in (ends("completed"), ends("failed"), ends("incomplete"), ERROR):
        (change,) = feed(Accumulator(), event)
        assert (change.part, change.output_index) == (("response", None), None)


@pytest.mark.parametrize("ending", [ends("completed"), ERROR])
def test_after_an_ending_nothing_changes(ending: Json) -> None:
    accumulator = after(added(MESSAGE), delta("a"), ending)
    before = accumulator.response
    late = [delta("b"), text_done("c"), added(MESSAGE, 1), done(MESSAGE), ends("created", status="queued"), ERROR]
    assert feed(accumulator, *late) == []
    assert accumulator.response == before


def test_the_error_is_the_first_that_was_reported() -> None:
    own = {"code": "server_error", "message": "boom"}
    assert after(ends("failed", error=own)).response.error == {"type": None, "param": None, **own}
    assert after(ERROR, ends("failed", error=own)).response.error == ERROR["error"]
    flat = after({"type": "error", "code": "c", "message": "m", "param": "p", "sequence_number": 1})
    assert flat.response.error == {"type": None, "code": "c", "message": "m", "param": "p"}
    assert after(ends("completed", error=None)).response.error is None
    assert after(ends("incomplete", incomplete_details={"reason": "max_output_tokens"})).response.error is None


def test_the_server_s_last_word_counts_and_what_it_leaves_out_stays() -> None:
    accumulator = after(
        ends("created", status="queued", model="gpt", temperature=1),
        ends("in_progress", status="in_progress", model="gpt-5"),
    )
    assert (accumulator.response.status, accumulator.response.model) == ("in_progress", "gpt-5")
    feed(accumulator, ends("queued", status="queued"), ends("in_progress", status="in_progress", model="gpt-5"))
    assert accumulator.response.status == "in_progress", "the last word, not the last of its type"
    feed(accumulator, ends("completed", status="completed", usage={"total_tokens": 3}))
    response = accumulator.response
    assert (response.status, response.model, response.temperature) == ("completed", "gpt-5", 1)
    assert response.usage == {"total_tokens": 3}


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_stays_true_whatever_comes_later() -> None:
    accumulator = after(added(MESSAGE))
    changes = feed(accumulator, delta("He"), delta("l"), delta("lo "), text_done("Hello"), delta("!"), text_done("Hey"))
    texts = ["He", "Hel", "Hello ", "Hello", "Hello!", "Hey"]
    assert [change.snapshot for change in changes] == texts
    feed(accumulator, done({**MESSAGE, "content": [{"type": "output_text", "text": "Other"}]}), ends("completed"))
    assert [change.snapshot for change in changes] == texts
    assert [change.delta for change in changes] == ["He", "l", "lo ", None, "!", None]
    assert accumulator.response.output_text == "Other"


def test_a_preview_of_an_image_stays_true_too() -> None:
    where = {"type": "response.image_generation_call.partial_image", "item_id": "i", "output_index": 0}
    accumulator = after(added({"id": "i", "type": "image_generation_call", "result": None}))
    previews = [{**where, "partial_image_index": n, "partial_image_b64": text} for n, text in enumerate(["YQ", "Yg"])]
    changes = feed(accumulator, *previews)
    assert [(change.part, change.snapshot) for change in changes] == [(("image", 0), "YQ"), (("image", 1), "Yg")]
    assert feed(accumulator, {**where, "partial_image_index": 2}, {**where, "partial_image_b64": None}) == []
    assert (accumulator.response.partial_images, accumulator.response.images) == (["Yg"], [])
    feed(accumulator, done({"id": "i", "type": "image_generation_call", "result": "Yz"}))
    assert (accumulator.response.partial_images, accumulator.response.images) == (["Yg"], ["Yz"])
    assert feed(accumulator, previews[0]) == []
    assert accumulator.response.partial_images == ["Yg"]


def test_previews_are_the_latest_of_each_item_in_their_order() -> None:
    where = {"type": "response.image_generation_call.partial_image"}
    accumulator = after(
        {**where, "output_index": 1, "partial_image_b64": "b"},
        {**where, "output_index": 0, "partial_image_b64": "a"},
        {**where, "output_index": 0, "partial_image_b64": "c"},
    )
    assert accumulator.response.partial_images == ["c", "b"]


def test_no_change_holds_the_whole_text() -> None:
    changes = feed(Accumulator(), *[delta("x" * 100)] * 50)
    assert {change.delta for change in changes} == {"x" * 100}
    assert len(changes[-1].snapshot) == 5000


def test_snapshots_are_copies_and_share_nothing() -> None:
    accumulator = after(ends("created", status="in_progress", metadata={"a": [1]}), added(MESSAGE), delta("a"))
    first, second = accumulator.response, accumulator.response
    first.output[0]["content"].append("spoilt")
    first.metadata["a"].append("spoilt")
    feed(accumulator, delta("b"))
    assert second.output_text == "a"
    assert second.output[0]["content"] == [{"type": "output_text", "annotations": [], "text": "a"}]
    assert accumulator.response.output_text == "ab"
    assert accumulator.response.metadata == {"a": [1]}


# ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_character_cut_into_two_surrogates_is_whole_when_joined() -> None:
    accumulator = after(added(MESSAGE))
    changes = feed(accumulator, delta("a\ud83d"), delta("\ude00b"))
    assert [change.delta for change in changes] == ["a\ud83d", "\ude00b"]
    assert changes[1].snapshot == accumulator.response.output_text == "a😀b"
    json.dumps(accumulator.response.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize("empty", [None, ""])
def test_a_done_event_without_text_erases_nothing(empty: str | None) -> None:
    where = {"item_id": "m", "output_index": 0}
    part = {"type": "response.content_part.done", **where, "content_index": 0}
    accumulator = after(added(MESSAGE), delta("a"), text_done(empty))
    feed(accumulator, {**part, "part": {"type": "output_text", "text": empty}})
    assert accumulator.response.output_text == "a"
    feed(accumulator, done({**MESSAGE, "content": [{"type": "output_text", "text": empty, "annotations": []}]}))
    assert accumulator.response.output_text == "a"
    feed(accumulator, ends("completed", output=[{**MESSAGE, "content": [{"type": "output_text", "text": empty}]}]))
    assert accumulator.response.output_text == "a"


def test_a_finished_item_s_content_wins_and_streamed_text_fills_its_absence() -> None:
    for content in ([], None):
        accumulator = after(added(MESSAGE), delta("a"), done({**MESSAGE, "content": content, "status": "completed"}))
        assert accumulator.response.output_text == "a"
        assert accumulator.response.output[0]["status"] == "completed"


def test_log_probabilities_are_kept_as_sent() -> None:
    scores: list[Json] = [
        {"token": "a", "logprob": -0.5, "bytes": None, "top_logprobs": [{"token": "b", "logprob": -1}], "more": 1},
        {"token": "c", "logprob": -1.0},
    ]
    accumulator = after(added(MESSAGE), delta("a", logprobs=scores[:1]), delta("c", logprobs=scores[1:]), delta("d"))
    assert accumulator.response.logprobs == scores
    feed(accumulator, text_done("acd"))
    assert accumulator.response.logprobs == scores
    feed(accumulator, {**text_done("acd"), "logprobs": scores[:1]})
    assert accumulator.response.logprobs == scores[:1]
    part = {"type": "output_text", "text": "acd", "logprobs": scores[1:]}
    feed(accumulator, {**text_done(""), "type": "response.content_part.done", "part": part})
    assert accumulator.response.logprobs == scores[1:], "the part's own"


def test_annotations_stand_in_their_order_once_each() -> None:
    where = {"type": "response.output_text.annotation.added", "item_id": "m", "output_index": 0, "content_index": 0}
    notes = [{"type": "file_citation", "n": n} for n in range(3)]
    accumulator = after(
        added(MESSAGE),
        delta("a"),
        {**where, "annotation_index": 1, "annotation": notes[1]},
        {**where, "annotation_index": 0, "annotation": notes[0]},
        {**where, "annotation_index": 5, "annotation": None},
        {**where, "annotation": notes[2]},
    )
    assert list(accumulator.response.annotations) == [notes[0], notes[1], notes[2]]
    feed(accumulator, text_done("a"))
    assert list(accumulator.response.annotations) == notes
    part = {"type": "output_text", "text": "a", "annotations": notes[1:]}
    feed(accumulator, {**text_done(""), "type": "response.content_part.done", "part": part})
    assert list(accumulator.response.annotations) == notes[1:], "the part's own"
    feed(accumulator, done({**MESSAGE, "content": [{"type": "output_text", "text": "a", "annotations": notes[:1]}]}))
    assert list(accumulator.response.annotations) == notes[:1]


def test_parts_without_an_index_are_the_newest_of_their_kind() -> None:
    part = {"type": "response.content_part.added", "item_id": "m", "output_index": 0}
    accumulator = after(added(MESSAGE), {**part, "part": {"type": "output_text", "text": ""}}, delta("a", 0, None))
    feed(accumulator, {**part, "content_index": 1, "part": {"type": "output_text", "text": ""}}, delta("b", 0, None))
    assert [entry["text"] for entry in accumulator.response.output[0]["content"]] == ["a", "b"]


def test_parts_stand_in_the_order_of_their_indexes() -> None:
    assert after(added(MESSAGE), delta("b", 0, 1), delta("a", 0, 0), delta("c", 0, 2)).response.output_text == "abc"


def test_parts_counted_across_items_leave_no_holes() -> None:
    accumulator = after(added(MESSAGE), delta("a", 0, 4), delta("b", 0, -1), delta("c", 0, 10**12))
    assert sorted(entry["text"] for entry in accumulator.response.output[0]["content"]) == ["a", "b", "c"]


def test_audio_is_whole_base64_and_its_transcript_text() -> None:
    def audio(kind: str, text: str) -> Json:
        return {"type": f"response.{kind}.delta", "delta": text}

    sound = [b"one", b"fo", b"r"]
    accumulator = after(*(audio("audio", base64.b64encode(piece).decode()) for piece in sound))
    changes = feed(accumulator, audio("audio.transcript", "one "), audio("audio.transcript", "for"))
    response = accumulator.response
    assert base64.b64decode(response.audio or "") == b"onefor"
    assert response.audio_transcript == changes[-1].snapshot == "one for"
    assert (changes[-1].part, changes[-1].output_index) == (("transcript", None), None)
    assert after(audio("audio", "YWJ"), audio("audio", "j")).response.audio == "YWJj", "cut anywhere"
    assert after(audio("audio", "not base64!é")).response.audio == "not base64!é"
    assert Accumulator().response.audio is None


# ── No failure, linear time ──────────────────────────────────────────────────────────────────────────────────────────


def test_of_an_event_that_does_not_fit_its_type_counts_what_fits() -> None:
    accumulator = after(added(MESSAGE))
    event = decode_event(json.dumps(delta("a", sequence_number="7", logprobs={"content": []})))
    (change,) = accumulator.apply(event)
    assert change.event is event
    assert (change.delta, change.snapshot, change.part) == ("a", "a", ("text", 0))
    feed(accumulator, delta(None), {**delta("b"), "output_index": "0"})
    assert accumulator.response.output_text == "ab"
    feed(accumulator, {**ends("completed", status="completed"), "sequence_number": "8"})
    assert accumulator.ending == "completed"
    assert after({**ERROR, "sequence_number": "8"}).response.error == ERROR["error"]


def test_an_invalid_event_changes_nothing() -> None:
    accumulator = after(delta("a"))
    assert accumulator.apply(InvalidEvent()) == []
    assert accumulator.ending is None


def test_accumulating_is_linear() -> None:
    def seconds(count: int) -> float:
        events = [ResponseTextDeltaEvent(delta="word ", output_index=0, content_index=0) for _ in range(count)]
        accumulator = Accumulator()
        started = time.process_time()
        for event in events:
            accumulator.apply(event)
        assert len(accumulator.response.output_text) == 5 * count
        return time.process_time() - started

    small = min(seconds(10_000) for _ in range(3))
    assert seconds(100_000) < 40 * small + 0.2
