"""Whose an error or a stray event is, and what is sent again after it."""

from __future__ import annotations

import pytest

from nbresponses.core.lanes.actions import Repeated
from nbresponses.errors import ConnectionFailed, DecodeError, LaneError, ProtocolError


def three_running(w):
    tickets = {lane: w.submit(lane) for lane in ("a", "b", None)}
    for lane in tickets:
        w.running(lane, f"r_{lane}")
    return tickets


# ── Whose error it is ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lane", ["a", "b"])
def test_an_error_with_a_stream_id_ends_that_lane_s_request_and_no_other(world, lane):
    w = world()
    tickets = three_running(w)
    w.error("something_new", lane)
    assert {name for name, ticket in tickets.items() if ticket in w.ended} == {lane}
    assert w.ending(tickets[lane]) == "error"
    assert w.delivered[tickets[lane]][-1] == "error"


def test_an_error_without_a_stream_id_is_the_default_lane_s_if_that_runs(world):
    w = world()
    tickets = three_running(w)
    w.error("something_new")
    assert set(w.ended) == {tickets[None]}


def test_an_error_without_a_stream_id_is_else_the_connection_s(world):
    w = world()
    ticket = w.submit("a")
    w.running("a", "r1")
    w.error("something_new")
    assert w.ended == {}
    assert w.reports()[0].event.code == "something_new"
    w.completed("a", "r1")
    w.error("late")
    assert len(w.reports()) == 2
    assert w.ending(ticket) == "completed"


def test_invalid_stream_id_is_the_newest_named_request_that_nothing_came_for(world):
    w = world()
    tickets = [w.submit("a"), w.submit("b"), w.submit("c"), w.submit(None)]
    w.running("c", "r_c")
    w.error("invalid_stream_id", param="stream_id")
    assert set(w.ended) == {tickets[1]}
    w.running("a", "r_a")
    w.error("invalid_stream_id")
    assert set(w.ended) == {tickets[1]}
    assert len(w.reports()) == 1


def test_the_stream_limit_of_the_server_ends_the_lane_it_names(world):
    w = world()
    first, second = w.submit("a"), w.submit("agent_33")
    w.error("websocket_stream_limit_reached", "agent_33", param="stream_id")
    assert set(w.ended) == {second}
    assert w.ended[second].safe_to_repeat
    assert first not in w.ended


def test_the_age_limit_ends_what_runs_and_moves_what_has_not_begun(world):
    w = world()
    running, sent, queued = w.submit("a"), w.submit("b"), w.submit("b", "2")
    w.running("a", "r1")
    w.sent()
    w.error("websocket_connection_limit_reached")
    assert w.ending(running) == "error"
    assert w.delivered[running][-1] == "error"
    assert w.repeats() == ["connection_limit"]
    assert [(send.generation, send.ticket) for send in w.sends] == [(2, sent)]
    w.answer("b", "r2")
    w.answer("b", "r3")
    assert (w.ending(sent), w.ending(queued)) == ("completed", "completed")


def test_the_age_limit_with_nothing_in_flight_only_replaces_the_connection(world):
    w = world()
    w.submit("a")
    w.answer("a", "r1")
    w.error("websocket_connection_limit_reached")
    assert len(w.reports()) == 1
    w.submit("a")
    assert w.sends[-1].generation == 2


def test_the_age_limit_with_retry_repeats_what_ran_too(world):
    w = world(on_uncertain="retry")
    ticket = w.submit("a")
    w.running("a", "r1")
    w.error("websocket_connection_limit_reached")
    assert w.repeats() == ["connection_limit"]
    w.answer("a", "r2")
    assert w.ending(ticket) == "completed"


def test_what_the_age_limit_cut_and_nothing_takes_up_again_is_not_called_safe(world):
    w = world(on_uncertain="retry", open_attempts=1)
    ticket = w.submit("a")
    w.running("a", "r1")
    w.auto_open = False
    w.error("websocket_connection_limit_reached")
    w.generation = 0
    w.lose(error=ConnectionFailed("refused", url="ws://x"))
    assert w.ending(ticket) == "error"
    assert not w.ended[ticket].safe_to_repeat


