"""Values that fit their schemas, judged by the `jsonschema` package."""

from __future__ import annotations

import json

import jsonschema
import pytest

from nbresponses.demo.schema import sample, sample_json

TREE = {
    "$ref": "#/$defs/Tree",
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
            "required": ["name"],
        }
    },
}
CHAIN = {
    "type": "object",
    "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
    "required": ["next"],
}
SCHEMAS = [
    {},
    {"type": "string", "minLength": 30},
    {"type": "string", "maxLength": 3},
    {"type": "string", "enum": ["red", "green"]},
    {"const": {"a": [1]}},
    {"type": "integer", "minimum": 10, "maximum": 12},
    {"type": "integer", "maximum": -4},
    {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 11},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "integer", "multipleOf": 5},
    {"type": ["string", "null"]},
    {"type": "null"},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3},
    {"type": "array"},
    {"type": "object"},
    {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]},
    {"type": "object", "properties": {"a": {"default": 4}, "b": {"examples": ["x"]}}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    TREE,
    CHAIN,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize("prompt", ["", "Add 3 and 400, then -7.5", "Ærø?"])
def test_the_value_fits(schema, prompt):
    jsonschema.validate(sample(schema, prompt), schema)
    assert json.loads(sample_json(schema, prompt)) == sample(schema, prompt)


def test_numbers_of_the_prompt_are_used_in_their_order():
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "integer"}}}
    assert sample(schema, "What is 3.5 plus 40?") == {"a": 3.5, "b": 40}


def test_names_and_formats_make_values_plausible():
    fields = {"city": {}, "due": {"type": "string", "format": "date"}, "email": {"type": "string"}, "note": {}}
    value = sample({"type": "object", "properties": fields}, "Remember the milk")
    assert value == {"city": "Oslo", "due": "2030-01-15", "email": "ada@example.com", "note": "Remember the milk"}


def nested(levels):
    inner = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"]}
    return inner


def test_deep_schemas_are_filled_to_the_ground():
    jsonschema.validate(sample(nested(9)), nested(9))


def test_a_schema_that_never_ends_is_given_up():
    branches = [f"b{number}" for number in range(9)]
    schema = {"type": "object", "properties": {name: {"$ref": "#"} for name in branches}, "required": branches}
    assert len(sample_json(schema)) < 200_000


@pytest.mark.parametrize("schema", [{"$ref": "#/nowhere"}, {"$ref": "#"}, {"properties": {"a": 1}}])
def test_a_schema_that_makes_no_sense_still_gives_a_value(schema):
    json.dumps(sample(schema))
