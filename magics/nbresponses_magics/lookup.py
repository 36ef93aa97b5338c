"""Names that a line holds → the objects of the notebook behind them. Looks up, never evaluates: nothing is called.

`name`, `name.attribute`, and for types also `list[Book]`, `Book | None`, `dict[str, Book]`, `Literal["a", "b"]`.
"""

from __future__ import annotations

import ast
import builtins
import re
import typing
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses_magics.options import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_name", "look_up", "type_named"]

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_name(text: str) -> bool:
    """Whether a text is a name, or a name with attributes."""
    return _NAME.fullmatch(text) is not None


def look_up(name: str, namespace: Mapping[str, Any], flag: str) -> Any:
    """The object behind `name` or `name.attribute`. UsageError names what is not there."""
    first, *rest = name.split(".")
    if first not in namespace:
        raise UsageError(f"{flag}: {first!r} is not defined in this notebook{closest(first, list(namespace))}")
    value = namespace[first]
    for attribute in rest:
        try:
            value = getattr(value, attribute)
        except AttributeError:
            raise UsageError(f"{flag}: {first} has no {attribute!r}") from None
    return value


_BUILTIN = frozenset({"bool", "int", "float", "str", "list", "dict", "tuple", "set", "frozenset"})
_TYPING = frozenset({"Annotated", "Any", "Literal", "Optional", "Union"})


def type_named(text: str, namespace: Mapping[str, Any], flag: str) -> Any:
    """The type that `text` names. UsageError names what is not there, or says what can be written."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_type(text, flag) from None
    try:
        return _Types(namespace, flag, text).of(tree.body)
    except (TypeError, RecursionError) as error:  # of the types themselves: too many parameters, no union
        raise UsageError(f"{flag}: {text}: {error}") from None


def _no_type(text: str, flag: str) -> UsageError:
    return UsageError(f"{flag}: {text!r} is no type; write NAME, list[NAME], dict[str, NAME] or 'NAME | None'")


class _Types:
    """The few expressions that name a type."""

    def __init__(self, namespace: Mapping[str, Any], flag: str, text: str) -> None:
        self._namespace, self._flag, self._text = namespace, flag, text

    def of(self, node: ast.expr) -> Any:
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(ast.unparse(node))
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            members = self.of(node.left), self.of(node.right)
            return typing.Union[members]  # noqa: UP007  `|` could be any object's own
        if isinstance(node, ast.Subscript):
            return self._parametrised(self.of(node.value), node.slice)
        raise _no_type(self._text, self._flag)

    def _named(self, name: str) -> Any:
        if not is_name(name):
            raise _no_type(self._text, self._flag)
        if name.partition(".")[0] not in self._namespace:
            if name in _BUILTIN:
                return getattr(builtins, name)
            if name in _TYPING:
                return getattr(typing, name)
        return look_up(name, self._namespace, self._flag)

    def _parametrised(self, base: Any, inner: ast.expr) -> Any:
        form = getattr(typing, getattr(base, "_name", None) or "", None)
        if not isinstance(base, type) and form is not base:
            raise _no_type(self._text, self._flag)
        given = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        constants = base in {typing.Literal, typing.Annotated}
        found = tuple(self._argument(node, constants=constants) for node in given)
        generic: Any = base
        return generic[found if isinstance(inner, ast.Tuple) else found[0]]

    def _argument(self, node: ast.expr, *, constants: bool) -> Any:
        if isinstance(node, ast.Constant) and (constants or node.value is ...):
            return node.value
        return self.of(node)
