"""Structured output: the schema that an answer is asked to follow, and the answer as an object of that type. Pure.

A type whose schema is no object (a list, a union, a number) is asked for as `{"value": …}` and given back without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_origin

import msgspec

from nbresponses.core.partial_json import open_partial
from nbresponses.core.schemas import Shape
from nbresponses.core.strict import is_strict, strict
from nbresponses.errors import FormatError, RequestError

if TYPE_CHECKING:
    from nbresponses.core.response import Response

__all__ = ["Format", "format_of"]

_FENCED = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?```\s*", re.DOTALL)
_WRAP = "value"


@dataclass(frozen=True, slots=True)
class Format:
    """What `text_format=` asked for. `shape` is None where it was a schema; `body` goes into `text.format`."""

    shape: Shape | None
    body: dict[str, Any]
    wrapped: bool = False

    def value_of(self, response: Response) -> Any:
        """The answer as an object; None while it runs, and where it is a call of a tool.

        Raises FormatError: its `reason` is "refused", "incomplete" (cut off, or out of tokens), "absent" or "invalid".
        """
        if response.ending is None:
            return None
        if response.refusal is not None:
            raise FormatError("refused", "the model refused to answer")
        if response.ending != "completed":
            details = response.incomplete_details
            why = f"{response.ending}: {details.reason}" if details is not None and details.reason else response.ending
            raise FormatError("incomplete", f"the answer has not ended ({why}); `parsed_so_far` has what came of it")
        text = answer_text(response)
        if not text.strip():
            if response.function_calls:
                return None
            raise FormatError("absent", "the answer holds no text")
        return self.read(text)

    def read(self, text: str) -> Any:
        """A whole answer. FormatError ("invalid") if it is no JSON, or doesn't fit the type."""
        try:
            value = self._opened(text)
            return value if self.shape is None else self.shape.read(value)
        except FormatError:
            raise
        except RecursionError:
            raise _invalid("it is nested too deeply") from None
        except ValueError as error:  # msgspec's and pydantic's are of this kind
            raise _invalid(str(error)) from None
        except Exception as error:  # whatever the user's own class raises when it is made
            raise _invalid(f"{type(error).__name__}: {error}") from error

    def _opened(self, text: str) -> Any:
        fenced = _FENCED.fullmatch(text)
        value = msgspec.json.decode(fenced[1] if fenced else text)
        if not self.wrapped:
            return value
        if not isinstance(value, dict) or _WRAP not in value:
            raise _invalid(f"there is no {_WRAP!r} in it")
        return value[_WRAP]

    def so_far(self, text: str) -> Any:
        """What has come of it, as plain dicts and lists; None where nothing has."""
        value = open_partial(text)
        return value.get(_WRAP) if self.wrapped and isinstance(value, dict) else value


def _invalid(problem: str) -> FormatError:
    return FormatError("invalid", f"the answer does not fit the format: {problem}")


def format_of(wanted: Any) -> Format:
    """A format from a pydantic model, dataclass, TypedDict, msgspec Struct, another type, or a JSON schema (a dict).

    Raises RequestError where it has no schema. Strict mode is on where the schema has a strict form; a schema that was
    given as a dict goes out as it is.
    """
    if isinstance(wanted, Format):
        return wanted
    if isinstance(wanted, Mapping):
        return _given(dict(wanted))
    if not _is_type(wanted):  # whose value an error is not to tell
        raise RequestError("text_format", f"a type or a JSON schema is expected, not {type(wanted).__name__}")
    try:
        shape = Shape.of(wanted)
    except Exception as error:  # msgspec's, or any of pydantic's
        raise RequestError("text_format", f"no schema can be made of it: {error}") from None
    schema = dict(shape.schema)
    wrapped = schema.get("type") != "object" or "properties" not in schema
    if wrapped:
        defs = schema.pop("$defs", None)
        schema = {"type": "object", "properties": {_WRAP: schema}, "required": [_WRAP], "additionalProperties": False}
        schema |= {"$defs": defs} if defs else {}
    strict_schema = strict(schema)
    return Format(shape, _body(_name_of(wanted), strict_schema or schema, strict=strict_schema is not None), wrapped)


def _is_type(value: Any) -> bool:
    made_by_typing = "typing" in type(value).__module__ or get_origin(value) is not None
    return value is None or isinstance(value, type) or made_by_typing


def _given(schema: dict[str, Any]) -> Format:
    if schema.get("type") in {"json_schema", "json_object"}:  # a whole format
        return Format(None, schema)
    if not any(name in schema for name in ("type", "properties", "$ref", "anyOf")):
        raise RequestError("text_format", "a dict is read as a JSON schema, and this one says nothing")
    return Format(None, _body(str(schema.get("title") or "answer"), schema, strict=is_strict(schema)))


def _body(name: str, schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    clean = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_")[:64] or "answer"
    return {"type": "json_schema", "name": clean, "schema": schema, "strict": strict}


def _name_of(type_: Any) -> str:
    return str(getattr(type_, "__name__", "answer")) if isinstance(type_, type) else "answer"


def answer_text(response: Response) -> str:
    """The text of the last message that has some: comments may go before it."""
    for item in reversed(response.output):
        if item.get("type") == "message":
            parts = item.get("content") if isinstance(item.get("content"), list) else []
            texts = [part.get("text") for part in parts or () if isinstance(part, dict)]
            if text := "".join(text for text in texts if isinstance(text, str)):
                return text
    return ""
