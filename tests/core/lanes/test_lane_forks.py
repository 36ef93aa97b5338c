"""Forks, the barrier that keeps their parents, and the lineage."""

from __future__ import annotations

import pytest


def chain(w, lane="a", *texts, store=False):
    """A conversation of whole turns on a lane; the last response's id."""
    for number, text in enumerate(texts or ("one",), 1):
        w.submit(lane, text, store=store)
        w.answer(lane, f"{lane}{number}", f"answer to {text}")
    w.sent()
    return w.table.latest(lane)


# ── Forks and the barrier ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_source_lane_waits_until_the_fork_is_in_progress(world):
    w = world()
    chain(w, "a", "one")
    w.submit("b", "fork", store=False, previous_response_id="a1")
    w.submit("a", "on", store=False)
    w.submit("c", "others go on")
    assert [message["stream_id"] for message in w.sent()] == ["b", "c"]
    w.created("b", "b1")
    assert w.sent() == []
    w.event("response.in_progress", "b", response={"id": "b1"})
    assert w.sent_one() == {
        "type": "response.create", "stream_id": "a", "model": "m-1", "input": "on", "store": False,
        "previous_response_id": "a1",
    }  # fmt: skip


@pytest.mark.parametrize("end", ["error", "stop", "completed", "close"])
def test_the_end_of_the_fork_releases_the_barrier(world, end):
    w = world()
    chain(w, "a", "one")
    fork = w.submit("b", "fork", store=False, previous_response_id="a1")
    source = w.submit("a", "on", store=False)
    if end == "error":
        w.error("invalid_prompt", "b")
    elif end == "stop":
        w.stop(fork)
    elif end == "completed":
        w.completed("b", "b1")
    else:
        w.lose()
        w.at(5.0)
    assert w.sends[-1].ticket == source


def test_the_barrier_gives_up_after_its_time_and_says_so(world):
    w = world(barrier_timeout=4.0)
    chain(w, "a", "one")
    w.submit("b", "fork", store=False, previous_response_id="a1")
    w.at(1.0)
    source = w.submit("a", "on", store=False)
    w.at(4.9)
    assert w.sends[-1].ticket != source
    w.at(5.0)
    assert w.sends[-1].ticket == source
    assert w.notices() == ["barrier_timeout"]


@pytest.mark.parametrize("who", ["fork", "source"])
def test_the_barrier_can_be_skipped(world, who):
    w = world()
    chain(w, "a", "one")
    w.submit("b", "fork", store=False, previous_response_id="a1", barrier=who != "fork")
    w.submit("a", "on", store=False, barrier=who != "source")
    assert len(w.sent()) == 2


def test_no_barrier_where_the_parent_is_stored(world):
    w = world()
    chain(w, "a", "one", store=True)
    w.submit("b", "fork", previous_response_id="a1")
    w.submit("a", "on")
    assert len(w.sent()) == 2


def test_no_barrier_for_a_fork_on_another_connection(world):
    w = world(max_names=1, on_name_limit="new_connection", auto_open=False)
    w.submit("a", "one", store=False)
    w.opened(w.opens.pop())
    w.answer("a", "a1")
    w.sent()
    w.submit("b", "fork", store=False, previous_response_id="a1")  # its connection is not open yet
    w.submit("a", "on", store=False)
    assert w.sent_one()["stream_id"] == "a"


def test_a_queued_fork_holds_its_source_too(world):
    w = world(max_in_flight=1)
    chain(w, "a", "one")
    w.submit("x", "takes the place", store=False)
    w.submit("b", "fork", store=False, previous_response_id="a1")
    w.submit("a", "on", store=False)
    w.answer("x", "x1")
    w.answer("b", "b1")
    assert [message["stream_id"] for message in w.sent()] == ["x", "b", "a"]


def test_two_forks_of_one_parent_both_hold_it(world):
    w = world()
    chain(w, "a", "one")
    for lane in "bc":
        w.submit(lane, "fork", store=False, previous_response_id="a1")
    w.submit("a", "on", store=False)
    w.running("b", "b1")
    assert len(w.sent()) == 2
    w.running("c", "c1")
    assert w.sent_one()["stream_id"] == "a"


# ── Lineage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_lineage_is_a_tree_of_plain_rows(world):
    w = world()
    chain(w, "main", "one", "two")
    w.submit("critic", "fork", store=False, previous_response_id="main2")
    w.running("critic", "c1")
    rows = {row["id"]: row for row in w.table.lineage()}
    assert [(i, r["parent"], r["lane"], r["state"], r["depth"], r["children"]) for i, r in rows.items()] == [
        ("main1", None, "main", "completed", 0, ["main2"]),
        ("main2", "main1", "main", "completed", 1, ["c1"]),
        ("c1", "main2", "critic", "running", 2, []),
    ]
    assert rows["c1"]["continued_by"] == "id"


def test_a_running_response_has_no_context_yet(world):
    w = world()
    w.submit("a")
    w.running("a", "r1")
    assert w.table.context("r1") is None
    assert w.table.context("nope") is None
    assert w.table.context(None) is None


def test_old_branches_are_forgotten_but_never_what_a_lane_stands_on(world):
    w = world(max_nodes=10)
    chain(w, "keep", "one", "two", "three")
    for number in range(200):
        w.submit("a", str(number), store=False, previous_response_id=None)
        w.answer("a", f"x{number}")
    rows = w.table.lineage()
    assert len(rows) < 40
    assert w.table.context("keep3") is not None
    assert w.table.latest("a") == "x199"
    assert w.table.context("x199") is not None


def test_a_lineage_that_bites_its_tail_does_not_hang(world):
    w = world()
    w.submit("a", previous_response_id="r1")
    w.answer("a", "r1")
    assert w.table.context("r1") is None
    w.submit("a")
    assert w.sent()[-1]["previous_response_id"] == "r1"
    assert [row["id"] for row in w.table.lineage()] == ["r1"]
