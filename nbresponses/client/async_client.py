"""AsyncClient: the Responses API for asynchronous code, in the caller's own event loop."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from nbresponses.client.api import Api
from nbresponses.client.base import BaseClient
from nbresponses.client.lanes import AsyncLaneManager
from nbresponses.client.mapping import map_prompts
from nbresponses.client.secret import hidden, hide_headers
from nbresponses.client.stream import AsyncResponseStream
from nbresponses.client.tools import ToolRun, run_async
from nbresponses.client.waking import waking
from nbresponses.core.request import NOT_GIVEN, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from types import TracebackType

    from pandas import DataFrame

    from nbresponses.client.secret import Hidden
    from nbresponses.transports.timeouts import Timeouts

__all__ = ["AsyncClient"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    coroutine: Callable[Concatenate[Api, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The method of the api, as the client's own."""

    @functools.wraps(coroutine)
    async def method(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> T:
        hide_headers(kwargs)
        with waking():
            return await coroutine(self._api, *args, **kwargs)

    return cast("Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]", method)


class AsyncClient(BaseClient):
    __doc__ = f"""{BaseClient.__doc__}
    `stream()` is a plain call, the rest is awaited. One object works in several event loops, one after the other.
    """

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
        extra, extra_headers = hidden(extra_headers), None
        options: dict[str, Any] = {"extra_query": extra_query, "extra_body": extra_body, "timeout": timeout}
        request = {"response_id": response_id, "starting_after": starting_after, **fields}
        return open_stream(self._api, input, extra_headers=extra, **options, **request)

    def lanes(self, **fields: Any) -> AsyncLaneManager:
        """As `Client.lanes`: an async context manager. A plain call."""
        return AsyncLaneManager(self._api, **fields)

    async def run(self, input: Any = NOT_GIVEN, **options: Any) -> ToolRun:  # noqa: A002  the API's word
        """As `Client.run`. Async functions run in this loop, plain ones in threads."""
        with waking():
            return await run_async(self.stream, input, **options)

    async def map(self, prompts: Iterable[Any], **options: Any) -> DataFrame:
        """As `Client.map`."""
        with waking():
            return await map_prompts(self._api, self.stream, prompts, **options)

    create = _awaited(Api.create)
    retrieve = _awaited(Api.retrieve)
    cancel = _awaited(Api.cancel)
    delete = _awaited(Api.delete)
    compact = _awaited(Api.compact)
    models = _awaited(Api.models)
    aclose = _awaited(Api.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def open_stream(
    api: Api,
    input: Any = NOT_GIVEN,  # noqa: A002  the API's word
    *,
    extra_headers: Mapping[str, str] | Hidden[Any] | None = None,
    extra_query: Mapping[str, Any] | None = None,
    timeout: Timeouts | float | None = None,
    **fields: Any,
) -> AsyncResponseStream:
    """A stream in the running loop, whoever the client is."""
    request = Request(input, **fields)
    news = asyncio.Event()
    exchange = api.exchange(
        request, wake=news.set, timeout=timeout, extra_headers=extra_headers, extra_query=extra_query
    )
    stream = AsyncResponseStream(
        exchange.inbox,
        news,
        request=exchange.body,
        capture=exchange.capture,
        run=exchange.run,
        stop=exchange.stop,
    )
    stream.format = request.format
    return stream
