"""The routes of the API over HTTP: a Starlette application around a Service.

What a route does is in `service.py`; here requests are read, logged (never their headers), hit by faults and answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from nbresponses.demo.ask import Ask, Context, items_of, parse_body
from nbresponses.demo.faults import Fault
from nbresponses.demo.messages import compaction_item
from nbresponses.demo.scenarios import SCENARIOS
from nbresponses.demo.service import LoggedRequest, Service
from nbresponses.demo.socket import Socket, SocketSettings
from nbresponses.demo.streaming import Abort, EventStream, answer, error_answer, refusal, unless_gone
from nbresponses.demo.wire import ApiError, Json, usage

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

Answer = Response | EventStream
Handler = Callable[[Request, Json, Fault], Awaitable[Answer]]
_PAGE = 20


def create_app(service: Service, *, abort: Abort, max_body: int, settings: SocketSettings) -> Starlette:
    """The application. `abort` breaks the connection of a scope; a body beyond `max_body` bytes is refused."""

    async def socket(websocket: WebSocket) -> None:
        await Socket(websocket, service, settings, abort).serve()

    api = _Api(service, abort, max_body)
    one = "/v1/responses/{response_id}"
    routes = [
        WebSocketRoute("/v1/responses", socket),
        api.route("/v1/responses", api.create, "POST"),
        api.route("/v1/responses/compact", api.compact, "POST"),
        api.route(one, api.retrieve, "GET"),
        api.route(one, api.delete, "DELETE"),
        api.route(f"{one}/cancel", api.cancel, "POST"),
        api.route(f"{one}/input_items", api.input_items, "GET"),
        api.route("/v1/models", api.models, "GET"),
        api.route("/v1/models/{model}", api.model, "GET"),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _unknown})


async def _unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    message = f"Unknown request URL: {request.method} {request.url.path}."
    return error_answer(ApiError(status, message, code="unknown_url"))


class _Api:
    def __init__(self, service: Service, abort: Abort, max_body: int) -> None:
        self._service = service
        self._abort = abort
        self._max_body = max_body

    def route(self, path: str, handler: Handler, method: str) -> Route:
        async def endpoint(request: Request) -> Any:
            try:
                return await self._handled(request, handler)
            except ApiError as error:
                return error_answer(error)

        return Route(path, endpoint, methods=[method])

    async def _handled(self, request: Request, handler: Handler) -> Any:
        raw = await self._body(request)
        body: Json | None = None
        try:
            body = parse_body(raw) if raw or (request.method == "POST" and handler == self.create) else None
        finally:
            query = dict(request.query_params)
            self._service.requests.append(LoggedRequest(request.method, request.url.path, query, body))
        fault = self._service.fault_for(body, own=handler == self.create)
        if fault.first_byte:
            await asyncio.sleep(fault.first_byte)
        return refusal(fault) or await handler(request, body or {}, fault)

    async def _body(self, request: Request) -> bytes:
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > self._max_body:
                message = f"The body is larger than {self._max_body} bytes, the most this server takes."
                raise ApiError(413, message, code="request_too_large")
        return bytes(raw)

    async def create(self, request: Request, body: Json, fault: Fault) -> Answer:
        script = self._service.script(body)
        if body.get("background"):
            streamed = bool(body.get("stream"))
            background = self._service.start(script, streamed=streamed, delay=fault.delay)
            if not streamed:
                return answer(script.response)
            return self._stream(background.follow(0), fault)
        events = self._service.play(script, delay=fault.delay)
        if body.get("stream"):
            return self._stream(events, fault)
        await unless_gone(request.receive, _drain(events))
        if script.response["error"]:
            raise ApiError(500, script.response["error"]["message"], code="server_error", kind="server_error")
        return answer(script.response)

    async def retrieve(self, request: Request, _body: Json, fault: Fault) -> Answer:
        turn = self._service.turn(request.path_params["response_id"])
        if request.query_params.get("stream", "").lower() not in {"true", "1"}:
            return answer(turn.response)
        background = self._service.backgrounds.get(turn.id)
        if background is None or not background.streamed:
            message = (
                "This response cannot be streamed: only a response created with background=true and stream=true can."
            )
            raise ApiError(400, message, param="stream")
        after = request.query_params.get("starting_after", "-1")
        try:
            start = int(after) + 1
        except ValueError:
            raise ApiError(400, f"Invalid 'starting_after': {after!r} is no integer.", param="starting_after") from None
        return self._stream(background.follow(max(start, 0)), fault)

    async def delete(self, request: Request, _body: Json, _fault: Fault) -> Answer:
        response_id = request.path_params["response_id"]
        self._service.delete(response_id)
        return answer({"id": response_id, "object": "response", "deleted": True})

    async def cancel(self, request: Request, _body: Json, _fault: Fault) -> Answer:
        return answer(self._service.cancel(request.path_params["response_id"]))

    async def input_items(self, request: Request, _body: Json, _fault: Fault) -> Answer:
        turn = self._service.turn(request.path_params["response_id"])
        items = [*turn.ask.context.items]
        query = request.query_params
        if query.get("order", "desc") != "asc":
            items.reverse()
        after = next((place + 1 for place, item in enumerate(items) if item["id"] == query.get("after")), 0)
        limit = int(query.get("limit", _PAGE)) if query.get("limit", "1").isdecimal() else _PAGE
        page = items[after : after + limit]
        ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return answer({"object": "list", "data": page, **ends, "has_more": after + limit < len(items)})

    async def compact(self, _request: Request, body: Json, _fault: Fault) -> Answer:
        return answer(compacted(self._service, body))

    async def models(self, _request: Request, _body: Json, _fault: Fault) -> Answer:
        return answer({"object": "list", "data": [_model(name) for name in SCENARIOS]})

    async def model(self, request: Request, _body: Json, _fault: Fault) -> Answer:
        name = request.path_params["model"]
        if name not in SCENARIOS:
            message = f"The model '{name}' does not exist. The demo models are: {', '.join(SCENARIOS)}."
            raise ApiError(404, message, code="model_not_found", param="model")
        return answer(_model(name))

    def _stream(self, events: AsyncGenerator[Json, None], fault: Fault) -> EventStream:
        return EventStream(events, fault, self._abort)


def compacted(service: Service, body: Json) -> Json:
    """The answer of the compact endpoint: a window to go on from, which is no response and has no response id."""
    ids = service.ids()
    earlier = service.previous(body).context if body.get("previous_response_id") else Context()
    ask = Ask.of({"model": "demo-text", **body}, earlier, items_of(body.get("input"), ids))
    if not ask.context.items:
        message = "One of 'input' or 'previous_response_id' must be provided."
        raise ApiError(400, message, code="missing_required_parameter", param="input")
    said = [item for item in ask.context.items if item.get("role") == "user"]
    summary = compaction_item(ask, ids.new("cmp"))
    return {
        "id": ids.new("compaction"),
        "object": "response.compaction",
        "created_at": service.now(),
        "output": [*said, summary],
        "usage": usage(input_tokens=ask.input_tokens, cached=0, output_tokens=1, reasoning=0),
    }


async def _drain(events: AsyncGenerator[Json, None]) -> None:
    async for _ in events:
        pass


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "nbresponses-demo"}
