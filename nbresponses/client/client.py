"""Client: the Responses API for synchronous code. Each method is its coroutine, run in the loop thread."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from nbresponses.client.api import Api
from nbresponses.client.async_client import open_stream
from nbresponses.client.base import BaseClient
from nbresponses.client.inbox import News
from nbresponses.client.lanes import LaneManager
from nbresponses.client.loop import Lease, finalize_apart
from nbresponses.client.mapping import PromptMap
from nbresponses.client.secret import hidden, hide_headers
from nbresponses.client.stream import ResponseStream
from nbresponses.client.tools import ToolRun, run
from nbresponses.core.request import NOT_GIVEN, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from types import TracebackType

    from pandas import DataFrame

    from nbresponses.client.exchange import Exchange
    from nbresponses.transports.timeouts import Timeouts

__all__ = ["Client"]

P = ParamSpec("P")
T = TypeVar("T")


def _waited(coroutine: Callable[Concatenate[Api, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Client, P], T]:
    """The method of the api, waited for."""

    @functools.wraps(coroutine)
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        hide_headers(kwargs)
        return self._lease.call(functools.partial(coroutine, self._api, *args, **kwargs))

    return cast("Callable[Concatenate[Client, P], T]", method)


class Client(BaseClient):
    __doc__ = BaseClient.__doc__

    def _set_up(self) -> None:
        self._lease = Lease()
        self._streams: weakref.WeakSet[ResponseStream] = weakref.WeakSet()
        self._managers: weakref.WeakSet[LaneManager] = weakref.WeakSet()
        finalize_apart(self, functools.partial(_end, self._lease, self._api))

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
    ) -> ResponseStream:
        """A response in flight: a context manager and an iterator of events. The request is submitted at once.

        `fields` are those of the API (`model`, `instructions`, `tools`, `background` …) and go unchanged into the body,
        under those of `extra_body`. With `response_id` a response is taken up that runs or ran on the server, from the
        event after `starting_after`. Raises RequestError for what cannot be sent.
        """
        extra, extra_headers = hidden(extra_headers), None
        request = Request(
            input, response_id=response_id, starting_after=starting_after, extra_body=extra_body, **fields
        )
        news = News()
        exchange = self._api.exchange(
            request, wake=news.tell, timeout=timeout, extra_headers=extra, extra_query=extra_query
        )
        stream = ResponseStream(
            exchange.inbox,
            news,
            request=exchange.body,
            capture=exchange.capture,
            stop=functools.partial(_stop, self._lease, exchange),
            owner=self,
        )
        stream.format = request.format
        self._lease.start(exchange.run)
        self._streams.add(stream)
        return stream

    def lanes(self, **fields: Any) -> LaneManager:
        """Many conversations on one WebSocket: a context manager, `lanes["planner"]` is a lane.

        `fields` are defaults of every request (`model`, `store`, `instructions`, `tools` …) and, by their names, the
        settings of the connection, which docs/lanes.md lists. Raises RequestError.
        """
        manager = LaneManager(self._api, self._lease, self, **fields)
        self._managers.add(manager)
        return manager

    def run(self, input: Any = NOT_GIVEN, **options: Any) -> ToolRun:  # noqa: A002  the API's word
        """A response whose calls of `tools` (Python functions) are made here, round after round, until it answers.

        `options` are `tools`, `handlers`, `confirm`, `max_rounds`, `tool_timeout`, `on_stream`, `on_call`, `strict`
        (docs/tools.md has what each does), and the fields of a request. An async function runs on this thread's running
        loop (that of a notebook's kernel), else on one of its own. Raises as `get_final_response()`; the exception has
        the `ToolRun` so far as `partial`.
        """
        return run(self.stream, input, **options)

    def map(self, prompts: Iterable[Any], **options: Any) -> DataFrame:
        """A response for each of many prompts, `concurrency` (8) at a time: a DataFrame with a row for each, in order.

        A prompt is an input or a dict of fields; other `options` are `lanes`, `capture`, `progress` and the fields that
        all share (docs/tools.md). What fails is a row whose `error` says why. Raises RequestError for options that
        cannot be; an exception out of it, an interrupt too, has the rows so far as `partial`.
        """
        hide_headers(options)
        mapping = PromptMap(self._api, functools.partial(open_stream, self._api), prompts, **options)
        try:
            return self._lease.call(mapping.run)
        except BaseException as error:
            mapping.keep_on(error)
            raise

    create = _waited(Api.create)
    retrieve = _waited(Api.retrieve)
    cancel = _waited(Api.cancel)
    delete = _waited(Api.delete)
    compact = _waited(Api.compact)
    models = _waited(Api.models)

    def close(self) -> None:
        """Stops what is in flight, closes the connections. Using the client again opens new ones."""
        for stream in list(self._streams):
            stream.close()
        for manager in list(self._managers):
            manager.close()
        _end(self._lease, self._api)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _stop(lease: Lease, exchange: Exchange, ending: str) -> None:
    lease.soon(functools.partial(exchange.stop, ending))


def _end(lease: Lease, api: Api) -> None:
    """Closes the connections and gives the lease back. Holds no reference to the client."""
    if lease.held:
        lease.call(api.aclose)
        lease.release()
