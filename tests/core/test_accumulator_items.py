"""Which item an event belongs to: by index, by id, by kind; late, repeated and unannounced events; the final output."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.core.decode import decode_event
from nbresponses.core.events import EVENT_TYPES

Json = dict[str, Any]


def feed(accumulator: Accumulator, *events: Json) -> list[Change]:
    return [change for event in events for change in accumulator.apply(decode_event(json.dumps(event)))]


def output(*events: Json) -> list[Json]:
    accumulator = Accumulator()
    feed(accumulator, *events)
    return accumulator.response.output


def added(id_: str | None, type_: str = "message", index: int | None = 0, **more: Any) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": {"id": id_, "type": type_, **more}}


def done(id_: str | None, type_: str = "message", index: int | None = 0, **more: Any) -> Json:
    return {**added(id_, type_, index, **more), "type": "response.output_item.done"}


def text(delta: str, id_: str | None = None, index: int | None = 0, part: int | None = 0) -> Json:
    where = {"item_id": id_, "output_index": index, "content_index": part}
    return {"type": "response.output_text.delta", **where, "delta": delta}


def arguments(delta: str, id_: str | None = None, index: int | None = 0, kind: str = "function_call") -> Json:
    return {"type": f"response.{kind}_arguments.delta", "item_id": id_, "output_index": index, "delta": delta}


def reasoning(delta: str, id_: str | None = None, index: int | None = 0) -> Json:
    return {**text(delta, id_, index), "type": "response.reasoning_text.delta"}


def ends(items: Any = None, type_: str = "completed") -> Json:
    return {"type": f"response.{type_}", "response": {"id": "r", "status": type_, "output": items}}


def shape(items: list[Json]) -> list[tuple[str, str]]:
    """Type and text of each item."""
    rows = []
    for item in items:
        parts = [*(item.get("content") or []), *(item.get("summary") or [])]
        said = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
        rows.append((item.get("type"), said + str(item.get("arguments") or "")))
    return rows


# ── By index, by id, by kind ─────────────────────────────────────────────────────────────────────────────────────────


def test_items_open_together_are_told_apart_by_index() -> None:
    items = output(
        added("a", "function_call", 0),
        added("b", "function_call", 1),
        *(arguments("1", "a", 0), arguments("2", "b", 1), arguments("3", "a", 0), arguments("4", "b", 1)),
    )
    assert shape(items) == [("function_call", "13"), ("function_call", "24")]


def test_ids_that_rotate_on_every_event_do_not_matter() -> None:
    items = output(
        *(added("x1"), text("a", "x2"), text("b", "x3"), added("y1", "function_call", 1), arguments("{}", "y2", 1)),
        *(done("x4", content=[{"type": "output_text", "text": "ab"}]), done("y3", "function_call", 1, arguments="{}")),
    )
    assert shape(items) == [("message", "ab"), ("function_call", "{}")]


def test_ids_that_are_empty_are_no_ids() -> None:
    items = output(added("", index=None), done("", index=None), added("", "function_call", None), added("", index=None))
    assert [item["type"] for item in items] == ["message", "function_call", "message"]
    assert len(output(added("", index=None), added("", index=None))) == 2


def test_without_indexes_ids_tell_items_apart() -> None:
    items = output(
        *(added("a", index=None), added("b", index=None)),
        *(text("1", "a", None, None), text("2", "b", None, None), text("3", "a", None, None)),
        *(done("b", index=None), text("late", "b", None, None), text("4", "a", None, None)),
    )
    assert shape(items) == [("message", "134"), ("message", "2")]


def test_without_indexes_and_ids_the_open_item_of_that_kind_takes_it() -> None:
    """As llama-server sends it: the call is announced while the reasoning is still open."""
    items = output(
        *(added("rs", "reasoning", None), reasoning("hm", "rs", None)),
        *(added(None, "function_call", None, call_id="c", name="f"), arguments("{", "fc", None)),
        *(reasoning("!", None, None), arguments("}", None, None)),
        *(done("rs", "reasoning", None), done(None, "function_call", None, call_id="c", name="f", arguments="{}")),
    )
    assert shape(items) == [("reasoning", "hm!"), ("function_call", "{}")]
    assert items[1]["name"] == "f"


def test_of_several_open_items_the_newest_takes_what_names_none() -> None:
    opened = [added("a", index=None), added("b", index=None), added("c", index=None), done("c", index=None)]
    assert shape(output(*opened, text("x", None, None))) == [("message", ""), ("message", "x"), ("message", "")]
    assert shape(output(*opened, text("x", "?", None))) == [("message", ""), ("message", "x"), ("message", "")]


def test_an_open_item_s_id_counts_before_the_index_of_a_finished_one() -> None:
    items = output(added("a"), done("a"), added("b", index=1), text("x", "b", 0))
    assert shape(items) == [("message", ""), ("message", "x")]


@pytest.mark.parametrize("index", [0, None])
def test_an_item_that_is_named_takes_a_part_that_such_items_do_not_have(index: int | None) -> None:
    """One server gives the text of an answer to its reasoning item."""
    assert shape(output(added("rs", "reasoning", index), text("a", "rs", index))) == [("reasoning", "a")]


def test_an_index_that_is_used_again_begins_another_item() -> None:
    items = output(
        *(added("rs", "reasoning"), reasoning("hm"), done("rs", "reasoning", content=[{"text": "hm"}])),
        *(added("fc", "function_call"), arguments("{}", "fc")),
    )
    assert shape(items) == [("reasoning", "hm"), ("function_call", "{}")]


def test_another_type_at_the_index_of_an_open_item_begins_another_item() -> None:
    items = output(added("rs", "reasoning"), reasoning("hm"), added("m"), text("a", "m"), reasoning("!", "rs"))
    assert shape(items) == [("reasoning", "hm!"), ("message", "a")]


def test_an_item_announced_twice_is_one_item() -> None:
    assert shape(output(added("m"), text("a"), added("m"), text("b"))) == [("message", "ab")]


def test_items_stand_in_the_order_of_their_indexes() -> None:
    items = output(added("b", index=1), added("a", index=0), text("1", index=1), text("0", index=0), done("b", index=1))
    assert [item["id"] for item in items] == ["a", "b"]


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_items_can_close_in_any_order(order: tuple[int, ...]) -> None:
    opened = [event for n in range(3) for event in (added(f"m{n}", index=n), text(str(n), index=n))]
    closed = [done(f"m{n}", index=n, status="completed") for n in order]
    items = output(*opened, *closed)
    assert [(item["id"], item["status"]) for item in items] == [(f"m{n}", "completed") for n in range(3)]
    assert shape(items) == [("message", "0"), ("message", "1"), ("message", "2")]


def test_a_done_event_closes_by_index_before_id() -> None:
    opened = [added("a", "function_call", 0), added("b", "function_call", 1)]
    items = output(*opened, done("b", "function_call", 0, name="index"), done("c", "function_call", 1, name="other"))
    assert [item["name"] for item in items] == ["index", "other"]
    items = output(*opened, done("b", "function_call", 7, name="id"))
    assert [item.get("name") for item in items] == [None, "id"]
    items = output(*opened, done("x", "function_call", 7, name="new"))
    assert [item.get("name") for item in items] == [None, None, "new"]


def test_a_done_event_without_index_closes_the_oldest_open_item_of_its_type() -> None:
    items = output(
        *(added("a", "function_call"), added("b", "function_call", 1), arguments("1"), arguments("2", index=1)),
        *(done(None, "function_call", None, name="first"), done(None, "function_call", None, name="second")),
    )
    assert [(item["name"], item["arguments"]) for item in items] == [("first", "1"), ("second", "2")]


# ── Late, repeated, unannounced ──────────────────────────────────────────────────────────────────────────────────────


def test_a_finished_item_takes_no_more() -> None:
    accumulator = Accumulator()
    feed(accumulator, added("m"), text("a"), done("m", content=[{"type": "output_text", "text": "a"}]))
    late = [text("b"), {**text(""), "type": "response.output_text.done", "text": "c"}]
    late += [{"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": {"type": "refusal"}}]
    late += [{"type": "response.mcp_call.failed", "item_id": "m", "output_index": 0, "x": 1}]
    assert feed(accumulator, *late[:3]) == []
    assert shape(accumulator.response.output) == [("message", "a")]
    feed(accumulator, added("ws", "web_search_call", 1, status="in_progress"), done("ws", "web_search_call", 1))
    assert feed(accumulator, {"type": "response.web_search_call.completed", "item_id": "ws", "output_index": 1}) == []


def test_a_repeated_done_event_closes_no_other_item() -> None:
    first = done("a", "function_call", 0, arguments="1")
    accumulator = Accumulator()
    feed(accumulator, added("a", "function_call"), added("b", "function_call", 1), first)
    assert feed(accumulator, first) == []
    feed(accumulator, arguments("2", "b", 1))
    assert shape(accumulator.response.output) == [("function_call", "1"), ("function_call", "2")]


def test_a_done_event_without_an_added_one_is_an_item() -> None:
    items = output(done("b", index=1, content=[{"text": "b"}]), done("a", index=0, content=[{"text": "a"}]))
    assert shape(items) == [("message", "a"), ("message", "b")]


IMPLIED = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.mcp_call_arguments.delta": "mcp_call",
    "response.mcp_call.in_progress": "mcp_call",
    "response.mcp_list_tools.completed": "mcp_list_tools",
    "response.code_interpreter_call_code.delta": "code_interpreter_call",
    "response.code_interpreter_call.interpreting": "code_interpreter_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.image_generation_call.partial_image": "image_generation_call",
    "response.image_generation_call.generating": "image_generation_call",
    "response.web_search_call.searching": "web_search_call",
    "response.file_search_call.searching": "file_search_call",
    "response.compaction.compacting": "compaction",
    "response.shell_call_command.delta": "shell_call",
    "response.shell_call_output_content.delta": "shell_call_output",
    "response.apply_patch_call_operation_diff.delta": "apply_patch_call",
}


@pytest.mark.parametrize(("type_", "implied"), IMPLIED.items())
def test_an_event_for_an_unannounced_item_implies_one_and_a_later_announcement_takes_it_over(
    type_: str, implied: str
) -> None:
    piece: Any = {"stdout": "x"} if "shell_call_output" in type_ else "x"
    event = {"type": type_, "item_id": "i", "output_index": 4, "delta": piece, "partial_image_b64": "x"}
    accumulator = Accumulator()
    (change,) = feed(accumulator, event)
    assert change.output_index == 4
    (item,) = accumulator.response.output
    assert (item["id"], item["type"]) == (None if "shell_call_command" in type_ else "i", implied)
    feed(accumulator, event, done("i", implied, 4, status="completed", name="n"))
    (item,) = accumulator.response.output
    assert (item["status"], item["name"]) == ("completed", "n")
    holder = json.dumps({**item, "id": "", "type": "", "status": "", "name": ""})
    assert ("xx" in holder) == (type_.endswith("delta")), "the pieces from before the announcement stay"


def test_an_implied_item_is_not_taken_over_by_another_type() -> None:
    searching = {"type": "response.web_search_call.searching", "item_id": "ws", "output_index": 0}
    assert shape(output(searching, added("m"), text("a", "m"))) == [("web_search_call", ""), ("message", "a")]
    assert shape(output(text("a"), added("rs", "reasoning"))) == [("message", "a"), ("reasoning", "")]
    assert shape(output(arguments("{}"), added("x", "quantum_call"))) == [("quantum_call", "{}")]
    untyped = {"type": "response.output_item.added", "output_index": 0, "item": {"id": "m"}}
    assert shape(output(text("a"), untyped)) == [("message", "a")]


def test_a_status_is_written_only_where_the_item_has_one() -> None:
    status = {"type": "response.mcp_list_tools.completed", "item_id": "l", "output_index": 0}
    assert output(added("l", "mcp_list_tools", tools=[]), status) == [
        {"id": "l", "type": "mcp_list_tools", "tools": []}
    ]
    assert output(status)[0]["status"] == "completed", "nobody announced it"


def test_a_stream_that_begins_in_the_middle_is_accumulated_from_there() -> None:
    items = output(text("b", "m", 1), done("m", index=1, content=[{"text": "ab"}]), arguments("}", "f", 2), ends([]))
    assert shape(items) == [("message", "ab"), ("function_call", "}")]


def test_an_event_of_another_kind_at_an_index_does_not_spoil_its_item() -> None:
    items = output(added("ws", "web_search_call", status="completed"), text("a", "m"), text("b", "m"))
    assert shape(items) == [("web_search_call", ""), ("message", "ab")]
    assert "content" not in items[0]


def test_items_of_unknown_types_are_kept_whole_and_take_any_part() -> None:
    accumulator = Accumulator()
    feed(accumulator, added("q", "quantum_call", 0, state={"a": [1, None]}, arguments=""), arguments("{}", "q"))
    (item,) = accumulator.response.output
    assert item == {"id": "q", "type": "quantum_call", "state": {"a": [1, None]}, "arguments": "{}"}
    assert shape(output(added("q", "quantum_call"), arguments("{}"), text("a"))) == [("quantum_call", "a{}")]


# ── The final output ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("final", [[], None, "x", {}])
def test_what_was_streamed_stands_in_for_a_missing_final_output(final: Any) -> None:
    items = output(added("m", role="assistant"), text("keep"), added("f", "function_call", 1, name="g"), ends(final))
    assert shape(items) == [("message", "keep"), ("function_call", "")]
    assert items[1]["name"] == "g"


def test_a_filled_final_output_wins_and_its_gaps_are_filled() -> None:
    final = [
        {"id": "m", "type": "message", "status": "x", "content": [{"type": "output_text", "text": "final"}]},
        {"id": "f", "type": "function_call", "arguments": ""},
    ]
    items = output(
        added("m", status="y"),
        text("streamed"),
        added("f", "function_call", 1, name="n"),
        arguments("{}", "f", 1),
        ends(final),
    )
    assert shape(items) == [("message", "final"), ("function_call", "{}")]
    assert items[0]["status"] == "x"
    assert "name" not in items[1], "only what is streamed is filled"


def test_items_that_the_final_output_lacks_are_put_in_their_place() -> None:
    streamed = [
        added("a", index=0),
        text("a"),
        added("b", "mcp_list_tools", 1),
        added("c", index=2),
        text("c", index=2),
    ]
    final = [{"id": "c", "type": "message", "content": [{"type": "output_text", "text": "C"}]}]
    assert shape(output(*streamed, ends(final))) == [("message", "a"), ("mcp_list_tools", ""), ("message", "C")]


@pytest.mark.parametrize(
    ("index", "expected"), [(10**30, ["final", "odd"]), (-5, ["odd", "final"]), (1, ["final", "odd"])]
)
def test_items_with_odd_indexes_have_a_place_too(index: int, expected: list[str]) -> None:
    final = [{"id": "m", "type": "message", "content": [{"type": "output_text", "text": "final"}]}]
    items = output(added("m"), arguments("odd", "f", index), ends(final))
    assert [said for _, said in shape(items)] == expected


def test_final_items_are_paired_by_id_then_call_then_place_then_type() -> None:
    def message(id_: str) -> Json:
        return {"id": id_, "type": "message", "content": []}

    streamed = [added("a", index=0), text("A", index=0), added("b", index=1), text("B", index=1)]
    assert shape(output(*streamed, ends([message("b"), message("a")]))) == [("message", "B"), ("message", "A")]
    assert shape(output(*streamed, ends([message("x"), message("y")]))) == [("message", "A"), ("message", "B")]
    assert shape(output(*streamed, ends([message("x"), message("a")]))) == [("message", "B"), ("message", "A")]
    calls = [added("x", "function_call", n, call_id=f"c{n}") for n in (0, 1)]
    pieces = [arguments(str(n), None, n) for n in (0, 1)]
    final = [{"type": "function_call", "call_id": f"c{n}"} for n in (1, 0)]
    assert shape(output(*calls, *pieces, ends(final))) == [("function_call", "1"), ("function_call", "0")]
    resumed = [text("B", "b", 1), ends([message("x"), message("y")])]
    assert shape(output(*resumed)) == [("message", ""), ("message", "B")], "one of two: its place tells which"
    unnamed = [added("", index=n) for n in (0, 1)] + [text("A", index=0), text("B", index=1)]
    other = {"id": "z", "type": "reasoning", "content": []}
    assert shape(output(*unnamed, ends([other, message("")])))[2] == ("message", "B"), "an empty id is none"
    shifted = [{"id": "z", "type": "reasoning", "content": [{"text": "new"}]}, message("x"), message("y")]
    assert shape(output(*streamed, ends(shifted))) == [("reasoning", "new"), ("message", "A"), ("message", "B")]


def test_parts_of_the_final_output_are_filled_only_where_they_are_the_same_parts() -> None:
    def final(*parts: Json) -> Json:
        return ends([{"id": "m", "type": "message", "content": list(parts)}])

    empty, ok = {"type": "output_text", "text": None}, {"type": "output_text", "text": "ok"}
    assert shape(output(added("m"), text("ok"), done("m", content=[empty, ok]))) == [("message", "ok")]
    assert shape(output(added("m"), text("ok"), done("m", content=[empty]))) == [("message", "ok")]
    assert shape(output(added("m"), text("ok"), final(empty, ok))) == [("message", "ok")]
    assert shape(output(added("m"), text("ok"), final(empty))) == [("message", "ok")]
    assert shape(output(added("m"), text("ok"), final({"type": "refusal", "refusal": ""}))) == [("message", "")]


def test_items_that_a_resumed_response_lists_stand_before_its_own() -> None:
    begun = {"id": "r", "output": [{"id": "a", "type": "message", "content": [{"text": "A"}]}, {"id": "m", "x": 1}]}
    items = output({"type": "response.in_progress", "response": begun}, added("m", index=1), text("B", index=1))
    assert shape(items) == [("message", "A"), ("message", "B")]
    assert shape(output({"type": "response.queued", "response": begun}, text("B", "new"))) == [
        ("message", "B"), (None, ""),
    ]  # fmt: skip
    listed = {"id": "r", "output": [{"id": "q", "type": "program"}, {"id": "m", "type": "message"}]}
    items = output({"type": "response.in_progress", "response": listed}, added("m", index=2), text("B", index=2))
    assert shape(items) == [("program", ""), ("message", "B")]


# ── No failure ───────────────────────────────────────────────────────────────────────────────────────────────────────


def event_fields(cls: type) -> list[str]:
    """What the class reads from the wire: its own fields and its properties."""
    properties = [name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, property)]
    return [*(field for field in cls.__struct_fields__ if field != "payload"), *properties]  # type: ignore[attr-defined]


ODD: list[Any] = [
    None,
    5,
    -1,
    10**30,
    "x",
    "\ud800",
    True,
    [],
    {},
    [5],
    {"type": 5, "id": []},
    {"id": {}, "content": 5},
]
ODD += [{"type": "message", "content": [5]}, {"type": "output_text", "text": 5}, {"type": "refusal"}, {"stdout": 5}]
ODD += [[{"stdout": None}], {"type": "shell_call", "action": 5}, {"type": "apply_patch_call", "operation": []}]
DIFF = "response.apply_patch_call_operation_diff"
FIELDS: dict[str, list[str]] = {
    **{type_: [*event_fields(cls), "output_index"] for type_, cls in EVENT_TYPES.items()},
    f"{DIFF}.delta": ["delta", "output_index", "item_id"],
    f"{DIFF}.done": ["diff", "output_index", "item_id"],
    "response.cancelled": ["response"],
}


REPLACES = {"response.output_item.added", "response.output_item.done"}
REPLACES |= {"response.output_text.done", "response.content_part.done"}


@pytest.mark.parametrize("type_", FIELDS)
def test_no_odd_field_makes_it_fail_or_the_snapshot_unreadable(type_: str) -> None:
    for field, value in itertools.product(FIELDS[type_], ODD):
        for place in ({}, {"output_index": 0, "content_index": -1, "command_index": -3, "summary_index": -1}):
            event = {**place, "type": type_, field: value}
            accumulator = Accumulator()
            for change in feed(accumulator, text("a"), event, event, done("m", "shell_call"), added("m", "reasoning")):
                assert isinstance(change.snapshot, str)
                assert isinstance(change.part, tuple)
            json.dumps(accumulator.response.to_dict())
            if type_ not in REPLACES:
                assert "a" in accumulator.response.output_text, event
