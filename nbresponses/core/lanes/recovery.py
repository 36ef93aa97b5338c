"""How a request's context reaches the server (by id, from a compacted window, in full), and its message. Sends nothing.

Rules, in this order
1. What continues nothing is sent with its own input.
2. A compacted window is the base of what comes next: `previous_response_id` null, the window unpruned, then what came
   after it, then the request's own input.
3. A response that is stored, or that the connection's cache holds, is continued by `previous_response_id`.
4. Else the full context is sent, inputs and outputs of every kind, with `previous_response_id` null.
5. An id that was never seen here is sent as it is: the server may know it.
6. Where nothing of this is possible the request is refused. New input alone never goes out as if it were the whole
   conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nbresponses.errors import RequestError

if TYPE_CHECKING:
    from nbresponses.core.lanes.lineage import Lineage, ServerCache

__all__ = ["Plan", "as_items", "call_of", "create_message", "fill_required", "plain", "plan", "steering_input"]

ENCRYPTED_REASONING = "reasoning.encrypted_content"
_REASONING_MODEL = re.compile(r"(?:^|[/:.])(?:o\d|gpt-[5-9]|codex|computer-use)(?!.*chat)|reason", re.IGNORECASE)
_STEERING_PARTS = frozenset({"input_text", "input_image", "input_file"})

Items = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Plan:
    """`context` comes before the request's own input; `problem` says why there is no way."""

    how: Literal["anew", "id", "window", "history", "refused"]
    previous: str | None = None
    context: Sequence[dict[str, Any]] = ()
    problem: str = ""


def plan(lineage: Lineage, cache: ServerCache, parent: str | None, *, generation: int, lost: bool) -> Plan:
    """The way for a request that continues `parent`. `lost`: the server has said that it does not have it."""
    if parent is None:
        return Plan("anew")
    node = lineage.get(parent)
    if node is None:
        return Plan("id", parent) if not lost else _refused(parent, "the server does not have it")
    if node.window is None and node.addressable and (node.stored or cache.holds(node.id)):
        return Plan("id", node.id)
    context = lineage.context(parent)
    if context is not None:
        how: Literal["window", "history"] = "window" if lineage.compacted(parent) else "history"
        return Plan(how, context=context)
    if node.addressable and not lost and node.generation == generation:
        return Plan("id", node.id)  # the connection that made it is still there, and may hold more than is documented
    return _refused(parent, "it was not stored and the connection that held it is gone")


def _refused(parent: str, why: str) -> Plan:
    text = (
        f"{parent!r} cannot be continued: {why}, and its inputs and outputs are not all known here. Send the whole "
        "conversation as input with previous_response_id=None"
    )
    return Plan("refused", problem=text)


def create_message(
    lane: str | None, body: Mapping[str, Any], items: Items | None, way: Plan, *, encrypted: bool | None
) -> dict[str, Any]:
    """The `response.create` message. `items` replaces the body's own input where it was changed, else it is None."""
    message: dict[str, Any] = {"type": "response.create"}
    if lane is not None:
        message["stream_id"] = lane
    message.update(body)
    message.pop("previous_response_id", None)
    if way.how == "id":
        message["previous_response_id"] = way.previous
    elif way.how != "anew":
        message["previous_response_id"] = None
        items = [*way.context, *(as_items(body.get("input")) if items is None else items)]
    if items is not None:
        message["input"] = items
    if _wants_encrypted_reasoning(body, encrypted):
        message["include"] = [*(body.get("include") or ()), ENCRYPTED_REASONING]
    return message


def _wants_encrypted_reasoning(body: Mapping[str, Any], setting: bool | None) -> bool:
    if setting is False or body.get("store") is not False or ENCRYPTED_REASONING in (body.get("include") or ()):
        return False
    model = body.get("model")
    return bool(setting or body.get("reasoning") or (isinstance(model, str) and _REASONING_MODEL.search(model)))


def as_items(value: Any) -> Items:
    """The `input` of a request as a list of items; RequestError where it is neither text nor items."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": value}]}]
    if isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value):
        return list(value)
    raise RequestError("input", f"must be a text or a list of items (objects), not {type(value).__name__}")


def plain(value: Any) -> Any:
    """A deep copy made of dicts and lists; objects that have a `model_dump` or a `to_dict` are opened."""
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    return value.to_dict() if hasattr(value, "to_dict") else value


def steering_input(value: Any) -> Any:
    """`value`, if it can steer: a text, or user messages of text, images and files. RequestError otherwise."""
    if isinstance(value, str) and value:
        return value
    items = as_items(plain(value) or None)
    for item in items:
        content = item.get("content")
        parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
        if item.get("role") != "user" or item.get("type", "message") != "message":
            raise RequestError("input", "only messages of the user can steer a response")
        if any(not isinstance(part, Mapping) or part.get("type") not in _STEERING_PARTS for part in parts):
            raise RequestError("input", f"a steering message holds only {', '.join(sorted(_STEERING_PARTS))} parts")
    if not items:
        raise RequestError("input", "a steering message cannot be empty")
    return items


def fill_required(
    stubs: Sequence[Mapping[str, Any]], items: Items, saved: Mapping[str, dict[str, Any]]
) -> tuple[Items, list[str]]:
    """`items` with the saved result of each stub that they lack in front, and the call ids for which there is none."""
    present = {(item.get("type"), call_of(item)) for item in items}
    lacking = [stub for stub in stubs if (stub.get("type"), call_of(stub)) not in present]
    filled = [{**stub, **saved[call_of(stub)]} for stub in lacking if call_of(stub) in saved]
    return [*filled, *items], [call_of(stub) for stub in lacking if call_of(stub) not in saved]


def call_of(item: Mapping[str, Any]) -> str:
    """Which call a tool output or an approval answers."""
    return str(item.get("call_id") or item.get("approval_request_id"))