def test_the_age_limit_frees_a_lane_that_waits_for_a_stopped_response(world):
    w = world()
    ticket = w.submit("a")
    w.running("a", "r1")
    w.stop(ticket)
    waiting = w.submit("a")
    w.error("websocket_connection_limit_reached")
    assert w.sends[-1].ticket == waiting
    assert w.recorded[ticket] == ["error"]


# ── What is sent again ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fork", [False, True])
def test_a_lost_parent_is_replaced_once_by_the_full_context(world, items, fork):
    w = world()
    w.submit("a", "one", store=False)
    w.answer("a", "a1", "first")
    lane = "b" if fork else "a"
    ticket = w.submit(lane, "two", store=False, **({"previous_response_id": "a1"} if fork else {}))
    w.sent()
    w.error("previous_response_not_found", lane, param="previous_response_id")
    sent = w.sent_one()
    assert sent["previous_response_id"] is None
    assert sent["input"] == [items.user("one"), items.message("first"), items.user("two")]
    [repeated] = [action for action in w.log if isinstance(action, Repeated)]
    assert (repeated.ticket, repeated.reason) == (ticket, "previous_response_not_found")
    assert w.recorded[ticket] == ["error"]
    w.error("previous_response_not_found", lane)
    assert w.sent() == []
    assert w.ending(ticket) == "error"


def test_a_parent_that_a_fork_found_lost_is_lost_for_its_own_lane_too(world):
    w = world()
    w.submit("a", "one", store=False)
    w.answer("a", "a1")
    w.submit("b", "fork", store=False, previous_response_id="a1")
    w.error("previous_response_not_found", "b")
    w.sent()
    w.submit("a", "two", store=False)
    assert w.sent_one()["previous_response_id"] is None


def test_a_stored_parent_that_the_server_does_not_have_is_not_asked_for_again(world):
    w = world()
    w.submit("a", "one")
    w.answer("a", "a1")
    w.submit("a", "two")
    w.error("previous_response_not_found", "a")
    w.event("response.created", "a", response={"id": "a2"})
    w.sent()
    w.submit("b", "fork", previous_response_id="a1")
    assert w.sent_one()["previous_response_id"] is None


