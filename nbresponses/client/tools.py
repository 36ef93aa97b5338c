"""`run`: a response, the calls it makes, their results back to the model, and so on until it answers. One async body.

Rules
1. A call of a function in `tools` is read, confirmed, made, and answered with its result or with what went wrong: the
   model gets the error as text. The calls of one response are made in its order; async ones run side by side.
2. Every other call (custom tools, MCP approvals, shell, patches, the computer) goes to the handler that the user named
   for it. Where there is none it waits: the run ends and gives it back. Nothing is executed that nobody named.
3. Each round sends the new items only: on a lane, or by `previous_response_id`. Without a server that keeps responses
   (`store=False`, or one that refuses the id) the whole input goes along instead.
4. A forced `tool_choice` holds for the first round: kept, it would call for ever.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from nbresponses.client.at_once import at_once
from nbresponses.core.lanes.lineage import as_input
from nbresponses.core.request import NOT_GIVEN
from nbresponses.core.tools import Tool, ToolCall, answer_item, calls_in, refusal_item, tool_of
from nbresponses.errors import Rejected, RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from nbresponses.client.stream import AsyncResponseStream, ResponseStream
    from nbresponses.core.response import Response

__all__ = ["MAX_ROUNDS", "ToolRun", "run", "run_async"]

MAX_ROUNDS = 25
_REFUSED = frozenset({400, 404, 422, 501})
"""Answers of servers that keep no responses to a request that names one."""
_CLEANING_UP = 2.0  # seconds for an async function to end after an interrupt


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What came of a run. `response` is the last one, `rounds` are all, `calls` all calls with what they returned.

    `ending` is "answered", "waiting" (for `pending`: calls that nobody was named for; `answers` are the items of the
    round's other calls) or "max_rounds" (`pending` was not called any more).
    """

    rounds: tuple[Response, ...]
    calls: tuple[ToolCall, ...] = ()
    ending: str = "answered"
    pending: tuple[ToolCall, ...] = ()
    answers: tuple[dict[str, Any], ...] = ()

    @property
    def response(self) -> Response:
        return self.rounds[-1]

    @property
    def output_text(self) -> str:
        return self.response.output_text

    def __repr__(self) -> str:
        return f"ToolRun({self.ending}, {len(self.rounds)} rounds, {len(self.calls)} calls, {self.response!r})"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the user gave."""

    tools: Mapping[str, Tool]
    definitions: tuple[dict[str, Any], ...]
    handlers: Mapping[str, Callable[..., Any]]
    confirm: Callable[..., Any] | None
    max_rounds: int
    tool_timeout: float | None
    on_stream: Callable[..., Any] | None
    on_call: Callable[[ToolCall], Any] | None


class _Face(Protocol):
    """How a run waits: at once in synchronous code, by awaiting in asynchronous code."""

    async def ask(self, fields: dict[str, Any]) -> Response: ...

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    async def wait(self, awaitables: Sequence[Awaitable[Any]], limit: float | None) -> list[Any]: ...


def run(stream: Callable[..., ResponseStream], input_: Any, *, lane: bool = False, **options: Any) -> ToolRun:
    """As `run_async`, for synchronous code. Functions run in this thread, coroutines in its running loop."""
    plan, fields = _plan_of(options)
    face = _SyncFace(stream, plan)
    try:
        return at_once(_run(face, plan, _Rounds({**fields, "input": input_}, lane=lane)))
    finally:
        face.close()


async def run_async(
    stream: Callable[..., AsyncResponseStream], input_: Any, *, lane: bool = False, **options: Any
) -> ToolRun:
    """A run over what `stream(**fields)` opens. Plain functions run in threads. Raises as `get_final_response()`.

    tools         functions, and tool definitions (dicts), which go out as they are
    handlers      item type or tool name → function that gets the item (see rule 2) and returns the output
    confirm       gets each `ToolCall` before it is made; True makes it, anything else declines (a text says why)
    max_rounds    rounds of calls; then the run ends
    tool_timeout  seconds for an async function (in asynchronous code for any); then the model is told
    on_stream     gets each round's stream as it begins, to show it
    on_call       gets each `ToolCall` when it has been answered
    strict        True insists on strict schemas, False turns them off; None: where the signature allows it
    """
    plan, fields = _plan_of(options)
    return await _run(_AsyncFace(stream, plan), plan, _Rounds({**fields, "input": input_}, lane=lane))


def _plan_of(options: dict[str, Any]) -> tuple[_Plan, dict[str, Any]]:
    fields = dict(options)
    given: Iterable[Any] = fields.pop("tools", ()) or ()
    strict = fields.pop("strict", None)
    ready = [entry if isinstance(entry, (dict, Tool)) else tool_of(entry, strict_mode=strict) for entry in given]
    tools = {tool.name: tool for tool in ready if isinstance(tool, Tool)}
    if len(tools) != sum(isinstance(entry, Tool) for entry in ready):
        raise RequestError("tools", "two of them have one name")
    max_rounds = fields.pop("max_rounds", MAX_ROUNDS)
    if isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < 0:
        raise RequestError("max_rounds", "must be a whole number, 0 or above")
    plan = _Plan(
        tools,
        tuple(entry.definition if isinstance(entry, Tool) else entry for entry in ready),
        dict(fields.pop("handlers", None) or {}),
        fields.pop("confirm", None),
        max_rounds,
        fields.pop("tool_timeout", None),
        fields.pop("on_stream", None),
        fields.pop("on_call", None),
    )
    if plan.definitions:
        fields["tools"] = list(plan.definitions)
    return plan, fields


# ── The body ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _run(face: _Face, plan: _Plan, rounds: _Rounds) -> ToolRun:
    run = ToolRun(())
    fields = rounds.first()
    while True:
        try:
            response = await face.ask(fields)
        except Rejected as error:
            if not rounds.may_replay or error.status not in _REFUSED:
                raise
            response = await face.ask(rounds.replayed())
        run = replace(run, rounds=(*run.rounds, response))
        number = len(run.rounds)
        items = calls_in(response.output) if response.ending == "completed" else []
        waiting = tuple(ToolCall(item, number) for item in items)
        if not waiting:
            return run
        if number > plan.max_rounds:
            return replace(run, ending="max_rounds", pending=waiting)
        calls, answers = await _made(face, plan, waiting)
        run = replace(run, calls=run.calls + calls)
        pending = tuple(call for call in calls if call.outcome == "waiting")
        if pending:
            return replace(run, ending="waiting", pending=pending, answers=answers)
        fields = rounds.following(response, answers)


async def _made(
    face: _Face, plan: _Plan, waiting: tuple[ToolCall, ...]
) -> tuple[tuple[ToolCall, ...], tuple[dict[str, Any], ...]]:
    """The calls of one round with what became of them, and the items that answer them."""
    started: list[tuple[str, Any, float]] = []
    try:
        for call in waiting:
            started.append(await _started(face, plan, call))
    except BaseException:
        for _, value, _ in started:
            if inspect.iscoroutine(value):
                value.close()  # nobody will await it
        raise
    places = [place for place, (_, value, _) in enumerate(started) if inspect.isawaitable(value)]
    values = await face.wait([started[place][1] for place in places], plan.tool_timeout)
    awaited = dict(zip(places, values, strict=True))
    calls: list[ToolCall] = []
    answers: list[dict[str, Any]] = []
    for place, (begun, started_value, at) in enumerate(started):
        value, outcome, call = awaited.get(place, started_value), begun, waiting[place]
        if outcome == "waiting":
            calls.append(call)
            continue
        if isinstance(value, Exception):
            outcome, value = "error", _told(value, plan.tool_timeout)
        failed = outcome != "ok"
        answers.append(refusal_item(call.item, str(value)) if failed else answer_item(call.item, value))
        seconds = time.monotonic() - at if outcome in {"ok", "error"} else None
        calls.append(replace(call, outcome=outcome, output=value, seconds=seconds))
        if plan.on_call is not None:
            plan.on_call(calls[-1])
    return tuple(calls), tuple(answers)


async def _started(face: _Face, plan: _Plan, call: ToolCall) -> tuple[str, Any, float]:
    """(outcome so far, the result or what brings it, when it began)."""
    kind, name = call.item.get("type"), call.item.get("name")
    tool = plan.tools.get(call.name) if kind == "function_call" else None
    handler = plan.handlers.get(str(name)) or plan.handlers.get(str(kind))
    now = time.monotonic()
    if kind == "mcp_approval_request" and handler is None and plan.confirm is not None:
        return "ok", await _value(face, plan.confirm(call)), now
    if tool is None and handler is None:
        known = kind != "function_call" or any(entry.get("name") == name for entry in plan.definitions)
        return ("waiting", None, now) if known else ("error", f"there is no tool {name!r}", now)
    try:
        args, kwargs = tool.read(call.item.get("arguments")) if tool is not None else ([call.item], {})
    except ValueError as error:
        return "error", str(error), now
    if plan.confirm is not None and kind != "mcp_approval_request":
        allowed = await _value(face, plan.confirm(call))
        if allowed is not True:
            return "declined", allowed if isinstance(allowed, str) and allowed else "the user declined this call", now
    function: Any = tool.function if tool is not None else handler
    try:
        return "ok", face.start(function, *args, **kwargs), time.monotonic()
    except Exception as error:  # whatever the user's function raises: the model is told
        return "ok", error, now


async def _value(face: _Face, value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value
    (result,) = await face.wait([value], None)
    if isinstance(result, Exception):
        raise result
    return result


def _told(error: Exception, limit: float | None) -> str:
    if isinstance(error, TimeoutError) and not str(error) and limit is not None:
        return f"no result within {limit:g} s"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Rounds:
    """What each round sends (rules 3 and 4)."""

    def __init__(self, fields: dict[str, Any], *, lane: bool) -> None:
        self._fields = fields
        self._lane = lane
        self._by_id = lane or fields.get("store") is not False or fields.get("conversation") is not None
        self._sent_by_id = False
        self._new: list[dict[str, Any]] = []
        given = fields["input"]
        said = {"type": "message", "role": "user", "content": given}
        nothing = given is None or given is NOT_GIVEN
        self._all: list[Any] = [] if nothing else [said] if isinstance(given, str) else list(given)

    def first(self) -> dict[str, Any]:
        return self._fields

    def following(self, response: Response, answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The fields of the next request."""
        output = [item for given in response.output if (item := as_input(given)) is not None]
        self._new = list(answers)
        self._all += [*output, *answers]
        if isinstance(self._fields.get("tool_choice"), dict) or self._fields.get("tool_choice") == "required":
            self._fields = {**self._fields, "tool_choice": "auto"}
        if self._fields.get("conversation") is not None:
            return {**self._fields, "input": self._new}
        if self._by_id and response.id:
            self._sent_by_id = not self._lane
            return {**self._fields, "previous_response_id": response.id, "input": self._new}
        return self.replayed()

    @property
    def may_replay(self) -> bool:
        """Whether the request just refused named a response that this run got, so that the whole input may do."""
        return self._sent_by_id

    def replayed(self) -> dict[str, Any]:
        """The same request with everything in it; from here on all are."""
        self._by_id = self._sent_by_id = False
        return {**self._fields, "input": list(self._all)}


# ── The faces ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _all(awaitables: Sequence[Awaitable[Any]], limit: float | None) -> list[Any]:
    """All results, or the exceptions instead."""

    async def one(awaitable: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(limit):
                return await awaitable
        except Exception as error:  # whatever the user's function raises: the model is told
            return error

    return list(await asyncio.gather(*map(one, awaitables)))


class _SyncFace:
    """Waits in the caller's thread. An interrupt ends the stream, or the function, that it finds."""

    def __init__(self, stream: Callable[..., ResponseStream], plan: _Plan) -> None:
        self._stream = stream
        self._watch = plan.on_stream
        self._runner: asyncio.Runner | None = None

    async def ask(self, fields: dict[str, Any]) -> Response:
        with self._stream(**fields) as stream:
            if self._watch is not None:
                self._watch(stream)
            return stream.get_final_response()

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    async def wait(self, awaitables: Sequence[Awaitable[Any]], limit: float | None) -> list[Any]:
        if not awaitables:
            return []
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._runner = self._runner or asyncio.Runner()  # one for the run: functions may share connections
            return self._runner.run(_all(awaitables, limit))
        return _nested(loop, awaitables, limit)

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


def _nested(loop: asyncio.AbstractEventLoop, awaitables: Sequence[Awaitable[Any]], limit: float | None) -> list[Any]:
    """In the running loop, from blocking code: what a user's coroutine is bound to works there and nowhere else."""
    import nest_asyncio2

    nest_asyncio2.apply(loop)
    task = loop.create_task(_all(awaitables, limit))
    try:
        return loop.run_until_complete(task)
    except BaseException:
        task.cancel()
        with suppress(BaseException):
            loop.run_until_complete(asyncio.wait({task}, timeout=_CLEANING_UP))
        raise


class _AsyncFace:
    """Awaits. Functions that are no coroutines get a thread each."""

    def __init__(self, stream: Callable[..., AsyncResponseStream], plan: _Plan) -> None:
        self._stream = stream
        self._watch = plan.on_stream

    async def ask(self, fields: dict[str, Any]) -> Response:
        async with self._stream(**fields) as stream:
            if self._watch is not None and inspect.isawaitable(watching := self._watch(stream)):
                await watching
            return await stream.get_final_response()

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return function(*args, **kwargs)
        return self._in_thread(function, *args, **kwargs)

    @staticmethod
    async def _in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = await asyncio.to_thread(function, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    async def wait(self, awaitables: Sequence[Awaitable[Any]], limit: float | None) -> list[Any]:
        return await _all(awaitables, limit)
