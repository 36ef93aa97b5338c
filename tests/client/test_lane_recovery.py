"""What becomes of lanes when connections end: killed at every message, refused, too old, silent.

A run is three lanes, the third forked from the first, and one more turn on the first. Its texts are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nbresponses import (
    Client,
    DemoServer,
    Disconnected,
    ResponseCutOff,
    ResponseTextDeltaEvent,
    TimedOut,
    decode_event,
)
from nbresponses.client.lanes import LaneManager
from nbresponses.client.stream import ResponseStream

QUICK = {"backoff": 0.01, "backoff_cap": 0.05, "probe_timeout": 0.5}
TEXTS = [
    "Demo turn 1: plan",
    "Demo turn 1: risks",
    "Demo turn 2: gaps",
    "Demo turn 2: more",
    "Demo turn 2: notes",
]


@contextmanager
def lanes_at(server: DemoServer, **fields: Any) -> Iterator[LaneManager]:
    with (
        Client(base_url=server.base_url) as client,
        client.lanes(model="demo-echo", transport="websocket", **{**QUICK, **fields}) as lanes,
    ):
        yield lanes


@contextmanager
def demo_lanes(
    *, delay: float = 0, fault: str | None = None, age: float = 3600.0, **fields: Any
) -> Iterator[tuple[DemoServer, LaneManager]]:
    with DemoServer(delay=delay, fault=fault, connection_age=age) as server, lanes_at(server, **fields) as lanes:
        yield server, lanes


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as server:
        yield server


def killed(server: DemoServer, cut: int, **fields: Any) -> tuple[list[ResponseStream | None], list[str], Counter[str]]:
    """A run whose first connection is closed after so many messages: its streams, notices, and what ran how often."""
    server.fault = f"close_at:{cut},close_code:1011,times:1"
    before = Counter(server.created)
    with lanes_at(server, **fields) as lanes:
        streams = run(lanes)
    return streams, lanes.notices, Counter(server.created) - before


def run(lanes: LaneManager) -> list[ResponseStream | None]:
    """The streams of a run; None for a fork whose parent never completed."""
    planner, research = lanes["planner"], lanes["research"]
    plan, risks = planner.stream("plan"), research.stream("risks")
    plan.until_done(20)
    gaps = lanes["critic"].stream("gaps", previous_response_id=plan.id) if plan.ending == "completed" else None
    more, notes = planner.stream("more"), research.stream("notes")
    streams = [plan, risks, gaps, more, notes]
    for stream in streams:
        if stream is not None:
            stream.until_done(20)
    return streams


def texts(streams: list[ResponseStream | None]) -> list[str | None]:
    return [stream.response.output_text if stream is not None else None for stream in streams]


@pytest.fixture(scope="module")
def messages(server: DemoServer) -> int:
    """How many messages the server sends in an undisturbed run."""
    with lanes_at(server) as lanes:
        assert texts(run(lanes)) == TEXTS
        return len([message for message in lanes.capture if message.direction == "in"])


@pytest.mark.timeout(240)
@pytest.mark.parametrize("store", [True, False], ids=["stored", "not-stored"])
def test_killed_at_every_message_nothing_is_lost_when_repeating_is_allowed(
    server: DemoServer, messages: int, store: bool, told: Callable[[str], None]
) -> None:
    counts: Counter[str] = Counter()
    for cut in range(messages):
        streams, notices, _ = killed(server, cut, store=store, on_uncertain="retry")
        found = texts(streams)
        assert found == TEXTS, (cut, notices)
        counts["cuts"] += 1
        counts["lost"] += sum(text != wanted for text, wanted in zip(found, TEXTS, strict=True))
        repeated = sum("sent again" in notice for notice in notices)
        assert repeated == sum("sent again" in notice for stream in streams if stream for notice in stream.notices)
        counts["repeated"] += repeated
    counts["recovered"] = counts["cuts"] * len(TEXTS) - counts["lost"]
    told(f"lanes killed, repeating allowed, store={store}: {dict(counts)}")
    assert counts["lost"] == 0
    assert counts["repeated"] > messages / 2


@pytest.mark.timeout(240)
@pytest.mark.parametrize("store", [True, False], ids=["stored", "not-stored"])
def test_killed_at_every_message_nothing_runs_twice_when_it_is_not(
    server: DemoServer, messages: int, store: bool, told: Callable[[str], None]
) -> None:
    counts: Counter[str] = Counter()
    for cut in range(messages):
        streams, _, ran = killed(server, cut, store=store)
        assert max(ran.values(), default=0) <= 1, (cut, ran)
        counts["cuts"] += 1
        for stream, wanted in zip(streams, TEXTS, strict=True):
            if stream is None:
                counts["not started"] += 1
            elif stream.ending == "completed":
                counts["completed"] += 1
            else:
                counts["cut off"] += 1
                check_cut_off(stream, wanted)
    told(f"lanes killed, repeating not allowed, store={store}: {dict(counts)}")
    assert counts["cut off"] >= messages / 2


def check_cut_off(stream: ResponseStream, wanted: str) -> None:
    """What came is kept, and the error says what happened."""
    assert stream.ending == "cut_off"
    assert isinstance(stream.error, Disconnected)
    assert stream.error.code == 1011
    events = [decode_event(message.payload) for message in stream.capture if message.direction == "in"]
    received = "".join(event.delta for event in events if isinstance(event, ResponseTextDeltaEvent))
    # "Demo turn 1" may stand where 2 would: the turn before may be one that was cut off
    assert stream.response.output_text.replace("turn 1", "turn 2") in wanted.replace("turn 1", "turn 2")
    assert received == stream.response.output_text
    with pytest.raises((ResponseCutOff, Disconnected)):
        stream.get_final_response()


def test_an_unknown_parent_fails_its_lane_alone() -> None:
    with demo_lanes() as (_, lanes):
        good = lanes["good"].stream("hello")
        bad = lanes["bad"].stream("hello", previous_response_id="resp_unknown")
        bad.until_done(10)
        assert bad.ending == "error"
        assert bad.response.error is not None
        assert bad.response.error["code"] == "previous_response_not_found"
        assert good.get_final_response().output_text == "Demo turn 1: hello"
        assert lanes["bad"].create("again").output_text == "Demo turn 1: again"


def test_the_servers_limit_of_names_fails_its_lane_alone() -> None:
    with demo_lanes(max_names=40) as (_, lanes):
        streams = [lanes[f"n{number}"].stream("x") for number in range(33)]
        endings = [stream.until_done(10).ending for stream in streams]
        assert endings == ["completed"] * 32 + ["error"]
        assert streams[-1].response.error is not None
        assert streams[-1].response.error["code"] == "websocket_stream_limit_reached"


def test_a_connection_at_its_age_limit_is_replaced_and_nothing_is_lost() -> None:
    with demo_lanes(delay=0.002, age=0.4, store=False, max_age=None, on_uncertain="retry") as (_, lanes):
        for turn in range(1, 30):
            assert lanes["a"].create(f"{turn}", timeout=20).output_text == f"Demo turn {turn}: {turn}"
        assert len([message for message in lanes.capture if message.kind == "opened"]) > 1


def test_a_connection_is_replaced_before_its_age_limit_at_a_turns_border() -> None:
    with demo_lanes(delay=0.002, store=False, max_age=0.3, age_margin=0.1) as (server, lanes):
        streams = [lanes[name].stream(f"{turn} {name}") for turn in range(1, 16) for name in "ab"]
        found = [stream.until_done(20).response.output_text for stream in streams]
        assert found == [f"Demo turn {turn}: {turn} {name}" for turn in range(1, 16) for name in "ab"]
        assert len([message for message in lanes.capture if message.kind == "opened"]) > 1
        assert max(server.created.values()) == 1


def test_a_server_that_drops_stream_id_gets_one_request_at_a_time() -> None:
    with demo_lanes(fault="drop_stream_id", store=True) as (_, lanes):
        streams = [lanes[name].stream(f"{turn} {name}") for turn in (1, 2) for name in "abc"]
        found = [stream.until_done(20).response.output_text for stream in streams]
        assert found == [f"Demo turn {turn}: {turn} {name}" for turn in (1, 2) for name in "abc"]
        assert len([notice for notice in lanes.notices if "stream_id" in notice]) == 1


def test_a_message_above_the_limit_names_the_limit() -> None:
    with demo_lanes(fault="oversize_at:3,oversize:200000,times:1", max_message_bytes=100_000) as (_, lanes):
        stream = lanes["a"].stream("x")
        stream.until_done(20)
        assert stream.ending == "cut_off"
        assert "max_message_bytes=100000" in str(stream.error)
        assert lanes["a"].create("again").output_text == "Demo turn 1: again"


def test_a_silent_server_ends_the_request_in_time() -> None:
    with demo_lanes(fault="stall_at:3", idle_timeout=0.3, release_timeout=0.2) as (_, lanes):
        stream = lanes["a"].stream("x")
        stream.until_done(20)
        assert stream.ending != "completed"
        assert isinstance(stream.error, TimedOut)
        assert stream.error.phase == "idle"
