"""What the user asks for → the body of a request, checked before anything is sent. Sends nothing, fills in nothing.

Only what is certainly wrong is refused, and the error names the field. Fields that are not known here pass through
unchanged, because servers know more of them than any list. A value that was given is sent, None too (as null); what
was not given is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, final

import msgspec

from nbresponses.core.formats import Format, format_of
from nbresponses.core.inputs import as_items, check_sizes, is_part
from nbresponses.errors import RequestError

__all__ = ["NOT_GIVEN", "NotGiven", "Request", "checked_body", "encode_body"]


@final
class NotGiven:
    """The type of NOT_GIVEN: an argument that was left out, where None is a value of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_GIVEN"

    def __bool__(self) -> bool:
        return False


NOT_GIVEN: Final = NotGiven()

_NUMBER = (int, float)
_LIST = (list, tuple)
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        [
            "model",
            "previous_response_id",
            "instructions",
            "truncation",
            "service_tier",
            "user",
            "safety_identifier",
            "prompt_cache_key",
            "prompt_cache_retention",
        ],
        ((str,), "a text"),
    ),
    **dict.fromkeys(["temperature", "top_p"], (_NUMBER, "a number")),
    **dict.fromkeys(["max_output_tokens", "max_tool_calls", "top_logprobs"], ((int,), "a whole number")),
    **dict.fromkeys(["background", "parallel_tool_calls", "store", "stream"], ((bool,), "True or False")),
    **dict.fromkeys(["include", "tools"], (_LIST, "a list")),
    **dict.fromkeys(["metadata", "prompt", "reasoning", "stream_options", "text"], ((Mapping,), "an object (dict)")),
    **dict.fromkeys(["conversation", "tool_choice"], ((str, Mapping), "a text or an object (dict)")),
}
_NOT_OVER = {
    "http": {
        "stream_id": "is a field of WebSocket mode (lanes); it cannot be sent over HTTP",
        "generate": "is a field of WebSocket mode (warm_up); it cannot be sent over HTTP",
    },
    "websocket": {
        "stream": "is not sent in WebSocket mode, which always streams",
        "background": "is not possible in WebSocket mode; use client.stream(background=True)",
    },
}
_SOURCES = ("input", "previous_response_id", "conversation", "prompt")


@final
class Request:
    """One request: a response to make (`input`, `model` and any other field of the API) or one to take up again.

    `response_id` takes up a response that runs or ran on the server, from the event after `starting_after`. What stands
    in `extra_body` is laid over the fields unchecked. Raises RequestError, which names the field.
    """

    __slots__ = ("_body", "format", "response_id", "starting_after")

    def __init__(
        self,
        input: Any = NOT_GIVEN,  # noqa: A002  the API's word
        *,
        response_id: str | None = None,
        starting_after: int | None = None,
        extra_body: Mapping[str, Any] | None = None,
        text_format: Any = None,
        **fields: Any,
    ) -> None:
        self.format = None if text_format is None else format_of(text_format)
        self._body: Mapping[str, Any] = MappingProxyType({})
        self.response_id = response_id
        self.starting_after = starting_after
        fields = {name: value for name, value in {**fields, "input": input}.items() if value is not NOT_GIVEN}
        if response_id is not None:
            _check_resume(response_id, starting_after, {**fields, **(extra_body or {})})
        elif starting_after is not None:
            raise RequestError("starting_after", "needs response_id: which response is to be taken up?")
        else:
            fields = with_format(fields, self.format)
            self._body = MappingProxyType(checked_body(fields, extra=extra_body))

    @property
    def body(self) -> dict[str, Any]:
        """The fields as they are sent, `stream` aside. A shallow copy."""
        return dict(self._body)

    @property
    def background(self) -> bool:
        """Whether the server goes on with it when the connection ends."""
        return self._body.get("background") is True

    def __repr__(self) -> str:
        if self.response_id is not None:
            return f"Request(response_id={self.response_id!r}, starting_after={self.starting_after!r})"
        return f"Request(model={self._body.get('model')!r}, fields={sorted(self._body)})"


