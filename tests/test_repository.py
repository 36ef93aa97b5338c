"""Files that no code reads, held against those that say the same: workflows, forms, citation, changelog."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = r"\d+\.\d+\.\d+((a|b|rc)\d+)?"

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
each_form = pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def workflow(name: str) -> dict[str, Any]:
    return read(GITHUB / "workflows" / f"{name}.yml")


def pythons() -> list[str]:
    """The versions that pyproject says are supported."""
    return re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


def steps(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in found["jobs"].values() for step in job["steps"]]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))


# ── Workflows ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ci_runs_what_ci_run_does_on_every_python() -> None:
    job = workflow("ci")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == pythons()
    assert pythons()[0] == PROJECT["requires-python"].removeprefix(">=")
    assert "${{ matrix.python }}" in job["container"]
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_ci_builds_the_documentation() -> None:
    assert "make docs" in [step.get("run") for step in workflow("ci")["jobs"]["docs"]["steps"]]


def test_the_slow_tests_run_by_themselves() -> None:
    found = workflow("slow")
    assert found[True]["schedule"]  # YAML reads `on` as true
    assert any(step.get("run", "").startswith("make test-full") for step in steps(found))


def test_only_publishing_may_do_more_than_read() -> None:
    jobs = workflow("release")["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items() if "permissions" in job} == {
        "publish": {"id-token": "write"}
    }
    assert jobs["publish"]["needs"] == "build"
    assert not any("run" in step for step in jobs["publish"]["steps"]), "what holds the right to publish runs no code"


@each_workflow
def test_a_workflow_calls_make_by_targets_that_exist(path: Path) -> None:
    called = {word for step in steps(read(path)) for word in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert called <= targets()


@each_workflow
def test_a_workflow_has_few_rights_and_an_end(path: Path) -> None:
    found = read(path)
    assert found["permissions"] == {"contents": "read"}
    assert found["concurrency"]
    for name, job in found["jobs"].items():
        assert 0 < job["timeout-minutes"] <= 180, name
        assert name == "publish" or "permissions" not in job
    for step in steps(found):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize(("name", "command"), [("release", "make dist"), ("slow", "make test-full")])
def test_in_a_container_git_is_allowed_to_look_before_what_asks_it(name: str, command: str) -> None:
    """The workspace is the runner's, the container's user is root: git refuses, and a test of the sdist needs it."""
    [job] = [job for job in workflow(name)["jobs"].values() if "container" in job]
    lines = [step.get("run", "") for step in job["steps"]]
    [allowed] = [at for at, line in enumerate(lines) if "safe.directory" in line]
    assert allowed < next(at for at, line in enumerate(lines) if line.startswith(command))


@each_workflow
def test_actions_are_pinned_to_a_major_version(path: Path) -> None:
    for step in steps(read(path)):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])


def test_leaving_out_the_streams_has_to_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under CI what is missing fails, the captured streams too, unless they are left out by name."""
    for name in ("ci", "slow"):
        assert workflow(name)["env"] == {"NBRESPONSES_STREAMS": "none"}
    spec = importlib.util.spec_from_file_location("conftest_of_all", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("NBRESPONSES_STREAMS", "nowhere")
    with pytest.raises(pytest.fail.Exception, match="nowhere"):
        conftest.missing_streams()
    monkeypatch.setenv("NBRESPONSES_STREAMS", "none")
    with pytest.raises(pytest.skip.Exception, match="NBRESPONSES_STREAMS=none"):
        conftest.missing_streams()


def test_dependabot_looks_where_something_is() -> None:
    found = read(GITHUB / "dependabot.yml")
    assert found["version"] == 2
    wanted = {"github-actions": ".github/workflows", "npm": "js/package.json"}
    assert {entry["package-ecosystem"] for entry in found["updates"]} == set(wanted)
    assert all((ROOT / path).exists() for path in wanted.values())


# ── Forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@each_form
def test_a_form_is_one_that_github_shows(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    asked = [element for element in form["body"] if element["type"] != "markdown"]
    assert all(element["type"] in {"textarea", "input", "dropdown", "checkboxes"} for element in asked)
    assert len({element["id"] for element in asked}) == len(asked)
    assert all(element["attributes"]["label"] for element in asked)
    for element in asked:
        if element["type"] in {"dropdown", "checkboxes"}:
            assert len(element["attributes"]["options"]) == len(
                {str(option) for option in element["attributes"]["options"]}
            )


def test_the_code_that_a_bug_report_asks_for_runs() -> None:
    form = read(GITHUB / "ISSUE_TEMPLATE" / "bug_report.yml")
    [element] = [element for element in form["body"] if element.get("id") == "versions"]
    [code] = re.findall(r"```python\n(.*?)```", element["attributes"]["description"], re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    said = done.stdout.splitlines()
    for name in ("nbresponses", "ipython", "pandas"):
        assert any(re.fullmatch(rf"{name} [\w.+]+", line) for line in said)


def test_the_pull_request_form_names_targets_that_exist() -> None:
    text = (GITHUB / "pull_request_template.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets()


# ── Citation ─────────────────────────────────────────────────────────────────────────────────────────────────────────

FIELDS = {"cff-version", "message", "type", "title", "abstract", "authors", "license", "keywords"}
"""Those that are used, of the Citation File Format 1.2.0; a version would be a second place for one."""


def test_the_citation_has_what_the_format_asks_for() -> None:
    found = read(ROOT / "CITATION.cff")
    assert found.keys() == FIELDS
    assert found["cff-version"] == "1.2.0"
    assert found["type"] == "software"
    assert all(isinstance(found[name], str) and found[name] for name in FIELDS - {"authors", "keywords"})
    assert len(set(found["keywords"])) == len(found["keywords"]) > 0


def test_the_citation_says_what_pyproject_and_the_licence_say() -> None:
    found = read(ROOT / "CITATION.cff")
    assert found["title"] == PROJECT["name"]
    assert found["abstract"] == PROJECT["description"]
    assert found["license"] == PROJECT["license"]
    assert found["keywords"] == PROJECT["keywords"]
    assert found["authors"] == PROJECT["authors"]
    [author] = found["authors"]
    assert author["name"].removeprefix("The ") in text_of("LICENSE")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_citation_is_valid_by_the_schema_of_the_format(tmp_path: Path) -> None:
    """By cffconvert, which holds the schema, in an environment of its own: it needs older packages than we do."""
    inside = tmp_path / "environment" / "bin"
    subprocess.run([sys.executable, "-m", "venv", inside.parent], check=True, timeout=120)
    pip = [inside / "pip", "install", "--quiet", "--disable-pip-version-check", "cffconvert==2.0.0"]
    subprocess.run(pip, check=True, timeout=200, capture_output=True)
    command = [inside / "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# ── Versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_version_stands_once_and_the_changelog_knows_it() -> None:
    assert re.fullmatch(VERSION, PROJECT["version"])
    headings = re.findall(r"^## \[?([^\]\s]+)\]?", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0] == PROJECT["version"]
    assert all(re.fullmatch(VERSION, heading) for heading in headings if heading != "Unreleased")
    for folder in ("nbresponses", "magics", "docs"):
        for path in (ROOT / folder).glob("**/*.py"):
            assert f'"{PROJECT["version"]}"' not in path.read_text(encoding="utf-8"), path


def test_the_changelog_has_the_sections_of_its_format() -> None:
    sections = set(re.findall(r"^### (.*)$", text_of("CHANGELOG.md"), re.MULTILINE))
    assert sections
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
