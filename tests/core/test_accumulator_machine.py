"""The accumulator against models: plausible streams give the model's texts, implausible ones never a failure."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.core.decode import decode_event
from nbresponses.core.events import EVENT_TYPES
from nbresponses.core.response import Response

Json = dict[str, Any]

KINDS: dict[str, tuple[str, str, str]] = {
    # type of the item → events of its texts, field of the whole text, field of the part's index
    "message": ("response.output_text", "text", "content_index"),
    "refusing": ("response.refusal", "refusal", "content_index"),
    "reasoning": ("response.reasoning_text", "text", "content_index"),
    "summarized": ("response.reasoning_summary_text", "text", "summary_index"),
    "function_call": ("response.function_call_arguments", "arguments", ""),
    "mcp_call": ("response.mcp_call_arguments", "arguments", ""),
    "code_interpreter_call": ("response.code_interpreter_call_code", "code", ""),
    "custom_tool_call": ("response.custom_tool_call_input", "input", ""),
    "shell_call": ("response.shell_call_command", "command", "command_index"),
}
PART_TYPES = {
    "message": "output_text",
    "refusing": "refusal",
    "reasoning": "reasoning_text",
    "summarized": "summary_text",
}
ITEM_TYPES = {"refusing": "message", "summarized": "reasoning"}


class Modelled:
    """An item of the model: the texts of its parts, and its wire shape."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index, self.open = kind, index, True
        self.texts: list[str] = []
        self.type = ITEM_TYPES.get(kind, kind)

    def wire(self, id_: str, *, empty: bool = False) -> Json:
        texts = [] if empty else self.texts
        item: Json = {"id": id_, "type": self.type, "status": "in_progress" if self.open else "completed"}
        if self.kind in PART_TYPES:
            field = "summary" if self.kind == "summarized" else "content"
            name = KINDS[self.kind][1]
            return {**item, field: [{"type": PART_TYPES[self.kind], name: text} for text in texts]}
        if self.kind == "shell_call":
            return {**item, "action": {"commands": list(texts)}}
        return {**item, KINDS[self.kind][1]: "".join(texts)}


def texts_of(item: Json) -> list[str]:
    if item["type"] == "shell_call":
        return list(item["action"]["commands"])
    for field in ("arguments", "code", "input"):
        if field in item:
            return [item[field]] if item[field] else []
    return [part.get("text", part.get("refusal")) for field in ("content", "summary") for part in item.get(field) or []]


class PlausibleStream(RuleBasedStateMachine):
    """A server that keeps the order of things: announce, deltas, done, finish; ids and indexes as servers have them."""

    @initialize(ids=st.sampled_from(["stable", "rotating", "missing"]), indexes=st.booleans())
    def begin(self, ids: str, indexes: bool) -> None:
        self.ids, self.indexes = ids, indexes or ids != "stable"
        self.accumulator = Accumulator()
        self.items: list[Modelled] = []
        self.ended = False
        self.count = 0
        self.said: list[tuple[Change, str]] = []
        self.send({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}})

    def send(self, event: Json) -> list[Change]:
        self.count += 1
        changes = self.accumulator.apply(decode_event(json.dumps({**event, "sequence_number": self.count})))
        if self.ended:
            assert changes == []
        self.said += [(change, change.snapshot) for change in changes]
        return changes

    def id_of(self, item: Modelled) -> str:
        return {"stable": f"id{item.index}", "rotating": f"id{self.count}", "missing": ""}[self.ids]

    def where(self, item: Modelled) -> Json:
        place: Json = {"output_index": item.index if self.indexes else None}
        return place if self.ids == "missing" else {**place, "item_id": self.id_of(item)}

    def some(self, data: st.DataObject, *, open_: bool) -> Modelled | None:
        items = [item for item in self.items if item.open == open_ and (self.indexes or item.kind != "shell_call")]
        return data.draw(st.sampled_from(items)) if items else None

    @rule(kind=st.sampled_from(list(KINDS)))
    def open_item(self, kind: str) -> None:
        item = Modelled(kind, len(self.items))
        added = {
            "type": "response.output_item.added",
            **self.where(item),
            "item": item.wire(self.id_of(item), empty=True),
        }
        self.send(added)
        if not self.ended:
            self.items.append(item)

    @rule(data=st.data(), text=st.text(max_size=5), more=st.booleans())
    def delta(self, data: st.DataObject, text: str, more: bool) -> None:
        item = self.some(data, open_=True)
        if item is None:
            return
        event, _, index_field = KINDS[item.kind]
        if not item.texts or (more and index_field):
            item.texts.append("") if not self.ended else None
        part = max(len(item.texts) - 1, 0)
        changes = self.send({"type": f"{event}.delta", **self.where(item), index_field or "x": part, "delta": text})
        if not self.ended:
            item.texts[part] += text
            (change,) = changes
            assert (change.delta, change.snapshot, change.output_index) == (text, item.texts[part], item.index)

    @rule(data=st.data())
    def text_done(self, data: st.DataObject) -> None:
        item = self.some(data, open_=True)
        if item is None or not item.texts:
            return
        event, field, index_field = KINDS[item.kind]
        part = len(item.texts) - 1
        text = item.texts[part]
        self.send({"type": f"{event}.done", **self.where(item), index_field or "x": part, field: text})

    @rule(data=st.data(), whole=st.booleans())
    def finish_item(self, data: st.DataObject, whole: bool) -> None:
        item = self.some(data, open_=True)
        if item is None:
            return
        item.open = self.ended
        wire = item.wire(self.id_of(item), empty=not whole)
        self.send({"type": "response.output_item.done", **self.where(item), "item": wire})

    @rule(data=st.data())
    def late_delta(self, data: st.DataObject) -> None:
        item = self.some(data, open_=False)
        if item is not None:
            event, _, index_field = KINDS[item.kind]
            assert (
                self.send({"type": f"{event}.delta", **self.where(item), index_field or "x": 0, "delta": "late"}) == []
            )

    @rule(type_=st.sampled_from(["keepalive", "unheard.of", "response.steer.accepted", "thread.created"]))
    def noise(self, type_: str) -> None:
        assert self.send({"type": type_}) == []

    @precondition(lambda self: len(self.items) > 2)
    @rule(
        ending=st.sampled_from(["completed", "incomplete", "failed"]), output=st.sampled_from(["full", "empty", "none"])
    )
    def end(self, ending: str, output: str) -> None:
        response: Json = {"id": "r", "status": ending}
        if output != "none":
            self.count += 1
            response["output"] = [item.wire(self.id_of(item)) for item in self.items] if output == "full" else []
        self.send({"type": f"response.{ending}", "response": response})
        self.ended = True

    @invariant()
    def the_response_is_the_model_s(self) -> None:
        output = self.accumulator.response.output
        assert [item["type"] for item in output] == [item.type for item in self.items]
        assert [texts_of(item) for item in output] == [
            [text for text in item.texts if text or item.kind in PART_TYPES or item.kind == "shell_call"]
            for item in self.items
        ]
        said = [text for item in self.items if item.kind == "message" for text in item.texts]
        assert self.accumulator.response.output_text == "".join(said)
        assert (self.accumulator.ending is not None) == self.ended

    def teardown(self) -> None:
        for change, text in getattr(self, "said", []):
            assert change.snapshot == text


