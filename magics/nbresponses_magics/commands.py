"""`%responses` and its commands: what they print, or return. A key is never printed, only the name of its variable."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses_magics.data import DATA_COMMANDS
from nbresponses_magics.lanes import LANE_COMMANDS
from nbresponses_magics.options import closest, help_text
from nbresponses_magics.records import RECORD_COMMANDS
from nbresponses_magics.settings import DEFAULTS, project_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses_magics.session import Endpoint, Session

__all__ = ["COMMANDS", "EXAMPLES", "request_text", "run_command"]

EXAMPLES = """\
%%responses
Why is the sky blue? One sentence.

%%responses answer << -m gpt-5-mini --reasoning low
Compare {{first}} with {{second}}.

%%responses -c --hosted image_generation:partial_images=2
Draw that.
"""


def run_command(session: Session, words: list[str], shell: Any = None) -> Any:
    """The text that `%responses words…` prints, or the value of its cell. Without words: settings, endpoint, key."""
    if not words:
        return _settings(session)
    name, *rest = words
    if name in LANE_COMMANDS:
        return LANE_COMMANDS[name](session.lanes, rest)
    if name in DATA_COMMANDS:
        return DATA_COMMANDS[name](session, shell, rest)
    if name in RECORD_COMMANDS:
        return RECORD_COMMANDS[name](session, shell, rest)
    if name not in COMMANDS:
        known = [*COMMANDS, *RECORD_COMMANDS, *DATA_COMMANDS, *LANE_COMMANDS]
        hint = closest(name, known) or f"; the commands are {', '.join(known)}"
        raise UsageError(f"%responses has no command {name!r}{hint} (a prompt goes into a %%responses cell)")
    if rest:
        raise UsageError(f"%responses {name} takes nothing more: {' '.join(rest)}")
    return COMMANDS[name](session)


def request_text(endpoint: Endpoint, body: Mapping[str, Any]) -> str:
    """What `--no-execute` shows: method, address and body, secrets masked as a capture masks them; no headers."""
    from nbresponses.capture.masking import masked

    url = "the embedded demo server" if endpoint.demo else f"{endpoint.shown}/responses"
    return f"POST {url}\n{json.dumps({**masked(body), 'stream': True}, indent=2, ensure_ascii=False)}"


def _settings(session: Session) -> str:
    settings = session.settings
    rows = [f"endpoint    {_where(session)}", f"key         {_key(session)}"]
    if session.last_completed:
        rows.append(f"last answer {session.last_completed}")
    if (path := project_file()) is not None:
        rows.append(f"project     {path}")
    rows.append("")
    for name in sorted(settings.class_trait_names(config=True)):
        value = settings.value(name)
        mark = "" if value == DEFAULTS.get(name) else "  (set)"
        rows.append(f"Responses.{name} = {value!r}{mark}")
    return "\n".join(rows)


def _where(session: Session) -> str:
    endpoint = session.endpoint()
    if not endpoint.demo:
        return f"{endpoint.shown}  ({endpoint.source})"
    state = session.demo_url or "starts with the first cell"
    return f"embedded demo server, {state}  ({endpoint.source})"


def _key(session: Session) -> str:
    if session.key_variable is not None:
        return f"{session.key_variable} is set"
    return f"{session.settings.value('api_key_env')} is not set"


def _help(_session: Session) -> str:
    names = [*COMMANDS, *RECORD_COMMANDS, *DATA_COMMANDS, *LANE_COMMANDS]
    commands = textwrap.fill("  ".join(names), 98, initial_indent="  ", subsequent_indent="  ")
    return f"{EXAMPLES}\n{help_text()}\ncommands, after %responses (which alone shows the settings):\n{commands}"


def _models(session: Session) -> str:
    endpoint = session.endpoint()
    names = sorted(model.id for model in session.client(endpoint).models())
    session.saw_models(names)
    if endpoint.demo:
        from nbresponses.demo.scenarios import SCENARIOS

        rows = [f"{scenario.model:<15} {scenario.about}" for scenario in SCENARIOS.values()]
        return "\n".join([f"{len(rows)} models of the embedded demo server", *rows])
    return "\n".join([f"{len(names)} models at {endpoint.shown}", *names])


def _demo(session: Session) -> str:
    url = session.start_demo()
    return f"Using the embedded demo server at {url} (%responses models lists its models)."


def _reset(session: Session) -> str:
    session.reset()
    return "The last answer is forgotten, connections are closed, the embedded demo server is stopped. Settings stay."


COMMANDS: dict[str, Callable[[Session], str]] = {
    "help": _help,
    "models": _models,
    "demo": _demo,
    "reset": _reset,
}
