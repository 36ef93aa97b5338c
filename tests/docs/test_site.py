"""`make docs`: every page is in it, nothing is warned of (a broken link would be), nothing comes from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT

pytestmark = pytest.mark.timeout(300)  # about 15 s on a machine that does nothing else


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    folders = ["-d", built / "doctrees", ROOT / "docs", built / "html"]
    run = subprocess.run([*command, *folders], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    assert run.stderr == b""
    return built / "html"


def test_every_page_and_notebook_is_there(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {
        f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")
    }
    assert {str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html")} >= pages
    contents = (site / "index.html").read_text()
    assert [page for page in sorted(pages - {"index"}) if f'href="{page}.html"' not in contents] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="(?:https?:)?//([^"/]+)')
    found = {(path.name, host) for path in site.rglob("*.html") for host in loading.findall(path.read_text())}
    assert found == set()


def test_state_diagrams_are_tables(site: Path) -> None:
    page = (site / "lanes.html").read_text()
    assert page.count('class="states') == 3
    assert "stateDiagram" not in page


def test_the_names_have_their_docstrings(site: Path) -> None:
    page = (site / "api.html").read_text()
    for name in ("nbresponses.Client.stream", "nbresponses.Capture.replay", "nbresponses.capture.plots.plot_gaps"):
        assert f'id="{name}"' in page
    text = re.sub(r"<[^>]+>", "", page.split("<article", 1)[1].split("</article", 1)[0])
    assert "`" not in text
    assert "Where requests go: scheme, host and path" in text, "a sentence, of which nothing is taken for a type"
    assert "docs/" not in text, "a page is a link"
