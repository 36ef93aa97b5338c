"""Types that a line names: looked up in the notebook, never evaluated."""

from __future__ import annotations

import typing
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.completion import Known, complete
from nbresponses_magics.lookup import type_named


class Book:
    pass


ran: list[str] = []
NOTEBOOK = {
    "Book": Book,
    "models": SimpleNamespace(Book=Book),
    "List": typing.List,  # noqa: UP006
    "schema": {"type": "object"},
    "call": lambda: ran.append("called"),
    "tables": {"a": Book},
}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Book", Book),
        ("models.Book", Book),
        ("schema", {"type": "object"}),
        ("list[Book]", list[Book]),
        ("List[models.Book]", typing.List[Book]),  # noqa: UP006
        ("dict[str, list[Book]]", dict[str, list[Book]]),
        ("tuple[int, ...]", tuple[int, ...]),
        ("Book | None", Book | None),
        ("None|int|list[Book]", None | int | list[Book]),
        ("Optional[Book]", Book | None),
        ("Literal['a', 2]", Literal["a", 2]),
        ("int", int),
    ],
)
def test_a_type_is_put_together_from_names(text: str, type_: Any) -> None:
    assert type_named(text, NOTEBOOK, "--format") == type_


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Bok", "'Bok' is not defined in this notebook, did you mean Book?"),
        ("list[Bok]", "'Bok' is not defined"),
        ("models.Bok", "models has no 'Bok'"),
        ("call()", r"'call\(\)' is no type; write NAME, list\[NAME\]"),
        ("list[call()]", "is no type; write"),
        ("call().x", "is no type; write"),
        ("tables['a']", "is no type; write"),
        ("list['Book']", "is no type; write"),
        ("Book + Book", "is no type; write"),
        ("[Book]", "is no type; write"),
        ("list[", "is no type; write"),
        ("3", "is no type; write"),
        ("Book[int]", "not subscriptable"),
        ("__import__('os')", "is no type; write"),
        ("(" * 500 + ")" * 500, "is no type; write"),
    ],
)
def test_everything_else_is_refused_and_nothing_runs(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        type_named(text, NOTEBOOK, "--format")
    assert not ran


def test_names_inside_a_type_are_completed() -> None:
    known = Known(names=("Book", "table"))
    assert complete("%%responses --format list[Bo", known) == ("Bo", ["Book"])
    assert complete("%%responses --format int|Bo", known) == ("Bo", ["Book"])
    assert complete("%%responses --handlers ta", known) == ("ta", ["table"])
