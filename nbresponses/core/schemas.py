"""Python types → JSON schemas as the API's strict mode wants them, and JSON values → those types. Runs no user code
but the validators of the user's own models.

Rules of strict mode (source: the API's guide to structured outputs)
1. Every object lists all its properties as required and allows no others.
2. No defaults, no `oneOf`, no siblings beside a `$ref`.
3. What takes any key or any value (a dict, `Any`) or has a place for each element (a tuple) has no strict form.

msgspec knows the types; pydantic models, told by their methods, bring their own schema and their own reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_strict", "read_as", "schema_of", "strict"]

_REF = "#/$defs/{name}"
_DROPPED = frozenset({"default", "discriminator"})
_NAMED = ("properties", "$defs", "definitions")  # objects whose keys are names, not keywords
_HOLDERS = ("anyOf", "allOf", "oneOf")


def is_model(type_: Any) -> bool:
    """Whether a type is a pydantic model, or something that behaves like one."""
    return isinstance(type_, type) and hasattr(type_, "model_json_schema") and hasattr(type_, "model_validate")


def schema_of(type_: Any) -> dict[str, Any]:
    """The JSON schema of a type: a pydantic model, msgspec Struct, dataclass, TypedDict or anything msgspec can read.

    Raises TypeError where the type has none.
    """
    if is_model(type_):
        return _inlined(dict(type_.model_json_schema(ref_template="#/$defs/{model}")))
    (schema,), defs = msgspec.json.schema_components([type_], schema_hook=_model_schema, ref_template=_REF)
    schema, found = dict(schema), dict(defs)
    for holder in [schema, *found.values()]:
        _hoist(holder, found)
    return _inlined({**schema, "$defs": found} if found else schema)


def _model_schema(type_: type) -> dict[str, Any]:
    if is_model(type_):
        schema: dict[str, Any] = type_.model_json_schema(ref_template="#/$defs/{model}")  # type: ignore[attr-defined]
        return schema
    raise NotImplementedError


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
    name = _referred(schema)
    defs = schema.get("$defs") or {}
    if name is None or name not in defs:
        return schema
    root = {**defs[name], **{key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}}
    rest = dict(defs)
    if not any(reference == schema["$ref"] for reference in _references(defs)):
        del rest[name]
    return {**root, "$defs": rest} if rest else root


def _referred(schema: Any) -> str | None:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for entry in schema.values():
            yield from _references(entry)
    elif isinstance(schema, list):
        for entry in schema:
            yield from _references(entry)


# ── Strict mode ──────────────────────────────────────────────────────────────────────────────────────────────────────


def strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema in strict form; None where it has none (rule 3)."""
    defs = schema.get("$defs") or {}
    done: dict[str, Any] | None = _strict(schema, defs)
    return done if done is not None and done.get("type") == "object" and is_strict(done) else None


def _strict(schema: Any, defs: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_strict(entry, defs) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    name = _referred(schema)
    if name is not None and set(schema) - {"$ref", "$defs", *_DROPPED} and name in defs:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**defs[name], **rest}
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _DROPPED:
            continue
        if key in _NAMED and isinstance(value, dict):
            result[key] = {name: _strict(entry, defs) for name, entry in value.items()}
        elif key in {"enum", "const", "required", "examples"}:
            result[key] = value
        else:
            result["anyOf" if key == "oneOf" else key] = _strict(value, defs)
    if result.get("type") == "object" and ("properties" in result or "additionalProperties" not in result):
        result.setdefault("properties", {})
        result["required"] = list(result["properties"])
        if not result.get("additionalProperties"):
            result["additionalProperties"] = False
    return result


def is_strict(schema: Any) -> bool:
    """Whether a schema is in strict form as it stands."""
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object":
        properties = schema.get("properties")
        if schema.get("additionalProperties") is not False or not isinstance(properties, dict):
            return False
        if set(schema.get("required") or ()) != set(properties):
            return False
    if "prefixItems" in schema or "oneOf" in schema or not _says_what(schema):
        return False
    inner = [entry for name in _NAMED for entry in (schema.get(name) or {}).values()]
    inner += [entry for name in _HOLDERS for entry in schema.get(name) or ()]
    if schema.get("type") == "array":
        inner.append(schema.get("items"))
    return all(is_strict(entry) for entry in inner)


def _says_what(schema: dict[str, Any]) -> bool:
    return any(name in schema for name in ("type", "enum", "const", "$ref", *_HOLDERS))


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_as(value: Any, type_: Any) -> Any:
    """A plain JSON value as `type_`. Raises ValueError (msgspec's or pydantic's) that says where it doesn't fit."""
    return msgspec.convert(value, type_, dec_hook=_read_model)


def _read_model(type_: type, value: Any) -> Any:
    if is_model(type_):
        return type_.model_validate(value)  # type: ignore[attr-defined]
    raise NotImplementedError
