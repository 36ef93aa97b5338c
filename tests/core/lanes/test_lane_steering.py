"""Steering: what is sent, which answer belongs to which message, successors, required input, and what gets lost."""

from __future__ import annotations

import pytest

from nbresponses.core.lanes.actions import Started
from nbresponses.errors import LaneError, RequestError

STUB = {"type": "function_call_output", "call_id": "call_1", "name": "f"}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "42"}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}


def running(w, lane="a", response_id="r1", **body):
    ticket = w.submit(lane, "one", **body)
    w.running(lane, response_id)
    w.sent()
    return ticket


def answer(w, word, lane="a", steer_id="steer_1", parent="r1", **more):
    return w.event(f"response.steer.{word}", lane, steer={"id": steer_id, "previous_response_id": parent}, **more)


def steered(w, lane="a", response_id="r1", **more):
    details = {"incomplete_details": {"reason": "steered"}, "status": "incomplete", **more}
    return w.event("response.incomplete", lane, response={"id": response_id, **details})


def states(w):
    return [(str(steering.state), steering.id) for steering in w.steers()]


def test_a_steering_message_names_the_response_and_no_lane(world):
    w = world()
    running(w)
    assert w.steer("a", "shorter") == 1
    assert w.sent_one() == {"type": "response.steer", "previous_response_id": "r1", "input": "shorter"}
    assert states(w) == [("sent", None)]


@pytest.mark.parametrize("value", ["", [], 3, None, [{"role": "system", "content": "x"}],
                                   [{"type": "function_call_output", "role": "user", "call_id": "c"}],
                                   [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]])  # fmt: skip
def test_what_cannot_steer_is_refused(world, value):
    w = world()
    running(w)
    with pytest.raises(RequestError) as caught:
        w.steer("a", value)
    assert caught.value.field == "input"


def test_text_images_and_files_can_steer(world):
    w = world()
    running(w)
    message = {"role": "user", "content": [{"type": "input_image", "image_url": "data:"}, {"type": "input_file"}]}
    w.steer("a", [message, {"role": "user", "content": "plain"}])
    assert w.sent_one()["input"] == [message, {"role": "user", "content": "plain"}]


def test_only_what_runs_can_be_steered(world):
    w = world()
    for lane in ("never", "a"):
        with pytest.raises(LaneError, match="runs nothing"):
            w.steer(lane)
        if lane == "never":
            w.submit("a")
            w.answer("a", "r1")


@pytest.mark.parametrize("field", ["conversation", "context_management"])
def test_what_cannot_be_steered_is_refused_here(world, field):
    w = world()
    running(w, **{field: [{"type": "compaction"}]})
    with pytest.raises(LaneError, match=field):
        w.steer("a")


def test_a_message_waits_for_the_id_of_its_response(world):
    w = world()
    w.submit("a")
    w.sent()
    w.steer("a")
    assert w.sent() == []
    w.created("a", "r1")
    assert w.sent_one()["previous_response_id"] == "r1"
    assert states(w) == [("held", None), ("sent", None)]


def test_a_message_whose_response_never_began_is_given_back(world):
    w = world()
    w.submit("a")
    w.steer("a", "shorter")
    w.error("invalid_prompt", "a")
    last = w.steers()[-1]
    assert (last.state, last.input, last.error["code"]) == ("failed", "shorter", "response_not_active")


def test_the_steered_ending_and_its_successor_have_streams_of_their_own(world, items):
    w = world()
    first = running(w, store=False)
    steer = w.steer("a", "shorter")
    queued = w.submit("a", "next", store=False)
    answer(w, "accepted")
    w.sent()
    steered(w, output=[items.message("half")])
    assert w.ending(first) == "incomplete"
    assert w.sent() == []  # the lane waits for the successor
    assert w.table.status(0.0)["lanes"][0]["state"] == "steered"
    w.created("a", "r2", previous_response_id="r1")
    [started] = [action for action in w.log if isinstance(action, Started)]
    assert (started.lane, started.parent, started.steers) == ("a", "r1", (steer,))
    assert states(w)[-1] == ("committed", "steer_1")
    assert w.sent() == []
    w.completed("a", "r2", "short")
    assert w.ending(started.ticket) == "completed"
    assert w.sent_one()["previous_response_id"] == "r2"
    assert w.sends == []
    assert w.table.context("r2") == [
        items.user("one"), items.message("half"), items.user("shorter"), items.message("short"),
    ]  # fmt: skip
    assert [row["state"] for row in w.table.lineage()] == ["steered", "completed"]
    w.completed("a", "r3")
    assert w.ending(queued) == "completed"


