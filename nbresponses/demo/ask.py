"""What a request asks for: the body, checked as the API checks it, and the context it continues. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.demo.wire import ApiError, Ids, Json, count_tokens, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_TRANSPORT_ONLY = ("stream_id", "generate")  # WebSocket fields that a POST does not know


@dataclass(frozen=True, slots=True)
class Context:
    """What was said so far, oldest first. Counted as it grows: a long talk is not read again each turn."""

    items: tuple[Json, ...] = ()
    prompts: tuple[str, ...] = ()  # what the user said
    tokens: int = 0

    def plus(self, items: Sequence[Json]) -> Context:
        said = tuple(" ".join(texts_of(item)) for item in items if item.get("role") == "user")
        return Context((*self.items, *items), self.prompts + said, self.tokens + count_tokens(items))


@dataclass(frozen=True, slots=True)
class Ask:
    body: Mapping[str, Any]
    earlier: Context  # what `previous_response_id` brings
    new: tuple[Json, ...]  # the items of this request
    context: Context  # both, whichever way they came here

    @classmethod
    def of(cls, body: Mapping[str, Any], earlier: Context, new: tuple[Json, ...]) -> Ask:
        return cls(body, earlier, new, earlier.plus(new))

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def prompts(self) -> tuple[str, ...]:
        """What the user has said so far, oldest first."""
        return self.context.prompts

    @property
    def prompt(self) -> str:
        return self.prompts[-1] if self.prompts else ""

    @property
    def tools(self) -> tuple[Json, ...]:
        return tuple(tool for tool in self.body.get("tools") or () if isinstance(tool, dict))

    @property
    def outputs(self) -> tuple[Json, ...]:
        """Results of tool calls that came with this request."""
        return tuple(item for item in self.new if str(item.get("type", "")).endswith("_call_output"))

    @property
    def format(self) -> Json:
        given = (self.body.get("text") or {}).get("format") or {}
        return given if isinstance(given, dict) else {}

    @property
    def wants_json(self) -> bool:
        return self.format.get("type") in {"json_schema", "json_object"}

    @property
    def include(self) -> tuple[str, ...]:
        return tuple(self.body.get("include") or ())

    @property
    def obfuscate(self) -> bool:
        return (self.body.get("stream_options") or {}).get("include_obfuscation", True) is not False

    def setting(self, name: str) -> str | None:
        """A demo setting out of the request's metadata (`demo_count`, `demo_delay`, `demo_fault`)."""
        value = (self.body.get("metadata") or {}).get(name)
        return None if value is None else str(value)

    def number(self, name: str, default: float) -> float:
        value = self.setting(name)
        try:
            return default if value is None else float(value)
        except ValueError:
            raise ApiError(400, f"metadata.{name} is to be a number, not {value!r}.", param="metadata") from None

    @property
    def input_tokens(self) -> int:
        return self.context.tokens + 4

    @property
    def cached_tokens(self) -> int:
        return self.earlier.tokens


