"""A request and its scenario -> the events of the response, one after the other. Pure: no clock, no socket.

The rules:

1. `response.created` comes first; a background response is queued before it is in progress.
2. Every event has the next `sequence_number`, as its last field, `type` as its first.
3. The response that the events carry is the one that grows here: who keeps an event encodes it at once.
4. `stop(reason)` ends the response at the next piece: what is open is closed as incomplete, then the terminal event
   follows. A failure leaves what is open open.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nbresponses.demo import acts, messages, tools
from nbresponses.demo.scenarios import scenario_for
from nbresponses.demo.stage import Stage
from nbresponses.demo.wire import ApiError, Ids, Json, response_object, usage

if TYPE_CHECKING:
    from nbresponses.demo.acts import Scenario
    from nbresponses.demo.ask import Ask

Player = Callable[[Stage, Any], Iterator[Json]]


_STEERING = ("stop", "after", "fail", "no")
# A response ends with these, and waits for the client.
_CLIENT_ACTS = (acts.FunctionCall, acts.CustomCall, acts.Together, acts.McpApproval)


class Script:
    """One response: iterate `events()` once; `response` is its object at any moment."""

    def __init__(self, ask: Ask, ids: Ids, *, now: int) -> None:
        self.ask = ask
        self.scenario = scenario_for(ask)
        self.response = response_object(ask.body, response_id=ids.new("resp"), created_at=now)
        budget = ask.body.get("max_output_tokens") or self.scenario.budget
        self._stage = Stage(ask, ids, self.response, budget=budget)
        self._now = now
        self._numbers = itertools.count()
        self.steering = _steering(ask, self.scenario)

    @property
    def id(self) -> str:
        return str(self.response["id"])

    def stop(self, reason: str) -> None:
        self._stage.stop(reason)

    def take_number(self) -> int:
        """The next sequence number, for an event that belongs to this response and is made elsewhere."""
        return next(self._numbers)

    def events(self) -> Iterator[Json]:
        for event in self._events():
            event["sequence_number"] = self.take_number()
            yield event

    def _events(self) -> Iterator[Json]:
        yield self._lifecycle("created")
        if self.response["background"]:
            yield self._lifecycle("queued")
        self.response["status"] = "in_progress"
        yield self._lifecycle("in_progress")
        if self.ask.body.get("generate") is not False:
            for act in self.scenario.acts:
                yield from play(self._stage, act)
                if self._stage.finished:
                    break
        yield self._ended()

    def _ended(self) -> Json:
        stage, response = self._stage, self.response
        if stage.failure is not None:
            response["error"] = {"code": stage.failure.code, "message": stage.failure.message}
            response["output"] = []
            return self._end("failed")
        response["usage"] = usage(
            input_tokens=self.ask.input_tokens,
            cached=self.ask.cached_tokens,
            output_tokens=stage.output_tokens,
            reasoning=stage.reasoning_tokens,
        )
        if stage.stopped is not None:
            response["incomplete_details"] = {"reason": stage.stopped}
            return self._end("incomplete")
        response["completed_at"] = self._now
        return self._end("completed")

    def _end(self, status: str) -> Json:
        self.response["status"] = status
        return self._lifecycle(status)

    def _lifecycle(self, state: str) -> Json:
        return {"type": f"response.{state}", "response": self.response}


def _steering(ask: Ask, scenario: Scenario) -> str:
    """How steering this response goes: it stops, goes on to its end (after), fails, or takes none (no)."""
    if ask.body.get("conversation") or ask.body.get("context_management"):
        return "no"
    default = "after" if any(isinstance(act, _CLIENT_ACTS) for act in scenario.acts) else "stop"
    asked = ask.setting("demo_steer") or default
    if asked not in _STEERING:
        message = f"metadata.demo_steer is to be one of {', '.join(_STEERING)}, not {asked!r}."
        raise ApiError(400, message, param="metadata")
    return asked


def play(stage: Stage, act: acts.Act) -> Iterator[Json]:
    """The events of one act."""
    return _PLAYERS[type(act)](stage, act)


def _play_together(stage: Stage, act: acts.Together) -> Iterator[Json]:
    running = [play(stage, one) for one in act.acts]
    while running:
        for events in list(running):
            event = next(events, None)
            if event is None:
                running.remove(events)
            else:
                yield event


def _play_failure(stage: Stage, act: acts.Fail) -> Iterator[Json]:
    stage.failure = act
    error = {"type": "server_error", "code": act.code, "message": act.message, "param": None}
    if act.nested:
        yield {"type": "error", "error": error}
    else:
        yield {"type": "error", "code": act.code, "message": act.message, "param": None}


_PLAYERS: dict[type, Player] = {
    acts.Message: messages.play_message,
    acts.Count: messages.play_count,
    acts.Refuse: messages.play_refusal,
    acts.Reasoning: messages.play_reasoning,
    acts.Speech: messages.play_speech,
    acts.Compact: messages.play_compaction,
    acts.Together: _play_together,
    acts.Fail: _play_failure,
    acts.FunctionCall: tools.play_function,
    acts.CustomCall: tools.play_custom,
    acts.Code: tools.play_code,
    acts.WebSearch: tools.play_web_search,
    acts.FileSearch: tools.play_file_search,
    acts.Picture: tools.play_picture,
    acts.McpList: tools.play_mcp_list,
    acts.McpCall: tools.play_mcp_call,
    acts.McpApproval: tools.play_mcp_approval,
    acts.Shell: tools.play_shell,
    acts.Patch: tools.play_patch,
}
