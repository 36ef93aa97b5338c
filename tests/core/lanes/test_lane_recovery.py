"""How a lane's context reaches the server: by id, from a compacted window, in full; what the server caches."""

from __future__ import annotations

import pytest

from nbresponses.core.lanes.actions import Notice
from nbresponses.errors import LaneError

CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "f",
    "arguments": "{}",
    "status": "completed",
}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "42"}


def chain(w, lane="a", *texts, store=False):
    """A conversation of whole turns on a lane; the last response's id."""
    for number, text in enumerate(texts or ("one",), 1):
        w.submit(lane, text, store=store)
        w.answer(lane, f"{lane}{number}", f"answer to {text}")
    w.sent()
    return w.table.latest(lane)


# ── Continuing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lane_continues_its_latest_completed_response_with_new_input_only(world):
    w = world()
    chain(w, "a", "one", "two")
    w.submit("a", "three", store=False)
    sent = w.sent_one()
    assert sent == {
        "type": "response.create",
        "stream_id": "a",
        "model": "m-1",
        "input": "three",
        "store": False,
        "previous_response_id": "a2",
    }


def test_null_begins_anew_and_an_id_continues_that_response(world):
    w = world()
    chain(w, "a", "one", "two", store=True)
    w.submit("a", "new", previous_response_id=None)
    assert "previous_response_id" not in w.sent_one()
    w.answer("a", "a3")
    w.submit("a", "back", previous_response_id="a1")
    assert w.sent_one()["previous_response_id"] == "a1"


def test_of_two_queued_requests_the_second_continues_the_first(world):
    w = world()
    w.submit("a", "one")
    w.submit("a", "two")
    w.answer("a", "r1")
    assert w.sent()[1]["previous_response_id"] == "r1"


@pytest.mark.parametrize("kind", ["failed", "incomplete"])
def test_a_response_that_was_not_completed_is_not_continued_from(world, kind):
    w = world()
    chain(w, "a", "one", store=True)
    w.submit("a", "two")
    w.running("a", "a2")
    w.event(f"response.{kind}", "a", response={"id": "a2", "status": kind})
    w.submit("a", "three")
    assert w.sent()[-1]["previous_response_id"] == "a1"


def test_a_stopped_response_is_not_continued_from_even_if_it_completes(world):
    w = world()
    chain(w, "a", "one", store=True)
    ticket = w.submit("a", "two", store=True)
    w.running("a", "a2")
    w.stop(ticket)
    w.submit("a", "three", store=True)
    assert len(w.sent()) == 1  # the next request waits
    w.completed("a", "a2", "unseen")
    assert w.sent_one()["previous_response_id"] == "a1"
    assert [row["state"] for row in w.table.lineage()] == ["completed", "interrupted"]


def test_a_warm_up_is_continued_from(world):
    w = world()
    w.submit("a", [], generate=False, store=False)
    assert w.sent_one()["generate"] is False
    w.completed("a", "warm")
    w.submit("a", "go", store=False)
    assert w.sent_one()["previous_response_id"] == "warm"


def test_settings_of_the_body_pass_through_unchanged(world):
    w = world()
    management = [{"type": "compaction", "compact_threshold": 1000}]
    w.submit("a", "hi", context_management=management, temperature=None, x_new={"a": [1]})
    sent = w.sent_one()
    assert sent["context_management"] == management
    assert sent["temperature"] is None
    assert sent["x_new"] == {"a": [1]}


def test_a_request_does_not_change_after_it_was_submitted(world):
    w = world(auto_open=False)
    body = [{"role": "user", "content": "before"}]
    w.submit("a", body)
    body[0]["content"] = "after"
    w.opened(w.opens.pop())
    assert w.sent_one()["input"] == [{"role": "user", "content": "before"}]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"store": False, "model": "gpt-5.6"}, True),
        ({"store": False, "model": "o4-mini"}, True),
        ({"store": False, "model": "openai/gpt-5"}, True),
        ({"store": False, "reasoning": {"effort": "low"}}, True),
        ({"store": False, "model": "gpt-5-chat-latest"}, False),
        ({"store": False, "model": "gpt-4o"}, False),
        ({"store": True, "model": "gpt-5.6"}, False),
        ({"model": "gpt-5.6"}, False),
    ],
)
def test_encrypted_reasoning_is_asked_for_where_replay_needs_it(world, body, wanted):
    w = world()
    w.submit("a", **{"model": "m-1", **body})
    assert w.sent_one().get("include") == (["reasoning.encrypted_content"] if wanted else None)


