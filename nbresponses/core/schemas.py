"""Python types → JSON schemas, and JSON values → those types. Runs no user code but the validators of the user's own
classes.

msgspec knows the types. Pydantic models, told by their methods, bring their own schema and their own reading. A type
that holds a pydantic dataclass, a union of models or `Annotated[..., Field(...)]` is left to pydantic as a whole:
msgspec takes the first for a plain one, refuses the second, and passes over what the third says.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from nbresponses.core.strict import referred, without_nulls

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Shape", "read_as", "schema_of"]

_REF = "#/$defs/{name}"
_PYDANTIC_REF = "#/$defs/{model}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A type with its schema: what a model is told of it, and how what the model sends is read."""

    type: Any
    schema: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, type_: Any) -> Shape:
        """Raises TypeError (or ValueError, or an error of pydantic) where the type has no schema."""
        return cls(type_, schema_of(type_))

    def read(self, value: Any) -> Any:
        """A plain JSON value as the type; null where strict mode wants it leaves a property out.

        Raises ValueError (msgspec's or pydantic's) that says where it does not fit, and what the class itself raises.
        """
        return read_as(without_nulls(value, self.schema), self.type)


def is_model(type_: Any) -> bool:
    """Whether a type is a pydantic model, or something that behaves like one."""
    return isinstance(type_, type) and hasattr(type_, "model_json_schema") and hasattr(type_, "model_validate")


def schema_of(type_: Any) -> dict[str, Any]:
    """The JSON schema of a type: a pydantic model, msgspec Struct, dataclass, TypedDict or anything msgspec can read.

    Raises TypeError where the type has none.
    """
    if is_model(type_):
        return _inlined(dict(type_.model_json_schema(ref_template=_PYDANTIC_REF)))
    if _left_to_pydantic(type_):
        return _inlined(dict(_adapter(type_).json_schema(ref_template=_PYDANTIC_REF)))
    (schema,), defs = msgspec.json.schema_components([type_], schema_hook=_model_schema, ref_template=_REF)
    schema, found = dict(schema), dict(defs)
    for holder in [schema, *found.values()]:
        _hoist(holder, found)
    return _inlined({**schema, "$defs": found} if found else schema)


def _model_schema(type_: type) -> dict[str, Any]:
    if is_model(type_):
        schema: dict[str, Any] = type_.model_json_schema(ref_template=_PYDANTIC_REF)  # type: ignore[attr-defined]
        return schema
    name = f"{type_.__module__}.{type_.__qualname__}"
    raise TypeError(f"{name} has no JSON schema; take a type that msgspec or pydantic reads")


def _hoist(schema: Any, found: dict[str, Any]) -> None:
    """Move the definitions that models brought with them to where their references look."""
    if isinstance(schema, list):
        for entry in schema:
            _hoist(entry, found)
    elif isinstance(schema, dict):
        inner = schema.pop("$defs", None)
        if isinstance(inner, dict):
            found.update(inner)
        for entry in schema.values():
            _hoist(entry, found)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """With the object itself at the root, where the schema of a class is only a reference to its definition."""
    name = referred(schema)
    defs = schema.get("$defs") or {}
    if name is None or name not in defs:
        return schema
    root = {**defs[name], **{key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}}
    rest = dict(defs)
    if not any(reference == schema["$ref"] for reference in _references(defs)):
        del rest[name]
    return {**root, "$defs": rest} if rest else root


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for entry in schema.values():
            yield from _references(entry)
    elif isinstance(schema, list):
        for entry in schema:
            yield from _references(entry)


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_as(value: Any, type_: Any) -> Any:
    """A plain JSON value as `type_`. Raises ValueError (msgspec's or pydantic's) that says where it doesn't fit."""
    if _left_to_pydantic(type_):
        return _adapter(type_).validate_python(value)
    return msgspec.convert(value, type_, dec_hook=_read_model)


def _read_model(type_: type, value: Any) -> Any:
    if is_model(type_):
        return type_.model_validate(value)  # type: ignore[attr-defined]
    raise NotImplementedError


# ── What pydantic reads ──────────────────────────────────────────────────────────────────────────────────────────────


def _left_to_pydantic(type_: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether something that only pydantic can read as a whole is in it, at any depth."""
    if id(type_) in seen or is_model(type_):
        return False
    if dataclasses.is_dataclass(type_) and hasattr(type_, "__pydantic_validator__"):
        return True
    if _is_union_of_models(type_) or _has_notes(type_):
        return True
    inner = list(get_args(type_))
    if isinstance(type_, type) and (dataclasses.is_dataclass(type_) or is_typeddict(type_)):
        try:
            inner += get_type_hints(type_, include_extras=True).values()
        except (NameError, TypeError):
            return False  # msgspec says what cannot be read
    return any(_left_to_pydantic(entry, seen | {id(type_)}) for entry in inner)


def _is_union_of_models(type_: Any) -> bool:
    """Whether it is a union of a model and something else than None, which msgspec refuses."""
    if get_origin(type_) not in {Union, UnionType}:
        return False
    members = [entry for entry in get_args(type_) if entry is not type(None)]
    return len(members) > 1 and any(is_model(entry) for entry in members)


def _has_notes(type_: Any) -> bool:
    """Whether it is `Annotated[type, Field(...)]`, or another note of pydantic's."""
    notes = getattr(type_, "__metadata__", ()) if get_origin(type_) is Annotated else ()
    return any(type(note).__module__.partition(".")[0] == "pydantic" for note in notes)


def _adapter(type_: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(type_)  # imported already: the user's class is made by it
