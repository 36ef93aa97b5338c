"""Loading into a shell and unloading from it. What loading adds stands beside the way to take it away.

Loading reads no file, starts nothing, and replaces nothing of the shell. State is in the registered magics object.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from nbresponses_magics.completion import matcher
from nbresponses_magics.magic import ResponsesMagics
from nbresponses_magics.session import Session
from nbresponses_magics.settings import Responses

__all__ = ["load", "unload"]

_NAME = ResponsesMagics.__name__
# By name, so that loading imports neither the client nor the views.
_SHOWN = (("nbresponses.client.stream", "ResponseStream"), ("nbresponses.core.response", "Response"))


def load(shell: Any) -> None:
    """Add the magics, their settings, completion and the display of results. Does nothing when loaded already."""
    if _NAME in shell.magics_manager.registry:
        return
    undo = ExitStack()
    settings = Responses(parent=shell)
    magics = ResponsesMagics(shell, Session(settings), undo)
    undo.callback(magics.session.close)
    shell.configurables.append(settings)
    undo.callback(_forget, shell.configurables, settings, magics)  # Magics adds itself to that list
    _register(shell.magics_manager, magics, undo)
    _complete(shell, magics, undo)
    _display(shell, undo)


def unload(shell: Any) -> None:
    """Take away what `load` added; the names in the notebook stay. Does nothing when not loaded."""
    magics = shell.magics_manager.registry.get(_NAME)
    if magics is not None:
        magics.undo.close()


def _register(manager: Any, magics: ResponsesMagics, undo: ExitStack) -> None:
    for kind, functions in magics.magics.items():
        table = manager.magics[kind]
        for name in functions:
            if name in table:
                undo.callback(table.__setitem__, name, table[name])
            else:
                undo.callback(table.pop, name, None)
    undo.callback(manager.registry.pop, _NAME, None)
    manager.register(magics)


def _complete(shell: Any, magics: ResponsesMagics, undo: ExitStack) -> None:
    matchers = shell.Completer.custom_matchers
    ours = matcher(magics.known)
    matchers.append(ours)
    undo.callback(_forget, matchers, ours)


def _display(shell: Any, undo: ExitStack) -> None:
    """Show a stream or a response as its settled bundle when it is the value of a cell."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name in _SHOWN:
        before = formatter.for_type_by_name(module, name, _bundle)
        if before is not None:
            undo.callback(formatter.for_type_by_name, module, name, before)
        undo.callback(formatter.pop, f"{module}.{name}", None)


def _bundle(shown: Any, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG001  # IPython filters by itself
    from nbresponses.display import settled

    return settled(shown)


def _forget(entries: list[Any], *unwanted: Any) -> None:
    """Remove by identity: a configurable or matcher may define equality."""
    entries[:] = [entry for entry in entries if not any(entry is one for one in unwanted)]
