"""What stands in the pages as code runs: Python, and cells of magics, all of a page in its order in one shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import PAGES, Block, blocks, name_of
from IPython.core.interactiveshell import InteractiveShell


def runnable(page: Path) -> list[Block]:
    """Python, and what a notebook's cell begins with. A block that begins with a file's name is that file."""
    return [
        block
        for block in blocks(page)
        if (block.language == "python" and not block.text.startswith("# test_"))
        or (not block.language and block.text.startswith("%"))
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name_of)
def test_the_code_of_a_page_runs(page: Path, shell: InteractiveShell) -> None:
    for block in runnable(page):
        cells = block.text.split("\n%%")  # a cell magic is the first line of its cell
        for cell in [cells[0], *("%%" + cell for cell in cells[1:])]:
            result = shell.run_cell(cell)
            assert result.success, f"{name_of(page)}, line {block.line}: {result.error_in_exec!r}\n{cell}"


def test_no_page_is_left_out() -> None:
    assert sum(len(runnable(page)) for page in PAGES) >= 40
