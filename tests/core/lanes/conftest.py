"""A world around one lane table: it carries out actions, speaks for the server, and checks what must always hold."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from nbresponses.core.decode import decode_event
from nbresponses.core.lanes.actions import (
    Accepted,
    Action,
    Close,
    Deliver,
    Ended,
    LaneRequest,
    LaneSettings,
    Notice,
    Open,
    Record,
    Refuse,
    Repeated,
    Report,
    Send,
    Started,
    Steering,
    Wake,
)
from nbresponses.core.lanes.table import LaneTable

TERMINAL = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}


def message(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": f"msg_{text}", "type": "message", "role": "assistant", "content": [part], **more}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class World:
    """`now` is the clock; sockets open at once unless `auto_open` is False."""

    def __init__(self, *, auto_open: bool = True, known_server: bool = True, **settings: Any) -> None:
        self.table = LaneTable(LaneSettings(**settings), jitter=lambda: 1.0)
        self.now = 0.0
        self.auto_open = auto_open
        if known_server:  # it is known to send stream_id back, so nothing goes alone
            self.table._state.echo = True
        self.generation = 0
        self.log: list[Action] = []
        self.sends: list[Send] = []
        self.opens: list[int] = []
        self.dead: set[int] = set()
        self.in_flight: dict[str | None, int] = {}
        self.delivered: dict[int, list[str]] = defaultdict(list)
        self.recorded: dict[int, list[str]] = defaultdict(list)
        self.ended: dict[int, Ended] = {}
        self.tickets: set[int] = set()
        self.wake: float | None = None

    # ── Carrying out ─────────────────────────────────────────────────────────────────────────────────────────────────

    def do(self, actions: list[Action]) -> list[Action]:
        self.log += actions
        for action in actions:
            getattr(self, f"_{type(action).__name__.lower()}", lambda _: None)(action)
        if self.auto_open:
            while self.opens:
                self.opened(self.opens.pop())
        return actions

    def _open(self, action: Open) -> None:
        assert action.generation not in self.dead
        self.opens.append(action.generation)

    def _send(self, action: Send) -> None:
        assert action.generation == self.generation or action.generation not in self.dead, "sent after close"
        json.dumps(action.message)
        self.sends.append(action)

    def _close(self, action: Close) -> None:
        self.dead.add(action.generation)

    def _accepted(self, action: Accepted) -> None:
        self.tickets.add(action.ticket)

    def _started(self, action: Started) -> None:
        self.tickets.add(action.ticket)

    def _deliver(self, action: Deliver) -> None:
        assert action.ticket not in self.ended, "delivered after the end"
        self.delivered[action.ticket].append(action.event.type)

    def _record(self, action: Record) -> None:
        self.recorded[action.ticket].append(action.event.type)

    def _repeated(self, action: Repeated) -> None:
        assert action.ticket not in self.ended
        self.delivered[action.ticket] = []

    def _ended(self, action: Ended) -> None:
        assert action.ticket in self.tickets
        assert action.ticket not in self.ended, "ended twice"
        self.ended[action.ticket] = action

    def _wake(self, action: Wake) -> None:
        assert action.at > self.now
        assert self.wake is None or action.at < self.wake or self.wake <= self.now
        self.wake = action.at

    # ── The user ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self, lane: str | None = None, text: Any = "hi", *, barrier: bool = True, **body: Any) -> int:
        """The ticket; raises what was refused."""
        request = LaneRequest(lane, {"model": "m-1", "input": text, **body}, barrier)
        first, *_ = self.do(self.table.submitted(request, self.now))
        if isinstance(first, Refuse):
            raise first.error
        assert isinstance(first, Accepted)
        return first.ticket

    def stop(self, ticket: int, **options: Any) -> list[Action]:
        return self.do(self.table.abandoned(ticket, self.now, **options))

    def steer(self, lane: str | None, value: Any = "shorter") -> int:
        first, *_ = self.do(self.table.steered(lane, value))
        if isinstance(first, Refuse):
            raise first.error
        assert isinstance(first, Steering)
        return first.steer

    # ── The server and the socket ────────────────────────────────────────────────────────────────────────────────────

    def opened(self, generation: int) -> list[Action]:
        self.generation = generation
        return self.do(self.table.opened(generation, self.now))

    def recv(self, event: dict[str, Any] | str, generation: int | None = None) -> list[Action]:
        return self.do(self.table.received(generation or self.generation, decode_event(_text(event)), self.now))

    def event(self, kind: str, lane: str | None = None, **fields: Any) -> list[Action]:
        where = {} if lane is None else {"stream_id": lane}
        return self.recv({"type": kind, **fields, **where})

    def created(self, lane: str | None, response_id: str, **response: Any) -> list[Action]:
        return self.event("response.created", lane, response={"id": response_id, "output": [], **response})

    def running(self, lane: str | None, response_id: str, **response: Any) -> list[Action]:
        actions = self.created(lane, response_id, **response)
        return actions + self.event("response.in_progress", lane, response={"id": response_id})

    def delta(self, lane: str | None, text: str = "x") -> list[Action]:
        return self.event("response.output_text.delta", lane, delta=text, output_index=0, content_index=0, item_id="m")

    def completed(self, lane: str | None, response_id: str, *output: Any, **response: Any) -> list[Action]:
        items = [message(item) if isinstance(item, str) else item for item in output]
        return self.event(
            "response.completed", lane, response={"id": response_id, "status": "completed", "output": items, **response}
        )

    def answer(self, lane: str | None, response_id: str, *output: Any) -> list[Action]:
        """The whole of a response."""
        actions = [*self.running(lane, response_id), *self.delta(lane)]
        return actions + self.completed(lane, response_id, *(output or (f"answer of {response_id}",)))

    def error(
        self, code: str | None = None, lane: str | None = None, *, status: int | None = 400, **more: Any
    ) -> list[Action]:
        body = {"type": "invalid_request_error", "code": code, "message": f"{code} happened.", **more}
        return self.event("error", lane, status=status, error=body)

    def lose(self, code: int | None = 1006, *, unsent: Any = (), error: Any = None) -> list[Action]:
        gone, self.generation = self.generation or (self.opens.pop() if self.opens else 0), 0
        self.dead.add(gone)
        return self.do(self.table.closed(gone, self.now, code=code, reason="gone", unsent=unsent, error=error))

    def at(self, now: float) -> list[Action]:
        """Let time pass, waking the table whenever it asked for it."""
        actions: list[Action] = []
        while self.wake is not None and self.wake <= now:
            self.now, self.wake = self.wake, None
            actions += self.do(self.table.ticked(self.now))
        self.now = now
        return actions

    # ── Looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def sent(self) -> list[dict[str, Any]]:
        """The messages since the last call."""
        messages = [send.message for send in self.sends]
        self.sends.clear()
        return messages

    def sent_one(self) -> dict[str, Any]:
        messages = self.sent()
        assert len(messages) == 1, messages
        return messages[0]

    def notices(self) -> list[str]:
        return [action.kind for action in self.log if isinstance(action, Notice)]

    def reports(self) -> list[Report]:
        return [action for action in self.log if isinstance(action, Report)]

    def steers(self) -> list[Steering]:
        return [action for action in self.log if isinstance(action, Steering)]

    def repeats(self) -> list[str]:
        return [action.reason for action in self.log if isinstance(action, Repeated)]

    def ending(self, ticket: int) -> str | None:
        return self.ended[ticket].ending if ticket in self.ended else None


def _text(event: dict[str, Any] | str) -> str:
    return event if isinstance(event, str) else json.dumps(event)


@pytest.fixture
def world() -> type[World]:
    """`world(**settings)` makes one."""
    return World


@pytest.fixture
def items() -> Any:
    """`items.user(text)`, `items.message(text)`: items in wire shape."""

    class Items:
        pass

    Items.user, Items.message = staticmethod(user), staticmethod(message)  # type: ignore[attr-defined]
    return Items
