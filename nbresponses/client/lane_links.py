"""What carries a connection's frames: a WebSocket, or HTTP requests that stand in for one. Decides nothing about lanes.

Over HTTP each create becomes a streamed request of its own, and its events get the lane's stream_id here. There is no
cache that belongs to a connection: a create with `store=false` is sent with the whole context in place of the id that
it continues. Warm-ups and steering exist in WebSocket mode only; they are answered with an error event, as a server
would.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from nbresponses.client.lane_driver import event_of
from nbresponses.core.request import Request, encode_body
from nbresponses.errors import Disconnected, Rejected, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbresponses.client.exchange import Exchange
    from nbresponses.core.wire import Event
    from nbresponses.transports.websocket import Socket

__all__ = ["HttpLink", "SocketLink"]


class SocketLink:
    """A WebSocket."""

    transport = "websocket"

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.heard = False

    async def send(self, message: dict[str, Any], ticket: int | None) -> None:  # noqa: ARG002  as a Link
        await self._socket.send(encode_body(message))

    async def receive(self) -> Event:
        payload = await self._socket.receive()
        self.heard = True
        return event_of(payload)

    async def close(self, code: int, reason: str) -> None:
        await self._socket.close(code, reason)


class HttpLink:
    """Streamed requests side by side, behind the face of one connection.

    `exchange` makes a request ready, `context` knows what a response id stands for (None where it does not).
    """

    transport = "sse"

    def __init__(
        self,
        exchange: Callable[[Request, Callable[[], object]], Exchange],
        context: Callable[[str | None], list[dict[str, Any]] | None],
    ) -> None:
        self._exchange = exchange
        self._context = context
        self._arrived: asyncio.Queue[Event | None] = asyncio.Queue()
        self._running: dict[asyncio.Task[None], Exchange] = {}

    async def send(self, message: dict[str, Any], ticket: int | None) -> None:
        lane = message.get("stream_id")
        if ticket is None:
            self._refuse_steering(message, lane)
            return
        body = {name: value for name, value in message.items() if name not in {"type", "stream_id"}}
        if body.get("generate") is False:
            self._put_error(lane, 400, code="warm_up_not_supported", message="warm-up needs WebSocket mode")
            return
        try:
            exchange = self._exchange(Request(**self._with_context(body)), lambda: self._drain(exchange, lane))
        except RequestError as error:
            self._put_error(lane, 400, code="invalid_request", message=str(error), param=error.field)
            return
        task = asyncio.create_task(exchange.run(), name="nbresponses-lane")
        self._running[task] = exchange
        task.add_done_callback(self._running.pop)

    async def receive(self) -> Event:
        event = await self._arrived.get()
        if event is None:
            raise Disconnected("closed", code=1000)
        return event

    async def close(self, code: int, reason: str) -> None:  # noqa: ARG002  as a Link
        for exchange in self._running.values():
            exchange.stop()
        if self._running:
            await asyncio.wait(list(self._running), timeout=5.0)
        self._arrived.put_nowait(None)

    def _with_context(self, body: dict[str, Any]) -> dict[str, Any]:
        previous = body.get("previous_response_id")
        if previous is None or body.get("store") is not False:
            return body
        context = self._context(previous)
        if context is None:
            return body  # the server will say that it does not know the id
        new = body.get("input")
        items = [{"type": "message", "role": "user", "content": new}] if isinstance(new, str) else list(new or [])
        return {**body, "previous_response_id": None, "input": [*context, *items]}

    def _drain(self, exchange: Exchange, lane: str | None) -> None:
        inbox = exchange.inbox
        while inbox.arrived:
            event = inbox.arrived.popleft()
            if event is not None:
                self._arrived.put_nowait(event_of(event.payload, lane))
        if inbox.finished and inbox.error is not None:
            self._put_failure(lane, inbox.error, began=inbox.began)

    def _put_failure(self, lane: str | None, error: BaseException, *, began: bool) -> None:
        if isinstance(error, Rejected):
            self._put_error(lane, error.status, **(error.error or {"message": str(error)}))
        elif began:
            self._put_error(lane, None, type="stream_cut_off", code="stream_cut_off", message=str(error))
        else:
            self._put_error(lane, None, type="connection_error", code="connection_error", message=str(error))

    def _put_error(self, lane: str | None, status: int | None, **error: Any) -> None:
        self._put({"type": "error", "status": status, "error": {"type": "invalid_request_error", **error}}, lane)

    def _refuse_steering(self, message: dict[str, Any], lane: str | None) -> None:
        steer = {"previous_response_id": message.get("previous_response_id"), "input": message.get("input")}
        text = "steering needs WebSocket mode; these lanes run over HTTP"
        error = {"type": "invalid_request_error", "code": "steering_not_supported", "message": text}
        self._put({"type": "response.steer.failed", "steer": steer, "error": error}, lane)

    def _put(self, fields: dict[str, Any], lane: str | None) -> None:
        if lane is not None:
            fields["stream_id"] = lane
        self._arrived.put_nowait(event_of(json.dumps(fields).encode(), lane))
