"""The demo "model": requests become scripts, scripts are played at their pace, and what was answered is remembered.

Everything here runs on the server's loop. It knows no HTTP: `app.py` and `socket.py` stand on it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.demo.ask import Ask, Context, check_body, check_tool_outputs, items_of
from nbresponses.demo.faults import TERMINAL, Fault
from nbresponses.demo.script import Script
from nbresponses.demo.store import Store, Turn
from nbresponses.demo.wire import ApiError, Ids, Json, not_found, previous_not_found

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

_OF_THE_SERVER = ""  # the key under which hits of the server's own fault are counted
_LOGGED = 10_000
_CATCH_UP = 0.1  # seconds that the pace makes good, of timers that fire late; a client that reads late has lost them


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request as the server got it: `method`, `path`, `query`, `body`; never its headers, so never a key."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None  # the decoded JSON, None where there is none


class Background:
    """A background response: it runs by itself, and any number of readers follow it from any event on."""

    def __init__(self, script: Script, *, streamed: bool) -> None:
        self.script = script
        self.streamed = streamed  # only what was created as a stream can be streamed again
        self.payloads: list[bytes] = []
        self.ended = False
        self.task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def add(self, event: Json) -> None:
        self.payloads.append(msgspec.json.encode(event))
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()
        self.script.response["status"] = "cancelled"
        self.end()

    async def follow(self, start: int) -> AsyncGenerator[Json, None]:
        while True:
            news = self._news
            while start < len(self.payloads):
                yield msgspec.json.decode(self.payloads[start])
                start += 1
            if self.ended:
                return
            await news.wait()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


@dataclass
class Service:
    delay: float = 0.015
    seed: int | None = None
    fault: Fault = field(default_factory=Fault)
    store: Store = field(default_factory=Store)
    requests: deque[LoggedRequest] = field(default_factory=lambda: deque(maxlen=_LOGGED))
    created: Counter[str] = field(default_factory=Counter)  # prompt -> how often it ran
    sockets: int = 0  # WebSocket connections opened so far
    active: dict[str, Script] = field(default_factory=dict)  # by response id
    backgrounds: dict[str, Background] = field(default_factory=dict)
    _hits: Counter[str] = field(default_factory=Counter)
    _serial: int = 0

    def script(
        self, body: Json, *, cached: Turn | None = None, steers: tuple[Any, ...] = (), websocket: bool = False
    ) -> Script:
        """What answers this request body; ApiError where it cannot be answered. Nothing has run yet.

        `cached` is the response that it continues, where a connection holds it; `steers` come before its own input.
        """
        check_body(body, websocket=websocket)
        ids = self.ids()
        earlier = (cached or self.previous(body)).context if body.get("previous_response_id") else Context()
        new = tuple(item for given in (*steers, body.get("input")) for item in items_of(given, ids))
        check_tool_outputs(earlier.items, new)
        ask = Ask.of(body, earlier, new)
        ask.number("demo_delay", 0)  # checked before anything runs
        return Script(ask, ids, now=self.now())

    def previous(self, body: Mapping[str, Any]) -> Turn:
        response_id = str(body["previous_response_id"])
        turn = self.store.get(response_id)
        if turn is None:
            raise previous_not_found(response_id)
        return turn

    def turn(self, response_id: str) -> Turn:
        turn = self.store.get(response_id)
        if turn is None:
            raise not_found(response_id)
        return turn

    async def play(self, script: Script, *, delay: float | None = None) -> AsyncGenerator[Json, None]:
        """The events at their pace. Who stops iterating (or closes this) stops the response."""
        pause, due = self._pause(script, delay), time.monotonic()
        prompt = script.ask.prompt
        self.created[prompt[:200]] += 1
        self.active[script.id] = script
        try:
            for event in script.events():
                if event["type"] in TERMINAL:
                    # Who reads this event may continue from the response at once.
                    self.active.pop(script.id, None)
                    self.remember(script)
                    yield event
                    return
                yield event
                due = max(due + pause, time.monotonic() - _CATCH_UP)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        finally:
            self.active.pop(script.id, None)

    def remember(self, script: Script) -> None:
        if script.response["store"]:
            self.store.add(turn_of(script))

    def start(self, script: Script, *, streamed: bool, delay: float | None = None) -> Background:
        """Runs a response in the background; it can be retrieved from now on."""
        background = Background(script, streamed=streamed)
        self.backgrounds[script.id] = background
        self.remember(script)
        for old in list(self.backgrounds):
            if self.store.get(old) is None:  # forgotten there, so here
                self.backgrounds.pop(old).cancel()
        background.task = asyncio.ensure_future(self._run(background, delay))
        return background

    async def _run(self, background: Background, delay: float | None) -> None:
        async for event in self.play(background.script, delay=delay):
            background.add(event)
        background.end()

    def cancel(self, response_id: str) -> Json:
        turn = self.turn(response_id)
        background = self.backgrounds.get(response_id)
        if background is None:
            raise ApiError(400, "Cannot cancel a synchronous response.")
        status = turn.response["status"]
        if status in {"queued", "in_progress"}:
            background.cancel()
        elif status != "cancelled":
            raise ApiError(400, f"Cannot cancel a {status} response.")
        return turn.response

    def delete(self, response_id: str) -> None:
        self.turn(response_id)
        self.store.remove(response_id)
        background = self.backgrounds.pop(response_id, None)
        if background is not None and not background.ended:
            background.cancel()

    def fault_for(self, body: Any, *, own: bool) -> Fault:
        """The fault that hits this request: its own (`own` says that it may have one), or the server's."""
        given = (body.get("metadata") or {}).get("demo_fault") if own and isinstance(body, dict) else None
        try:
            fault = self.fault if given is None else Fault.parse(given)
        except (ValueError, TypeError) as error:
            raise ApiError(400, f"metadata.demo_fault: {error}", param="metadata") from error
        if fault.times is None:
            return fault
        key = _OF_THE_SERVER if given is None else str(given)
        self._hits[key] += 1
        return fault if self._hits[key] <= fault.times else Fault()

    def set_fault(self, fault: Fault) -> None:
        """A new fault of every answer, which has hit nothing yet."""
        self.fault = fault
        self._hits.pop(_OF_THE_SERVER, None)

    def now(self) -> int:
        return int(time.time())

    def ids(self) -> Ids:
        self._serial += 1
        return Ids(None if self.seed is None else f"{self.seed}:{self._serial}")

    def _pause(self, script: Script, delay: float | None) -> float:
        own = script.ask.setting("demo_delay")
        if own is not None:
            return float(own)
        return max(self.delay if delay is None else delay, script.scenario.pace)


def turn_of(script: Script) -> Turn:
    return Turn(script.response, script.ask)
