"""JSON schemas in the form that the API's strict mode wants, and answers in that form back to what was meant. Pure.

Rules of strict mode (source: the API's guide to structured outputs)
1. Every object lists all its properties as required and allows no others.
2. A property that need not be there (a default, `NotRequired`) is there and takes null: null stands for its absence.
3. No defaults, no `oneOf`, no siblings beside a `$ref`.
4. What takes any key or any value (a dict, `Any`) or has a place for each element (a tuple) has no strict form.
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_strict", "referred", "strict", "without_nulls"]

_DROPPED = frozenset({"default", "discriminator"})
_NAMED = ("properties", "$defs", "definitions")  # objects whose keys are names, not keywords
_UNIONS = ("anyOf", "oneOf")
_HOLDERS = (*_UNIONS, "allOf")
_DEPTH = 64  # references that lead to references; a schema that goes on for ever says nothing


def referred(schema: Any) -> str | None:
    """The name of the definition that a schema refers to."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


def strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema in strict form; None where it has none (rule 4)."""
    defs = schema.get("$defs") or {}
    done: dict[str, Any] | None = _strict(schema, defs)
    return done if done is not None and done.get("type") == "object" and is_strict(done) else None


def _strict(schema: Any, defs: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_strict(entry, defs) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    name = referred(schema)
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
    if result.get("type") == "object" and "properties" in result:
        properties, given = result["properties"], schema["properties"]
        for absent in _optional(schema, defs):
            properties[absent] = _or_null(properties[absent], described=given[absent])
        result["required"] = list(properties)
        if not result.get("additionalProperties"):
            result["additionalProperties"] = False
    return result


def _or_null(schema: dict[str, Any], *, described: Any) -> dict[str, Any]:
    """`schema`, or null; its description says what the property is, so it stays with the whole."""
    if not isinstance(described, dict) or "description" not in described:
        return {"anyOf": [schema, {"type": "null"}]}
    inner = {key: value for key, value in schema.items() if key != "description"}
    return {"anyOf": [inner, {"type": "null"}], "description": described["description"]}


def _optional(schema: dict[str, Any], defs: dict[str, Any]) -> list[str]:
    """The properties for which null stands for their absence: not required, and with no null of their own."""
    required = set(schema.get("required") or ())
    properties = schema.get("properties") or {}
    return [name for name, entry in properties.items() if name not in required and not _takes_null(entry, defs)]


def _takes_null(schema: Any, defs: dict[str, Any]) -> bool:
    schema = _resolved(schema, defs)
    if not isinstance(schema, dict):
        return schema is not False
    kind = schema.get("type")
    if kind is not None and kind != "null" and not (isinstance(kind, list) and "null" in kind):
        return False
    if "const" in schema:
        return schema["const"] is None
    if "enum" in schema:
        return None in schema["enum"]
    unions = [schema[key] for key in _UNIONS if key in schema]
    return all(any(_takes_null(entry, defs) for entry in union) for union in unions)


def _resolved(schema: Any, defs: dict[str, Any]) -> Any:
    """A schema with its reference, or its only part, in the place of itself."""
    for _ in range(_DEPTH):
        if (name := referred(schema)) is not None:
            schema = defs.get(name, {})
        elif isinstance(schema, dict) and len(schema.get("allOf") or ()) == 1:
            schema = {**schema["allOf"][0], **{key: value for key, value in schema.items() if key != "allOf"}}
        else:
            break
    return schema


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


# ── Back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def without_nulls(value: Any, schema: dict[str, Any]) -> Any:
    """A value without the nulls that stand for what is absent (rule 2), so that defaults apply.

    `schema` is the schema as it was before `strict()`. A null that a property takes by its type stays.
    """
    return _meant(value, schema, schema.get("$defs") or {})


def _meant(value: Any, schema: Any, defs: dict[str, Any]) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    schema = _of_union(value, _resolved(schema, defs), defs)
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        places = schema.get("prefixItems") or ()
        rest = schema.get("items")
        return [_meant(entry, places[at] if at < len(places) else rest, defs) for at, entry in enumerate(value)]
    absent = {name for name in _optional(schema, defs) if name in value and value[name] is None}
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    return {key: _meant(entry, known.get(key, others), defs) for key, entry in value.items() if key not in absent}


def _of_union(value: Any, schema: Any, defs: dict[str, Any]) -> Any:
    """The member of a union that `value` was written for: in strict form an object has all properties of its class."""
    if not isinstance(schema, dict) or not any(key in schema for key in _UNIONS):
        return schema
    for entry in (entry for key in _UNIONS for entry in schema.get(key) or ()):
        member = _of_union(value, _resolved(entry, defs), defs)
        if isinstance(member, dict) and _written_for(value, member):
            return member
    return None


def _written_for(value: Any, schema: dict[str, Any]) -> bool:
    if isinstance(value, list):
        return schema.get("type") == "array"
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema.get("type") == "object"
    if not set(value) <= set(properties) and not schema.get("additionalProperties"):
        return False
    return all(_allows(entry, value.get(name)) for name, entry in properties.items()) and (
        set(schema.get("required") or ()) <= set(value)
    )


def _allows(schema: Any, value: Any) -> bool:
    """Whether a property that tells the members of a union apart has this value; any other allows all."""
    if not isinstance(schema, dict):
        return True
    if "const" in schema:
        return bool(value is None or schema["const"] == value)
    return value is None or "enum" not in schema or value in schema["enum"]
