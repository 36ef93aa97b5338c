"""Browser tests: skipped where no Chromium is, but failed under CI. Each module has a browser of its own, since
playwright's loop must not run on while other modules test asyncio."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chromium import chromium, chromium_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from module_page import ModulePage
    from playwright.sync_api import Browser

OUTPUT = Path(__file__).parents[1] / "output"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium_path() is None:
        reason = "no Chromium: apt-get install chromium, or name one in $CHROMIUM"
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with chromium() as browser:
        yield browser


@pytest.fixture
def module(browser: Browser) -> Iterator[ModulePage]:
    """The built module on an empty page."""
    from module_page import ModulePage

    context = browser.new_context(viewport={"width": 900, "height": 700})
    yield ModulePage(context)
    context.close()


@pytest.fixture
def shots() -> Path:
    """Where screenshots go, to be looked at."""
    OUTPUT.mkdir(exist_ok=True)
    return OUTPUT
