"""`%responses df` and `%responses capture`: what a stream recorded, as a DataFrame or whole. Asks no server.

They take what the notebook has: a variable, a lane, or capture files. What they return is the value of the cell, so
`df = %responses df` keeps it. A stream that still runs gives what has come so far.
"""

from __future__ import annotations

from glob import has_magic
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import UsageError

from nbresponses.capture.asked import FrameMethods
from nbresponses.capture.schema import FRAMES
from nbresponses_magics.named import is_name, look_up
from nbresponses_magics.options import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses_magics.session import Session

__all__ = ["DATA_COMMANDS", "DATA_FLAGS", "recorded_names"]

_LAST = "_responses"
_FILES = (".jsonl", ".gz")
DATA_FLAGS = {"df": ("--frame", "--lanes"), "capture": ("--lanes",)}
"""Command → its options. `--frame` takes a name of `capture.schema.FRAMES`."""


class _Asked(NamedTuple):
    """The words of a line, read. `name` None: the last answer, or with `lanes` all lanes."""

    name: str | None = None
    frame: str = "events"
    lanes: bool = False


def recorded_names(namespace: Mapping[str, Any]) -> list[str]:
    """The variables that hold a record: captures, and what has one (streams, lane managers, recordings)."""
    return [name for name, value in namespace.items() if not name.startswith("_") and _has_record(value)]


def _has_record(value: Any) -> bool:
    kept = getattr_static(value, "capture", None)  # runs no code of a user's object
    return isinstance(value, FrameMethods) or isinstance(kept, (FrameMethods, property))


def _df(session: Session, shell: Any, words: list[str]) -> Any:
    asked = _read("df", words)
    record = _record(session, shell, asked, "%responses df")
    if asked.frame != "responses":
        return getattr(record, asked.frame)()
    return record.responses(prices=session.prices() or None)


def _capture(session: Session, shell: Any, words: list[str]) -> Any:
    return _record(session, shell, _read("capture", words), "%responses capture")


def _read(command: str, words: list[str]) -> _Asked:
    """The words after the command. UsageError says what is wrong with them."""
    asked, rest = _Asked(), list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word == "--lanes" and not equals:
            asked = asked._replace(lanes=True)
        elif word in DATA_FLAGS[command] and word == "--frame":
            asked = asked._replace(frame=_frame(value if equals else rest.pop(0) if rest else ""))
        elif word.startswith("-"):
            flags = DATA_FLAGS[command]
            raise UsageError(f"%responses {command} has no option {word}; there is {' and '.join(flags)}")
        elif asked.name is not None:
            raise UsageError(f"%responses {command} takes one name: {asked.name}, or {word}")
        else:
            asked = asked._replace(name=word + equals + value)
    if asked.lanes and asked.name is not None:
        raise UsageError(f"--lanes means all lanes of this notebook; for one of them: %responses {command} LANE")
    return asked


def _frame(name: str) -> str:
    if name not in FRAMES:
        hint = closest(name, FRAMES) if name else ""
        raise UsageError(f"--frame: no frame is called {name!r}{hint}; there are {', '.join(FRAMES)}")
    return name


# ── From a name to a record ──────────────────────────────────────────────────────────────────────────────────────────


def _record(session: Session, shell: Any, asked: _Asked, command: str) -> Any:
    if asked.lanes:
        return session.lanes.capture()
    if asked.name is None:
        return _last(shell.user_ns, command)
    name, namespace = asked.name, shell.user_ns
    if is_name(name) and name.partition(".")[0] in namespace:
        return _record_of(look_up(name, namespace, command), name, command)
    if name in session.lanes.names():
        return session.lanes.capture(name)
    if has_magic(name) or name.endswith(_FILES) or Path(name).expanduser().is_file():
        return _loaded(name, command)
    hint = closest(name, [*recorded_names(namespace), *session.lanes.names()])
    raise UsageError(f"{command}: {name!r} is no variable, no lane and no capture file here{hint}")


def _last(namespace: Mapping[str, Any], command: str) -> Any:
    if _LAST not in namespace:
        raise UsageError(f"{command}: nothing was asked yet; run a %%responses cell, or name a variable or a file")
    return _record_of(namespace[_LAST], _LAST, command)


def _record_of(value: Any, name: str, command: str) -> Any:
    record = value if isinstance(value, FrameMethods) else getattr(value, "capture", None)
    if not isinstance(record, FrameMethods):
        raise UsageError(f"{command}: {name} is of type {type(value).__name__}; a stream or a capture is needed")
    return record


def _loaded(name: str, command: str) -> Any:
    """One capture file as a capture; a pattern as several."""
    from nbresponses.capture.many import load
    from nbresponses.errors import CaptureError

    path = str(Path(name).expanduser())
    try:
        found = load(path)
    except (OSError, CaptureError) as error:
        raise UsageError(f"{command}: {error}") from None
    return found if has_magic(path) else found[0]


DATA_COMMANDS: dict[str, Callable[[Session, Any, list[str]], Any]] = {"df": _df, "capture": _capture}
"""Command → the value of its cell."""