def parse_body(raw: bytes) -> Json:
    """The JSON object of a request body; ApiError if it is none."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(400, f"We could not parse the JSON body of your request: {error}.") from error
    if not isinstance(body, dict):
        raise ApiError(400, f"The body is to be a JSON object, not {type(body).__name__}.")
    return body


def check_body(body: Mapping[str, Any], *, websocket: bool = False) -> None:
    """Refuses what the API refuses, in its words."""
    if not body.get("model") or not isinstance(body["model"], str):
        raise ApiError(400, "Missing required parameter: 'model'.", code="missing_required_parameter", param="model")
    if not websocket:
        for name in _TRANSPORT_ONLY:
            if name in body:
                raise ApiError(400, f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
    warm_up = websocket and body.get("generate") is False
    if not warm_up and not any(
        body.get(name) is not None for name in ("input", "previous_response_id", "prompt", "conversation")
    ):
        message = "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided."
        raise ApiError(400, message, code="missing_required_parameter", param="input")
    for name, kinds, expected in _TYPES:
        if body.get(name) is not None and (not isinstance(body[name], kinds) or isinstance(body[name], bool)):
            message = f"Invalid type for '{name}': expected {expected}, but got {type(body[name]).__name__} instead."
            raise ApiError(400, message, code="invalid_type", param=name)
    _check_values(body)
    limit = body.get("max_output_tokens")
    if limit is not None and limit < 1:
        message = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, got {limit}."
        raise ApiError(400, message, code="integer_below_min_value", param="max_output_tokens")
    if websocket and body.get("background"):
        raise ApiError(400, "'background' is not supported over WebSocket.", param="background")
    if body.get("background") and body.get("store") is False:
        raise ApiError(400, "Background mode requires 'store' to be true.", param="background")


def _check_values(body: Mapping[str, Any]) -> None:
    """Refuses words that the API does not know, where it lists those that it does."""
    given: list[tuple[str, Any, Sequence[str]]] = []
    reasoning = body.get("reasoning") or {}
    if reasoning.get("effort") is not None:
        given.append(("reasoning.effort", reasoning["effort"], _EFFORTS))
    for place, tool in enumerate(body.get("tools") or ()):
        if not isinstance(tool, dict) or not tool.get("type"):
            message = f"Missing required parameter: 'tools[{place}].type'."
            raise ApiError(400, message, code="missing_required_parameter", param=f"tools[{place}].type")
        given.append((f"tools[{place}].type", tool["type"], _TOOLS))
    for param, value, known in given:
        if value not in known:
            named = ", ".join(f"'{word}'" for word in known[:-1])
            message = f"Invalid value: '{value}'. Supported values are: {named}, and '{known[-1]}'."
            raise ApiError(400, message, code="invalid_value", param=param)


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TOOLS = (
    *("apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search", "function"),
    *("image_generation", "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search"),
    *("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
)

_TYPES: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("input", (str, list), "one of a string or an array of items"),
    ("previous_response_id", str, "a string"),
    ("instructions", str, "a string"),
    ("max_output_tokens", int, "an integer"),
    ("temperature", (int, float), "a number"),
    ("top_logprobs", int, "an integer"),
    ("tools", list, "an array of tools"),
    ("include", list, "an array of strings"),
    ("metadata", dict, "an object"),
    ("reasoning", dict, "an object"),
    ("text", dict, "an object"),
    ("stream_options", dict, "an object"),
)


def items_of(given: Any, ids: Ids) -> tuple[Json, ...]:
    """The input as items, each with an id: a string is a user message."""
    if given is None:
        return ()
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    return tuple(_item(item, index, ids) for index, item in enumerate(given))


def _item(item: Any, index: int, ids: Ids) -> Json:
    if not isinstance(item, dict):
        message = f"Invalid type for 'input[{index}]': expected an object, but got {type(item).__name__} instead."
        raise ApiError(400, message, code="invalid_type", param=f"input[{index}]")
    kind = item.get("type", "message")
    if kind != "message":
        return {"id": ids.new("item"), **item}
    content = item.get("content")
    if isinstance(content, str):
        part = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": part, "text": content}]
    return {"id": ids.new("msg"), "type": "message", "status": "completed", **item, "content": content or []}


def check_tool_outputs(earlier: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> None:
    """Every output answers a call that the context holds, and no call of the context stays unanswered."""
    calls: dict[str, str] = {}
    answered: set[str] = set()
    for item in (*earlier, *new):
        kind, call_id = str(item.get("type", "")), str(item.get("call_id", ""))
        if kind in _OUTPUT_OF:
            calls[call_id] = kind
        elif kind in _OUTPUT_OF.values():
            answered.add(call_id)
    for item in new:
        if item.get("type") in _OUTPUT_OF.values() and item.get("call_id") not in calls:
            spoken = _spoken(str(item["type"]).removesuffix("_output"))
            raise ApiError(
                400, f"No tool call found for {spoken} output with call_id {item.get('call_id')}.", param="input"
            )
    for call_id in _unanswered(calls, answered):
        raise ApiError(400, f"No tool output found for {_spoken(calls[call_id])} {call_id}.", param="input")


def open_calls(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The calls among these items that still wait for an output or a decision of the client."""
    items = list(items)
    answered = {item.get("call_id") for item in items if item.get("type") in _OUTPUT_OF.values()}
    decided = {item.get("approval_request_id") for item in items if item.get("type") == "mcp_approval_response"}
    waiting = [item for item in items if item.get("type") in _CLIENT_CALLS and item.get("call_id") not in answered]
    return waiting + [i for i in items if i.get("type") == "mcp_approval_request" and i.get("id") not in decided]


_CLIENT_CALLS = ("function_call", "custom_tool_call")


def _unanswered(calls: Mapping[str, str], answered: set[str]) -> list[str]:
    # Shell and patch calls may be run by the server itself: only calls that are always the client's are asked for.
    return [call_id for call_id, kind in calls.items() if kind in _CLIENT_CALLS and call_id not in answered]


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")