def test_encrypted_reasoning_is_added_to_other_includes_once_and_can_be_switched_off(world):
    w = world()
    w.submit("a", model="o3", store=False, include=["message.output_text.logprobs"])
    assert w.sent_one()["include"] == ["message.output_text.logprobs", "reasoning.encrypted_content"]
    w.submit("b", model="o3", store=False, include=["reasoning.encrypted_content"])
    assert w.sent_one()["include"] == ["reasoning.encrypted_content"]
    off = world(encrypted_reasoning=False)
    off.submit("a", model="o3", store=False)
    assert "include" not in off.sent_one()


# ── Recovery ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_after_a_reconnect_a_stored_response_is_continued_by_id(world):
    w = world()
    chain(w, "a", "one", store=True)
    w.lose()
    w.at(5.0)
    w.submit("a", "two", store=True)
    assert w.sent_one()["previous_response_id"] == "a1"
    assert w.notices() == []


def test_after_a_reconnect_an_unstored_conversation_is_sent_in_full(world, items):
    w = world()
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"}
    bare = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": None}
    w.submit("a", "one", store=False)
    w.running("a", "a1")
    w.completed("a", "a1", reasoning, bare, {**CALL, "namespace": None})
    w.submit("a", [RESULT], store=False)
    w.answer("a", "a2", "forty-two")
    w.lose()
    w.at(5.0)
    w.sent()
    ticket = w.submit("a", "three", store=False)
    sent = w.sent_one()
    assert sent["previous_response_id"] is None
    assert sent["input"] == [
        items.user("one"), reasoning, CALL, RESULT, items.message("forty-two"), items.user("three"),
    ]  # fmt: skip
    [notice] = [action for action in w.log if isinstance(action, Notice)]
    assert (notice.kind, notice.lane, notice.ticket) == ("replayed", "a", ticket)
    w.answer("a", "a3")
    w.submit("a", "four", store=False)
    assert w.sent_one()["previous_response_id"] == "a3"  # and then by id again


def test_a_compacted_window_is_sent_unpruned_then_what_came_after(world, items):
    w = world()
    chain(w, "a", "one", "two")
    window = [{"type": "message", "role": "user", "content": None}, {"type": "compaction", "encrypted_content": "zip"}]
    w.do(w.table.compacted("a2", window, w.now))
    w.submit("a", "three", store=False)
    sent = w.sent_one()
    assert sent["previous_response_id"] is None
    assert sent["input"] == [*window, items.user("three")]
    assert w.notices() == []  # asked for, so nothing to tell
    w.answer("a", "a3", "three it is")
    w.submit("a", "four", store=False)
    assert w.sent_one()["previous_response_id"] == "a3"
    w.lose()
    w.at(5.0)
    w.submit("a", "five", store=False)
    assert w.sent_one()["input"] == [*window, items.user("three"), items.message("three it is"), items.user("five")]
    assert w.notices() == ["replayed"]


def test_compacting_what_is_not_known_is_refused(world):
    w = world()
    [refused] = w.table.compacted("nope", [], 0.0)
    assert isinstance(refused.error, LaneError)


def test_a_compaction_item_stands_for_all_before_it(world, items):
    w = world()
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "zip"}
    w.submit("a", "one", store=False, context_management=[{"type": "compaction", "compact_threshold": 10}])
    w.running("a", "a1")
    w.completed("a", "a1", items.message("old"), compaction, items.message("new"))
    w.lose()
    w.at(5.0)
    w.sent()
    w.submit("a", "two", store=False)
    assert w.sent_one()["input"] == [compaction, items.message("new"), items.user("two")]


def test_the_streamed_items_stand_in_for_an_empty_terminal_output(world, items):
    w = world()
    w.submit("a", "one", store=False)
    w.running("a", "a1")
    for index, text in [(1, "second"), (0, "first"), (0, "first")]:
        w.event("response.output_item.done", "a", item=items.message(text), output_index=index)
    w.completed("a", "a1")
    assert w.table.context("a1") == [items.user("one"), items.message("first"), items.message("second")]


def test_items_of_an_attempt_that_was_cut_are_not_mixed_in(world, items):
    w = world(on_uncertain="retry")
    w.submit("a", "one", store=False)
    w.running("a", "a1")
    w.event("response.output_item.done", "a", item=items.message("cut"), output_index=0)
    w.lose()
    w.at(5.0)
    w.running("a", "a2")
    w.event("response.output_item.done", "a", item=items.message("whole"), output_index=0)
    w.completed("a", "a2")
    assert w.table.context("a2") == [items.user("one"), items.message("whole")]


