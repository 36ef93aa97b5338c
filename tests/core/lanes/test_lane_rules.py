"""The rules of the lane table, each by name: names, order, places, connections, uncertain requests."""

from __future__ import annotations

import pytest

from nbresponses.core.lanes.actions import Close, Ended, LaneRequest, Open, Refuse
from nbresponses.core.lanes.table import check_lane_name
from nbresponses.errors import ConnectionFailed, Disconnected, LaneError, Rejected, RequestError

# ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [None, "a", "A.b-c_9", "x" * 256])
def test_names_that_a_lane_can_have(name):
    check_lane_name(name)


@pytest.mark.parametrize("name", ["", "x" * 257, "a b", "a/b", "é", "a\n", 42, b"a"])
def test_names_that_no_lane_has_are_refused_before_sending(world, name):
    w = world()
    with pytest.raises(RequestError) as caught:
        w.submit(name)
    assert caught.value.field == "stream_id"
    assert w.log[1:] == []


def test_a_request_for_another_lane_than_its_own_is_refused(world):
    with pytest.raises(RequestError, match="names 'b'"):
        world().submit("a", stream_id="b")


@pytest.mark.parametrize("field", ["stream", "background"])
def test_transport_fields_of_http_are_refused(world, field):
    w = world()
    with pytest.raises(RequestError) as caught:
        w.submit("a", **{field: True})
    assert caught.value.field == field
    assert w.submit("a", **{field: None}) == 1
    assert field not in w.sent_one()


@pytest.mark.parametrize(
    "body", [{"input": 3}, {"input": ["a"]}, {"previous_response_id": 7}, {"type": "response.steer"}]
)
def test_bodies_that_cannot_be_sent_are_refused(world, body):
    w = world()
    [refused] = w.table.submitted(LaneRequest("a", {"model": "m", **body}), 0.0)
    assert isinstance(refused, Refuse)
    assert isinstance(refused.error, RequestError)
    assert next(iter(body)) == refused.error.field


def test_the_33rd_name_is_refused_with_what_to_do(world):
    w = world()
    for number in range(32):
        w.submit(f"n{number}")
    w.submit(None)  # the default lane does not count
    with pytest.raises(LaneError, match="takes 32") as caught:
        w.submit("n32")
    assert caught.value.lane == "n32"
    assert "new_connection" in str(caught.value)
    w.submit("n0")  # a name that is there already


def test_names_count_until_the_connection_is_replaced(world):
    w = world(max_names=2)
    for name in "ab":
        w.submit(name)
        w.answer(name, f"r_{name}")
    with pytest.raises(LaneError):
        w.submit("c")
    w.do(w.table.renewed(w.now))
    w.submit("c")
    w.at(1.0)
    assert w.table.status(1.0)["connections"][0]["names"] == ["c"]


def test_the_33rd_name_can_go_to_a_further_connection(world):
    w = world(max_names=2, on_name_limit="new_connection")
    for name in "abc":
        w.submit(name)
    assert [(send.generation, send.lane) for send in w.sends] == [(1, "a"), (1, "b"), (2, "c")]
    assert w.recv({"type": "response.created", "response": {"id": "r"}, "stream_id": "c"}, generation=1) != []
    assert w.ended == {}
    assert w.reports()[0].generation == 1  # lane c is not on connection 1
    w.recv({"type": "response.completed", "response": {"id": "r"}, "stream_id": "c"}, generation=2)
    assert w.ending(3) == "completed"


def test_a_lane_whose_name_was_never_used_can_move_to_another_connection(world):
    w = world(max_names=1, on_name_limit="new_connection", auto_open=False)
    ticket = w.submit("a")
    w.stop(ticket)
    w.submit("b")
    w.submit("a")
    assert [row["queued"] for row in w.table.status(0.0)["connections"]] == [1, 1]


# ── Order and places ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lane_is_first_in_first_out_and_lanes_are_concurrent(world):
    w = world()
    tickets = [w.submit("a", "1"), w.submit("a", "2"), w.submit("b", "1"), w.submit(None, "1")]
    assert [(send.lane, send.ticket) for send in w.sends] == [("a", 1), ("b", 3), (None, 4)]
    w.answer("a", "r1")
    assert w.sends[-1].ticket == tickets[1]
    assert w.sends[-1].message["previous_response_id"] == "r1"


def test_at_most_16_are_in_flight_and_the_rest_is_visibly_queued(world):
    w = world()
    for number in range(20):
        w.submit(f"n{number}")
    assert len(w.sends) == 16
    status = w.table.status(0.0)
    assert (status["in_flight"], status["queued"]) == (16, 4)
    w.answer("n3", "r3")
    assert [send.lane for send in w.sends[16:]] == ["n16"]


