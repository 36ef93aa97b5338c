"""Options, settings and the cell → the body of a request. Pure: reads no environment, sends nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from nbresponses_magics.options import Options
    from nbresponses_magics.settings import Responses

__all__ = ["body_of"]

_PLAIN = ("model", "instructions", "max_output_tokens", "temperature")


def body_of(options: Options, settings: Responses, cell: str, *, previous: str | None = None) -> dict[str, Any]:
    """The request's fields. Of two sources the later wins: settings, the cell (with --json), -p, the options.

    Args:
        cell: the prompt, or with --json the request body; already interpolated.
        previous: the id of the response to continue from.

    Raises:
        UsageError: with --json, a cell that is no JSON object.
    """
    body: dict[str, Any] = dict(settings.value("params"))
    body.update({name: value for name in _PLAIN if (value := settings.value(name)) is not None})
    if (effort := settings.value("reasoning")) is not None:
        body["reasoning"] = _reasoning(effort, summary=settings.value("summary"))
    body.update(_json_object(cell) if options.json else {"input": cell.strip("\n")})
    body.update(options.param)
    body.update({name: value for name in _PLAIN if (value := getattr(options, name)) is not None})
    if options.reasoning is not None:
        body["reasoning"] = _reasoning(options.reasoning, summary=settings.value("summary") and not options.no_summary)
    if options.hosted:
        body["tools"] = [*(body.get("tools") or ()), *options.hosted]
    if previous is not None:
        body["previous_response_id"] = previous
    if options.background:
        body["background"] = True
    return body


def _reasoning(effort: str, *, summary: bool) -> dict[str, Any]:
    return {"effort": effort, "summary": "auto"} if summary else {"effort": effort}


def _json_object(cell: str) -> dict[str, Any]:
    try:
        body = json.loads(cell)
    except ValueError as error:
        raise UsageError(f"--json: the cell is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise UsageError(f"--json: the cell is a JSON {type(body).__name__}, expected an object")
    return body