def test_a_completed_response_can_be_followed_by_a_successor_too(world):
    w = world()
    running(w)
    w.steer("a")
    answer(w, "accepted")
    w.completed("a", "r1")
    w.submit("a", "next")
    w.sent()
    w.created("a", "r2")
    assert [action.parent for action in w.log if isinstance(action, Started)] == ["r1"]


def test_a_successor_keeps_its_place_among_those_in_flight(world):
    w = world(max_in_flight=1)
    running(w)
    w.steer("a")
    w.submit("b")
    answer(w, "accepted")
    steered(w)
    assert w.sent()[1:] == []
    w.created("a", "r2")
    w.completed("a", "r2")
    assert w.sent_one()["stream_id"] == "b"


def test_a_successor_commits_messages_that_were_never_answered(world):
    w = world()
    running(w)
    w.steer("a", "one")
    w.steer("a", "two")
    steered(w)
    w.created("a", "r2")
    assert states(w)[-2:] == [("committed", None), ("committed", None)]
    answer(w, "accepted")  # too late, and nothing new
    assert len(states(w)) == 4


def test_a_response_that_nobody_asked_for_gets_a_stream_without_steering_too(world):
    w = world()
    w.submit("a")
    w.answer("a", "r1")
    w.created("a", "r2")
    [started] = [action for action in w.log if isinstance(action, Started)]
    assert (started.parent, started.steers) == ("r1", ())
    w.completed("a", "r2")
    assert w.table.latest("a") == "r2"


def test_the_first_answer_goes_to_the_oldest_message_whatever_it_says(world):
    w = world()
    ticket = running(w)
    w.steer("a")
    w.steer("a", "second")
    w.completed("a", "r1")
    answer(w, "pending", reason="waiting_for_required_input", required_input=[STUB])
    news = w.steers()[-1]
    assert (news.steer, news.state, news.id, news.required_input) == (1, "pending", "steer_1", (STUB,))
    assert w.recorded[ticket] == ["response.steer.pending"]
    answer(w, "failed", steer_id="steer_2", error={"code": "response_not_active"})
    assert [(n.steer, str(n.state)) for n in w.steers()][-1] == (2, "failed")


def test_answers_belong_to_the_message_with_their_id(world):
    w = world()
    ticket = running(w)
    w.steer("a", "one")
    w.steer("a", "two")
    answer(w, "accepted", steer_id="s1")
    answer(w, "accepted", steer_id="s2")
    answer(w, "accepted", steer_id="s1")  # twice: nothing new
    answer(w, "failed", steer_id="s1", error={"code": "successor_creation_failed", "message": "no"})
    assert [(n.steer, str(n.state)) for n in w.steers()] == [
        (1, "sent"), (2, "sent"), (1, "accepted"), (2, "accepted"), (1, "failed"),
    ]  # fmt: skip
    assert w.steers()[-1].input == "one"
    assert w.steers()[-1].error["code"] == "successor_creation_failed"
    assert "response.steer.accepted" in w.delivered[ticket]
    answer(w, "accepted", lane="zzz", steer_id="s9", parent="other")
    assert len(w.reports()) == 1


def test_failure_of_all_messages_releases_the_lane(world):
    w = world()
    running(w)
    w.steer("a")
    w.submit("a", "next")
    answer(w, "accepted")
    steered(w)
    w.sent()
    answer(w, "failed", error={"code": "successor_creation_failed"})
    assert w.sent_one()["previous_response_id"] == "r1"


def test_a_successor_that_never_comes_releases_the_lane_and_it_is_said(world):
    w = world(steer_timeout=5.0)
    running(w)
    w.submit("a", "next")
    steered(w)
    w.sent()
    w.at(4.9)
    assert w.sent() == []
    w.at(5.0)
    assert w.sent_one()["previous_response_id"] == "r1"
    assert w.notices() == ["steer_timeout"]


# ── Required input ───────────────────────────────────────────────────────────────────────────────────────────────────