def test_free_places_go_to_the_lane_that_was_served_longest_ago(world):
    w = world(max_in_flight=1)
    for number in range(3):
        w.submit("busy", str(number))
    w.submit("late")
    order = []
    for number in range(4):
        order.append(w.sends[-1].lane)
        w.answer(order[-1], f"r{number}")
    assert order == ["busy", "late", "busy", "busy"]


@pytest.mark.parametrize("ending", ["completed", "failed", "incomplete", "cancelled", "error", "close"])
def test_every_kind_of_end_frees_its_place(world, ending):
    w = world(max_in_flight=2)
    first = w.submit("a")
    w.submit("b")
    third = w.submit("c")
    w.running("a", "r1")
    if ending == "error":
        w.error("invalid_prompt", "a")
    elif ending == "close":
        w.lose()
        w.at(5.0)
    else:
        w.event(f"response.{ending}", "a", response={"id": "r1", "status": ending})
    assert w.ending(first) == {"close": "cut_off"}.get(ending, ending)
    assert third in {send.ticket for send in w.sends}


def test_a_terminal_event_whose_status_says_cancelled_is_cancelled(world):
    w = world()
    ticket = w.submit()
    w.running(None, "r1")
    w.event("response.incomplete", response={"id": "r1", "status": "cancelled"})
    assert w.ending(ticket) == "cancelled"


# ── The connection ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_socket_is_opened_when_there_is_something_to_send(world):
    w = world(auto_open=False)
    assert w.log == []
    w.submit("a")
    w.submit("b")
    assert w.opens == [1]
    assert w.sends == []
    w.opened(w.opens.pop())
    assert len(w.sends) == 2


def test_a_socket_can_be_wanted_before_anything_is_sent(world):
    w = world(auto_open=False)
    assert [type(action) for action in w.do(w.table.wanted(0.0))] == [Open]
    assert w.table.wanted(0.0) == []
    w.opened(w.opens.pop())
    assert w.table.wanted(0.0) == []


def test_the_connection_is_replaced_before_its_age_limit_at_a_turn_boundary(world):
    w = world(max_age=3600.0, age_margin=100.0, idle_timeout=None)
    first, second = w.submit("a"), w.submit("a", "next")
    w.running("a", "r1")
    w.at(3499.0)
    assert w.table.status(w.now)["connections"][0]["state"] == "open"
    w.at(3500.0)
    third = w.submit("b")
    assert w.table.status(w.now)["connections"][0]["state"] == "draining"
    assert [send.ticket for send in w.sends] == [first]  # nothing new on the old one
    actions = w.completed("a", "r1", "one")
    assert [type(action) for action in actions if isinstance(action, (Close, Open))] == [Close, Open]
    assert w.ending(first) == "completed"
    assert {send.ticket for send in w.sends} == {first, second, third}  # no queued request lost
    assert w.table.status(w.now)["connections"][0]["generation"] == 2


def test_an_idle_connection_closes_at_its_age_and_opens_when_it_is_needed(world):
    w = world(max_age=10.0)
    w.submit("a")
    w.answer("a", "r1")
    w.at(11.0)
    assert [type(action) for action in w.log].count(Close) == 1
    assert w.table.status(w.now)["connections"][0]["state"] == "idle"
    w.submit("a")
    assert w.sends[-1].generation == 2


def test_a_margin_larger_than_the_age_does_not_spin(world):
    w = world(max_age=4.0, age_margin=100.0)
    w.submit("a")
    w.answer("a", "r1")
    w.at(1.9)
    assert w.table.status(w.now)["connections"][0]["state"] == "open"
    w.at(2.0)
    assert w.table.status(w.now)["connections"][0]["state"] == "idle"


def test_frames_of_an_old_connection_are_dropped_and_counted(world):
    w = world()
    ticket = w.submit("a")
    w.lose()
    w.at(10.0)
    w.submit("a")
    late = {"type": "response.created", "response": {"id": "old"}, "stream_id": "a"}
    assert w.recv(late, generation=1) == []
    assert w.table.status(w.now)["dropped_frames"] == 1
    assert w.ending(ticket) == "cut_off"
    assert w.table.closed(1, w.now) == []
    assert w.table.opened(1, w.now) == []


def test_attempts_to_connect_pause_longer_each_time_and_have_a_clear_end(world):
    w = world(auto_open=False, backoff=1.0, backoff_cap=3.0, open_attempts=4)
    ticket = w.submit("a")
    pauses = []
    for _ in range(3):
        w.lose(error=ConnectionFailed("refused", url="ws://x"))
        pauses.append(w.wake - w.now)
        w.at(w.wake)
    assert pauses == [1.0, 2.0, 3.0]  # jitter is 1 here
    final = ConnectionFailed("still refused", url="ws://x")
    w.lose(error=final)
    assert w.ended[ticket] == Ended(ticket, "error", final, safe_to_repeat=True)
    assert w.reports()[-1].error is final
    assert w.table.status(w.now)["connections"][0]["state"] == "idle"
    w.submit("a")  # a new attempt, from the start
    assert w.opens


