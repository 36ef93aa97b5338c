"""The settings of `%%responses`: %config, an IPython config file, `[tool.nbresponses]` of a project.

A value set by %config or in an IPython config file comes first, then (for the server) the environment, then the nearest
pyproject.toml upward from the working directory, which is read when a setting is needed and never at load. Holds no
key, only the name of the environment variable that has it.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from IPython.core.error import UsageError
from traitlets import Bool, Float, Instance, Integer, TraitError, Unicode
from traitlets.config.configurable import Configurable

from nbresponses_magics.options import closest

__all__ = ["DEFAULTS", "Responses", "environment", "project_file", "read_project"]


# What holds where nothing is set; every other setting has no default.
DEFAULTS: dict[str, Any] = {
    "summary": True,
    "params": {},
    "api_key_env": "OPENAI_API_KEY",
    "allow_insecure": False,
    "timeouts": {},
    "lanes": {},
    "widget": True,
    "allow_remote_images": False,
    "tracebacks": False,
    "prices": {},
}


class Responses(Configurable):
    """Defaults of %%responses cells. None: not set."""

    model = Unicode(None, allow_none=True, help="The model that answers where a cell names none.").tag(config=True)
    instructions = Unicode(None, allow_none=True, help="Instructions (the system message).").tag(config=True)
    reasoning = Unicode(None, allow_none=True, help="Reasoning effort.").tag(config=True)
    summary = Bool(None, allow_none=True, help="Ask for a summary where reasoning is asked for (yes).").tag(config=True)
    max_output_tokens = Integer(None, allow_none=True, help="Upper limit of generated tokens.").tag(config=True)
    temperature = Float(None, allow_none=True, help="Sampling temperature.").tag(config=True)
    params = Instance(dict, allow_none=True, help="Other fields of each request, as a dict.").tag(config=True)
    base_url = Unicode(
        None, allow_none=True, help="The server, ending in /v1 as a rule; set here it comes before OPENAI_BASE_URL."
    ).tag(config=True)
    api_key_env = Unicode(
        None, allow_none=True, help="Name of the environment variable that holds the key (OPENAI_API_KEY)."
    ).tag(config=True)
    allow_insecure = Bool(None, allow_none=True, help="Send the key over plain http to other machines too (no).").tag(
        config=True
    )
    timeouts = Instance(
        dict, allow_none=True, help="Limits in seconds, by name: connect, first_byte, idle, queued, total."
    ).tag(config=True)
    lanes = Instance(
        dict,
        allow_none=True,
        help="Settings of the lanes' connection, by name: transport, on_uncertain, on_name_limit, max_age, ...",
    ).tag(config=True)
    max_retries = Integer(None, allow_none=True, help="Retries before the first event.").tag(config=True)
    widget = Bool(None, allow_none=True, help="Use a widget for the live view where possible (yes).").tag(config=True)
    allow_remote_images = Bool(
        None, allow_none=True, help="Load pictures that answers name by an address of another host (no)."
    ).tag(config=True)
    prices = Instance(
        dict, allow_none=True, help="Money per million tokens: {model: {input: , cached_input: , output: }}."
    ).tag(config=True)
    tracebacks = Bool(None, allow_none=True, help="Show tracebacks of failed responses (no).").tag(config=True)

    def value(self, name: str) -> Any:
        """A setting: what was set here, else what the project's file says, else the default."""
        own = getattr(self, name)
        return own if own is not None else read_project().get(name, DEFAULTS.get(name))

    def changed(self) -> dict[str, Any]:
        """All settings that differ from their defaults, by name; the project's included."""
        values = {name: self.value(name) for name in sorted(self.class_trait_names(config=True))}
        return {name: value for name, value in values.items() if value != DEFAULTS.get(name)}


# A file that comes with somebody's project must not choose which secret is sent, or whom a page tells what was read.
_NOT_FOR_PROJECTS = {"api_key_env", "allow_insecure", "allow_remote_images"}


def project_file(start: Path | None = None) -> Path | None:
    """The nearest pyproject.toml upward from `start` (the working directory)."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (path := folder / "pyproject.toml").is_file():
            return path
    return None


def read_project(start: Path | None = None) -> dict[str, Any]:
    """`[tool.nbresponses]` of the nearest pyproject.toml, checked; {} where there is none.

    Raises:
        UsageError: the file is no TOML, or a setting is unknown, of the wrong type, or not allowed there.
    """
    path = project_file(start)
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("nbresponses", {})
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.nbresponses is not a table")
    settings = {key.replace("-", "_"): value for key, value in table.items()}
    for name, value in settings.items():
        _check(path, name, value)
    return settings


def _check(path: Path, name: str, value: Any) -> None:
    from nbresponses.client.settings import is_loopback

    allowed = set(Responses.class_trait_names(config=True)) - _NOT_FOR_PROJECTS
    where = f"{path}: tool.nbresponses.{name}"
    if name not in allowed:
        why = " is not allowed in a project's file" if name in _NOT_FOR_PROJECTS else " is no setting"
        raise UsageError(where + why + closest(name, allowed))
    try:
        Responses(**{name: value})
    except TraitError as error:
        raise UsageError(f"{where}: {str(error).splitlines()[0]}") from None
    if name == "base_url" and not is_loopback(urlsplit(value).hostname or ""):
        raise UsageError(
            f"{where}: a project's file can only name a server on this machine, since your key goes there;"
            " use OPENAI_BASE_URL or %config Responses.base_url"
        )


def environment(name: str) -> str | None:
    """An environment variable, None where it is empty too."""
    return os.environ.get(name) or None
