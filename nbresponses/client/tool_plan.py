"""What a user gave to `run`, checked before anything is sent. Sends nothing, calls nothing."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbresponses.core.tools import Tool, tool_of
from nbresponses.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses.core.tools import ToolCall

__all__ = ["MAX_ROUNDS", "Plan", "plan_of"]

MAX_ROUNDS = 25


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a run; `run_async` says what each means."""

    tools: Mapping[str, Tool]
    definitions: tuple[dict[str, Any], ...]
    handlers: Mapping[str, Callable[..., Any]]
    confirm: Callable[..., Any] | None
    max_rounds: int
    tool_timeout: float | None
    on_stream: Callable[..., Any] | None
    on_call: Callable[[ToolCall], Any] | None


def plan_of(options: dict[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """The plan, and what is left: the fields of the request. RequestError names the option that cannot be right."""
    fields = dict(options)
    given = _listed(fields.pop("tools", None))
    strict = fields.pop("strict", None)
    ready = [entry if isinstance(entry, (dict, Tool)) else tool_of(entry, strict_mode=strict) for entry in given]
    tools = {tool.name: tool for tool in ready if isinstance(tool, Tool)}
    if len(tools) != sum(isinstance(entry, Tool) for entry in ready):
        raise RequestError("tools", "two of them have one name")
    plan = Plan(
        tools,
        tuple(entry.definition if isinstance(entry, Tool) else entry for entry in ready),
        _handlers(fields.pop("handlers", None)),
        _function(fields, "confirm"),
        _rounds(fields.pop("max_rounds", MAX_ROUNDS)),
        _seconds(fields.pop("tool_timeout", None)),
        _function(fields, "on_stream"),
        _function(fields, "on_call"),
    )
    if inspect.iscoroutinefunction(plan.on_call):
        raise RequestError("on_call", "a plain function is expected: nobody awaits it")
    if plan.definitions:
        fields["tools"] = list(plan.definitions)
    return plan, fields


def _listed(tools: Any) -> list[Any]:
    """`tools=` as a list: one function will do."""
    if tools is None:
        return []
    if callable(tools) or isinstance(tools, (dict, Tool)):
        return [tools]
    if isinstance(tools, (list, tuple, set, frozenset)):
        return list(tools)
    raise RequestError("tools", f"a function, or a list of functions and dicts is expected, not {type(tools).__name__}")


def _handlers(handlers: Any) -> dict[str, Callable[..., Any]]:
    if handlers is None:
        return {}
    if not isinstance(handlers, dict):
        kind = type(handlers).__name__
        raise RequestError("handlers", f"a dict of functions by item type or name is expected, not {kind}")
    for name, handler in handlers.items():
        if not isinstance(name, str) or not callable(handler):
            raise RequestError("handlers", f"{name!r} must be an item type or tool name, with a function for it")
    return dict(handlers)


def _function(fields: dict[str, Any], option: str) -> Callable[..., Any] | None:
    value: Callable[..., Any] | None = fields.pop(option, None)
    if value is not None and not callable(value):
        raise RequestError(option, f"a function is expected, not {type(value).__name__}")
    return value


def _rounds(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RequestError("max_rounds", "must be a whole number, 0 or above")
    return value


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise RequestError("tool_timeout", "must be a number of seconds above 0")
    return float(value)