_small = st.none() | st.integers(-1, 2) | st.sampled_from([True, "0", "\ud800", 10**30])
_word = st.sampled_from([None, "", "a", "b", "\ud83d", "\ude00"])
_part = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(list(PART_TYPES.values())), "text": _word, "refusal": _word}
)
_item = st.fixed_dictionaries(
    {},
    optional={
        "id": _word,
        "type": st.sampled_from(["message", "reasoning", "function_call", "shell_call", "apply_patch_call", "odd"]),
        "content": st.none() | st.lists(_part, max_size=2),
        "summary": st.none() | st.lists(_part, max_size=2),
        "arguments": _word,
        "call_id": _word,
        "action": st.none() | st.just({}) | st.just({"commands": []}),
    },
)
_event = st.fixed_dictionaries(
    {"type": st.sampled_from([*EVENT_TYPES, "response.apply_patch_call_operation_diff.delta", "response.cancelled"])},
    optional={
        **dict.fromkeys(
            ("output_index", "content_index", "summary_index", "command_index", "annotation_index"), _small
        ),
        **dict.fromkeys(("item_id", "delta", "text", "arguments", "refusal", "code", "command"), _word),
        "item": _item,
        "part": _part,
        "annotation": st.none() | st.just({"type": "url_citation"}),
        "logprobs": st.none() | st.just([{"token": "a", "logprob": -1.0}]),
        "output": st.lists(st.just({"stdout": "o"}) | st.none(), max_size=2),
        "partial_image_b64": _word,
        "response": st.fixed_dictionaries(
            {}, optional={"status": _word, "output": st.none() | st.lists(_item | st.none(), max_size=3)}
        ),
    },
)


class ImplausibleStream(RuleBasedStateMachine):
    """A server that sends anything: whatever was said once stays true, and the response is readable."""

    def __init__(self) -> None:
        super().__init__()
        self.accumulator = Accumulator()
        self.said: list[tuple[Change, Any]] = []
        self.shown: list[tuple[Response, str]] = []

    def note(self, changes: list[Change]) -> None:
        self.said += [(c, (c.snapshot, c.part, c.delta, c.output_index)) for c in changes]

    @rule(event=_event)
    def apply(self, event: Json) -> None:
        sent = decode_event(json.dumps(event))
        before = self.accumulator.ending
        changes = self.accumulator.apply(sent)
        assert all(change.event is sent for change in changes)
        self.note(changes)
        if before is not None:
            after_error = before == "error" and event["type"] == "response.failed"
            assert after_error or (changes == [] and self.accumulator.ending == before)

    @precondition(lambda self: len(self.said) > 5)
    @rule()
    def finish(self) -> None:
        self.note(self.accumulator.finish())

    @invariant()
    def the_response_is_readable(self) -> None:
        response = self.accumulator.response
        text = json.dumps(response.to_dict())
        assert isinstance(response.output_text + response.reasoning_text + (response.refusal or ""), str)
        for name in ("usage", "error", "images", "partial_images", "annotations", "logprobs", "function_calls"):
            getattr(response, name)
        assert response.ending == self.accumulator.ending
        self.shown.append((response, text))

    def teardown(self) -> None:
        for change, then in self.said:
            assert (change.snapshot, change.part, change.delta, change.output_index) == then
        for response, text in self.shown:
            assert json.dumps(response.to_dict()) == text


TestPlausibleStream = PlausibleStream.TestCase
TestPlausibleStream.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestImplausibleStream = ImplausibleStream.TestCase
TestImplausibleStream.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
