"""What the pages take from the code is as the code says now (`make reference` writes it)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT, name_of

import nbresponses

DOCS = ROOT / "docs"
GENERATED = [page for page in sorted(DOCS.glob("*.md")) if "<!-- generated: " in page.read_text(encoding="utf-8")]


def generate() -> Any:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", GENERATED, ids=name_of)
def test_a_page_is_as_the_code_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert generate().written(text) == text, "run `make reference`"


def test_what_somebody_changes_by_hand_is_seen() -> None:
    page = (DOCS / "events.md").read_text(encoding="utf-8")
    changed = page.replace("The first event of a response.", "The last event of a response.")
    assert changed != page
    assert generate().written(changed) == page
    assert generate().written(page.replace("| `response.completed` |", "|")) == page


def test_every_kind_of_part_is_used() -> None:
    used = {name for page in GENERATED for name in re.findall(r"<!-- generated: (\S+)", page.read_text())}
    assert used == set(generate().PARTS)


def test_every_public_name_is_in_the_reference() -> None:
    api, events, errors = ((DOCS / f"{page}.md").read_text() for page in ("api", "events", "errors"))
    told = set(re.findall(r":: nbresponses\.(\w+)(?:\(\))?$", api, re.MULTILINE))
    told |= set(re.findall(r"\| `(\w+)`(?= \|)", events)) | set(re.findall(r"^\| `(\w+)` \|", errors, re.MULTILINE))
    assert set(nbresponses.__all__) - told == {"EVENT_TYPES"}  # the table of events itself
