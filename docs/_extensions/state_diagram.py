"""Mermaid state diagrams as tables: a row for each state, a column for each that can follow, in the cells the inputs.

Code hosts draw the pictures by themselves; a page that needs nothing from elsewhere cannot.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ARROW = re.compile(r"(\S+) --> ([^\s:]+)(?:: (.*))?")


class StateDiagram(Directive):
    """A Mermaid state diagram, as `nbresponses.core.lanes.tables.diagram` writes it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        head, *lines = (line.strip() for line in self.content)
        arrows = [_ARROW.fullmatch(line) for line in lines]
        if head != "stateDiagram-v2" or not all(arrows):
            raise self.error("only state diagrams of arrows can be shown as a table")
        return [_table([(arrow[1], arrow[2], arrow[3] or "") for arrow in arrows if arrow])]


def _table(arrows: list[tuple[str, str, str]]) -> nodes.table:
    named = [*(source for source, _, _ in arrows), *(target for _, target, _ in arrows)]
    states = [state for state in dict.fromkeys(named) if state != "[*]"]
    inputs = {(source, target): given for source, target, given in arrows}
    sources = [state for state in states if any((state, target) in inputs for target in states)]
    targets = [state for state in states if any((source, state) in inputs for source in states)]
    group = nodes.tgroup(cols=len(targets) + 1)
    group += [nodes.colspec(colwidth=1) for _ in range(len(targets) + 1)]
    group += nodes.thead("", _row(["from, to", *targets]))
    body = nodes.tbody()
    body += [_row([source, *(inputs.get((source, target), "") for target in targets)]) for source in sources]
    group += body
    return nodes.table("", group, classes=["states"])


def _row(texts: list[str]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph(text=text)) for text in texts]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("mermaid", StateDiagram)
    return {"parallel_read_safe": True}
