"""What a client can do, as coroutines: the one body that both clients stand on. Makes exchanges; iterates none."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from nbresponses.capture.record import Capture
from nbresponses.client.answer import body_kind, read_body, rejection
from nbresponses.client.exchange import Exchange
from nbresponses.client.inbox import Inbox
from nbresponses.client.outcome import final, response_of
from nbresponses.client.patience import Watch, pause_before_retry, persist
from nbresponses.client.pool import Pools
from nbresponses.client.resume import Resume
from nbresponses.core.failures import error_of_body
from nbresponses.core.request import NOT_GIVEN, Request, encode_body
from nbresponses.core.wire import WireObject, open_json
from nbresponses.errors import ProtocolError, Rejected, RequestError
from nbresponses.transports.http import HttpCall, HttpTransport, SecretHeaders
from nbresponses.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses.client.secret import Hidden, Secret
    from nbresponses.client.settings import Settings
    from nbresponses.core.response import Response
    from nbresponses.transports.http import Transport

    ExtraHeaders = Mapping[str, str] | Hidden[Any] | None

__all__ = ["Api"]


class Api:
    """Settings and connections. Each call takes `extra_headers`, `extra_query` and `timeout` of its own."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None = None) -> None:
        if http_client is not None and not isinstance(http_client, httpx.AsyncClient):
            raise RequestError("http_client", f"must be an httpx.AsyncClient, not {type(http_client).__name__}")
        self.settings = settings
        self._needs_key = http_client is None
        encrypted = settings.base_url.startswith("https:")
        self._pools = Pools(given=http_client, loopback=settings.loopback, encrypted=encrypted)

    # ── a stream ──

    def exchange(
        self,
        request: Request,
        *,
        wake: Callable[[], object],
        timeout: Timeouts | float | None = None,
        extra_headers: ExtraHeaders = None,
        extra_query: Mapping[str, Any] | None = None,
    ) -> Exchange:
        """A checked request, ready to run. RequestError if it cannot be sent."""
        secret = self._secret(extra_headers, extra_query)
        query = dict(extra_query or {})
        resume = Resume(
            stream=partial(self._stream_call, query=query),
            plain=lambda id_: self._call("GET", _path(id_), query=query),
            max_retries=self.settings.max_retries,
            response_id=request.response_id,
        )
        if request.response_id is not None:
            call = self._stream_call(request.response_id, request.starting_after, query=query)
        else:
            body = {**request.body, "stream": True}
            call = self._call("POST", "/responses", body=body, query=extra_query, accept="text/event-stream")
        survives = request.background or request.response_id is not None
        return Exchange(
            call,
            connect=partial(self._transport, secret),
            inbox=Inbox(wake),
            capture=Capture(datetime.now(UTC), time.monotonic(), source=f"{call.method} {call.url}"),
            timeouts=Timeouts.of(timeout, self.settings.timeouts),
            max_retries=self.settings.max_retries,
            max_event_bytes=self.settings.max_event_bytes,
            resume=resume if survives else None,
            cursor=request.starting_after,
            secret=secret,
        )

    def _stream_call(self, response_id: str, after: int | None, *, query: Mapping[str, Any]) -> HttpCall:
        wanted = {**query, "stream": "true"} | ({} if after is None else {"starting_after": str(after)})
        return self._call("GET", _path(response_id), query=wanted, accept="text/event-stream")

    # ── calls that are answered at once ──

    async def create(
        self,
        /,
        input: Any = NOT_GIVEN,  # noqa: A002  the API's word
        *,
        extra_headers: ExtraHeaders = None,
        extra_query: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,  # noqa: ASYNC109  limits by phase
        **fields: Any,
    ) -> Response:
        """A response, waited for; a background response comes back at once.

        Raises as `get_final_response()` does, and RequestError for what cannot be sent.
        """
        request = Request(input, extra_body=extra_body, **fields)
        body = request.body
        if body.get("stream"):
            raise RequestError("stream", "create() waits for the whole response: use client.stream()")
        data = await self._ask(
            "POST", "/responses", body=body, extra_headers=extra_headers, extra_query=extra_query, timeout=timeout
        )
        response = response_of(data)
        response.format = request.format
        return final(response)

    async def retrieve(self, /, response_id: str, **options: Any) -> Response:
        """A stored response as it is now, whatever its status."""
        return response_of(await self._accepted("GET", _path(response_id), **_options(options)))

    async def cancel(self, /, response_id: str, **options: Any) -> Response:
        """Cancels a background response on the server; the response as it is then."""
        return response_of(await self._accepted("POST", _path(response_id, "/cancel"), **_options(options)))

    async def delete(self, /, response_id: str, **options: Any) -> WireObject:
        """Deletes a stored response on the server; the server's confirmation."""
        return WireObject(await self._accepted("DELETE", _path(response_id), **_options(options)))

    async def compact(
        self,
        /,
        input: Any = NOT_GIVEN,  # noqa: A002  the API's word
        *,
        extra_body: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Response:
        """A conversation, compacted: `output` is the window to send as the next input."""
        options = _options(fields)
        body = Request(input, extra_body=extra_body, **fields).body
        return response_of(await self._accepted("POST", "/responses/compact", body=body, **options))

    async def models(self, /, **options: Any) -> list[WireObject]:
        """The models that the server offers (`id`, and what else it tells of them)."""
        data = (await self._accepted("GET", "/models", **_options(options))).get("data")
        return [WireObject(model) for model in data if isinstance(model, dict)] if isinstance(data, list) else []

    async def aclose(self) -> None:
        """Close the connections of the running loop. Using the client again opens new ones."""
        await self._pools.aclose()

    async def _accepted(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """As `_ask`. Rejected, too, where the body of a success is an error, as some servers and proxies send it."""
        data = await self._ask(method, path, **options)
        if "id" in data or not (data.get("error") or data.get("object") == "error"):
            return data
        body = encode_body(data)
        raise Rejected(200, error=error_of_body(body), body=body.decode(), url=f"{self.settings.base_url}{path}")

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        extra_headers: ExtraHeaders = None,
        extra_query: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,  # noqa: ASYNC109  limits by phase
    ) -> dict[str, Any]:
        secret = self._secret(extra_headers, extra_query)
        call = self._call(method, path, body=body, query=extra_query)
        watch = Watch(Timeouts.of(timeout, self.settings.timeouts), call.url)
        attempt = partial(self._answer, call, secret, watch)
        pause = partial(pause_before_retry, max_retries=self.settings.max_retries)
        return await persist(attempt, pause, watch)

    async def _answer(self, call: HttpCall, secret: Secret, watch: Watch) -> dict[str, Any]:
        first = watch.limit("first_byte", time.monotonic())
        transport = await self._transport(secret)
        reply = await watch.within(transport.send(call, connect=watch.timeouts.connect), first)

        async def piece() -> bytes:
            return secret.scrub_bytes(await watch.within(reply.piece(), watch.limit("idle", time.monotonic())))

        try:
            if not 200 <= reply.status < 300:
                raise await rejection(reply, piece, url=call.url, scrub=secret.scrub)
            start = secret.scrub_bytes(await watch.within(reply.piece(), first))
            body = secret.scrub_bytes(await read_body(start, self.settings.max_event_bytes, piece))
        finally:
            await reply.aclose()
        if not body:
            return {}
        if body_kind(reply.headers, body, url=call.url) != "json":
            raise ProtocolError(f"{call.url} answered with something else than JSON")
        return open_json(body)

    # ── requests ──

    def sendable_secret(self) -> Secret:
        """What authorises a connection that others open. RequestError where it must not be sent."""
        return self._secret(None, None)

    def _secret(self, extra_headers: ExtraHeaders, extra_query: Mapping[str, Any] | None) -> Secret:
        secret = self.settings.secret.with_headers(extra_headers).with_query(extra_query)
        self.settings.check_sendable(secret, needs_key=self._needs_key)
        return secret

    async def _transport(self, secret: Secret) -> Transport:
        return HttpTransport(
            await self._pools.client(),
            secrets=SecretHeaders(partial(secret.headers_for, self.settings.base_url)),
            user_agent=_user_agent(),
            scrub=secret.scrub,
        )

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        accept: str = "application/json",
    ) -> HttpCall:
        content = None if body is None else encode_body(body)
        url = f"{self.settings.base_url}{path}"
        return HttpCall(method, url, content, {**self.settings.query, **(query or {})}, accept)


def _path(response_id: str, suffix: str = "") -> str:
    # "." and ".." cannot be quoted: the address would be another one.
    if not isinstance(response_id, str) or not response_id.strip() or response_id in {".", ".."}:
        raise RequestError("response_id", f"must be the id of a response, not {response_id!r}")
    return f"/responses/{quote(response_id, safe='')}{suffix}"


def _options(fields: dict[str, Any]) -> dict[str, Any]:
    """The options of a call, taken out of `fields`."""
    return {name: fields.pop(name) for name in ("extra_headers", "extra_query", "timeout") if name in fields}


@cache
def _user_agent() -> str:
    try:
        return f"nbresponses/{version('nbresponses')}"
    except PackageNotFoundError:
        return "nbresponses"
