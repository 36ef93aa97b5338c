"""Every public name says what a caller must know: what it is, each of its fields, the errors that it raises itself."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest
from doc_pages import ROOT
from nbresponses_magics import magic

import nbresponses
from nbresponses import errors
from nbresponses.capture import export, plots


def listed() -> Iterator[tuple[str, Any]]:
    """The names of the package, and what else docs/api.md lists, with their paths."""
    for name in nbresponses.__all__:
        yield f"nbresponses.{name}", getattr(nbresponses, name)
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for path in re.findall(r"auto(?:class|function):: (nbresponses\.[\w.]+\.\w+)", page):
        module, _, name = path.rpartition(".")
        yield path, getattr(import_module(module), name)
    for module in (plots, export):
        yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in module.__all__)
    yield "the magics", magic.ResponsesMagics


NAMES = {path: value for path, value in listed() if callable(value)}
CLASSES = {path: value for path, value in NAMES.items() if isinstance(value, type)}


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that are written here, those of parents included; functions, unwrapped."""
    for name in dir(kind):
        owner = next((parent for parent in kind.__mro__ if name in vars(parent)), kind)
        value = vars(owner).get(name)
        if name.startswith("_") or not owner.__module__.startswith("nbresponses") or name == "get_state":
            continue  # ipywidgets' own word
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        elif isinstance(value, cached_property):
            value = value.func
        if inspect.isfunction(value):
            yield name, value


FUNCTIONS = {path: value for path, value in NAMES.items() if inspect.isfunction(value)} | {
    f"{path}.{name}": value for path, kind in CLASSES.items() for name, value in members(kind)
}


def fields(kind: type) -> Iterator[tuple[str, bool]]:
    """Public fields of a value that are written here, and whether a text stands below each."""
    for parent in kind.__mro__:
        if not parent.__module__.startswith("nbresponses") or not _is_value(kind):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body  # type: ignore[attr-defined]
        for statement, below in zip(body, [*body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                if not statement.target.id.startswith("_") and "ClassVar" not in ast.unparse(statement.annotation):
                    yield statement.target.id, told


def _is_value(kind: type) -> bool:
    return hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__struct_fields__") or hasattr(kind, "_fields")


def inherited(path: str) -> str | None:
    """What a method of ours says that this one is another form of."""
    parent, _, name = path.rpartition(".")
    kinds = CLASSES[parent].__mro__ if parent in CLASSES else ()
    found = (vars(kind)[name].__doc__ for kind in kinds if kind.__module__.startswith("nbres") and name in vars(kind))
    return next((said for said in found if said), None)


@pytest.mark.parametrize("path", [*NAMES, *FUNCTIONS])
def test_a_name_has_a_docstring(path: str) -> None:
    value = NAMES.get(path, FUNCTIONS.get(path))
    said = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    said = said or inherited(path)
    assert said, "has none of its own"
    assert not said.startswith(f"{path.rpartition('.')[2]}("), "was made by dataclasses"


VALUES = {path: kind for path, kind in CLASSES.items() if _is_value(kind)}
EVENTS = (nbresponses.Event,)  # their fields are the wire's; docs/events.md has them


@pytest.mark.parametrize("path", [path for path, kind in VALUES.items() if not issubclass(kind, EVENTS)])
def test_each_field_is_told(path: str) -> None:
    kind = VALUES[path]
    said = " ".join(parent.__doc__ or "" for parent in kind.__mro__ if parent.__module__.startswith("nbresponses"))
    untold = [name for name, below in fields(kind) if not below and not re.search(rf"\b{name}\b", said)]
    assert untold == []


RAISED = {*errors.__all__, "ValueError", "TypeError", "IndexError", "FileNotFoundError", "RuntimeError"}


def raised_in(function: Any) -> set[str]:
    """The errors that stand in `raise` in the function itself, not in what it calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    names = [call.func if isinstance(call, ast.Call) else call for call in calls]
    return {name.id for name in names if isinstance(name, ast.Name)} & RAISED


@pytest.mark.parametrize("path", [path for path, value in FUNCTIONS.items() if raised_in(inspect.unwrap(value))])
def test_the_errors_are_told(path: str) -> None:
    function = inspect.unwrap(FUNCTIONS[path])
    said = function.__doc__ or ""
    assert sorted(name for name in raised_in(function) if name not in said) == []


def test_what_the_tests_look_at() -> None:
    assert len(NAMES) > 120
    assert len(FUNCTIONS) > 200
    assert raised_in(nbresponses.encode_sse) == {"ValueError"}
    assert [name for name, told in fields(nbresponses.ServerSentEvent) if not told] == ["data", "event", "id", "retry"]