def test_a_half_written_call_is_not_sent_back(world, items):
    w = world()
    w.submit("a", "one", store=False)
    w.running("a", "a1")
    half = {**CALL, "arguments": '{"a', "status": "incomplete"}
    w.event(
        "response.incomplete", "a", response={"id": "a1", "incomplete_details": {"reason": "steered"}, "output": [half]}
    )
    assert w.table.context("a1") == [items.user("one")]


def test_without_history_new_input_alone_is_never_sent_as_the_whole(world):
    w = world(keep_history=False)
    chain(w, "a", "one")
    w.lose()
    w.at(5.0)
    ticket = w.submit("a", "two", store=False)
    assert w.sent() == []
    assert w.ending(ticket) == "error"
    assert isinstance(w.ended[ticket].error, LaneError)
    assert "'a1' cannot be continued" in str(w.ended[ticket].error)
    assert w.ended[ticket].safe_to_repeat
    w.submit("b", "others go on")
    assert w.sent_one()["stream_id"] == "b"


def test_a_conversation_of_the_server_is_no_history_of_ours(world):
    w = world()
    w.submit("a", "one", store=False, conversation="conv_1")
    assert "previous_response_id" not in w.sent_one()
    w.answer("a", "a1")
    assert w.table.context("a1") is None
    w.submit("a", "two", store=False, conversation="conv_1")
    assert "previous_response_id" not in w.sent_one()


def test_an_id_that_was_never_seen_here_is_left_to_the_server(world):
    w = world()
    ticket = w.submit("a", "go on", previous_response_id="resp_elsewhere")
    assert w.sent_one()["previous_response_id"] == "resp_elsewhere"
    w.error("previous_response_not_found", "a")
    assert w.sent() == []
    assert w.ending(ticket) == "error"
    assert w.notices() == ["not_repeated"]


def test_a_server_without_ids_is_continued_by_history(world, items):
    w = world()
    w.submit("a", "one")
    w.event("response.created", "a", response={})
    w.event("response.completed", "a", response={"output": [items.message("yes")]})
    assert w.table.latest("a") == "ticket-1"
    w.sent()
    w.submit("a", "two")
    assert w.sent_one()["input"] == [items.user("one"), items.message("yes"), items.user("two")]


def test_the_last_of_rotating_ids_is_continued(world):
    w = world()
    w.submit("a", "one")
    w.created("a", "x1")
    w.completed("a", "x2")
    w.submit("a", "two")
    assert w.sent()[-1]["previous_response_id"] == "x2"
    w.answer("a", "y1")
    assert [(row["id"], row["depth"]) for row in w.table.lineage()] == [("x2", 0), ("y1", 1)]


# ── The server's cache ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_failed_continuation_loses_its_parent_a_failed_fork_does_not(world):
    w = world()
    chain(w, "a", "one")
    w.submit("b", "fork", store=False, previous_response_id="a1")
    w.error("invalid_prompt", "b")
    w.submit("a", "two", store=False)
    assert [message.get("previous_response_id") for message in w.sent()] == ["a1", "a1"]
    w.error("invalid_prompt", "a")
    w.submit("a", "three", store=False)
    assert w.sent_one()["previous_response_id"] is None


def test_a_failed_response_loses_its_parent_too(world):
    w = world()
    chain(w, "a", "one")
    w.submit("a", "two", store=False)
    w.running("a", "a2")
    w.event("response.failed", "a", response={"id": "a2", "status": "failed"})
    w.sent()
    w.submit("a", "three", store=False)
    assert w.sent_one()["previous_response_id"] is None


def test_an_older_unstored_response_is_no_longer_cached(world):
    w = world()
    chain(w, "a", "one", "two")
    w.submit("a", "back", store=False, previous_response_id="a1")
    sent = w.sent_one()
    assert sent["previous_response_id"] is None
    assert len(sent["input"]) == 3


def test_without_history_the_server_is_asked_as_long_as_its_connection_stands(world):
    w = world(keep_history=False)
    chain(w, "a", "one", "two")
    w.submit("a", "back", store=False, previous_response_id="a1")
    assert w.sent_one()["previous_response_id"] == "a1"


def test_a_fork_on_another_connection_brings_its_context_along(world):
    w = world(max_names=1, on_name_limit="new_connection")
    chain(w, "a", "one")
    w.submit("b", "fork", store=False, previous_response_id="a1")
    sent = w.sends[-1]
    assert (sent.generation, sent.message["previous_response_id"]) == (2, None)
    assert len(sent.message["input"]) == 3
