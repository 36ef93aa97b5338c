"""Settings: %config, IPython config files, and `[tool.nbresponses]` of the nearest pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.settings import Responses, read_project
from traitlets.config import Config


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    return tmp_path


def project(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.nbresponses]\n{table}\n")


def test_nothing_set() -> None:
    settings = Responses()
    assert settings.changed() == {}
    assert settings.value("model") is None
    assert settings.value("summary") is True


def test_the_nearest_project_file_upward(folder: Path) -> None:
    project(folder, 'model = "far"')
    assert read_project() == {"model": "far"}
    (folder / "a" / "pyproject.toml").write_text('[tool.nbresponses]\nmodel = "near"\nmax-output-tokens = 5')
    assert read_project() == {"model": "near", "max_output_tokens": 5}
    (folder / "a" / "b" / "pyproject.toml").write_text("[project]\nname = 'x'")
    assert read_project() == {}


def test_a_project_is_read_when_a_setting_is_needed(folder: Path) -> None:
    settings = Responses()
    project(folder, 'model = "later"\nsummary = false')
    assert settings.value("model") == "later"
    assert settings.changed() == {"model": "later", "summary": False}


def test_what_is_set_here_wins_even_when_it_is_the_default(folder: Path) -> None:
    project(folder, 'model = "project"\nsummary = false\nparams = {store = false}')
    settings = Responses(config=Config({"Responses": {"model": "file", "summary": True}}))
    assert (settings.value("model"), settings.value("summary")) == ("file", True)
    assert settings.value("params") == {"store": False}
    settings.params = {}
    assert settings.value("params") == {}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('modle = "x"', "tool.nbresponses.modle is no setting, did you mean model?"),
        ("model = 5", "tool.nbresponses.model: "),
        ('temperature = "warm"', "tool.nbresponses.temperature: "),
        ('api_key_env = "GITHUB_TOKEN"', "tool.nbresponses.api_key_env is not allowed in a project's file"),
        ("allow-insecure = true", "tool.nbresponses.allow_insecure is not allowed in a project's file"),
        ("allow-remote-images = true", "tool.nbresponses.allow_remote_images is not allowed in a project's file"),
        ('base_url = "https://evil.test/v1"', "can only name a server on this machine"),
        ('base_url = "http://127.0.0.1.evil.test/v1"', "can only name a server on this machine"),
        ('base_url = "http://localhost@evil.test/v1"', "can only name a server on this machine"),
        ("model = ", "Invalid value"),
    ],
)
def test_a_wrong_project_file_is_named(folder: Path, table: str, says: str) -> None:
    project(folder, table)
    with pytest.raises(UsageError) as caught:
        Responses().value("model")
    assert type(caught.value) is UsageError
    assert str(folder / "pyproject.toml") in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:1/v1"])
def test_a_project_may_name_a_server_on_this_machine(folder: Path, url: str) -> None:
    project(folder, f'base-url = "{url}"')
    assert read_project() == {"base_url": url}


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nnbresponses = 3"])
def test_tables_of_another_shape(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        read_project()