def test_jitter_shortens_a_pause_by_up_to_a_half(world):
    w = world(auto_open=False, backoff=1.0)
    w.table._state.random = lambda: 0.0
    w.submit("a")
    w.lose(error=ConnectionFailed("refused", url="ws://x"))
    assert w.wake == 0.5


@pytest.mark.parametrize("error", [Rejected(401), Rejected(302), RequestError("base_url", "is not secure")])
def test_an_answer_that_will_not_change_is_not_tried_again(world, error):
    w = world(auto_open=False)
    ticket = w.submit("a")
    w.lose(error=error)
    assert w.ended[ticket].error is error


def test_a_rejection_can_say_when_to_come_back(world):
    w = world(auto_open=False)
    w.submit("a")
    w.lose(error=Rejected(429, retry_after=7.0))
    assert w.wake == 7.0


def test_a_server_that_accepts_and_closes_at_once_is_given_up(world):
    w = world(on_uncertain="retry", max_attempts=2, open_attempts=3)
    ticket = w.submit("a")
    for _ in range(4):
        if ticket not in w.ended:
            w.lose(1011)
            w.at(w.now + 60)
    assert w.ending(ticket) == "cut_off"
    assert w.repeats() == ["disconnected"]


def test_a_pause_with_nothing_to_send_ends_in_rest(world):
    w = world()
    w.submit("a")
    w.answer("a", "r1")
    w.lose(1000)
    assert w.table.status(w.now)["connections"][0]["state"] == "waiting"
    w.at(60.0)
    assert w.table.status(w.now)["connections"][0]["state"] == "idle"


def test_quiet_pauses_do_not_add_up_to_failures(world):
    w = world(open_attempts=2)
    for number in range(3):
        w.do(w.table.wanted(w.now))
        assert w.generation == number + 1
        w.lose(1000)
        w.at(w.now + 60.0)
    assert w.reports() == []


def test_a_connection_that_worked_does_not_count_as_a_failure(world):
    w = world(open_attempts=1)
    w.submit("a")
    w.running("a", "r1")
    queued = w.submit("a", "2")
    w.lose()
    w.at(5.0)
    assert w.sends[-1].ticket == queued


# ── Uncertain requests ───────────────────────────────────────────────────────────────────────────────────────────────


def test_uncertain_requests_end_with_disconnected_and_keep_what_came(world):
    w = world()
    sent, running, queued = w.submit("a"), w.submit("b"), w.submit("b", "2")
    w.running("b", "r1")
    w.delta("b", "part")
    w.lose(1011)
    for ticket in (sent, running):
        error = w.ended[ticket].error
        assert w.ending(ticket) == "cut_off"
        assert isinstance(error, Disconnected)
        assert error.code == 1011
        assert not w.ended[ticket].safe_to_repeat
    assert w.delivered[running][-1] == "response.output_text.delta"
    w.at(5.0)
    assert w.sends[-1].ticket == queued


def test_uncertain_requests_are_repeated_when_asked_for_and_it_is_said(world):
    w = world(on_uncertain="retry")
    ticket = w.submit("a")
    w.running("a", "r1")
    w.lose()
    assert w.repeats() == ["disconnected"]
    assert "may have run" in next(a.text for a in w.log if hasattr(a, "reason") and a.reason == "disconnected")
    w.at(5.0)
    w.answer("a", "r2")
    assert w.ending(ticket) == "completed"
    assert w.table.latest("a") == "r2"


def test_what_was_certainly_not_written_goes_out_again_without_a_word(world):
    w = world()
    ticket, other = w.submit("a"), w.submit("b")
    w.lose(unsent=(ticket,))
    assert w.ending(ticket) is None
    assert w.ending(other) == "cut_off"
    w.at(5.0)
    assert [send.ticket for send in w.sends] == [ticket, other, ticket]
    assert w.repeats() == []


def test_what_was_not_written_is_no_attempt(world):
    w = world(on_uncertain="retry", max_attempts=2)
    ticket = w.submit("a")
    w.lose(unsent=(ticket,))
    w.at(5.0)
    w.lose()
    assert w.repeats() == ["disconnected"]
    w.at(10.0)
    w.lose()
    assert w.ending(ticket) == "cut_off"


def test_a_repeat_that_finds_no_connection_is_not_called_safe(world):
    w = world(on_uncertain="retry", open_attempts=1)
    ticket = w.submit("a")
    w.running("a", "r1")
    w.auto_open = False
    w.lose()
    w.at(5.0)
    w.lose(error=ConnectionFailed("refused", url="ws://x"))
    assert w.ending(ticket) == "error"
    assert not w.ended[ticket].safe_to_repeat
