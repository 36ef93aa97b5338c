"""The user's own functions as tools: what the model is told of them, how its calls are read, what goes back. Pure.

Nothing here calls a function. A call is answered by exactly one item; what cannot be read is answered with a text that
tells the model why.
"""

from __future__ import annotations

import functools
import inspect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from nbresponses.core.docstrings import read_docstring
from nbresponses.core.schemas import Shape, read_as
from nbresponses.core.strict import strict
from nbresponses.core.wire import WireObject, open_json
from nbresponses.errors import DecodeError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["HANDLED", "Tool", "ToolCall", "answer_item", "calls_in", "refusal_item", "tool_of"]

_NO_DEFAULT = inspect.Parameter.empty
_VARIABLE = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
_NAME_LENGTH = 64

HANDLED = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "mcp_approval_request": "mcp_approval_response",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
"""Item that waits for the client → the item that answers it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool's function. `positional`: it cannot be given by name.

    `nullable`: null stands for the default, which the schema cannot say.
    """

    name: str
    shape: Shape
    default: Any
    positional: bool
    nullable: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. `definition` is the entry for `tools` in the request."""

    name: str
    function: Callable[..., Any]
    definition: dict[str, Any]
    parameters: tuple[Parameter, ...] = field(repr=False)

    def read(self, arguments: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call (JSON), as types of the signature: positional and by keyword.

        Raises ValueError with a text for the model: no JSON object, an unknown or missing argument, a wrong type.
        """
        try:
            given = _opened(arguments)
        except DecodeError as error:
            raise ValueError(f"the arguments are no JSON object: {error.reason}") from None
        known = {parameter.name for parameter in self.parameters}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(
                f"unknown argument {unknown[0]!r}; the arguments are: {', '.join(sorted(known)) or 'none'}"
            )
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for place, parameter in enumerate(self.parameters):
            if parameter.name not in given or (parameter.nullable and given[parameter.name] is None):
                if parameter.positional and parameter.default is not _NO_DEFAULT:
                    positional.append(parameter.default)  # a later one can only be given after it
                continue  # its default, or the function itself says what is missing
            value = _read(given[parameter.name], parameter)
            if parameter.positional and len(positional) == place:
                positional.append(value)
            else:
                named[parameter.name] = value
        self._check_complete(named, positional)
        return positional, named

    def _check_complete(self, named: dict[str, Any], positional: list[Any]) -> None:
        try:
            inspect.signature(self.function).bind(*positional, **named)
        except TypeError as error:
            raise ValueError(str(error)) from None


def _read(value: Any, parameter: Parameter) -> Any:
    try:
        return parameter.shape.read(value)
    except ValueError as error:
        raise ValueError(f"argument {parameter.name!r}: {error}") from None
    except Exception as error:  # whatever the user's own class raises when it is made
        raise ValueError(f"argument {parameter.name!r}: {type(error).__name__}: {error}") from error


def tool_of(function: Callable[..., Any], *, strict_mode: bool | None = None) -> Tool:
    """A tool from a function's signature and docstring.

    Parameters are described by the docstring, or by `Annotated[type, "text"]`. Strict mode is on where the signature
    allows it; `strict_mode=True` insists. Raises RequestError for what cannot be described to a model.
    """
    name = _name_of(function)
    if not callable(function):
        raise RequestError("tools", f"a function or a dict is expected, not {type(function).__name__}")
    if len(name) > _NAME_LENGTH or not name.isascii() or not name.replace("-", "_").replace("_", "a").isalnum():
        raise RequestError("tools", f"{name!r} is no name for a tool: letters, digits, _ and -, {_NAME_LENGTH} at most")
    told, notes = read_docstring(inspect.getdoc(_inner(function)))
    hints = _hints(function, name)
    parameters: list[Parameter] = []
    properties: dict[str, Any] = {}
    defs: dict[str, Any] = {}
    optional: list[str] = []
    for entry in _signature(function, name):
        if entry.kind in _VARIABLE:
            raise RequestError("tools", f"{name}(): a model cannot give *{entry.name}; name each parameter")
        type_, note = _described(hints.get(entry.name, Any))
        shape = _shape(type_, name, entry.name)
        schema = dict(shape.schema)
        defs.update(schema.pop("$defs", {}))
        nullable = entry.default is not _NO_DEFAULT and not _takes_null(type_)
        if entry.default is not _NO_DEFAULT:
            optional.append(entry.name)
        text = notes.get(entry.name) or note
        properties[entry.name] = {**schema, **({"description": text} if text else {})}
        parameters.append(Parameter(entry.name, shape, entry.default, entry.kind is entry.POSITIONAL_ONLY, nullable))
    definition: dict[str, Any] = {"type": "function", "name": name}
    if told:
        definition["description"] = told
    definition |= _parameters(properties, defs, optional=optional, strict_mode=strict_mode, name=name)
    return Tool(name, function, definition, tuple(parameters))


def _parameters(
    properties: dict[str, Any],
    defs: dict[str, Any],
    *,
    optional: list[str],
    strict_mode: bool | None,
    name: str,
) -> dict[str, Any]:
    """The fields `parameters` and `strict` of a definition. In strict mode an optional parameter takes null instead."""
    required = [key for key in properties if key not in optional]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    schema |= {"$defs": defs} if defs else {}
    in_strict_form = strict(schema) if strict_mode is not False else None
    if in_strict_form is None and strict_mode:
        raise RequestError("tools", f"{name}() has no strict form: a parameter takes any key or any value")
    return {"parameters": in_strict_form or schema, "strict": in_strict_form is not None}


def _name_of(function: Any) -> str:
    function = _inner(function)
    return str(getattr(function, "__name__", type(function).__name__))


