"""`run`: a response, the calls it makes, their results back to the model, and so on until it answers. One async body.

Rules
1. A call of a function in `tools` is read, confirmed, made, and answered with its result or with what went wrong: the
   model gets the error as text. The calls of one response are made in its order; async ones run side by side.
2. Every other call (custom tools, MCP approvals, shell, patches, the computer) goes to the handler that the user named
   for it. Where there is none it waits: the run ends and gives it back. Nothing is executed that nobody named.
3. Each round sends the new items only: on a lane, or by `previous_response_id`. Without a server that keeps responses
   (`store=False`, or one that refuses the id) the whole input goes along instead.
4. A forced `tool_choice` holds for the first round: kept, it would call for ever.
5. A call that comes twice (one call_id, the same arguments) is made once and answered twice.
6. What ends a run early (a failure, an interrupt) carries as `partial` the run so far: no round and no result is lost.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nbresponses.client.at_once import at_once
from nbresponses.client.tool_faces import AsyncFace, SyncFace
from nbresponses.client.tool_plan import MAX_ROUNDS, plan_of
from nbresponses.core.lanes.lineage import as_input
from nbresponses.core.request import NOT_GIVEN
from nbresponses.core.tools import ToolCall, answer_item, calls_in, refusal_item
from nbresponses.errors import Rejected, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbresponses.client.stream import AsyncResponseStream, ResponseStream
    from nbresponses.client.tool_faces import Face
    from nbresponses.client.tool_plan import Plan
    from nbresponses.core.response import Response

__all__ = ["MAX_ROUNDS", "ToolRun", "run", "run_async"]

_REFUSED = frozenset({400, 404, 422, 501})
"""Answers of servers that keep no responses to a request that names one."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What came of a run. `response` is the last one, `rounds` are all, `calls` all calls with what they returned.

    | `ending`                | |
    | "answered"              | the last response completed and waits for nothing |
    | "incomplete"            | it ran into a limit or a filter; `pending` are its whole calls, which were not made |
    | "waiting"               | for `pending`, calls that nobody was named for; `answers` are the items of the others |
    | "max_rounds"            | `pending` was not called any more |
    | "failed", "interrupted" | only as `partial` of an exception: the last response is what came of it, `pending` are |
    |                         | the calls that were not made or not finished |
    """

    rounds: tuple[Response, ...]
    calls: tuple[ToolCall, ...] = ()
    ending: str = "answered"
    pending: tuple[ToolCall, ...] = ()
    answers: tuple[dict[str, Any], ...] = ()

    @property
    def response(self) -> Response:
        """The last response."""
        return self.rounds[-1]

    @property
    def output_text(self) -> str:
        """The text of the last response."""
        return self.response.output_text

    def __repr__(self) -> str:
        return f"ToolRun({self.ending}, {len(self.rounds)} rounds, {len(self.calls)} calls, {self.response!r})"


def run(stream: Callable[..., ResponseStream], input_: Any, /, *, lane: bool = False, **options: Any) -> ToolRun:
    """As `run_async`, for synchronous code. Functions run in this thread, coroutines in its running loop."""
    plan, fields = plan_of(options)
    if inspect.iscoroutinefunction(plan.on_stream):
        raise RequestError("on_stream", "a plain function is expected: in synchronous code nobody awaits it")
    face = SyncFace(stream, plan.on_stream)
    try:
        return at_once(_run(face, plan, _Rounds({**fields, "input": input_}, lane=lane)))
    finally:
        face.close()


async def run_async(
    stream: Callable[..., AsyncResponseStream], input_: Any, /, *, lane: bool = False, **options: Any
) -> ToolRun:
    """A run over what `stream(**fields)` opens. Plain functions run in threads.

    Raises as `get_final_response()`; the exception, an interrupt too, has the `ToolRun` so far as `partial`.

    tools         functions, or one; tool definitions (dicts) go out as they are
    handlers      item type or tool name → function that gets the item (see rule 2) and returns the output
    confirm       gets each `ToolCall` before it is made; True makes it, anything else declines (a text says why)
    max_rounds    rounds of calls; then the run ends
    tool_timeout  seconds for an async function (in asynchronous code for any); then the model is told
    on_stream     gets each round's stream as it begins, to show it
    on_call       gets each `ToolCall` when it has been answered
    strict        True insists on strict schemas, False turns them off; None: where the signature allows it
    """
    plan, fields = plan_of(options)
    return await _run(AsyncFace(stream, plan.on_stream), plan, _Rounds({**fields, "input": input_}, lane=lane))


# ── The body ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Progress:
    """A run while it goes on: what there is of it, should it end early."""

    def __init__(self) -> None:
        self.stream: AsyncResponseStream | ResponseStream | None = None  # the round that has not ended
        self.rounds: list[Response] = []
        self.calls: list[ToolCall] = []
        self.round: _Calls | None = None

    def answered(self, response: Response) -> None:
        self.stream = None
        self.rounds.append(response)

    def run(self, ending: str, **more: Any) -> ToolRun:
        return ToolRun(tuple(self.rounds), tuple(self.calls), ending, **more)

    def keep_on(self, error: BaseException) -> None:
        """Let an exception carry what there is (rule 6)."""
        response = self.stream.response if self.stream is not None else None
        if response is not None and (response.id is not None or response.output):
            self.rounds.append(response)
        if not self.rounds:
            return
        calls = self.round.calls if self.round is not None else []
        self.calls += [call for call in calls if call.outcome != "waiting"]
        ending = "failed" if isinstance(error, Exception) else "interrupted"
        run = self.run(ending, pending=tuple(call for call in calls if call.outcome == "waiting"))
        with suppress(AttributeError, TypeError):  # an exception of the user's own that takes no attributes
            error.partial = run  # type: ignore[attr-defined]
            error.add_note(f"Kept as `partial` of this exception: {len(run.rounds)} rounds, {len(run.calls)} calls")


async def _run(face: Face, plan: Plan, rounds: _Rounds) -> ToolRun:
    progress = _Progress()
    try:
        return await _to_its_end(face, plan, rounds, progress)
    except BaseException as error:
        progress.keep_on(error)
        raise


async def _to_its_end(face: Face, plan: Plan, rounds: _Rounds, progress: _Progress) -> ToolRun:
    fields = rounds.first()
    while True:
        response = await _asked(face, rounds, fields, progress)
        number = len(progress.rounds)
        waiting = [ToolCall(item, number) for item in calls_in(response.output)]
        if response.ending != "completed":
            return progress.run("incomplete", pending=tuple(call for call in waiting if _is_whole(call)))
        if not waiting:
            return progress.run("answered")
        if number > plan.max_rounds:
            return progress.run("max_rounds", pending=tuple(waiting))
        progress.round = _Calls(waiting, plan)
        await _make(face, plan, progress.round)
        calls, answers = progress.round.calls, progress.round.answers
        progress.calls += calls
        progress.round = None
        pending = tuple(call for call in calls if call.outcome == "waiting")
        if pending:
            return progress.run("waiting", pending=pending, answers=answers)
        fields = rounds.following(response, answers)


def _is_whole(call: ToolCall) -> bool:
    """Whether all of a call has come, in a response that broke off."""
    status = call.item.get("status")
    return status == "completed" or (status is None and isinstance(call.arguments, dict))


async def _asked(face: Face, rounds: _Rounds, fields: dict[str, Any], progress: _Progress) -> Response:
    """The response of a round, with the whole input if the server refuses to go on from an id (rule 3)."""
    try:
        response = await face.ask(fields, progress)
    except Rejected as error:
        if not rounds.may_replay or error.status not in _REFUSED:
            raise
        response = await face.ask(rounds.replayed(), progress)
    progress.answered(response)
    return response


class _Calls:
    """The calls of one round in their order, and what became of each as soon as it is known."""

    def __init__(self, waiting: Sequence[ToolCall], plan: Plan) -> None:
        self.calls = list(waiting)
        self._answers: dict[int, dict[str, Any]] = {}
        self._plan = plan

    @property
    def answers(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._answers[place] for place in sorted(self._answers))

    def settle(self, place: int, outcome: str, value: Any, seconds: float | None = None) -> None:
        if isinstance(value, BaseException):
            outcome, value = "error", _told(value, self._plan.tool_timeout)
        item = self.calls[place].item
        if outcome == "ok":
            try:
                self._answers[place] = answer_item(item, value)
            except Exception as error:  # of the value's own methods
                outcome, value = "error", f"the result cannot be written as text: {_told(error, None)}"
        if outcome != "ok":
            self._answers[place] = refusal_item(item, str(value))
        self.calls[place] = replace(self.calls[place], outcome=outcome, output=value, seconds=seconds)
        if self._plan.on_call is not None:
            self._plan.on_call(self.calls[place])

    def earlier(self, place: int) -> int | None:
        """Where the same call stands before this one (rule 5)."""
        call = _without_place(self.calls[place].item)
        if call.get("call_id") is None:
            return None
        return next((at for at in range(place) if _without_place(self.calls[at].item) == call), None)


def _without_place(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in {"id", "status"}}


async def _make(face: Face, plan: Plan, round_: _Calls) -> None:
    """Make the calls of one round: plain functions one after the other, then what is awaited, side by side."""
    started: list[tuple[int, Any, float]] = []
    twins = [(place, first) for place in range(len(round_.calls)) if (first := round_.earlier(place)) is not None]
    try:
        for place in sorted(set(range(len(round_.calls))) - {place for place, _ in twins}):
            if (begun := await _started(face, plan, round_, place)) is not None:
                started.append(begun)
    except BaseException:
        for _, awaitable, _ in started:
            if inspect.iscoroutine(awaitable):
                awaitable.close()  # nobody will await it
        raise

    def done(at: int, value: Any) -> None:
        place, _, began = started[at]
        round_.settle(place, "ok", value, time.monotonic() - began)

    if started:
        await face.wait([awaitable for _, awaitable, _ in started], plan.tool_timeout, done)
    for place, first in twins:
        if (call := round_.calls[first]).outcome != "waiting":
            round_.settle(place, call.outcome, call.output)


async def _started(face: Face, plan: Plan, round_: _Calls, place: int) -> tuple[int, Any, float] | None:
    """What there is to be awaited for a call, and when it began; None where the call is settled, or waits."""
    call = round_.calls[place]
    kind, name = call.item.get("type"), call.item.get("name")
    tool = plan.tools.get(call.name) if kind == "function_call" else None
    handler = plan.handlers.get(str(name)) or plan.handlers.get(str(kind))
    if kind == "mcp_approval_request" and handler is None and plan.confirm is not None:
        round_.settle(place, "ok", await _value(face, plan.confirm(call)))
        return None
    if tool is None and handler is None:
        if kind == "function_call" and not any(entry.get("name") == name for entry in plan.definitions):
            round_.settle(place, "error", f"there is no tool {name!r}")
        return None
    try:
        args, kwargs = tool.read(call.item.get("arguments")) if tool is not None else ([call.item], {})
    except ValueError as error:
        round_.settle(place, "error", str(error))
        return None
    if plan.confirm is not None and kind != "mcp_approval_request":
        allowed = await _value(face, plan.confirm(call))
        if allowed is not True:
            text = allowed if isinstance(allowed, str) and allowed else "the user declined this call"
            round_.settle(place, "declined", text)
            return None
    function: Any = tool.function if tool is not None else handler
    began = time.monotonic()
    try:
        value = face.start(function, *args, **kwargs)
    except (Exception, asyncio.CancelledError) as error:  # whatever the user's function raises: the model is told
        value = error
    if inspect.isawaitable(value):
        return place, value, began
    round_.settle(place, "ok", value, time.monotonic() - began)
    return None


async def _value(face: Face, value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value
    (result,) = await face.wait([value], None)
    if isinstance(result, BaseException):
        raise result
    return result


def _told(error: BaseException, limit: float | None) -> str:
    try:
        said = str(error)
    except Exception:  # of the exception's own methods
        said = ""
    if isinstance(error, TimeoutError) and not said and limit is not None:
        return f"no result within {limit:g} s"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


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
