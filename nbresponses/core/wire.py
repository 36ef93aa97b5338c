"""What came over the wire: JSON objects, opened from their text, and the event that holds one. Never changes them."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from nbresponses.errors import DecodeError

__all__ = ["Event", "InvalidEvent", "NestedEvent", "TypedEvent", "UnknownEvent", "WireObject", "open_json"]

_EXCERPT = 200  # characters of a refused payload that the error keeps as an attribute
_SHOWN = 60  # characters of a text in a repr


class WireObject(dict[str, Any]):
    """A JSON object as it came. `obj.name` is None where the wire lacks it; `obj["name"]` raises KeyError.

    Objects and lists inside read by attribute are wrapped too, so `event.response.usage.total_tokens` works; names that
    a dict has itself (`items`, `keys` …) need the brackets.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "ndim":  # by which other libraries know their own kinds; pandas its arrays
            raise AttributeError(name)
        return _wrapped(self.get(name))


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return WireObject(value)
    if isinstance(value, list):
        return [_wrapped(entry) for entry in value]
    return value


def open_json(payload: bytes) -> dict[str, Any]:
    """The payload as plain Python objects; DecodeError unless it is a JSON object, and no other failure.

    What strict JSON refuses and servers written in Python send is read: NaN and Infinity, lone surrogates, control
    characters inside strings, integers beyond 64 bits (beyond 4300 digits as a float, which is infinite). Of a key that
    stands twice the last value counts. Bytes that are not UTF-8 become U+FFFD.
    """
    try:
        value = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = _open_leniently(payload)
    if not isinstance(value, dict):
        raise _refusal(f"the payload is no JSON object but {_json_name(value)}", payload)
    return value


def _open_leniently(payload: bytes) -> Any:
    text = payload.decode("utf-8", "replace")
    offset = None
    try:
        return json.loads(text, strict=False, parse_int=_integer)
    except json.JSONDecodeError as error:
        reason = f"malformed JSON: {error.msg[0].lower()}{error.msg[1:]}"
        before = text[: error.pos].encode()
        if payload.startswith(before):  # bytes that are not UTF-8 shift the places
            offset = len(before)
    except RecursionError:
        reason = "malformed JSON: nested too deeply"
    raise _refusal(reason, payload, offset)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # Python refuses very long integers
        return float(digits)


def _refusal(reason: str, payload: bytes, offset: int | None = None) -> DecodeError:
    excerpt = payload[:_EXCERPT].decode("utf-8", "replace")
    return DecodeError(reason, offset=offset, length=len(payload), excerpt=excerpt)


def _json_name(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", list: "an array", int: "a number", float: "a number"}
    return names[type(value)]


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What all events have. `payload` is the JSON text as received (empty for an event that was made by hand)."""

    sequence_number: int | None = None
    stream_id: str | None = None
    payload: bytes = msgspec.field(default=b"", name="<payload>")

    if TYPE_CHECKING:
        type: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, with every field that was received. A new dict at each call."""
        if self.payload:
            return open_json(self.payload)
        return {"type": self.type, **msgspec.to_builtins(dict(_sent_fields(self)))}

    def to_openai(self) -> Any:
        """The event as the official `openai` package's class for its type. MissingExtra where it is not installed."""
        from nbresponses.client.foreign import as_openai

        return as_openai(self)

    def __repr__(self) -> str:
        shown = (f"{name}={_short(value)}" for name, value in _sent_fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"


def _sent_fields(event: Event) -> list[tuple[str, Any]]:
    return [
        (field.name, value)
        for field in msgspec.structs.fields(event)
        if field.name != "payload" and (value := getattr(event, field.name)) != field.default
    ]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class TypedEvent(Event, frozen=True, kw_only=True, tag_field="type", tag=""):
    """Parent of the classes that the table holds."""


class _Opened(Event, frozen=True, gc=True, kw_only=True, dict=True):
    """An event with objects inside, opened once when one of them is first asked for."""

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return self.to_dict()  # no field of the struct: what was opened is no part of the event's value

    def _nested(self, name: str) -> Any:
        return self._fields.get(name)

    def _object(self, name: str) -> WireObject:
        value = self._nested(name)
        return WireObject(value) if isinstance(value, dict) else WireObject()

    def _objects(self, name: str) -> list[Any]:
        value = self._nested(name)
        return [_wrapped(entry) for entry in value] if isinstance(value, list) else []


class NestedEvent(_Opened, TypedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the classes of the table that hold objects."""


class UnknownEvent(_Opened, frozen=True, kw_only=True):
    """An event whose type is not in the table, or whose fields do not fit its type: the whole object is kept.

    `type` is the JSON type; where it has none, the SSE event name, else "message".
    """

    type: str = "message"

    @property
    def output_index(self) -> int | None:
        """The item's place in the output, where the object names one as a whole number."""
        value = self._nested("output_index")
        return value if type(value) is int else None

    @property
    def item_id(self) -> str | None:
        """The id of the item, where the object names one."""
        value = self._nested("item_id")
        return value if isinstance(value, str) else None


class InvalidEvent(Event, frozen=True, gc=True, kw_only=True):
    """A payload that is no JSON object, or an event above the size limit. `error` says why; `to_dict()` is empty."""

    type: str = "invalid"
    error: DecodeError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Always empty: there is no object. `payload` has what came."""
        return {}
