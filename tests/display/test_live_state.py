"""What a page is told: pieces as they come, everything else once, and a snapshot that equals what was told."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbresponses import Accumulator, EventDecoder, decode_event
from nbresponses.display.live_state import LiveState
from nbresponses.render import blocks, clean

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()


class Page:
    """A page as simple as can be: applies operations, nothing else."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}

    def take(self, ops: Sequence[list[Any]], buffers: Sequence[bytes]) -> None:
        for what, key, *rest in ops:
            empty: dict[str, Any] = {"facts": {}, "texts": {}, "notes": [], "images": {}, "audio": None}
            if what == "gone":
                del self.items[key]
                continue
            item = self.items.setdefault(key, empty)
            if what == "item":
                item["facts"] |= rest[0]
            elif what == "add":
                item["texts"][rest[0]] = item["texts"].get(rest[0], "") + rest[1]
            elif what == "set":
                item["texts"][rest[0]] = rest[1]
            elif what == "notes":
                item["notes"] = rest[0]
            elif what == "image":
                item["images"][rest[0]] = (rest[1], buffers[rest[2]])
            elif what == "audio":
                item["audio"] = (rest[0], buffers[rest[1]])


class Told:
    """A response told to a page event by event, looking at the blocks whenever the state asks for it."""

    def __init__(self) -> None:
        self.accumulator = Accumulator()
        self.state = LiveState()
        self.page = Page()
        self.ops: list[list[Any]] = []
        self.now = 0.0

    def take(self, events: Iterable[Any]) -> None:
        for event in events:
            self.now += 0.1
            self.state.apply(self.accumulator.apply(event), self.now)
            self.look()

    def look(self) -> None:
        if self.state.look:
            found = blocks(self.accumulator.response, seconds=self.state.seconds, previews=self.state.previews)
            self.state.compare(found, self.now)
        ops, buffers = self.state.take()
        self.ops += ops
        self.page.take(ops, buffers)

    def finish(self) -> None:
        self.state.apply(self.accumulator.finish(), self.now)
        self.look()


def told(*events: dict[str, Any]) -> Told:
    one = Told()
    one.take(decode_event(json.dumps(event)) for event in events)
    return one


def delta(text: str, index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text}


def added(type_: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    item = {"type": type_, "id": f"i{index}", "status": "in_progress", **fields}
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(type_: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    item = {"type": type_, "id": f"i{index}", "status": "completed", **fields}
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def test_pieces_go_out_as_they_came_and_once() -> None:
    one = told(added("message"), delta("Hello"), delta(" wor"), delta("ld"))
    assert one.page.items["0.text.0"]["texts"] == {"text": "Hello world"}
    assert [op[3] for op in one.ops if op[0] == "add"] == [" wor", "ld"]
    assert one.state.look is False


def test_pieces_of_one_batch_are_one_operation() -> None:
    one = told(added("message"), delta("a"))
    for piece in "bcd":
        one.state.apply(one.accumulator.apply(decode_event(json.dumps(delta(piece)))), 1.0)
    assert one.state.take()[0] == [["add", "0.text.0", "text", "bcd"]]


def test_a_character_cut_in_two_arrives_whole() -> None:
    one = told(added("message"), delta("x"), delta("\ud83d"), delta("\ude00!"))
    assert one.page.items["0.text.0"]["texts"]["text"] == "x\U0001f600!"
    assert all(op[3].encode() for op in one.ops if op[0] == "add"), "it can be sent"


def test_half_a_character_alone_can_be_sent() -> None:
    one = told(added("message"), delta("x"), delta("\ude00 y"))
    one.finish()
    json.dumps(one.ops, ensure_ascii=False).encode()
    json.dumps(one.state.snapshot(1.0)[0], ensure_ascii=False).encode()


def test_what_the_end_says_replaces_what_was_streamed() -> None:
    text = {"type": "output_text", "text": "Other.", "annotations": []}
    one = told(added("message"), delta("One."), done("message", content=[text]))
    assert one.page.items["0.text.0"]["texts"]["text"] == "Other."
    assert one.page.items["0.text.0"]["facts"]["done"] is True


def test_reasoning_is_timed_from_its_first_sign_to_its_end() -> None:
    piece = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "Hm"}
    summary = [{"type": "summary_text", "text": "Hm, so."}]
    one = told(added("reasoning"), piece, piece | {"delta": ", so."}, done("reasoning", summary=summary))
    item = one.page.items["0.reasoning.0"]
    assert item["texts"] == {"summary:0": "Hm, so."}
    assert item["facts"]["seconds"] == pytest.approx(0.3)


def test_arguments_stream_and_are_indented_at_the_end() -> None:
    piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a":'}
    call = {"name": "f", "call_id": "c", "arguments": '{"a": 1}'}
    one = told(added("function_call", **call | {"arguments": ""}), piece)
    assert one.page.items["0.tool.0"]["texts"] == {"arguments": '{"a":'}
    one.take([decode_event(json.dumps(done("function_call", **call)))])
    assert one.page.items["0.tool.0"]["texts"] == {"arguments": '{\n  "a": 1\n}'}
    assert one.page.items["0.tool.0"]["facts"]["title"] == "f"


def test_previews_are_buffers_with_their_number() -> None:
    event = {"type": "response.image_generation_call.partial_image", "output_index": 0, "partial_image_b64": PNG}
    one = told(added("image_generation_call"), event | {"partial_image_index": 1})
    facts, data = one.page.items["0.image.0"]["images"][0]
    assert facts == {"mime": "image/png", "words": "image · preview 2"}
    assert data == base64.b64decode(PNG)
    assert PNG not in json.dumps(one.ops)


def test_an_answer_of_many_pieces_costs_little_more_than_itself() -> None:
    one = told(added("message"), *(delta("word ") for _ in range(5_000)))
    size = sum(len(json.dumps(op)) for op in one.ops)
    assert size < 5_000 * 50


def test_a_snapshot_says_what_was_told(stream_file: Path) -> None:
    """Every captured stream, with the page beside it: told by pieces and by snapshot."""
    one = Told()
    decoder = EventDecoder()
    one.take(decoder.feed(stream_file.read_bytes()) + decoder.finish())
    one.finish()
    items, buffers = one.state.snapshot(one.now)
    assert {item["key"] for item in items} == set(one.page.items)
    for item in items:
        page = one.page.items[item["key"]]
        assert {name: text for name, text in item["texts"] if text} == {k: v for k, v in page["texts"].items() if v}
        assert [note["words"] for note in item["notes"]] == [note["words"] for note in page["notes"]]
        assert {slot: buffers[at] for slot, _, at in item["images"]} == {
            s: data for s, (_, data) in page["images"].items()
        }
    shown = "".join(clean(item["texts"].get("text", "")) for key, item in one.page.items.items() if ".text." in key)
    assert shown == clean(one.accumulator.response.output_text)
