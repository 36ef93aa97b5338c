"""What mybinder.org would do, as far as it can be done here: binder/ alone in a new environment, from a clone.

Slow: it installs JupyterLab and Dask. The kernel is that environment's, and so is the server; only the browser's driver
is this one's.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
BINDER = ROOT / "binder"
FIRST = "notebooks/01_first_response.ipynb"
REAL = "notebooks/07_a_real_server.ipynb"
URL = f"https://mybinder.org/v2/gh/OWNER/NAME/HEAD?urlpath=lab/tree/{FIRST}"
OURS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")

sys.path.insert(0, str(Path(__file__).parent / "browser"))


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def named_python() -> str:
    """As runtime.txt says, such as "3.12"."""
    return (BINDER / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")


def interpreter(version: str) -> str | None:
    """A Python of this version that can be started (a version manager's stand-in may not be)."""
    places = [
        sys.executable,
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ]
    for place in filter(None, map(str, filter(None, places))):
        asked = [place, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
        if said.returncode == 0 and said.stdout.strip() == version:
            return place
    return None


# ── What is written there ────────────────────────────────────────────────────────────────────────────────────────────


def test_it_installs_the_clone_with_extras_that_exist() -> None:
    lines = (BINDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    [line] = [line for line in lines if not line.startswith("#")]
    found = re.fullmatch(r"-e \.\[([\w,]+)\]", line)  # repo2docker sees by the dot that it needs the whole repository
    assert found
    assert {"lab", "dask", "plot"} <= set(found[1].split(",")) <= set(project()["optional-dependencies"])


def test_its_python_is_one_that_is_tested() -> None:
    assert f"Programming Language :: Python :: {named_python()}" in project()["classifiers"]


def test_the_address_opens_a_notebook_that_is_there() -> None:
    assert URL in (BINDER / "README.md").read_text(encoding="utf-8")
    assert (ROOT / FIRST).is_file()


def test_the_badge_leads_to_this_repository() -> None:
    """Once pyproject names the repository, to mybinder.org; before that to the page that says how."""
    repository = project().get("urls", {}).get("Repository", "")
    found = re.match(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?$", repository)
    target = URL.replace("OWNER/NAME", found[1]) if found else "binder/README.md"
    badges = re.findall(
        r"mybinder\.org/badge_logo\.svg\)\]\(([^)]*)\)", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert badges == [target]


# ── In a new environment ─────────────────────────────────────────────────────────────────────────────────────────────


def quietly(*command: str | Path, cwd: Path, timeout: float) -> str:
    without = {name: value for name, value in os.environ.items() if name not in {*OURS, "PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, env=without, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, float]]:
    """(the clone, the Python that has what binder/ asks for, seconds that took)."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    version = named_python()
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here, which binder/runtime.txt names")
    folder, began = tmp_path_factory.mktemp("binder"), time.monotonic()
    clone, environment = folder / "clone", folder / "environment"
    quietly("git", "clone", "--quiet", ROOT, clone, cwd=folder, timeout=60)
    quietly(python, "-m", "venv", environment, cwd=folder, timeout=60)
    inside = environment / "bin" / "python"
    pip = (inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    quietly(*pip, "-r", "binder/requirements.txt", cwd=clone, timeout=600)
    yield clone, inside, time.monotonic() - began
    shutil.rmtree(folder, ignore_errors=True)


def kinds(path: Path) -> list[tuple[str, set[str]]]:
    """What each code cell put out, by kind; what it says is compared by tests/notebooks, on a machine that has time."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return [
        (cell.source, {kind for output in cell.outputs for kind in (output.output_type, *output.get("data", {}))})
        for cell in cells
    ]


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_all_notebooks_run_there(installed: Any, told: Callable[[str], None]) -> None:
    clone, python, took = installed
    paths = [path for path in sorted((clone / "notebooks").glob("*.ipynb")) if path.name != Path(REAL).name]
    before, began = [kinds(path) for path in paths], time.monotonic()
    said = quietly(python, "notebooks/execute.py", cwd=clone, timeout=800)
    told(f"binder: installed in {took:.0f} s, notebooks executed in {time.monotonic() - began:.0f} s")
    assert [line.split(":")[0] for line in said.splitlines()] == [path.name for path in paths]
    assert [kinds(path) for path in paths] == before


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.timeout(1500)
def test_the_notebook_on_a_real_server_runs_there(installed: Any, tmp_path: Path) -> None:
    clone, python, _ = installed
    peers = load(Path(__file__).parent / "peers" / "conftest.py")
    with peers.running("start-llama-server.sh", "/health", tmp_path / "log") as address:
        text = (clone / REAL).read_text(encoding="utf-8")
        (clone / REAL).write_text(text.replace("http://127.0.0.1:8080", address), encoding="utf-8")
        quietly(python, "notebooks/execute.py", REAL, cwd=clone, timeout=200)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_jupyterlab_starts_there_on_the_first_notebook_and_runs_it(installed: Any) -> None:
    from chromium import chromium, chromium_path
    from lab import LabPage, LabServer

    if chromium_path() is None:
        pytest.skip("no Chromium")
    clone, python, _ = installed
    cells = nbformat.read(clone / FIRST, as_version=4).cells
    with LabServer(python=python, root=clone) as server, chromium() as browser, LabPage(server, browser, FIRST) as page:
        for number, cell in enumerate(cells):
            if cell.cell_type == "code":
                page.run(number, seconds=60)
        answer = next(number for number, cell in enumerate(cells) if cell.source.startswith("%%responses"))
        [shown] = [output for output in page.outputs(answer) if output["output_type"] == "display_data"]
        assert "· completed ·" in "".join(shown["data"]["text/plain"])  # the page has let go of what is out of sight
        assert page.errors == []
        assert page.foreign(server.origin) == []
