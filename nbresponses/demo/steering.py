"""The rules of steering: what becomes of input for a response that runs. Pure.

1. `response.steer` takes `previous_response_id` and `input` (a string, or user messages of text, images and files),
   and nothing else. The answer is `response.steer.accepted` with an id, or `response.steer.failed` with the input.
2. Accepted input makes the response stop at the next piece (`incomplete`, reason `steered`) or go on to its end. Then a
   successor follows that nobody asked for: it continues from the response, with the input.
3. A response that ends with calls of the client's tools, or asks for an approval, has no successor:
   `response.steer.pending` names what is required. The request that continues from it gets the input, before its own.
4. Input that cannot be committed comes back in `response.steer.failed`, with its id.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.demo.ask import open_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbresponses.demo.wire import Ids, Json

_REMEMBERED = 1_000  # responses
_FIELDS = {"type", "previous_response_id", "input"}
_PARTS = {"input_text", "input_image", "input_file"}


@dataclass(frozen=True, slots=True)
class Steer:
    id: str
    input: Any  # as the client sent it


@dataclass(slots=True)
class _Target:
    lane: str | None
    steering: str  # stop, after, fail or no
    state: str = "active"  # active, completed or ended
    steers: list[Steer] = field(default_factory=list)


class Steering:
    def __init__(self, ids: Ids, pending: int) -> None:
        self._ids = ids
        self._pending = pending
        self._targets: OrderedDict[str, _Target] = OrderedDict()

    def opened(self, response_id: str, lane: str | None, steering: str) -> None:
        self._targets[response_id] = _Target(lane, steering)
        while len(self._targets) > _REMEMBERED:
            self._targets.popitem(last=False)

    def received(self, message: Json) -> tuple[Json, bool]:
        """The answer to a `response.steer`, and whether its response is to stop."""
        response_id, given = message.get("previous_response_id"), message.get("input")
        target = self._targets.get(response_id) if isinstance(response_id, str) else None
        code = self._refusal(message, target)
        if target is None or code is not None:
            return _failed(response_id, given, code or "response_not_found", target), False
        steer = Steer(self._ids.new("steer"), given)
        target.steers.append(steer)
        known = {"id": steer.id, "previous_response_id": response_id}
        event = {"type": "response.steer.accepted", "steer": known, **_named(target)}
        return event, target.steering in {"stop", "fail"}

    def closed(self, response_id: str, output: Sequence[Json], *, failed: bool) -> tuple[list[Json], tuple[Steer, ...]]:
        """A response ended: what is to be told, and the input of its successor (none: there is no successor)."""
        target = self._targets[response_id]
        target.state = "ended" if failed else "completed"
        steers = tuple(target.steers)
        required = [_stub(call) for call in open_calls(output)]
        if steers and required and not failed:
            return [self._waiting(response_id, target, steer, required) for steer in steers], ()
        if steers and (failed or target.steering == "fail"):
            return self.lost(response_id), ()
        return [], steers  # kept here too, until the successor has started

    def waiting(self, response_id: str, lane: str | None) -> tuple[Steer, ...]:
        """The input that waits for a request that continues from this response, on its lane."""
        target = self._targets.get(response_id)
        return tuple(target.steers) if target is not None and target.lane == lane else ()

    def committed(self, response_id: str) -> None:
        target = self._targets.get(response_id)
        if target is not None:
            target.steers.clear()

    def lost(self, response_id: str) -> list[Json]:
        """The input that waits here cannot be committed any more: it is given back."""
        target = self._targets.get(response_id)
        if target is None:
            return []
        code = "successor_creation_failed"
        told = [_failed(response_id, steer.input, code, target, steer_id=steer.id) for steer in target.steers]
        target.steers.clear()
        return told

    def _refusal(self, message: Json, target: _Target | None) -> str | None:
        if set(message) - _FIELDS or not _is_input(message.get("input")):
            return "invalid_input"
        if target is None:
            return "response_not_found"
        if target.state != "active":
            return "response_already_completed" if target.state == "completed" else "response_not_active"
        if target.steering == "no":
            return "steering_not_supported"
        return "too_many_pending_steers" if len(target.steers) >= self._pending else None

    def _waiting(self, response_id: str, target: _Target, steer: Steer, required: list[Json]) -> Json:
        known = {"id": steer.id, "previous_response_id": response_id}
        why = {"reason": "waiting_for_required_input", "required_input": required}
        return {"type": "response.steer.pending", "steer": known, **why, **_named(target)}


_MESSAGES = {
    "invalid_input": "Steering takes previous_response_id and input: a string, or user messages.",
    "response_not_found": "The response is not available on this connection.",
    "steering_not_supported": "This response does not support steering.",
    "too_many_pending_steers": "Too much steering input is pending for this response.",
    "response_already_completed": "The response completed and accepts no more steering input.",
    "response_not_active": "The response is not active any more.",
    "successor_creation_failed": "The successor response could not be created.",
}


def _failed(response_id: Any, given: Any, code: str, target: _Target | None, *, steer_id: str | None = None) -> Json:
    steer = {"previous_response_id": response_id, "input": given}
    steer = steer if steer_id is None else {"id": steer_id, **steer}
    error = {"type": "invalid_request_error", "code": code, "message": _MESSAGES[code]}
    return {"type": "response.steer.failed", "steer": steer, "error": error, **_named(target)}


def _named(target: _Target | None) -> Json:
    return {} if target is None or target.lane is None else {"stream_id": target.lane}


def _is_input(given: Any) -> bool:
    if isinstance(given, str):
        return bool(given)
    return isinstance(given, list) and bool(given) and all(_is_user_message(item) for item in given)


def _is_user_message(item: Any) -> bool:
    if not isinstance(item, dict) or set(item) - {"type", "role", "content"}:
        return False
    if item.get("role") != "user" or item.get("type", "message") != "message":
        return False
    content = item.get("content")
    if isinstance(content, list):
        return all(isinstance(part, dict) and part.get("type") in _PARTS for part in content)
    return isinstance(content, str)


def _stub(call: Any) -> Json:
    """What identifies the result that a call waits for."""
    kind = call["type"]
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": call["id"]}
    named = {"name": call["name"]} if kind == "function_call" else {}
    return {"type": f"{kind}_output", "call_id": call["call_id"], **named}
