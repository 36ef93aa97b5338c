"""The lane table against a model server, by chance: what must hold whatever happens, in whatever order.

The model keeps its own books: what it was sent, what runs where, what its cache holds. It never looks into the table.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbresponses.core.lanes.actions import Accepted, LaneRequest, Notice, Refuse, Send, Started
from nbresponses.core.lanes.sending import deadlines
from nbresponses.errors import ConnectionFailed, LaneError
from tests.core.lanes.conftest import World

LANES = (None, "a", "b", "c", "d")
PLACES = 3  # fewer than lanes, so that places run out
seldom = st.sampled_from([False, False, False, True])


class Running:
    """A create that the model server has taken."""

    def __init__(self, send):
        self.ticket, self.lane, self.message = send.ticket, send.lane, send.message
        self.id = None
        self.in_progress = False


class LaneMachine(RuleBasedStateMachine):
    @initialize(known=st.booleans(), retry=st.sampled_from(["raise", "retry"]))
    def begin(self, known, retry):
        self.w = World(
            auto_open=False,
            known_server=known,
            max_in_flight=PLACES,
            on_uncertain=retry,
            max_attempts=3,
            open_attempts=3,
            max_age=3000.0,
            age_margin=100.0,
            barrier_timeout=None,
            steer_timeout=None,
            first_event_timeout=400.0,
            idle_timeout=300.0,
            release_timeout=60.0,
        )
        self.submitted = {lane: deque() for lane in LANES}
        self.first_sent = {lane: [] for lane in LANES}
        self.server = {}
        self.cache = {}
        self.unstored = {}
        self.forks = {}
        self.steers = {}
        self.successors = {}
        self.ids = 0
        self.default_used = False
        self.skipped = set()
        self.w.do(self.w.table.wanted(0.0))
        self.w.opened(self.w.opens.pop())

    # ── The model server's books ─────────────────────────────────────────────────────────────────────────────────────

    def take(self):
        """Read what the table sent, and hold it against the books."""
        w = self.w
        sends, w.sends = w.sends, []
        for send in sends:
            assert send.generation == w.generation, "sent on a socket that is not open"
            if send.ticket is None:
                self.steers[send.lane] = send.message["previous_response_id"]
                continue
            assert send.lane not in self.server, "two in flight on a lane"
            assert send.lane not in self.successors, "sent while a successor was to come"
            assert send.ticket not in w.ended, "sent after its end"
            self.server[send.lane] = Running(send)
            assert len(self.server) + len(self.successors) <= PLACES, "too many in flight"
            self.default_used = self.default_used or send.lane is None
            self.check_order(send)
            self.check_barrier(send)
            self.check_context(send)

    def check_order(self, send):
        if send.ticket not in self.first_sent[send.lane]:
            self.first_sent[send.lane].append(send.ticket)
        asked = [ticket for ticket in self.submitted[send.lane] if ticket in self.first_sent[send.lane]]
        assert asked == self.first_sent[send.lane], "order lost within a lane"

    def check_barrier(self, send):
        """No create evicts the parent of an older fork that still needs it."""
        for fork, (parent, source) in self.forks.items():
            if fork >= send.ticket or source != send.lane or fork in self.w.ended or send.ticket in self.skipped:
                continue
            running = next((run for run in self.server.values() if run.ticket == fork), None)
            secured = running is not None and (running.in_progress or not running.message.get("previous_response_id"))
            assert secured or self.cache.get(source) != parent, "a create that evicts the parent of a fork"

    def check_context(self, send):
        """New input alone never goes out as if it were the whole conversation."""
        parent = self.unstored.get(send.ticket)
        message = send.message
        if parent is not None and message.get("previous_response_id") is None:
            assert isinstance(message["input"], list)
            assert len(message["input"]) >= 3, "a conversation replaced by its newest line"

    def lose_all(self):
        self.server, self.cache, self.steers, self.successors = {}, {}, {}, {}
        self.default_used = False

    # ── What users do ────────────────────────────────────────────────────────────────────────────────────────────────

    @rule(lane=st.sampled_from(LANES), store=st.booleans())
    def submit(self, lane, store):
        self.send(lane, {"store": store})

    @precondition(lambda self: self.live)
    @rule(lane=st.sampled_from(LANES))
    def whole_turn(self, lane):
        """A quick way to a lane that has something to fork from."""
        ticket = self.send(lane, {"store": False})
        run = self.server.get(lane)
        if run is not None and run.ticket == ticket and not run.message.get("previous_response_id"):
            self.ids += 1
            run.id = f"r{self.ids}"
            self.tell(run, "response.created", response={"id": run.id})
            self.end(run, "completed")

    @rule(lane=st.sampled_from(LANES), source=st.sampled_from(LANES), barrier=st.booleans(), goes_on=st.booleans())
    def fork(self, lane, source, barrier, goes_on):
        parent = self.w.table.latest(source)
        if parent is None or lane == source:
            return
        self.fork_from(lane, source, parent, barrier)
        if goes_on:
            self.send(source, {"store": False})

    def fork_from(self, lane, source, parent, barrier):
        stored = {row["id"]: row["stored"] for row in self.w.table.lineage()}[parent]
        ticket = self.send(lane, {"store": False, "previous_response_id": parent}, barrier=barrier)
        if not stored:
            self.unstored[ticket] = parent
            if barrier:
                self.forks[ticket] = (parent, source)

    def send(self, lane, body, *, barrier=True):
        request = LaneRequest(lane, {"model": "m", "input": "hi", **body}, barrier)
        accepted, *_ = self.w.do(self.w.table.submitted(request, self.w.now))
        assert isinstance(accepted, Accepted)
        self.submitted[lane].append(accepted.ticket)
        if not barrier:
            self.skipped.add(accepted.ticket)
        self.take()
        return accepted.ticket

    @precondition(lambda self: self.w.tickets - set(self.w.ended))
    @rule(data=st.data())
    def stop(self, data):
        self.w.stop(data.draw(st.sampled_from(sorted(self.w.tickets - set(self.w.ended)))))
        self.take()

    @rule(lane=st.sampled_from(LANES))
    def steer(self, lane):
        first, *_ = self.w.do(self.w.table.steered(lane, "shorter"))
        assert not isinstance(first, Refuse) or isinstance(first.error, LaneError)
        self.take()

    @rule(really=seldom)
    def renew(self, really):
        if not really:
            return
        self.w.do(self.w.table.renewed(self.w.now))
        self.gone()

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 150.0]))
    def wait(self, seconds):
        generation = self.w.generation
        self.w.at(self.w.now + seconds)
        if generation in self.w.dead:
            self.gone()
        self.take()

    # ── What sockets do ──────────────────────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: self.w.opens)
    @rule(fails=seldom)
    def connect(self, fails):
        generation = self.w.opens.pop()
        if not fails:
            self.lose_all()
            self.w.opened(generation)
        else:
            failure = ConnectionFailed("no", url="ws://x")
            self.w.dead.add(generation)
            self.w.do(self.w.table.closed(generation, self.w.now, error=failure))
        self.take()

    @precondition(lambda self: self.live)
    @rule(data=st.data(), really=seldom)
    def cut(self, data, really):
        if not really:
            return
        unsent = [run.ticket for run in self.server.values() if run.id is None and data.draw(st.booleans())]
        self.lose_all()
        self.w.lose(unsent=unsent)
        self.take()

    def gone(self):
        """The table may have closed the socket itself."""
        if self.w.generation in self.w.dead:
            self.lose_all()
            self.w.generation = 0

    @property
    def live(self):
        return self.w.generation and self.w.generation not in self.w.dead

    # ── What the server does ─────────────────────────────────────────────────────────────────────────────────────────

    def choose(self, data, begun=None):
        runs = [run for run in self.server.values() if begun is None or (run.id is not None) == begun]
        return data.draw(st.sampled_from(sorted(runs, key=lambda run: run.ticket or 0)))

    def tell(self, run, kind, **fields):
        self.w.event(kind, run.lane, **fields)

    @precondition(lambda self: self.live and any(run.id is None for run in self.server.values()))
    @rule(data=st.data())
    def create(self, data):
        run = self.choose(data, begun=False)
        parent = run.message.get("previous_response_id")
        if parent is not None and run.message.get("store") is False and parent not in self.known():
            del self.server[run.lane]
            self.w.error("previous_response_not_found", run.lane)
        else:
            self.ids += 1
            run.id = f"r{self.ids}"
            self.tell(run, "response.created", response={"id": run.id})
        self.take()

    def known(self):
        stored = {row["id"] for row in self.w.table.lineage() if row["stored"]}
        return stored | set(self.cache.values())

    @precondition(lambda self: self.live and any(run.id for run in self.server.values()))
    @rule(data=st.data())
    def progress(self, data):
        run = self.choose(data, begun=True)
        run.in_progress = True
        self.tell(run, "response.in_progress", response={"id": run.id})
        self.w.delta(run.lane)
        self.take()

    @precondition(lambda self: self.live and any(run.id for run in self.server.values()))
    @rule(data=st.data(), ending=st.sampled_from(["completed", "failed", "incomplete"]))
    def finish(self, data, ending):
        self.end(self.choose(data, begun=True), ending)

    def end(self, run, ending):
        del self.server[run.lane]
        if ending == "completed":
            self.cache[run.lane] = run.id
        elif ending == "failed":
            self.evict(run)
        output = [{"type": "message", "role": "assistant", "content": []}]
        self.tell(run, f"response.{ending}", response={"id": run.id, "status": ending, "output": output})
        self.settle_steering(run)
        self.take()

    def evict(self, run):
        if self.cache.get(run.lane) == run.message.get("previous_response_id"):
            self.cache.pop(run.lane, None)

    @precondition(lambda self: self.live and any(run.id for run in self.server.values()))
    @rule(data=st.data(), word=st.sampled_from(["accepted", "failed", "pending"]), ends=st.booleans())
    def answer_steering(self, data, word, ends):
        run = self.choose(data, begun=True)
        if self.steers.get(run.lane) != run.id:
            return
        steer = {"id": f"s{run.id}", "previous_response_id": run.id}
        self.w.event(f"response.steer.{word}", run.lane, steer=steer, required_input=[])
        del self.steers[run.lane]
        if ends and word == "accepted":
            del self.server[run.lane]
            self.successors[run.lane] = run.id
            self.cache[run.lane] = run.id
            response = {"id": run.id, "output": [], "incomplete_details": {"reason": "steered"}}
            self.tell(run, "response.incomplete", response=response)
        self.take()

    @precondition(lambda self: self.live and self.successors)
    @rule(data=st.data())
    def succeed(self, data):
        lane = data.draw(st.sampled_from(sorted(self.successors, key=str)))
        self.ids += 1
        response = {"id": f"r{self.ids}", "previous_response_id": self.successors.pop(lane)}
        actions = self.w.event("response.created", lane, response=response)
        [started] = [action for action in actions if isinstance(action, Started)]
        run = Running(Send(self.w.generation, started.ticket, lane, {}))
        run.id = response["id"]
        self.server[lane] = run
        self.take()

    @precondition(lambda self: self.live and self.server)
    @rule(data=st.data(), code=st.sampled_from(["server_error", "invalid_prompt"]))
    def fail(self, data, code):
        run = self.choose(data)
        del self.server[run.lane]
        self.evict(run)
        self.w.error(code, run.lane, status=500 if code == "server_error" else 400)
        self.settle_steering(run)
        self.take()

    def settle_steering(self, run):
        """A message that was not answered while its response ran is refused after it."""
        if run.id is not None and self.steers.get(run.lane) == run.id:
            del self.steers[run.lane]
            self.w.event("response.steer.failed", run.lane, steer={"previous_response_id": run.id}, error={"code": "x"})

    @precondition(lambda self: self.live)
    @rule(really=seldom)
    def age_limit(self, really):
        if not really:
            return
        self.lose_all()
        self.w.error("websocket_connection_limit_reached")
        self.gone()
        self.take()

    @precondition(lambda self: self.live)
    @rule(lane=st.sampled_from([*LANES, "unknown"]))
    def stray(self, lane):
        quiet = lane not in self.server and lane not in self.successors
        if quiet and (lane is not None or self.default_used):
            self.w.delta(lane)
            self.w.event("keepalive")
            self.take()

    # ── What must hold ───────────────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def books_agree(self):
        if not hasattr(self, "w"):
            return
        status = self.w.table.status(self.w.now)
        if self.live:
            assert status["in_flight"] == len(self.server)
            assert {row["lane"] for row in status["lanes"] if row["state"] == "steered"} >= set(self.successors)
        state = self.w.table._state
        soonest = min((time for time in deadlines(state) if time > self.w.now), default=None)
        assert soonest is None or (self.w.wake is not None and self.w.wake <= soonest), "a time limit without a Wake"
        known = set(self.w.tickets) - set(self.w.ended)
        assert status["queued"] <= len(known)

    def teardown(self):
        if not hasattr(self, "w"):
            return
        self.w.do(self.w.table.shut())
        assert set(self.w.ended) == self.w.tickets, "a request that never ended"
        assert not [a for a in self.w.log if isinstance(a, Notice) and a.kind == "stream_id_dropped"]


class LongLaneMachine(LaneMachine):
    """The same, with other examples at each run."""


_common = {"deadline": None, "suppress_health_check": list(HealthCheck)}
LaneMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=50, derandomize=True, **_common)
LongLaneMachine.TestCase.settings = settings(max_examples=2000, stateful_step_count=60, **_common)

# A failing example is made small first, which takes its time.
TestLaneMachine = pytest.mark.timeout(300)(LaneMachine.TestCase)
TestLaneMachineAtLength = pytest.mark.slow(pytest.mark.timeout(900)(LongLaneMachine.TestCase))