def _inner(function: Any) -> Any:
    """The function that `functools.partial` holds."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _signature(function: Any, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some that are written in C have none
        raise RequestError("tools", f"{name}() does not tell its parameters; wrap it in a function that does") from None


def _hints(function: Any, name: str) -> dict[str, Any]:
    function = _inner(function)
    if inspect.isclass(function):
        function = function.__init__
    elif not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise RequestError("tools", f"the annotations of {name}() cannot be read: {error}") from None


def _described(type_: Any) -> tuple[Any, str]:
    """A type, and the text of `Annotated[type, "text"]`."""
    if get_origin(type_) is Annotated:
        texts = [note for note in get_args(type_)[1:] if isinstance(note, str)]
        return type_, texts[0] if texts else ""
    return type_, ""


def _shape(type_: Any, function: str, parameter: str) -> Shape:
    try:
        return Shape.of(type_)
    except Exception as error:  # msgspec's, or any of pydantic's
        raise RequestError("tools", f"{function}(), parameter {parameter!r}: {error}") from None


def _takes_null(type_: Any) -> bool:
    try:
        read_as(None, type_)
    except Exception:  # msgspec's, pydantic's, or whatever a validator of the user's raises
        return False
    return True


# ── Calls and what answers them ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call and what became of it. `item` is the call in wire shape, `round` counts the rounds from 1.

    `output` is what the function returned, None until answered; `seconds` how long that took, None where nothing ran.

    `outcome` is "ok", "error" (of the function or the arguments), "declined", or "waiting" (nobody answers it).
    """

    item: WireObject
    round: int
    outcome: str = "waiting"
    output: Any = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        """The function's or tool's name; where a kind of call has none, that kind."""
        return str(self.item.get("name") or self.item.get("type") or "")

    @property
    def arguments(self) -> Any:
        """The parsed arguments; the text where it is no JSON, the input of a custom tool, the action of another."""
        item = self.item
        if item.get("type") == "custom_tool_call":
            return item.get("input")
        if "arguments" not in item:
            return item.get("action") or item.get("operation")
        try:
            return _opened(item["arguments"])
        except DecodeError:
            return item["arguments"]


def _opened(arguments: Any) -> dict[str, Any]:
    """The arguments of a call: JSON in a text. Some servers send the object itself. DecodeError where it is none."""
    if isinstance(arguments, dict):
        return arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    return open_json((text if arguments else "{}").encode("utf-8", "surrogatepass"))


def calls_in(output: Iterable[Mapping[str, Any]]) -> list[WireObject]:
    """The items that wait for the client, in order: half-written calls are left out, and those that the server ran."""
    items = list(output)
    answered = {item.get("call_id") for item in items if str(item.get("type", "")).endswith("_call_output")}
    return [
        WireObject(item)
        for item in items
        if item.get("type") in HANDLED
        and item.get("status") in {None, "completed", "in_progress"}
        and (item.get("call_id") is None or item.get("call_id") not in answered)
        and not (item.get("type") == "function_call" and not item.get("call_id"))
    ]


def answer_item(call: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """The item that answers a call with what a function or handler returned. A whole item goes out as it is."""
    kind = str(call.get("type"))
    answer = HANDLED[kind]
    if isinstance(output, dict) and output.get("type") == answer:
        return output
    if kind == "mcp_approval_request":
        reason = {"reason": output} if isinstance(output, str) and output else {}
        return {"type": answer, "approval_request_id": call.get("id"), "approve": output is True, **reason}
    if kind == "local_shell_call":
        return {"type": answer, "id": call.get("call_id") or call.get("id"), "output": text_of(output)}
    caller = {"caller": call["caller"]} if call.get("caller") else {}  # a program of the server's: it goes on there
    return {"type": answer, "call_id": call.get("call_id"), **caller, **_result(kind, output)}


def _result(kind: str, output: Any) -> dict[str, Any]:
    """What a handler returned, in the fields of the item that answers a call of this kind."""
    if kind == "shell_call":
        return {"output": _shell_output(output)}
    if kind == "apply_patch_call":
        said = "" if output is None or isinstance(output, bool) else text_of(output)
        return {"status": "failed" if output is False else "completed", "output": said}
    if kind == "computer_call" and isinstance(output, str):
        return {"output": {"type": "computer_screenshot", "image_url": output}}
    return {"output": _content(output)}


def refusal_item(call: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """The item that tells the model why a call brought no result."""
    kind = str(call.get("type"))
    if kind == "shell_call":
        failed = {"stdout": "", "stderr": reason, "outcome": {"type": "exit", "exit_code": 1}}
        return {"type": HANDLED[kind], "call_id": call.get("call_id"), "output": [failed]}
    item = answer_item(call, reason)
    return {**item, "status": "failed"} if kind == "apply_patch_call" else item


def _shell_output(output: Any) -> list[Any]:
    if isinstance(output, list):
        return output
    return [{"stdout": text_of(output), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]


def _content(output: Any) -> Any:
    """Parts (`input_text`, `input_image`, `input_file`) go out as they are, everything else as text."""
    is_parts = isinstance(output, list) and output and all(_is_part(part) for part in output)
    if is_parts:
        return output
    return [output] if _is_part(output) else text_of(output)


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in {"input_text", "input_image", "input_file"}


def text_of(value: Any) -> str:
    """What a function returned, as text for the model: a text as it is, else JSON, else `str()`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if hasattr(value, "model_dump_json"):
        return str(value.model_dump_json())
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except (TypeError, ValueError, OverflowError, NotImplementedError, RecursionError, msgspec.MsgspecError):
        return str(value)


def _plain(value: Any) -> Any:
    """What msgspec does not know, as what it knows: models of pydantic, numbers and arrays of numpy."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__array_interface__") and hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError
