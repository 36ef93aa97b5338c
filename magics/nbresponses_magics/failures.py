"""What a cell says when its response did not end well: one short block, no traceback unless the settings ask for it.

The error itself stays what it is (user code can catch it); only how IPython shows it is set, on the one instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbresponses.errors import (
    ConnectionFailed,
    Disconnected,
    NBResponsesError,
    Rejected,
    ResponseCancelled,
    ResponseCutOff,
    ResponseError,
    ResponseFailed,
    TimedOut,
)

if TYPE_CHECKING:
    from nbresponses.client.stream import ResponseStream

__all__ = ["explain", "interrupted", "remedy", "without_traceback"]

AnyError = TypeVar("AnyError", bound=BaseException)

# Code or type of an error → what helps most often.
_BY_CODE = {
    "context_length_exceeded": "shorten the prompt, or start anew without --continue",
    "insufficient_quota": "the account has no quota left; look at its billing page",
    "invalid_api_key": "check the key in the environment variable that %responses names",
    "invalid_prompt": "the prompt was refused; change its wording",
    "model_not_found": "see the names that this server knows: %responses models",
    "previous_response_not_found": "start anew without --continue or --previous",
    "rate_limit_exceeded": "wait a little, then run the cell again",
    "server_error": "run the cell again; nothing is wrong with the request itself",
    "vector_store_timeout": "run the cell again",
}
_BY_STATUS = {
    400: "look at the request: %%responses -N shows it",
    401: "check the key in the environment variable that %responses names",
    403: "the key may not use this model or server",
    404: "check the model (%responses models) and the base URL (%responses)",
    408: "run the cell again",
    413: "the request is too large; shorten the prompt or the images",
    422: "look at the request: %%responses -N shows it",
    429: "wait a little, then run the cell again",
}
_BY_KIND: tuple[tuple[type[Exception], str], ...] = (
    (ConnectionFailed, "check the base URL and the network: %responses shows where requests go"),
    (TimedOut, "run the cell again, or raise the limit: %config Responses.timeouts = {...}"),
    (Disconnected, "run the cell again"),
    (ResponseCutOff, "run the cell again; with --background the server keeps the response"),
    (ResponseCancelled, "run the cell again"),
)


def remedy(error: BaseException) -> str | None:
    """What probably helps, None where nothing can be said. The error's code counts most, then status, then kind."""
    said = _said(error)
    for key in ("code", "type"):
        if (word := said.get(key)) in _BY_CODE:
            return _BY_CODE[str(word)]
    if "No tool output found" in str(said.get("message")):
        return "the answer that this continues waits for results of its calls: start anew, or (on a lane) with --new"
    cause = error.__cause__
    if isinstance(error, Rejected):
        return _by_status(error)
    if isinstance(error, ResponseFailed):
        return "run the cell again"
    if isinstance(error, ResponseCutOff) and isinstance(cause, NBResponsesError):
        return remedy(cause)
    return next((text for kind, text in _BY_KIND if isinstance(error, kind)), None)


def _by_status(error: Rejected) -> str | None:
    if error.status == 404 and "/responses/" in (error.url or ""):
        return "this server keeps no response of that id (any more): was it made here, with --background?"
    server = "run the cell again; the server has a problem" if error.status >= 500 else None
    return _BY_STATUS.get(error.status, server)


def _said(error: BaseException) -> dict[str, object]:
    if isinstance(error, Rejected):
        return error.error
    if isinstance(error, ResponseError):
        return error.response.error or {}
    return {}


def explain(error: NBResponsesError, stream: ResponseStream | None = None, out: str | None = None) -> str:
    """The block: what happened, the request id, what came before it, the likely remedy. A line each, plain text.

    `out` is the variable that the cell binds.
    """
    from nbresponses.render import clean

    lines = [f"{type(error).__name__}: {error}"]
    request_id = stream.request_id if stream is not None else getattr(error, "request_id", None)
    if request_id and request_id not in lines[0]:
        lines.append(f"request id: {request_id}")
    if stream is not None and stream.response.output:
        lines.append(f"kept: what came before it is in _responses{_rounds(error, out)}")
    if (help_ := remedy(error)) is not None:
        lines.append(f"remedy: {help_}")
    return "\n".join(clean(line) for line in lines)


def interrupted(stop: KeyboardInterrupt | None = None, out: str | None = None) -> KeyboardInterrupt:
    """An interrupt as IPython knows it, shown in one line, with the run that the original one carries."""
    ended = KeyboardInterrupt("interrupted")
    ended.partial = getattr(stop, "partial", None)  # type: ignore[attr-defined]
    return without_traceback(ended, f"interrupted: what came is in _responses{_rounds(stop, out)}")


def _rounds(error: BaseException | None, out: str | None) -> str:
    """Where the rounds before the last one are."""
    run = getattr(error, "partial", None)
    if run is None or len(run.rounds) + len(run.calls) < 2:
        return ""
    return f", all {len(run.rounds)} rounds and {len(run.calls)} results in {out or 'sys.last_value.partial'}"


def without_traceback(error: AnyError, block: str) -> AnyError:
    """Let IPython show `block` instead of a traceback for this one error."""
    # IPython looks the hook up on the value, so an attribute of the instance is enough.
    error.__dict__["_render_traceback_"] = block.splitlines
    return error
