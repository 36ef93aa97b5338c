"""Docstrings as they are written here, for Sphinx: names between single backticks, examples indented after a colon,
pages by their file. Napoleon takes what stands before a property's first colon for its type; here that is prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PAGE = re.compile(r"`?\bdocs/([a-z-]+)\.md`?")
_COLON = "\N{RATIO}"
_ONE_LINERS = {"attribute", "property"}


def adapt(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """An indented block after a colon and an empty line is code; a quoted name may have a letter right behind it."""
    for at, line in enumerate(lines):
        following = lines[at + 1 : at + 3]
        code = line.endswith(":") and len(following) == 2 and not following[0] and following[1].startswith("    ")
        lines[at] = re.sub(r"(`[^`]+`)(?=[a-z])", r"\1\\ ", line) + ":" * code
        lines[at] = _PAGE.sub(r":doc:`\1`", lines[at])


def hide_colons(_app: Sphinx, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Before Napoleon: none in the first line of a property."""
    if what in _ONE_LINERS and lines:
        lines[0] = lines[0].replace(":", _COLON)


def show_colons(_app: Sphinx, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """After Napoleon."""
    if what in _ONE_LINERS:
        lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", hide_colons, priority=400)
    app.connect("autodoc-process-docstring", show_colons, priority=600)
    app.connect("autodoc-process-docstring", adapt, priority=700)
    return {"parallel_read_safe": True}
