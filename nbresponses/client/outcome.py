"""How a response ended, as a return value or an exception. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.core.response import Response
from nbresponses.errors import ProtocolError, ResponseCancelled, ResponseCutOff, ResponseError, ResponseFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["final", "response_of"]

_ENDINGS = frozenset({"completed", "incomplete", "failed", "cancelled"})


def final(
    response: Response, *, cause: BaseException | None = None, last_sequence_number: int | None = None
) -> Response:
    """The response if it is completed, incomplete or still running on the server; else the error that its ending is."""
    ending = response.ending
    if ending in {None, "completed", "incomplete"}:
        return response
    error: ResponseError
    if ending in {"failed", "error"}:
        error = ResponseFailed(_failure_text(response), response=response, ending=str(ending))
    elif ending == "cancelled":
        error = ResponseCancelled(f"{_named(response)} was cancelled", response=response, ending="cancelled")
    else:
        text = f"{_named(response)} was {_HOW[str(ending)]}"
        if last_sequence_number is not None:
            text += f" after event {last_sequence_number}"
        if cause is not None:
            text += f": {cause}"
        error = ResponseCutOff(text, response=response, ending=str(ending))
    error.last_sequence_number = last_sequence_number
    raise error from cause


def response_of(data: Mapping[str, Any]) -> Response:
    """A response object as the server sent it → Response; its status is its ending, unless it still runs."""
    if not data:
        raise ProtocolError("the server answered with nothing, where a response was expected")
    status = data.get("status")
    ending = status if status in _ENDINGS else None
    if ending is None and data.get("error") and data.get("id") is None:
        ending = "error"
    return Response(data, ending=ending)


_HOW = {"cut_off": "cut off", "interrupted": "interrupted"}


def _named(response: Response) -> str:
    return f"response {response.id}" if response.id else "the response"


def _failure_text(response: Response) -> str:
    error = response.error or {}
    parts = [str(error[name]) for name in ("code", "message") if error.get(name) is not None]
    return f"{_named(response)} failed" + (f": {': '.join(parts)}" if parts else "")