@pytest.mark.parametrize(
    "error",
    [
        {"type": "server_error", "code": None, "message": "Something went wrong."},
        {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Please try again in 2s."},
    ],
)
def test_a_passing_error_before_anything_ran_is_repeated_after_a_pause(world, error):
    w = world(backoff=2.0)
    ticket = w.submit(None)
    w.recv({"type": "error", "error": error, "sequence_number": 2})
    assert w.repeats() == ["server_error"]
    w.at(1.9)
    assert len(w.sends) == 1
    w.at(2.0)
    assert len(w.sends) == 2
    w.answer(None, "r1")
    assert w.ending(ticket) == "completed"


def test_a_flat_error_is_read_like_a_nested_one(world):
    w = world()
    ticket = w.submit(None)
    w.recv({"type": "error", "code": "server_error", "message": "oops", "param": None})
    assert w.repeats() == ["server_error"]
    assert ticket not in w.ended


def test_repeats_have_an_end(world):
    w = world(max_attempts=3, backoff=1.0)
    ticket = w.submit("a")
    for _ in range(3):
        w.error("server_error", "a", status=500)
        w.at(w.now + 10)
    assert len(w.sends) == 3
    assert w.ending(ticket) == "error"
    assert w.ended[ticket].safe_to_repeat


def test_no_error_is_repeated_once_the_response_has_begun(world):
    w = world()
    ticket = w.submit("a")
    w.created("a", "r1")
    w.error("server_error", "a", status=500)
    assert w.repeats() == []
    assert w.ending(ticket) == "error"
    assert not w.ended[ticket].safe_to_repeat


@pytest.mark.parametrize("code", ["insufficient_quota", "invalid_prompt", ["odd"], 12])
def test_a_lasting_error_is_not_repeated(world, code):
    w = world()
    ticket = w.submit("a")
    w.error(code, "a")
    assert w.repeats() == []
    assert w.ended[ticket].safe_to_repeat


# ── Late and stray events ────────────────────────────────────────────────────────────────────────────────────────────


def test_late_frames_of_a_stopped_response_never_reach_its_successor(world):
    w = world()
    first = w.submit("a")
    w.running("a", "r1")
    w.stop(first)
    assert w.ending(first) == "interrupted"
    second = w.submit("a")
    assert len(w.sends) == 1  # it waits for the terminal event
    w.delta("a", "late")
    w.completed("a", "r1", "late")
    assert w.recorded[first] == ["response.output_text.delta", "response.completed"]
    assert w.sends[-1].ticket == second
    w.answer("a", "r2")
    assert "late" not in str([e for t, e in w.delivered.items() if t == second])
    assert w.ending(second) == "completed"


def test_stopping_before_anything_came_makes_the_lane_wait_too(world):
    w = world()
    first = w.submit("a")
    w.stop(first)
    w.submit("a")
    assert len(w.sends) == 1
    w.created("a", "r1")
    w.error("server_error", "a")
    assert w.recorded[first] == ["response.created", "error"]
    assert len(w.sends) == 2


def test_stopping_what_is_queued_leaves_no_trace(world):
    w = world()
    w.submit("a")
    queued, third = w.submit("a", "2"), w.submit("a", "3")
    w.stop(queued)
    assert w.ended[queued].safe_to_repeat
    w.answer("a", "r1")
    assert w.sends[-1].ticket == third
    assert w.stop(queued) == []


def test_a_stop_can_bring_its_reason(world):
    w = world()
    ticket, error = w.submit("a"), LaneError("nobody reads", lane="a")
    w.stop(ticket, error=error)
    assert w.ended[ticket].error is error


def test_a_stopped_response_that_never_ends_has_its_connection_replaced(world):
    w = world(release_timeout=10.0)
    stopped, other = w.submit("a"), w.submit("b")
    w.running("a", "r1")
    w.running("b", "r2")
    w.stop(stopped)
    w.at(5.0)
    waiting = w.submit("a")
    w.at(14.9)
    assert len(w.sends) == 2
    w.at(15.0)
    assert len(w.sends) == 2  # lane b is still running
    w.answer("b", "r2")
    assert w.ending(other) == "completed"
    assert w.sends[-1].ticket == waiting
    assert w.sends[-1].generation == 2
    assert "reconnecting" in w.notices()


def test_response_failed_after_an_error_goes_to_the_response_it_names(world):
    w = world()
    first, second = w.submit("a"), w.submit("a", "2")
    w.running("a", "r1")
    w.error("server_error", "a")
    assert w.sends[-1].ticket == second
    w.event("response.failed", "a", response={"id": "r1", "status": "failed"})
    assert w.recorded[first] == ["response.failed"]
    assert second not in w.ended
    w.answer("a", "r2")
    assert w.ending(second) == "completed"


def test_a_terminal_event_that_comes_twice_ends_nothing_else(world):
    w = world()
    first, second = w.submit("a"), w.submit("a", "2")
    w.answer("a", "r1")
    w.completed("a", "r1")
    assert w.recorded[first] == ["response.completed"]
    w.answer("a", "r2")
    w.created("a", "r2")
    assert w.recorded[second] == ["response.created"]
    assert not w.table.status(0.0)["in_flight"]


def test_a_server_that_gives_all_responses_one_id_is_read_by_lanes(world):
    w = world()
    first, second = w.submit("a"), w.submit("b")
    w.running("a", "same")
    w.running("b", "same")
    w.completed("b", "same")
    assert (w.ending(first), w.ending(second)) == (None, "completed")
    w.completed("a", "same")
    assert w.ending(first) == "completed"
    third = w.submit("a", previous_response_id=None)
    w.running("a", "same")
    fourth = w.submit("b", previous_response_id=None)
    w.completed("b", "same")
    assert (w.ending(third), w.ending(fourth)) == (None, "completed")


def test_what_comes_on_a_quiet_lane_goes_to_its_last_request(world):
    w = world()
    ticket = w.submit("a")
    w.running("a", "r1")
    w.error("server_error", "a")
    w.delta("a", "after all")
    w.error("again", "a")
    assert w.recorded[ticket] == ["response.output_text.delta", "error"]
    w.delta("unknown")
    w.event("keepalive", "a")
    assert [report.event.type for report in w.reports()] == ["response.output_text.delta", "keepalive"]


def test_events_that_are_no_responses_change_nothing(world):
    w = world()
    ticket = w.submit(None)
    w.event("keepalive")
    assert w.delivered[ticket] == ["keepalive"]
    assert w.table.status(0.0)["lanes"][0]["state"] == "sent"
    w.error("server_error", status=None)
    assert w.repeats() == ["server_error"]  # nothing had begun


@pytest.mark.parametrize("name", [42, {"a": 1}, ["a"], True])
def test_a_stream_id_that_is_no_text_reaches_no_lane(world, name):
    w = world()
    tickets = [w.submit("42"), w.submit(None)]
    for ticket in tickets:
        w.running("42" if ticket == 1 else None, f"r{ticket}")
    before = dict(w.delivered)
    w.recv({"type": "response.output_text.delta", "delta": "wrong", "stream_id": name})
    assert dict(w.delivered) == before
    assert isinstance(w.reports()[0].error, ProtocolError)
    assert w.reports()[0].event.to_dict()["delta"] == "wrong"


def test_a_payload_that_is_no_event_reaches_no_lane(world):
    from nbresponses.core.events import InvalidEvent

    w = world()
    w.submit(None)
    w.running(None, "r1")
    w.do(w.table.received(1, InvalidEvent(error=DecodeError("malformed")), 0.0))
    assert isinstance(w.reports()[0].error, DecodeError)
    w.do(w.table.received(1, InvalidEvent(), 0.0))
    assert isinstance(w.reports()[1].error, ProtocolError)


def test_an_empty_stream_id_is_the_default_lane(world):
    w = world()
    ticket = w.submit(None)
    w.recv({"type": "response.created", "stream_id": "", "response": {"id": "r1"}})
    w.recv({"type": "response.completed", "stream_id": "", "response": {"id": "r1"}})
    assert w.ending(ticket) == "completed"


def test_fields_that_do_not_fit_their_type_do_not_hide_the_end(world):
    w = world()
    ticket = w.submit("a", store=False)
    w.created("a", "r1")
    w.event("response.completed", "a", response={"id": "r1", "output": []}, sequence_number="seven")
    assert w.ending(ticket) == "completed"
    assert w.table.latest("a") == "r1"


def test_a_lane_says_how_its_latest_request_ended(world):
    w = world()
    first = w.submit("a")
    assert [w.table.status(0.0)["lanes"][0][name] for name in ("ending", "error")] == [None, None]
    w.completed("a", "r1")
    second = w.submit("a")
    w.stop(second, error=LaneError("nobody reads it", lane="a"))
    row = w.table.status(0.0)["lanes"][0]
    assert (row["state"], row["ending"], row["error"]) == ("stopped", "interrupted", "nobody reads it")
    w.completed("a", "r2")
    w.submit("a")
    w.error("odd", "a")
    row = w.table.status(0.0)["lanes"][0]
    assert (row["state"], row["ending"], row["error"]) == ("idle", "error", None), (
        "the server's own word is in its event"
    )
    assert first in w.ended
