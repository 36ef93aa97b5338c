"""A cell that answers calls: rounds, each shown as it streams, with a line for each call made.

The calls themselves are made by `client.run`; here is only what the notebook sees and is asked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses_magics.saying import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbresponses.client.stream import ResponseStream
    from nbresponses.client.tools import ToolRun
    from nbresponses.core.tools import ToolCall

__all__ = ["run_with_tools"]

_SHOWN = 500  # characters of arguments and results


def run_with_tools(
    stream: Callable[..., ResponseStream],
    body: dict[str, Any],
    *,
    tools: list[Any],
    confirm: bool,
    handlers: dict[str, Any] | None,
    lane: bool,
    on_stream: Callable[[ResponseStream], None],
    quiet: bool = False,
) -> ToolRun:
    """Rounds over what `stream(**fields)` opens. `on_stream` shows each; with `confirm` the user is asked first."""
    from nbresponses.client.tools import run

    fields = dict(body)
    given = fields.pop("input", None)
    done = run(
        stream,
        given,
        lane=lane,
        **{**fields, "tools": [*tools, *(fields.get("tools") or ())]},
        confirm=_ask if confirm else None,
        handlers=handlers,
        on_stream=on_stream,
        on_call=None if quiet else _tell,
    )
    if done.ending == "waiting":
        names = ", ".join(call.name for call in done.pending)
        say(f"The model waits for calls that nobody answers: {names}. --handlers NAME takes functions for them.")
    elif done.ending == "incomplete" and done.pending:
        say(f"The answer broke off; not called: {', '.join(call_text(call) for call in done.pending)}")
    elif done.ending == "max_rounds":
        say(f"Stopped after {len(done.rounds)} rounds: the model goes on calling.")
    return done


def call_text(call: ToolCall) -> str:
    """A call as it would be written, without line ends or control characters."""
    from nbresponses.render import clean

    arguments = call.arguments
    if isinstance(arguments, dict):
        shown = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    else:
        shown = repr(arguments)
    return clean(f"{call.name}({shown[:_SHOWN]})".replace("\n", " "))


def _ask(call: ToolCall) -> bool:
    try:
        answer = input(f"Call {call_text(call)}? [y/N] ")
    except (EOFError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"--confirm: this front end cannot ask ({type(error).__name__})") from None
    return answer.strip().lower() in {"y", "yes"}


def _tell(call: ToolCall) -> None:
    from nbresponses.render import clean

    mark = {"ok": "->", "error": "-> error:", "declined": "-> declined:"}.get(call.outcome, "")
    say(f"{call_text(call)} {mark} {clean(str(call.output)[:_SHOWN])}".replace("\n", " "))
