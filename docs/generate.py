"""Write into the pages what they say of the code: `make reference`. A test fails where a page says otherwise.

A line `<!-- generated: NAME ARGUMENT... -->` stands above each part, which goes up to the next blank line. Touches
nothing else in a page, and nothing but pages.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from nbresponses_magics.options import EXAMPLES, OPTIONS, Option
from nbresponses_magics.settings import Responses

import nbresponses
from nbresponses import errors
from nbresponses.capture import schema
from nbresponses.client.lane_hub import LaneHub
from nbresponses.core.lanes import LaneSettings
from nbresponses.core.wire import Event
from nbresponses.transports.websocket import SocketOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PAGES = Path(__file__).parent
_PART = re.compile(r"(^<!-- generated: (.+?) -->\n)((?:.+\n)*)", re.MULTILINE)
_CODE = re.compile(r"(?<![\w`-])(--[a-z-]+(?: [A-Z]+)?|\{[{m].*\}\}|[A-Za-z]*_[A-Za-z_]+)(?![\w`])")  # in plain help


def written(page: str) -> str:
    """The page with its generated parts as they are by the code now."""
    return _PART.sub(lambda part: part[1] + _part(*part[2].split()), page)


def _part(name: str, *arguments: str) -> str:
    return "\n".join(PARTS[name](*arguments)) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; a bar in a cell is escaped."""
    cells = [list(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


# ── The parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def columns(*names: str) -> list[str]:
    """Columns of a frame (of `FRAMES`, in lower case), or of another table of schema.py (in capitals)."""
    found = [column for name in names for column in _columns(name)]
    rows = [(f"`{column.name}`", f"`{column.dtype}`", column.unit, column.meaning) for column in found]
    return table(("column", "dtype", "unit", "what it holds"), rows)


def _columns(name: str) -> tuple[schema.Column, ...]:
    if name in schema.FRAMES:
        return schema.FRAMES[name]
    found = getattr(schema, name)
    return (found,) if isinstance(found, schema.Column) else found


def options(*names: str) -> list[str]:
    """Options of `%%responses`, by their long names."""
    by_name = {option.flags[-1].removeprefix("--"): option for option in OPTIONS}
    return table(("option", "what it does"), [(_flags(by_name[name]), _told(by_name[name])) for name in names])


def _flags(option: Option) -> str:
    *short, long = option.flags
    return ", ".join(f"`{flag}`" for flag in [*short, f"{long} {option.value}" if option.value else long])


def _told(option: Option) -> str:
    text = _CODE.sub(r"`\1`", option.help)
    examples = EXAMPLES.get(option.flags[-1].removeprefix("--"), ())
    return text + (": " + ", ".join(f"`{example}`" for example in examples) if examples else "")


def settings() -> list[str]:
    """The settings of the magics, with what `%config Responses` says of them."""
    traits = Responses.class_traits(config=True)
    order = [name for name in vars(Responses) if name in traits]
    return table(("setting", "what it does"), [(f"`{name}`", _CODE.sub(r"`\1`", traits[name].help)) for name in order])


def events() -> list[str]:
    """The table of events: type, class, fields beyond those of every event, what it says."""
    rows = [
        (f"`{type_}`", f"`{kind.__name__}`", ", ".join(f"`{name}`" for name in _fields(kind)), _summary(kind))
        for type_, kind in sorted(nbresponses.EVENT_TYPES.items())
    ]
    return table(("type", "class", "fields", "what it says"), rows)


def _fields(kind: type[Event]) -> list[str]:
    own = [name for name in kind.__struct_fields__ if name not in Event.__struct_fields__]
    opened = [name for name, value in inspect.getmembers(kind) if isinstance(value, property) and name[0] != "_"]
    return own + opened


def _summary(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def tree() -> list[str]:
    """The tree of errors, as errors.py draws it."""
    drawing = (errors.__doc__ or "").strip().split("\n\n", 1)[1]
    return ["```text", *drawing.splitlines(), "```"]


def error_table() -> list[str]:
    """Each error with what it knows."""
    kinds = [getattr(errors, name) for name in errors.__all__]
    rows = [(f"`{kind.__name__}`", ", ".join(f"`{fact}`" for fact in _facts(kind)), _whole(kind)) for kind in kinds]
    return table(("error", "attributes", "what happened"), rows)


def _facts(kind: type) -> list[str]:
    found: dict[str, None] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__ != errors.__name__ or (parent is errors.NBResponsesError is not kind):
            continue  # what all have is told once, at the root
        found |= dict.fromkeys(vars(parent).get("__annotations__", ()))
        if "__init__" in vars(parent):
            found |= dict.fromkeys(re.findall(r"^ +self\.(\w+)(?:: .*)? = ", inspect.getsource(parent), re.MULTILINE))
    return list(found)


def _whole(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def lane_settings() -> list[str]:
    """The keywords of `client.lanes()` that are no fields of requests: those of the hub, the table and the socket."""
    own = inspect.signature(LaneHub).parameters.values()
    defaults = {one.name: one.default for one in own if one.kind is one.KEYWORD_ONLY}
    defaults |= {field.name: field.default for kind in (LaneSettings, SocketOptions) for field in fields(kind)}
    told = _listed(LaneHub) | _below(LaneSettings) | _listed(SocketOptions)
    rows = [(f"`{name}`", _default(value), _sentence(told[name])) for name, value in defaults.items()]
    return table(("setting", "default", "what it does"), rows)


def _listed(kind: type) -> dict[str, str]:
    """The fields that a docstring lists: name, two blanks or more, text, which may go on in the next lines."""
    entries = re.findall(r"^(\w+) {2,}(.+(?:\n {3,}.+)*)", inspect.getdoc(kind) or "", re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _below(kind: type) -> dict[str, str]:
    """The fields of a class with a text below each."""
    [body] = [node.body for node in ast.parse(textwrap.dedent(inspect.getsource(kind))).body if hasattr(node, "body")]
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].removesuffix('.')}."


def _default(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return f"{value // 2**20:g} MiB" if value >= 2**20 else f"{value:,g}"
    return f'`"{value}"`'


PARTS: dict[str, Callable[..., list[str]]] = {
    "columns": columns,
    "options": options,
    "settings": settings,
    "lane-settings": lane_settings,
    "events": events,
    "error-tree": tree,
    "errors": error_table,
}
"""What stands first in a marker → the function that writes the part, given the rest."""


def main() -> int:
    changed = []
    for path in sorted(PAGES.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := written(before)) != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path.name)
    sys.stdout.write(f"written: {', '.join(changed)}\n" if changed else "every page is as the code says\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
