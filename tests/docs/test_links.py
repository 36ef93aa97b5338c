"""Links inside the repository: the file is there, and the heading too. Links to other places are not followed."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from doc_pages import PAGES, ROOT, name_of

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)|<img[^>]*\bsrc=\"([^\"]+)\"|<a[^>]*\bhref=\"([^\"]+)\"")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_OUTSIDE = re.compile(r"[a-z]+:|//")


def prose(page: Path) -> str:
    """The Markdown of a page without its code."""
    if page.suffix == ".ipynb":
        cells = nbformat.read(page, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = page.read_text(encoding="utf-8")
    return _CODE.sub("", text)


def links(page: Path) -> list[str]:
    found = ["".join(groups) for groups in _LINK.findall(prose(page))]
    return [link for link in found if not _OUTSIDE.match(link)]


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]
    return set(slugs)


def broken(page: Path, root: Path = ROOT) -> list[str]:
    found = []
    for link in links(page):
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        inside = target.is_relative_to(root) and target.exists()
        if not inside or (anchor and (target.suffix != ".md" or anchor not in anchors(target))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_broken_links_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](gone.md) [b](#one) [c](#two) `[d](no.md)` ![e](no.png) [f](https://example.org/)")
    assert broken(page, tmp_path) == ["gone.md", "#two", "no.png"]


def test_every_link_of_the_readme_is_there_once() -> None:
    found = [link for link in links(ROOT / "README.md") if link.endswith(".md")]
    assert sorted(found) == sorted(set(found))
    assert len(found) >= 5
