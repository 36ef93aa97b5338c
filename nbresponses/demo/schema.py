"""A plausible value for a JSON schema: arguments of a function call, or a structured answer. Pure.

It knows the parts of JSON Schema that function tools and structured outputs use; of the rest it takes no notice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# A schema may refer to itself: so deep, and so many values, then there is an end.
_DEPTH = 24
_VALUES = 5_000
_BY_FORMAT = {
    "date": "2030-01-15",
    "date-time": "2030-01-15T12:00:00Z",
    "time": "12:00:00",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_BY_NAME = (
    (("city", "location", "place", "town"), "Oslo"),
    (("country",), "Norway"),
    (("timezone", "time_zone", "tz"), "Europe/Oslo"),
    (("email",), "ada@example.com"),
    (("url", "uri", "link"), "https://example.com/"),
    (("date", "day", "when"), "2030-01-15"),
    (("name", "person", "author"), "Ada Lovelace"),
    (("unit", "units"), "celsius"),
    (("path", "file", "filename"), "notes.txt"),
    (("code", "expression"), "2 + 2"),
)


def sample(schema: Mapping[str, Any], prompt: str = "") -> Any:
    """A value that fits the schema; numbers of the prompt are used in their order."""
    return _Sampler(schema, prompt).value(schema, "", 0)


def sample_json(schema: Mapping[str, Any], prompt: str = "") -> str:
    return json.dumps(sample(schema, prompt), ensure_ascii=False)


class _Sampler:
    def __init__(self, root: Mapping[str, Any], prompt: str) -> None:
        self._root = root
        self._prompt = prompt
        self._left = _VALUES
        self._numbers: Iterator[float] = (float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", prompt))

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, Mapping) or depth > _DEPTH or self._left < 0:
            return None
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        for key in ("enum", "examples"):
            if schema.get(key):
                return schema[key][0]
        if "default" in schema:
            return schema["default"]
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                return self.value(self._choice(schema[key], depth), name, depth + 1)
        return self._typed(schema, name, depth)

    def _typed(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array":
            count = max(int(schema.get("minItems", 1)), 1 if depth < _DEPTH - 1 else 0)
            return [self.value(schema.get("items", {"type": "string"}), name, depth + 1) for _ in range(count)]
        if kind in {"integer", "number"}:
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return True
        return None if kind == "null" else self._string(schema, name)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = set(schema.get("required", properties))
        # Deep down only what must be there is filled in, so that a schema that refers to itself ends.
        wanted = [key for key in properties if depth < 3 or key in required]
        return {key: self.value(properties[key], key, depth + 1) for key in wanted}

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> int | float:
        value = next(self._numbers, 3.0)
        low, high = schema.get("minimum"), schema.get("maximum")
        step = schema.get("multipleOf") or (1 if whole else None)
        low = schema["exclusiveMinimum"] + (step or 0.5) if "exclusiveMinimum" in schema else low
        high = schema["exclusiveMaximum"] - (step or 0.5) if "exclusiveMaximum" in schema else high
        value = max(value, low) if low is not None else value
        value = min(value, high) if high is not None else value
        value = round(value / step) * step if step else value
        return int(value) if whole or float(value).is_integer() else value

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        found = _BY_FORMAT.get(schema.get("format", ""))
        if found is None:
            words = name.lower()
            found = next((value for names, value in _BY_NAME if words in names), None)
        text = found or self._prompt or "a demo value"
        text = text.ljust(int(schema.get("minLength", 0)), ".")
        return text[: int(schema.get("maxLength", 400))]

    def _choice(self, choices: Any, depth: int) -> Any:
        # Deep down the plainest choice ends the recursion.
        plain = [
            one for one in choices if isinstance(one, Mapping) and one.get("type") not in {"object", "array", None}
        ]
        full = [one for one in choices if isinstance(one, Mapping) and one.get("type") != "null"]
        return (plain if depth >= 3 and plain else full or choices)[0]

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(_DEPTH):
            if "$ref" in schema:
                schema = {**self._target(str(schema["$ref"])), **{k: v for k, v in schema.items() if k != "$ref"}}
            elif schema.get("allOf"):
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                for part in schema["allOf"]:
                    rest = {**part, **rest}
                schema = rest
            else:
                break
        return schema

    def _target(self, reference: str) -> Mapping[str, Any]:
        target: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                target = target.get(step, {}) if isinstance(target, Mapping) else {}
        return target if isinstance(target, Mapping) else {}
