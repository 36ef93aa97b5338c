"""A server that drops stream_id: noticed on its first answer, then one request at a time, matched by arrival."""

from __future__ import annotations

from nbresponses.core.lanes.actions import Record


def test_the_first_named_request_goes_alone_until_its_answer_shows_the_name(world):
    w = world(known_server=False)
    for lane in ("a", "b", None):
        w.submit(lane)
    assert len(w.sends) == 1
    w.created("a", "r1")
    assert len(w.sends) == 3
    assert w.table.status(0.0)["stream_id"] == "sent back"


def test_the_first_named_request_does_not_hold_the_others_for_long(world):
    w = world(known_server=False, probe_timeout=2.0)
    w.submit("a")
    w.submit("b")
    w.at(2.0)
    assert len(w.sends) == 2


def test_a_server_that_drops_stream_id_gets_one_request_at_a_time(world):
    w = world(known_server=False)
    tickets = [w.submit(lane) for lane in ("a", "b", "a", None)]
    for number in range(4):
        assert len(w.sends) == number + 1
        w.answer(None, f"r{number}")
    assert [send.ticket for send in w.sends] == [tickets[0], tickets[1], tickets[3], tickets[2]]
    assert {w.ending(ticket) for ticket in tickets} == {"completed"}
    assert w.notices() == ["stream_id_dropped"]  # said once
    assert w.table.status(0.0)["stream_id"] == "dropped"
    assert w.table.latest("a") == "r3"


def test_what_is_already_on_its_way_is_matched_by_arrival(world):
    w = world(known_server=False, probe_timeout=1.0)
    tickets = [w.submit("a"), w.submit("b")]
    w.at(1.0)
    assert len(w.sends) == 2
    for number in (1, 2):
        w.answer(None, f"r{number}")
    assert [w.table.latest(lane) for lane in "ab"] == ["r1", "r2"]
    assert set(w.ended) == set(tickets)


def test_errors_of_such_a_server_belong_to_the_one_request(world):
    w = world(known_server=False)
    first, second = w.submit("a"), w.submit("b")
    w.created(None, "r1")
    w.error("invalid_prompt")
    assert w.ending(first) == "error"
    w.error("invalid_stream_id")
    assert w.ending(second) == "error"
    w.error("stray")
    assert len(w.reports()) == 1


def test_such_a_server_caches_one_lane(world):
    w = world(known_server=False)
    w.submit("a", "one", store=False)
    w.answer(None, "a1")
    w.submit("b", "one", store=False)
    w.answer(None, "b1")
    w.sent()
    w.submit("a", "two", store=False)
    assert w.sent_one()["previous_response_id"] is None
    assert "replayed" in w.notices()


def test_late_events_of_the_default_lane_do_not_prove_it(world):
    w = world(known_server=False)
    w.submit(None)
    w.error("server_error", status=500)  # will be sent again
    w.submit("a")
    w.delta(None, "late")
    assert w.table.status(0.0)["stream_id"] == "unknown"
    assert w.notices() == []


def test_keepalives_and_errors_do_not_prove_anything(world):
    w = world(known_server=False)
    w.submit("a")
    w.event("keepalive")
    w.error("odd")
    assert w.table.status(0.0)["stream_id"] == "unknown"
    assert len([a for a in w.log if isinstance(a, Record)]) == 0
