"""The tables themselves: every cell is visited by inputs from outside, what is missing is refused, docs show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbresponses.core.lanes import state as lane_state
from nbresponses.core.lanes import steering
from nbresponses.core.lanes import tables as lane_tables
from nbresponses.core.lanes.actions import LaneSettings
from nbresponses.core.lanes.tables import (
    CONNECTION,
    REQUEST,
    STEER,
    ConnectionInput,
    ConnectionState,
    RequestInput,
    RequestState,
    SteerInput,
    SteerState,
    diagram,
    step,
)
from nbresponses.errors import ConnectionFailed, LaneError, Rejected, RequestError

TABLES = {"request": REQUEST, "connection": CONNECTION, "steering": STEER}
DOCS = Path(__file__).parents[3] / "docs" / "lanes.md"


@pytest.fixture
def visited(monkeypatch):
    """The cells that a test went through."""
    cells = set()

    def recording(table, state, given):
        target = step(table, state, given)
        cells.add((type(state).__name__, str(state), str(given)))
        return target

    for module in (lane_state, steering):
        monkeypatch.setattr(module, "step", recording)
    return cells


def every_cell(table):
    return {(type(state).__name__, str(state), str(given)) for state, row in table.items() for given in row}


def in_state(world, state, **settings):
    """A world whose only request is in that state."""
    w = world(auto_open=state != "queued", **settings)
    ticket = w.submit("a")
    if state in ("created", "running"):
        w.created("a", "r1")
    if state == "running":
        w.event("response.in_progress", "a", response={"id": "r1"})
    if state == "stopped":
        w.stop(ticket)
    return w, ticket


def test_every_cell_of_the_request_table_is_visited(world, visited):
    for state in ("sent", "created", "running", "stopped"):
        w, ticket = in_state(world, state)
        w.created("a", "r1")
        w, ticket = in_state(world, state)
        w.event("response.something_new", "a")
        w, ticket = in_state(world, state)
        w.completed("a", "r1")
        assert ticket in w.ended
    for state in ("queued", "sent", "created", "running"):
        w, ticket = in_state(world, state)
        w.stop(ticket)
        assert ticket in w.ended
        w, ticket = in_state(world, state, on_uncertain="retry")
        w.lose()
        assert ticket not in w.ended
    for state in ("sent", "stopped"):
        w, ticket = in_state(world, state)
        w.lose(unsent=(ticket,))
        assert (ticket in w.ended) == (state == "stopped")
    w, ticket = in_state(world, "queued")
    w.lose(error=Rejected(404))
    assert w.ending(ticket) == "error"
    assert {cell for cell in visited if cell[0] == "RequestState"} == every_cell(REQUEST)


def test_every_cell_of_the_connection_table_is_visited(world, visited):
    def reach(state):
        w = world(auto_open=state in ("open", "draining"), open_attempts=2)
        if state != "idle":
            w.submit("a")
        if state == "draining":
            w.do(w.table.renewed(0.0))
        if state == "waiting":
            w.lose(error=ConnectionFailed("no", url="ws://x"))
        assert w.table.status(0.0)["connections"][0]["state"] == state
        return w

    for state in ("idle", "opening", "open", "draining", "waiting"):
        w = reach(state)
        w.do(w.table.shut())
        assert w.table.status(0.0)["connections"][0]["state"] == "ended"
    for state in ("opening", "open", "draining"):
        w = reach(state)
        w.lose()
        assert w.table.status(0.0)["connections"][0]["state"] == "waiting"
    reach("draining").completed("a", "r1")
    w = reach("waiting")
    w.at(10.0)  # due
    w.lose(error=ConnectionFailed("no", url="ws://x"))  # given up
    w = reach("waiting")
    w.stop(1)
    w.at(10.0)  # rest
    assert w.table.status(0.0)["connections"][0]["state"] == "idle"
    assert {cell for cell in visited if cell[0] == "ConnectionState"} == every_cell(CONNECTION)


def test_every_cell_of_the_steering_table_is_visited(world, visited):
    def reach(state):
        w = world()
        w.submit("a")
        if state == "held":
            w.steer("a")
            return w
        w.created("a", "r1")
        w.steer("a")
        if state != "sent":
            answer(w, state)
        return w

    def answer(w, word):
        w.event(f"response.steer.{word}", "a", steer={"id": "s", "previous_response_id": "r1"}, required_input=[])

    reach("held").created("a", "r1")
    reach("held").error("no", "a")
    for state in ("sent", "accepted", "pending"):
        for word in ("accepted", "pending", "failed"):
            answer(reach(state), word)
        reach(state).lose()
        w = reach(state)
        w.event("response.incomplete", "a", response={"id": "r1", "incomplete_details": {"reason": "steered"}})
        w.created("a", "r2")
        assert str(w.steers()[-1].state) == "committed"
    assert {cell for cell in visited if cell[0] == "SteerState"} == every_cell(STEER)


@pytest.mark.parametrize(
    ("table", "states", "inputs"),
    [
        (REQUEST, RequestState, RequestInput),
        (CONNECTION, ConnectionState, ConnectionInput),
        (STEER, SteerState, SteerInput),
    ],
)
def test_what_the_table_does_not_hold_is_refused_and_says_what_met_what(table, states, inputs):
    assert set(table) == set(states)
    for state in states:
        for given in inputs:
            if given in table[state]:
                assert step(table, state, given) in states
                continue
            with pytest.raises(LaneError) as caught:
                step(table, state, given)
            assert f"{given} cannot happen to what is {state}" in str(caught.value)


def test_the_tables_cannot_be_changed():
    with pytest.raises(TypeError):
        REQUEST[RequestState.ENDED] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        REQUEST[RequestState.ENDED][RequestInput.SEND] = RequestState.SENT  # type: ignore[index]


@pytest.mark.parametrize("name", TABLES)
def test_the_docs_show_the_table_as_it_is(name):
    assert f"```mermaid\n{diagram(TABLES[name])}\n```" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("settings", [{"max_in_flight": 0}, {"on_uncertain": "maybe"}, {"on_name_limit": "x"}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(RequestError) as caught:
        LaneSettings(**settings)
    assert caught.value.field == next(iter(settings))


def test_in_flight_is_what_the_server_has():
    assert {str(state) for state in lane_tables.IN_FLIGHT} == {"sent", "created", "running", "stopped"}
