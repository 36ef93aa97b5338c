"""Time limits of a lane, and the end of lanes and table."""

from __future__ import annotations

import pytest

from nbresponses.core.lanes.actions import Close, Notice, Refuse, Send, Wake
from nbresponses.errors import LaneError, TimedOut

# ── Waits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", ["first_event", "idle"])
def test_every_wait_for_an_event_has_a_limit(world, phase):
    w = world(**{f"{phase}_timeout": 3.0})
    ticket = w.submit("a")
    if phase == "idle":
        w.running("a", "r1")
        w.at(2.0)
        w.delta("a")
        w.at(4.0)
        assert ticket not in w.ended
    w.at(5.0)
    error = w.ended[ticket].error
    assert isinstance(error, TimedOut)
    assert (error.phase, error.seconds) == (phase, 3.0)


@pytest.mark.parametrize("event", ["response.created", "response.output_text.delta"])
def test_the_idle_limit_counts_from_the_last_event(world, event):
    w = world(first_event_timeout=None, idle_timeout=3.0)
    ticket = w.submit("a")
    w.at(2.0)
    w.event(event, "a", response={"id": "r1"})
    w.at(4.0)
    w.event("response.in_progress", "a", response={"id": "r1"})
    w.at(6.9)
    assert ticket not in w.ended
    w.at(7.0)
    assert w.ending(ticket) == "cut_off"


def test_silence_after_the_first_event_is_noticed(world):
    w = world(first_event_timeout=None, idle_timeout=3.0)
    ticket = w.submit("a")
    w.at(2.0)
    w.created("a", "r1")
    w.at(5.0)
    assert w.ending(ticket) == "cut_off"


def test_a_wake_is_asked_for_once_per_limit(world):
    w = world(first_event_timeout=3.0)
    w.submit("a")
    wakes = [action.at for action in w.log if isinstance(action, Wake)]
    assert wakes == [3.0]
    assert w.table.ticked(1.0) == []  # harmless


# ── The end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_shutting_ends_everything_and_closes_the_socket(world):
    w = world()
    tickets = [w.submit("a"), w.submit("a", "2"), w.submit("b")]
    w.running("b", "r1")
    actions = w.do(w.table.shut("bye"))
    assert {w.ending(ticket) for ticket in tickets} == {"interrupted"}
    assert w.ended[tickets[1]].safe_to_repeat
    assert not w.ended[tickets[0]].safe_to_repeat
    assert [action for action in actions if isinstance(action, Close)] == [Close(1, 1000, "bye")]
    with pytest.raises(LaneError, match="closed"):
        w.submit("a")
    assert [type(action) for action in w.table.wanted(0.0)] == [Refuse]
    assert w.table.shut() == []
    assert w.table.ticked(100.0) == []
    assert not [a for a in w.log if isinstance(a, (Send, Notice)) and a is w.log[-1]]


def test_closing_a_lane_stops_it_and_lets_it_begin_anew(world):
    w = world()
    w.submit("a")
    w.answer("a", "r1")
    running, queued = w.submit("a", "2"), w.submit("a", "3")
    w.do(w.table.lane_closed("a", 0.0))
    assert {w.ending(running), w.ending(queued)} == {"interrupted"}
    assert w.table.latest("a") is None
    assert w.table.lane_closed("never", 0.0) == []
    w.submit("a", "anew")
    w.answer("a", "r2")
    assert "previous_response_id" not in w.sends[-1].message
