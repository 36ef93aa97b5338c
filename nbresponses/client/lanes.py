"""Lanes: many conversations on one WebSocket, forked, steered and recovered. The same over HTTP where there is none.

`LaneManager` and `Lane` for synchronous code, `AsyncLaneManager` and `AsyncLane` for asynchronous code: thin faces of
one `LaneHub`, which lives in the event loop that carries the connection. The rules are those of `core.lanes`.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from nbresponses.client.inbox import News
from nbresponses.client.lane_hub import LaneHub
from nbresponses.client.stream import AsyncResponseStream, ResponseStream
from nbresponses.client.tools import ToolRun, run, run_async
from nbresponses.core.lanes.table import check_lane_name
from nbresponses.core.request import NOT_GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from types import TracebackType

    from nbresponses.capture.record import Capture
    from nbresponses.client.api import Api
    from nbresponses.client.lane_driver import Steer, Ticket
    from nbresponses.client.loop import Lease
    from nbresponses.core.response import Response

__all__ = ["AsyncLane", "AsyncLaneManager", "Lane", "LaneManager"]

T = TypeVar("T")

STEER_TIMEOUT = 10.0  # seconds for the server to say what becomes of a steering message


class _LaneState:
    """What both faces of a lane know without waiting."""

    def __init__(self, hub: LaneHub, name: str | None) -> None:
        check_lane_name(name)
        self._hub = hub
        self._name = name
        self._parent: str | None = None  # what the next request continues, where it is not the latest

    @property
    def name(self) -> str | None:
        """The stream_id; None for the default lane."""
        return self._name

    @property
    def latest(self) -> str | None:
        """The id of the lane's latest completed response: what its next request continues."""
        latest: str | None = self._parent or self._hub.table.latest(self._name)
        return latest

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name or '(default)'} latest={self.latest}>"

    def continue_from(self, response_id: str) -> None:
        """Let the next request continue this response instead of the lane's latest."""
        self._parent = response_id

    def _fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a request; the first one after a fork continues the fork's parent unless it says otherwise."""
        return fields if self._parent is None else {"previous_response_id": self._parent, **fields}


class _ManagerState:
    """What both managers know without waiting."""

    _hub: LaneHub
    _lanes: Mapping[str | None, _LaneState]

    def __repr__(self) -> str:
        hub: LaneHub | None = self.__dict__.get("_hub")  # an asynchronous manager makes it when it is needed
        names = ", ".join(name or "(default)" for name in self._lanes)
        return f"<{type(self).__name__} {(hub and hub.transport) or 'not connected'}, lanes: {names or 'none'}>"

    def _look(self, function: Callable[[], T]) -> T:
        """The result of a plain function that reads what the loop changes."""
        return function()

    def lineage(self) -> list[dict[str, Any]]:
        """Which response came from which: one row each, parents before children, with lane, state and depth."""
        return self._look(self._hub.table.lineage)

    def status(self) -> dict[str, Any]:
        """What goes on now: transport, requests in flight and queued, connections (names used, age in s), lanes."""
        return self._look(self._hub.status)

    def busy(self, *names: str | None) -> bool:
        """Whether something runs or waits on these lanes (none named: on any)."""
        return self._look(functools.partial(self._hub.busy, set(names)))

    @property
    def notices(self) -> list[str]:
        """What the user should know: repeated requests, replaced connections, a server that drops stream_id."""
        return list(self._hub.driver.notices)

    @property
    def capture(self) -> Capture:
        """All messages of all lanes, sent and received, unless `record=False`."""
        return self._hub.capture


