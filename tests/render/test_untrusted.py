"""Cleaning text, checking addresses, reading fields of any type, indenting JSON."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nbresponses.render.untrusted import (
    clean,
    fields,
    items,
    number,
    objects,
    one_line,
    pretty_json,
    safe_url,
    text,
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x1b[2K\x1b[1Ab\x1b[31mred\x1b[0m\x07", "abred"),
        ("cut \x1b[38;5;", "cut "),
        ("cut \x1b", "cut "),
        ("\x1b]8;;https://evil.test\x07link\x1b]8;;\x1b\\ end", "link end"),
        ("\x1b]0;never ended\nnext line", "0;never ended\nnext line"),
        ("\x9b31mred \x9d0;title\x9cend", "red end"),
        ("\x1bcreset \x1b(Bcharset", "reset charset"),
        ("a\r\nb\rc\x0bd\x0ce\x85f", "a\nb\nc\nd\ne\nf"),
        ("nul\x00 bell\x07 back\x08 del\x7f", "nul bell back del"),
        ("left\u2028mid\u2029right", "left\u2028mid\u2029right"),
        ("lone \ud83d and \ude00", "lone \ufffd and \ufffd"),
        ("\U0001f600 中文", "\U0001f600 中文"),
        ("a\u202eb\u2066c", "a⟨U+202E⟩b⟨U+2066⟩c"),
        ("שלום\u200f!", "שלום\u200f!"),
    ],
)
def test_clean(source: str, expected: str) -> None:
    assert clean(source) == expected


@pytest.mark.parametrize(
    "address",
    ["https://a.b", "HTTP://A.B/c?d=e#f", "https://user@a.b", "mailto:a@b.c", " https://a.b ", "https://пример.рф/я"],
)
def test_safe_addresses(address: str) -> None:
    assert safe_url(address) == address.strip()


@pytest.mark.parametrize(
    "address",
    [
        "javascript:x",
        "JaVaScRiPt:x",
        "java\tscript:x",
        "\x01javascript:x",
        "vbscript:x",
        "data:text/html,x",
        "data:image/png;base64,x",
        "file:///etc/passwd",
        "//a.b",
        "/a",
        "a.b",
        "#a",
        "",
        "https:",
        "https://",
        "https:///a",
        "https://a b",
        "https://a\nb",
        "https:\\\\a",
        "https://a.b/<c>",
        'https://a.b/"c',
        "https://a.b\u202e",
        "https://a.b/\ud800",
        "blob:https://a.b",
        "https://" + "a" * 9000,
        None,
        5,
        [],
        {},
    ],
)
def test_unsafe_addresses(address: Any) -> None:
    assert safe_url(address) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("a", "a"),
        (True, "true"),
        (1.5, "1.5"),
        (["é"], '["é"]'),
        ({"a": None}, '{"a": null}'),
        (b"x", "\"b'x'\""),
    ],
)
def test_text_of_any_value(value: Any, expected: str) -> None:
    assert text(value) == expected


def test_text_of_what_json_cannot_hold() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "cannot be shown" in text(loop)
    assert "cannot be shown" in text(10**5000)


def test_fields_of_the_wrong_type_are_empty() -> None:
    for value in (None, 1, "x", [1], b"x"):
        assert fields(value) == {}
    for value in (None, 1, "x", {"a": 1}):
        assert items(value) == objects(value) == []
    assert objects([1, {"a": 1}, "x", None]) == [{"a": 1}]
    for value in (True, "1", None, math.nan, math.inf, 10**400):
        assert number(value) is None
    assert number(2) == 2.0


def test_one_line() -> None:
    assert one_line(" a\n b\tc\x1b[1m ") == "a b c"
    assert one_line("x" * 500) == "x" * 400 + "…"
    assert len(one_line("x" * 10**6)) == 401


def test_json_is_indented_and_its_values_kept_as_written() -> None:
    source = '{"a":[1,2.50,1e400,{}],"b":{"c":[]},"d":"x\\u00e9\\u0000,{","d":12345678901234567890}'
    expected = """{
  "a": [
    1,
    2.50,
    1e400,
    {}
  ],
  "b": {
    "c": []
  },
  "d": "xé\\u0000,{",
  "d": 12345678901234567890
}"""
    assert pretty_json(source) == expected


@pytest.mark.parametrize("source", ["", "{", '{"a": ', "not json", "{'a': 1}", "[" * 100_000])
def test_what_is_not_json_stays(source: str) -> None:
    assert pretty_json(source) == source
