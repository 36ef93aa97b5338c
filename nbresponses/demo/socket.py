"""WebSocket mode: one connection, its rules in `lanes.py`, its responses played at the same time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from starlette.websockets import WebSocketDisconnect

from nbresponses.demo.ask import parse_body
from nbresponses.demo.faults import TERMINAL, Fault, MessageWriter
from nbresponses.demo.lanes import LaneRules, Limits, Start, Stop, Tell, age_error, error_event
from nbresponses.demo.service import LoggedRequest, turn_of
from nbresponses.demo.streaming import api_headers, refusal, refusal_error
from nbresponses.demo.wire import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.websockets import WebSocket

    from nbresponses.demo.lanes import Action, Request
    from nbresponses.demo.script import Script
    from nbresponses.demo.service import Service
    from nbresponses.demo.streaming import Abort
    from nbresponses.demo.wire import Json

_REMEMBERED = 1_000  # scripts, for the sequence numbers of steering
_PATIENCE = 5.0  # seconds for the last words of a connection
_GOING_AWAY = 1001
_ABNORMAL = 1006  # never sent: the connection just breaks


@dataclass(frozen=True, slots=True)
class SocketSettings:
    age: float = 3600.0  # seconds that a connection lasts
    in_flight: int = 16  # responses that run at the same time


class Socket:
    """One connection, from its handshake to its end."""

    def __init__(self, websocket: WebSocket, service: Service, settings: SocketSettings, abort: Abort) -> None:
        self._websocket = websocket
        self._service = service
        self._settings = settings
        self._abort = abort
        self._rules = LaneRules(service.ids(), Limits(settings.in_flight))
        self._fault = service.fault_for(None, own=False)
        self._writer = MessageWriter(self._fault)
        self._scripts: OrderedDict[str, Script] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._over = asyncio.Event()

    async def serve(self) -> None:
        if self._fault.first_byte:
            await asyncio.sleep(self._fault.first_byte)
        denial = refusal(self._fault)
        if denial is not None:
            await self._websocket.send_denial_response(denial)
            return
        raw = [(name.encode(), value.encode()) for name, value in api_headers().items()]
        self._service.sockets += 1
        await self._websocket.accept(headers=raw)
        reading, over = asyncio.ensure_future(self._read()), asyncio.ensure_future(self._over.wait())
        try:
            done, _ = await asyncio.wait(
                {reading, over}, timeout=self._settings.age, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                await self._expire()
        finally:
            tasks = {reading, over, *self._tasks}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _expire(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._send([age_error(self._settings.age)])
                await self._close(_GOING_AWAY)
        except TimeoutError:  # the client does not read
            await self._abort(self._websocket.scope)

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            raw = message.get("text") or message.get("bytes") or b""
            self._log(raw)
            await self._do(self._rules.received(raw))

    def _log(self, raw: str | bytes) -> None:
        try:
            body = parse_body(raw if isinstance(raw, bytes) else raw.encode())
        except ApiError:
            body = None
        self._service.requests.append(LoggedRequest("WEBSOCKET", self._websocket.url.path, {}, body))

    async def _do(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Start():
                    task = asyncio.ensure_future(self._run(action))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                case Stop(response_id, reason):
                    self._scripts[response_id].stop(reason)
                case Tell(event, about):
                    await self._tell(event, about)

    async def _tell(self, event: Json, about: str | None) -> None:
        if event["type"] != "error":
            script = self._scripts.get(about or "")
            event = {**event, "sequence_number": script.take_number() if script else 0}
        await self._send(self._writer.write(event))

    async def _run(self, start: Start) -> None:
        request = start.request
        try:
            fault = self._fault_of(request)
            script = self._script(start, fault)
        except ApiError as error:
            actions = self._rules.refused(request)
            if not request.successor:  # nobody waits for that: what was steered is given back
                await self._send(self._writer.write(error_event(error, request.lane)))
            await self._do(actions)
            return
        self._rules.started(request, script.id, script.steering)
        writer = MessageWriter(fault)
        delay = self._fault.delay if fault.delay is None else fault.delay
        async for event in self._service.play(script, delay=delay):
            actions = self._rules.ended(request, turn_of(script)) if event["type"] in TERMINAL else []
            if request.lane is not None:
                event["stream_id"] = request.lane
            for own in writer.write(event):
                await self._send(self._writer.write(own))
            if writer.closed:
                await self._close(fault.close_code)
            await self._do(actions)

    def _fault_of(self, request: Request) -> Fault:
        """The request's own fault; the server's is the connection's, and was taken when it opened."""
        given = request.body.get("metadata")
        own = isinstance(given, dict) and "demo_fault" in given
        return self._service.fault_for(request.body, own=True) if own else Fault()

    def _script(self, start: Start, fault: Fault) -> Script:
        refused = refusal_error(fault)
        if refused is not None:
            raise refused
        request = start.request
        steers = tuple(steer.input for steer in request.steers)
        script = self._service.script(request.body, cached=start.parent, steers=steers, websocket=True)
        self._scripts[script.id] = script
        while len(self._scripts) > _REMEMBERED:
            self._scripts.popitem(last=False)
        return script

    async def _send(self, events: list[Json]) -> None:
        # Responses run at the same time: the lock keeps what they send in the order in which it was made, and keeps a
        # message that waits for a slow reader from being sent after the close that another one brought.
        async with self._sending:
            if self._over.is_set():
                return
            try:
                for event in events:
                    await self._websocket.send_text(msgspec.json.encode(event).decode())
            except WebSocketDisconnect:
                self._over.set()
            if self._writer.closed:
                await self._close(self._fault.close_code)

    async def _close(self, code: int) -> None:
        if self._over.is_set():
            return
        self._over.set()
        if code == _ABNORMAL:
            await self._abort(self._websocket.scope)
        else:
            await self._websocket.close(code)