# ── Synchronous ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Lane(_LaneState):
    """One conversation. Its requests run one after the other; other lanes run beside it."""

    def __init__(self, manager: LaneManager, hub: LaneHub, name: str | None, wait: Callable[..., Any]) -> None:
        super().__init__(hub, name)
        self._manager = manager
        self._wait = wait

    def stream(self, input: Any = NOT_GIVEN, *, barrier: bool = True, **fields: Any) -> ResponseStream:  # noqa: A002
        """A request, submitted now. It continues the lane's latest completed response when it is sent.

        `previous_response_id=None` starts anew, an id continues from that response. With `barrier=False` the request
        neither waits for a fork of this lane nor, as a fork, lets others wait. Raises RequestError, LaneError.
        """
        submit = functools.partial(self._hub.submit, barrier=barrier, **self._fields(fields))
        stream: ResponseStream = self._wait(_called, submit, self._name, input)
        self._parent = None  # only now: a request that was refused has continued nothing
        return stream

    def create(self, input: Any = NOT_GIVEN, *, timeout: float | None = None, **fields: Any) -> Response:  # noqa: A002
        """The same, waited for. Raises as `get_final_response()`; TimedOut after `timeout` seconds."""
        stream = self.stream(input, **fields)
        try:
            return stream.until_done(timeout).get_final_response()
        finally:
            stream.close()

    def run(self, input: Any = NOT_GIVEN, **options: Any) -> ToolRun:  # noqa: A002
        """A response whose calls of `tools` are made here until it answers (as `Client.run`)."""
        return run(self.stream, input, lane=True, **options)

    def fork(self, name: str, *, at: str | None = None) -> Lane:
        """The lane `name`, whose next request continues from this lane's latest completed response (or from `at`)."""
        lane = self._manager[name]
        lane.continue_from(self._hub.parent(self._name, at or self._parent))
        return lane

    def warm_up(self, input: Any = (), *, timeout: float | None = None, **fields: Any) -> Response:  # noqa: A002
        """Prepare the server for the next request (`generate: false`): no output, but an id that the lane continues.

        Only the id is carried over. What the server prepares (`tools`, `instructions`) the next request says again.
        """
        return self.create(
            list(input) if isinstance(input, tuple) else input, timeout=timeout, generate=False, **fields
        )

    def steer(self, input: Any, *, timeout: float = STEER_TIMEOUT) -> Steer:  # noqa: A002  the API's word
        """A message to what runs here. Returns when the server has said what becomes of it (or after `timeout` s)."""
        steer: Steer = self._wait(self._hub.steer, self._name, input, timeout)
        return steer

    def compact(self, **fields: Any) -> Response:
        """Compact the lane's context (over HTTP); its next request starts from the window that came back."""
        window: Response = self._wait(self._hub.compact, self._name, **fields)
        return window

    def save_results(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Keep tool outputs and approvals: a request that lacks what steering waits for takes it from here."""
        self._wait(_called, self._hub.save_results, self._name, list(items))

    @property
    def successors(self) -> list[ResponseStream]:
        """The responses that the server began here by itself, after steering."""
        return list(self._hub.successors.get(self._name, ()))

    def stop(self) -> None:
        """Stop what runs and waits here; what came is kept. The next request continues the latest completed one."""
        self._wait(_called, self._hub.stop_lane, self._name)

    def close(self) -> None:
        """Stop what runs and what waits here. The lane's next request starts anew."""
        self._parent = None
        self._wait(_called, self._hub.close_lane, self._name)


class LaneManager(_ManagerState):
    """The lanes of one client: `lanes["planner"]`, `lanes.default`. Made by `client.lanes()`.

    Entering `with` connects (ConnectionFailed, Rejected or TimedOut where that fails); leaving it ends all requests.
    """

    def __init__(self, api: Api, lease: Lease, owner: object, **fields: Any) -> None:
        self._lease = lease
        self._owner = owner  # keeps the client's connections
        self._lanes: dict[str | None, Lane] = {}
        self._hub = self._wait(_called, functools.partial(LaneHub, api, _SyncFace(lease), **fields))

    def _look(self, function: Callable[[], T]) -> T:
        """In the loop's thread, where nothing changes meanwhile."""
        return cast("T", self._wait(_called, function)) if self._lease.held else function()

    def __getitem__(self, name: str | None) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(self, self._hub, name, self._wait)
        return self._lanes[name]

    @property
    def default(self) -> Lane:
        """The lane without a stream_id."""
        return self[None]

    def wait(self, *names: str | None, timeout: float | None = None) -> None:
        """Until nothing runs or waits on these lanes (none named: on all). TimedOut after `timeout` seconds."""
        self._wait(self._hub.idle, names, timeout)

    def renew(self) -> None:
        """Replace the connection when what runs has ended: frees its names, and what the server caches is gone."""
        self._wait(_called, self._hub.renew)

    def close(self) -> None:
        """End all requests, close the connections. Nothing can be submitted any more."""
        if self._lease.held:
            self._wait(self._hub.shut)

    def __enter__(self) -> Self:
        try:
            self._wait(self._hub.connected)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **kwargs: Any) -> Any:
        """The result of a coroutine function that runs in the loop's thread."""
        return self._lease.call(functools.partial(function, *args, **kwargs))