def with_format(fields: Mapping[str, Any], format_: Format | None) -> dict[str, Any]:
    """The fields of a request, with `text.format` as the format says."""
    if format_ is None:
        return dict(fields)
    text = fields.get("text") or {}
    if not isinstance(text, Mapping) or text.get("format") is not None:
        raise RequestError("text_format", "cannot be given together with text.format")
    return {**fields, "text": {**text, "format": format_.body}}


def checked_body(
    fields: Mapping[str, Any], *, extra: Mapping[str, Any] | None = None, transport: str = "http"
) -> dict[str, Any]:
    """`fields` with `extra` laid over them, as the body of a request; RequestError for what cannot be right."""
    fields = _with_messages(fields)
    body = {**fields, **(extra or {})}
    for name, problem in _NOT_OVER[transport].items():
        if name in body and not (name == "stream" and transport == "http"):
            raise RequestError(name, problem)
    for name, value in fields.items():
        _check_type(name, value)
    if not any(body.get(name) is not None for name in _SOURCES):
        raise RequestError("input", f"nothing to answer: give one of {', '.join(_SOURCES)}")
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        raise RequestError("previous_response_id", "cannot be given together with conversation")
    return body


def _with_messages(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Texts and parts that stand in the input by themselves become a message."""
    given = fields.get("input")
    if not isinstance(given, (list, tuple)):
        return fields
    if not any(map(is_part, given)):
        check_sizes(given)
        return fields
    return {**fields, "input": as_items(given)}


def _check_type(name: str, value: Any) -> None:
    if name == "input":
        _check_input(value)
    if value is None or name not in _TYPES:
        return
    types, word = _TYPES[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise RequestError(name, f"must be {word}, not {_named(value)}")


def _check_input(value: Any) -> None:
    if value is None or isinstance(value, str):
        return
    if isinstance(value, Mapping) or not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)):
        raise RequestError("input", f"must be a text or a list of items (objects), not {_named(value)}")
    for place, item in enumerate(value):
        if item is None or isinstance(item, (str, bytes, int, float, list, tuple)):
            raise RequestError(f"input[{place}]", f"must be an item (an object), not {_named(item)}")


def _check_resume(response_id: Any, starting_after: Any, fields: Mapping[str, Any]) -> None:
    if not isinstance(response_id, str) or not response_id.strip():
        raise RequestError("response_id", f"must be the id of a response, not {response_id!r}")
    if starting_after is not None and (not isinstance(starting_after, int) or isinstance(starting_after, bool)):
        raise RequestError("starting_after", f"must be a sequence number, not {_named(starting_after)}")
    for name in fields:
        raise RequestError(name, "cannot be given with response_id: the response that is taken up exists already")


def _named(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__}"


# ── The body as JSON ─────────────────────────────────────────────────────────────────────────────────────────────────


def encode_body(body: Mapping[str, Any]) -> bytes:
    """The body as JSON text. RequestError names the field that has no JSON form (NaN included, which JSON lacks).

    Beside plain values it takes what has one by itself: pydantic models, msgspec Structs, dataclasses, objects with
    `to_dict()`.
    """
    try:
        text = _encode(body)
    except (TypeError, ValueError, RecursionError):
        raise _refusal(body) from None
    # A lone surrogate has no UTF-8; as its JSON escape it means the same.
    return text.encode("utf-8", "backslashreplace")


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    plain = msgspec.to_builtins(value)
    if type(plain) is type(value):
        raise TypeError(type(value).__name__)
    return plain


def _refusal(body: Mapping[str, Any]) -> RequestError:
    for name, value in body.items():
        try:
            _encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            reason = (
                str(error) if isinstance(error, ValueError) else f"{error or type(value).__name__} has no JSON form"
            )
            return RequestError(str(name), f"cannot be sent as JSON: {reason}")
    return RequestError("body", "cannot be sent as JSON")