def pending(w, *stubs):
    running(w, store=False)
    w.steer("a", "shorter")
    answer(w, "accepted")
    w.completed("a", "r1", {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"})
    answer(w, "pending", reason="waiting_for_required_input", required_input=list(stubs or (STUB,)))
    w.sent()


def test_required_input_is_filled_from_saved_results(world):
    w = world()
    pending(w, STUB, APPROVAL)
    w.do(w.table.results("a", [RESULT, {"approval_request_id": "mcpr_1", "approve": True}]))
    w.submit("a", "and then", store=False)
    sent = w.sent_one()
    assert sent["previous_response_id"] == "r1"
    assert sent["input"][:2] == [{**STUB, **RESULT}, {**APPROVAL, "approve": True}]
    assert len(sent["input"]) == 3  # the steering input is the server's to put in front
    assert w.table._state.lanes["a"].saved == {}  # used up


def test_results_in_the_request_itself_are_taken_as_they_are(world):
    w = world()
    pending(w)
    w.submit("a", [RESULT], store=False)
    assert w.sent_one()["input"] == [RESULT]


def test_a_request_without_the_required_results_is_not_sent(world):
    w = world()
    pending(w)
    ticket = w.submit("a", "next", store=False)
    assert w.sent() == []
    assert "call_1" in str(w.ended[ticket].error)
    w.submit("a", "anew", store=False, previous_response_id=None)
    assert "previous_response_id" not in w.sent_one()


def test_the_continuation_commits_what_was_pending(world, items):
    w = world()
    pending(w)
    w.submit("a", [RESULT], store=False)
    w.sent()
    w.running("a", "r2")
    assert states(w)[-1] == ("committed", "steer_1")
    w.completed("a", "r2")
    assert w.table.context("r2")[2:] == [items.user("shorter"), RESULT]
    w.submit("a", "free again", store=False)
    assert w.sent_one()["previous_response_id"] == "r2"


def test_a_fork_owes_nothing(world):
    w = world()
    pending(w)
    w.submit("b", [RESULT], store=False, previous_response_id="r1")
    w.running("b", "b1")
    assert states(w)[-1] == ("pending", "steer_1")
    w.submit("b2", "other", store=False, previous_response_id="r1")
    assert len(w.sent()) == 2


def test_results_for_a_lane_that_never_ran_are_refused(world):
    w = world()
    [refused] = w.table.results("never", [RESULT])
    assert isinstance(refused.error, LaneError)


# ── Stopping and losing ──────────────────────────────────────────────────────────────────────────────────────────────


def test_steering_ends_a_stopped_response_sooner(world):
    w = world()
    ticket = running(w)
    w.stop(ticket)
    w.steer("a", "never mind")
    answer(w, "accepted")
    steered(w)
    w.created("a", "r2")
    w.completed("a", "r2")
    assert w.recorded[ticket] == ["response.steer.accepted", "response.incomplete"]
    assert w.table.latest("a") == "r2"


@pytest.mark.parametrize("word", [None, "accepted", "pending"])
def test_what_the_server_owned_is_given_back_when_the_connection_goes(world, word):
    w = world()
    running(w)
    w.steer("a", "shorter")
    if word:
        answer(w, word, required_input=[])
    w.lose()
    last = w.steers()[-1]
    assert (last.state, last.input) == ("lost", "shorter")


def test_a_lane_does_not_wait_for_a_successor_on_a_lost_connection(world):
    w = world()
    running(w)
    w.steer("a")
    answer(w, "accepted")
    steered(w)
    w.submit("a", "next")
    w.lose()
    w.at(5.0)
    assert w.sends[-1].message["previous_response_id"] == "r1"


def test_a_lost_successor_is_repeated_as_a_request_of_its_own(world, items):
    w = world(on_uncertain="retry")
    running(w, store=False, instructions="be brief")
    w.steer("a", "shorter")
    answer(w, "accepted")
    steered(w, output=[items.message("half")])
    w.running("a", "r2")
    w.lose()
    w.at(5.0)
    sent = w.sends[-1].message
    assert sent["instructions"] == "be brief"
    assert sent["input"] == [items.user("one"), items.message("half"), items.user("shorter")]
    w.answer("a", "r3")
    [started] = [action for action in w.log if isinstance(action, Started)]
    assert w.ending(started.ticket) == "completed"


def test_a_successor_on_a_server_without_stream_id_goes_to_the_lane_that_waits(world):
    w = world(known_server=False)
    w.submit("a", "one")
    w.running(None, "r1")
    w.steer("a")
    w.event("response.steer.accepted", steer={"id": "s", "previous_response_id": "r1"})
    steered(w, lane=None)
    w.created(None, "r2")
    assert [action.lane for action in w.log if isinstance(action, Started)] == ["a"]
