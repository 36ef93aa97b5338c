"""`{{expression}}` in prompts, and the texts with braces, dollars and percent signs that must stay as they are."""

from __future__ import annotations

import json

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.interpolate import interpolate, interpolate_json

HOSTILE = "{x} {{x}} {{{{ }} $x ${x} %s %(x)s \\{{ \x00 {{__import__('os')}}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{w: len(w) for w in words}",
        'function f(a) { return `${a}` + "%d"; }',
        "costs $5 and 7% of {x} }} ] \\ \\{",
        "int a[2] = {1, 2};",
    ],
)
def test_text_without_a_double_brace_stays_as_it_is(text: str) -> None:
    assert interpolate(text, {"x": 1, "words": []}) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{x}}", "7"),
        ("a{{ x }}b{{x+1}}", "a7b8"),
        ("{{ {'a': {'b': 2}}['a']['b'] }}!", "2!"),
        ("{{ '}}' }}", "}}"),
        ("{{x}}{{x}}", "77"),
        (r"\{{x}}", "{{x}}"),
        (r"\{{x}} {{x}} \{{", "{{x}} 7 {{"),
        ("{{[w.upper() for w in words]}}", "['A', 'B']"),
        ("{{ f'{x:03d}' }}", "007"),
        ("{{{x}}}", "{7}"),
    ],
)
def test_expressions(text: str, result: str) -> None:
    assert interpolate(text, {"x": 7, "words": ["a", "b"]}) == result


def test_values_are_never_looked_at_again() -> None:
    assert interpolate("<{{v}}>", {"v": HOSTILE, "x": "no"}) == f"<{HOSTILE}>"


def test_each_expression_is_evaluated_once() -> None:
    calls: list[int] = []
    assert interpolate("{{f(1)}} {{f(2)}}", {"f": lambda n: calls.append(n) or n}) == "1 2"
    assert calls == [1, 2]


def test_the_namespace_is_not_written_to() -> None:
    namespace = {"x": 1}
    assert interpolate("{{ (y := x + 1) }}", namespace) == "2"
    assert namespace == {"x": 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a {{missing}} b", "unknown name 'missing' in {{missing}}"),
        ("{{x.upper(nope)}}", "unknown name 'nope' in {{x.upper(nope)}}"),
        ("{{1/0}}", "{{1/0}} failed: ZeroDivisionError: division by zero"),
        ("{{d['k']}}", "{{d['k']}} failed: KeyError: 'k'"),
    ],
)
def test_what_fails_is_named(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        interpolate(text, {"x": "a", "d": {}})
    assert str(caught.value) == says


@pytest.mark.parametrize("text", ["{{", "{{}}", "{{ }}", "{{a b}}", "style={{color: 'red'}}", "{{" + "}" * 9999])
def test_what_is_no_expression_says_how_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match=r"no Python expression .* or --raw") as caught:
        interpolate(text, {})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_many_expressions_in_a_long_text() -> None:
    text = "{{x}} and " * 20_000
    assert interpolate(text, {"x": "y"}) == "y and " * 20_000


@pytest.mark.parametrize(
    "value", [HOSTILE.replace("\x00", ""), 'quote " and \\ and\nline', [1, {"a": None}], 3, True, None]
)
def test_in_json_a_value_stays_json(value: object) -> None:
    body = json.loads(interpolate_json('{"a": {{v}}, "b": "x{{v}}y", "c\\"": {{v}}}', {"v": value}))
    assert body == {"a": value, "b": f"x{value}y", 'c"': value}


def test_in_json_what_json_lacks_becomes_its_text() -> None:
    assert json.loads(interpolate_json('{"a": {{v}}}', {"v": {1}})) == {"a": "{1}"}
