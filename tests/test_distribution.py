"""What a release holds: the sdist all that is in the repository, the wheel all that runs; and the wheel works.

Slow: it builds, and installs the wheel into a new environment. `make dist` has it look at the files in dist/
($NBRESPONSES_DIST) in place of some that it builds itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDERS = {"nbresponses": ROOT / "nbresponses", "nbresponses_magics": ROOT / "magics" / "nbresponses_magics"}
TRY = """
import sys
from IPython.core.interactiveshell import InteractiveShell
import nbresponses
assert nbresponses.__file__.startswith(sys.prefix), nbresponses.__file__
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbresponses")
shell.run_cell_magic("responses", "--quiet -m demo-echo", "Hello, wheel")
print(nbresponses.__version__, shell.user_ns["_responses"].response.output_text)
print(len(str(nbresponses.LaneBoard._esm)) > 1000, len(str(nbresponses.EventInspector._css)) > 1000)
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(sdist, wheel); the wheel is built from the sdist."""
    given = os.environ.get("NBRESPONSES_DIST")
    folder = ROOT / given if given else tmp_path_factory.mktemp("dist")
    if not given:
        command = [sys.executable, "-m", "build", "--outdir", folder, ROOT]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [sdist] = folder.glob("*.tar.gz")
    [wheel] = folder.glob("*.whl")
    return sdist, wheel


def tracked() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    assert not listed.returncode, listed.stderr  # git refuses a folder that another user owns
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_both_have_the_version_that_pyproject_has(built: tuple[Path, Path]) -> None:
    version = PROJECT["version"]
    assert [path.name for path in built] == [f"nbresponses-{version}.tar.gz", f"nbresponses-{version}-py3-none-any.whl"]


def test_the_sdist_holds_the_repository(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not tracked() - names
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name or name.startswith(".venv")]


def test_the_wheel_holds_all_that_runs_and_nothing_else(built: tuple[Path, Path]) -> None:
    expected = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {
        f"nbresponses/{name}" for name in ("py.typed", "display/static/live.js", "widgets/static/LICENSES.txt")
    } <= expected
    with zipfile.ZipFile(built[1]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        [licence] = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        facts = Parser().parsestr(archive.read(metadata).decode())
    assert names == expected
    assert facts["License-Expression"] == "BSD-3-Clause"
    assert facts["Requires-Python"] == PROJECT["requires-python"]
    assert set(facts.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_the_wheel_works_in_a_new_environment(built: tuple[Path, Path], tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    inside = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, timeout=120)
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built[1]]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTHON"))}
    own = {**without, "IPYTHONDIR": str(tmp_path / "ipython")}
    said = subprocess.run(
        [inside, "-c", TRY], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=120, check=False
    )
    assert said.returncode == 0, said.stderr[-2000:]
    lines = said.stdout.splitlines()
    assert lines[-2].startswith(f"{PROJECT['version']} Demo turn 1: Hello, wheel")
    assert lines[-1] == "True True"
