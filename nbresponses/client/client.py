"""Client: the Responses API for synchronous code. Each method is its coroutine, run in the loop thread."""

from __future__ import annotations

import functools
import queue
import weakref
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from nbresponses.client.api import Api
from nbresponses.client.loop import Lease, in_helper_thread
from nbresponses.client.stream import ResponseStream
from nbresponses.core.request import NOT_GIVEN, Request
from nbresponses.core.sse import DEFAULT_MAX_EVENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType

    import httpx

    from nbresponses.client.exchange import Exchange
    from nbresponses.transports.timeouts import Timeouts

__all__ = ["Client"]

P = ParamSpec("P")
T = TypeVar("T")


def _waited(coroutine: Callable[Concatenate[Api, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Client, P], T]:
    """The synchronous twin of a coroutine method."""

    @functools.wraps(coroutine)
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._lease.call(functools.partial(coroutine, self._api), *args, **kwargs)

    return cast("Callable[Concatenate[Client, P], T]", method)


class Client:
    """A connection to a server that speaks the Responses API.

    What isn't given comes from OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID and OPENAI_PROJECT_ID. `api_key` may be a
    function that returns the key of the moment. `headers` and `query` go with every request. `timeout` is a `Timeouts`,
    or a number: the total limit in seconds. `max_retries` counts attempts after the first, before the first event. Over
    plain http a key goes to this machine only, unless `allow_insecure`. `http_client` is used as it is, and not closed.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,
        max_retries: int = 2,
        allow_insecure: bool = False,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._api = Api(
            api_key=api_key,
            base_url=base_url,
            organization=organization,
            project=project,
            headers=headers,
            query=query,
            timeout=timeout,
            max_retries=max_retries,
            allow_insecure=allow_insecure,
            max_event_bytes=max_event_bytes,
            http_client=http_client,
        )
        self._lease = Lease()
        self._streams: weakref.WeakSet[ResponseStream] = weakref.WeakSet()
        self._forgotten = weakref.finalize(self, in_helper_thread, functools.partial(_end, self._lease, self._api))

    def __repr__(self) -> str:
        return f"<Client {self._api.settings.base_url}>"

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

        `fields` are those of the API (`model`, `instructions`, `tools`, `background` …) and go unchanged into the body.
        With `response_id` a response is taken up that runs or ran on the server, from the event after `starting_after`.
        Raises RequestError for what cannot be sent.
        """
        request = Request(
            input, response_id=response_id, starting_after=starting_after, extra_body=extra_body, **fields
        )
        news: queue.SimpleQueue[None] = queue.SimpleQueue()
        exchange = self._api.exchange(
            request,
            wake=functools.partial(news.put, None),
            timeout=timeout,
            extra_headers=extra_headers,
            extra_query=extra_query,
        )
        stream = ResponseStream(
            exchange.inbox,
            news,
            request=exchange.body,
            capture=exchange.capture,
            stop=_stopper(self._lease, exchange),
            owner=self,
        )
        self._lease.start(exchange.run)
        self._streams.add(stream)
        return stream

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
        _end(self._lease, self._api)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _stopper(lease: Lease, exchange: Exchange) -> Callable[[str], None]:
    return lambda ending: lease.soon(functools.partial(exchange.stop, ending))


def _end(lease: Lease, api: Api) -> None:
    """Closes the connections and gives the lease back. Holds no reference to the client."""
    if lease.held:
        lease.call(api.aclose)
        lease.release()
