"""The committed module is the built one, small enough, with the licences of what is in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "nbresponses" / "display" / "static"
OTHERS = ROOT / "nbresponses" / "widgets" / "static"
MODULES = [STATIC / "live.js", OTHERS / "board.js", OTHERS / "inspector.js"]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_module_is_small(module: Path) -> None:
    assert module.stat().st_size <= 100_000


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_module_loads_nothing_from_elsewhere(module: Path) -> None:
    assert "import(" not in module.read_text()
    style = module.with_suffix(".css").read_text()
    assert "@import" not in style
    assert "url(" not in style


def test_licences_are_beside_the_module() -> None:
    licences = (STATIC / "LICENSES.txt").read_text()
    packages = json.loads((ROOT / "js" / "package.json").read_text())["dependencies"]
    for name, version in packages.items():
        assert f"{name} {version}" in licences
    assert f"dompurify {packages['dompurify']}" in (OTHERS / "LICENSES.txt").read_text()


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (ROOT / "js" / "package-lock.json").read_text()


@pytest.mark.timeout(180)
def test_the_committed_module_is_the_built_one(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        reason = "no npm: the committed module cannot be built again here"
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    shutil.copytree(ROOT / "js", tmp_path / "js", ignore=shutil.ignore_patterns("node_modules"))
    built = tmp_path / "built"
    built.mkdir()
    for command in (["npm", "ci", "--silent"], ["node", "build.mjs", str(built)]):
        done = subprocess.run(command, cwd=tmp_path / "js", capture_output=True, text=True, timeout=150, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    files = [path.relative_to(built) for path in built.rglob("*.*")]
    assert files
    for name in files:
        committed = (ROOT / "nbresponses" / name).read_text()
        assert (built / name).read_text() == committed, f"{name} is not what `make js` builds"
