"""Docstrings as they are written here, for Sphinx: names between single backticks, examples indented after a colon."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def adapt(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """An indented block after a colon and an empty line is code; a quoted name may have a letter right behind it."""
    for at, line in enumerate(lines):
        following = lines[at + 1 : at + 3]
        code = line.endswith(":") and len(following) == 2 and not following[0] and following[1].startswith("    ")
        lines[at] = re.sub(r"(`[^`]+`)(?=[a-z])", r"\1\\ ", line) + ":" * code


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", adapt)
    return {"parallel_read_safe": True}
