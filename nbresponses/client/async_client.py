"""AsyncClient: the Responses API for asynchronous code, in the caller's own event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from nbresponses.client.api import Api
from nbresponses.client.stream import AsyncResponseStream
from nbresponses.core.request import NOT_GIVEN, Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from nbresponses.transports.timeouts import Timeouts

__all__ = ["AsyncClient"]


class AsyncClient(Api):
    """As `Client`; `stream()` is a plain call, the rest is awaited. One object works in several loops in turn."""

    def stream(
        self,
        input: Any = NOT_GIVEN,  # noqa: A002  the API's word
        *,
        response_id: str | None = None,
        starting_after: int | None = None,
        extra_headers: Mapping[str, str] | None = None,
        extra_query: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,
        **fields: Any,
    ) -> AsyncResponseStream:
        """A response in flight: an async context manager and iterator. The request is sent on entering.

        The arguments are those of `Client.stream`.
        """
        request = Request(
            input, response_id=response_id, starting_after=starting_after, extra_body=extra_body, **fields
        )
        news = asyncio.Event()
        exchange = self.exchange(
            request, wake=news.set, timeout=timeout, extra_headers=extra_headers, extra_query=extra_query
        )
        return AsyncResponseStream(
            exchange.inbox,
            news,
            request=exchange.body,
            capture=exchange.capture,
            run=exchange.run,
            stop=exchange.stop,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