async def _called(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a plain function, called in the loop's thread."""
    return function(*args)


class _SyncFace:
    """Streams for synchronous readers."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def news(self) -> tuple[Any, Callable[[], object]]:
        news = News()
        return news, news.tell

    def stream(self, ticket: Ticket) -> ResponseStream:
        lease, stop = self._lease, ticket.stop
        return ResponseStream(
            ticket.inbox,
            ticket.news,
            request=ticket.sent,
            capture=ticket.capture,
            stop=lambda ending: lease.soon(functools.partial(stop, ending)),
        )


# ── Asynchronous ─────────────────────────────────────────────────────────────────────────────────────────────────────


class AsyncLane(_LaneState):
    """As `Lane`. `stream`, `fork` and `latest` are plain; the rest is awaited."""

    def __init__(self, manager: AsyncLaneManager, hub: LaneHub, name: str | None) -> None:
        super().__init__(hub, name)
        self._manager = manager

    def stream(self, input: Any = NOT_GIVEN, *, barrier: bool = True, **fields: Any) -> AsyncResponseStream:  # noqa: A002
        """As `Lane.stream`: submitted now."""
        stream: AsyncResponseStream = self._hub.submit(self._name, input, barrier=barrier, **self._fields(fields))
        self._parent = None  # only now: a request that was refused has continued nothing
        return stream

    async def create(self, input: Any = NOT_GIVEN, *, timeout: float | None = None, **fields: Any) -> Response:  # noqa: A002, ASYNC109
        """As `Lane.create`."""
        stream = self.stream(input, **fields)
        try:
            await stream.until_done(timeout)
            return await stream.get_final_response()
        finally:
            await stream.close()

    async def run(self, input: Any = NOT_GIVEN, **options: Any) -> ToolRun:  # noqa: A002
        """As `Lane.run`."""
        return await run_async(self.stream, input, lane=True, **options)

    def fork(self, name: str, *, at: str | None = None) -> AsyncLane:
        """As `Lane.fork`."""
        lane = self._manager[name]
        lane.continue_from(self._hub.parent(self._name, at or self._parent))
        return lane

    async def warm_up(self, input: Any = (), *, timeout: float | None = None, **fields: Any) -> Response:  # noqa: A002, ASYNC109
        """As `Lane.warm_up`."""
        new = list(input) if isinstance(input, tuple) else input
        return await self.create(new, timeout=timeout, generate=False, **fields)

    async def steer(self, input: Any, *, timeout: float = STEER_TIMEOUT) -> Steer:  # noqa: A002, ASYNC109
        """As `Lane.steer`."""
        return await self._hub.steer(self._name, input, timeout)

    async def compact(self, **fields: Any) -> Response:
        """As `Lane.compact`."""
        return await self._hub.compact(self._name, **fields)

    async def save_results(self, items: Iterable[Mapping[str, Any]]) -> None:
        """As `Lane.save_results`."""
        self._hub.save_results(self._name, list(items))

    @property
    def successors(self) -> list[AsyncResponseStream]:
        """As `Lane.successors`."""
        return list(self._hub.successors.get(self._name, ()))

    async def stop(self) -> None:
        """As `Lane.stop`."""
        self._hub.stop_lane(self._name)

    async def close(self) -> None:
        """As `Lane.close`."""
        self._parent = None
        self._hub.close_lane(self._name)


class AsyncLaneManager(_ManagerState):
    """As `LaneManager`, in the running event loop. Made by `AsyncClient.lanes()`."""

    def __init__(self, api: Api, **fields: Any) -> None:
        self._lanes: dict[str | None, AsyncLane] = {}
        self._make = functools.partial(LaneHub, api, _AsyncFace(), **fields)

    @functools.cached_property
    def _hub(self) -> LaneHub:  # type: ignore[override]  # made on first use, when a loop runs
        return self._make()

    def __getitem__(self, name: str | None) -> AsyncLane:
        if name not in self._lanes:
            self._lanes[name] = AsyncLane(self, self._hub, name)
        return self._lanes[name]

    @property
    def default(self) -> AsyncLane:
        """The lane without a stream_id."""
        return self[None]

    async def wait(self, *names: str | None, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """As `LaneManager.wait`."""
        await self._hub.idle(names, timeout)

    async def renew(self) -> None:
        """As `LaneManager.renew`."""
        self._hub.renew()

    async def close(self) -> None:
        """As `LaneManager.close`."""
        await self._hub.shut()

    async def __aenter__(self) -> Self:
        try:
            await self._hub.connected()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _AsyncFace:
    """Streams for asynchronous readers in the hub's own loop."""

    def news(self) -> tuple[Any, Callable[[], object]]:
        news = asyncio.Event()
        return news, news.set

    def stream(self, ticket: Ticket) -> AsyncResponseStream:
        return AsyncResponseStream(
            ticket.inbox,
            ticket.news,
            request=ticket.sent,
            capture=ticket.capture,
            run=_nothing,
            stop=ticket.stop,
        )


async def _nothing() -> None:
    """A lane's request is carried by its connection, not by a task of its stream."""
