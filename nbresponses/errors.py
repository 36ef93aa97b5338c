"""Every error that nbresponses raises. Facts go in, the text is built from them; an API key never goes in.

NBResponsesError
├── RequestError            the caller asked for something that cannot be sent; names the field
├── TransportError          bytes could not be exchanged
│   ├── ConnectionFailed    no connection came about
│   ├── TimedOut            a limit that the user can set ran out; names the phase and the limit
│   ├── Rejected            the server answered with an HTTP error; status, request id, body
│   └── Disconnected        the connection ended in the middle of a stream; close code where there is one
├── ProtocolError           bytes arrived that no reading of the protocol allows
│   └── DecodeError         a payload is not a JSON object, or too large; the excerpt is an attribute, never text
├── ResponseError           the server ended the response otherwise than by completing it; holds the partial response
│   ├── ResponseFailed
│   ├── ResponseCancelled
│   └── ResponseCutOff      no terminal event came, or the stream was stopped here
├── LaneError               a lane cannot do that now; names the lane
├── FormatError             an answer is not in the format asked for; `reason` says why
├── CaptureError            a capture file cannot be read; names the file and the line
└── MissingExtra            an optional package is not installed; names the install command
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.core.response import Response

__all__ = [
    "CaptureError",
    "ConnectionFailed",
    "DecodeError",
    "Disconnected",
    "FormatError",
    "LaneError",
    "MissingExtra",
    "NBResponsesError",
    "ProtocolError",
    "Rejected",
    "RequestError",
    "ResponseCancelled",
    "ResponseCutOff",
    "ResponseError",
    "ResponseFailed",
    "TimedOut",
    "TransportError",
]


class NBResponsesError(Exception):
    """Root of all errors raised by nbresponses.

    `partial` is what came before the error, where a call makes several requests: a `ToolRun` of `run`, a DataFrame of
    `map`; else None. A KeyboardInterrupt out of these has it too.
    """

    partial: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)  # their facts, not their text, make them anew


def _restored(cls: type[NBResponsesError], args: tuple[Any, ...], facts: dict[str, Any]) -> NBResponsesError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(facts)
    return error


class RequestError(NBResponsesError, ValueError):
    """A request that cannot be sent as asked. `field` names what is wrong with it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class TransportError(NBResponsesError):
    """Bytes could not be exchanged with the server. `url` never holds credentials or a query."""

    def __init__(self, message: str, *, url: str | None = None) -> None:
        super().__init__(message)
        self.url = url


class ConnectionFailed(TransportError):
    """No connection came about: name not resolved, refused, TLS failure, proxy failure."""

    def __init__(self, reason: str, *, url: str) -> None:
        super().__init__(f"no connection to {url}: {reason}", url=url)
        self.reason = reason


class TimedOut(TransportError):
    """A settable limit ran out. `phase` is the name of the limit, `seconds` its value."""

    def __init__(self, phase: str, seconds: float, *, url: str | None = None) -> None:
        super().__init__(f"{phase} timeout: nothing within {seconds:g} s (timeout {phase}={seconds:g})", url=url)
        self.phase = phase
        self.seconds = seconds


class Rejected(TransportError):
    """The server answered with an HTTP error status (200 where it put an error in the place of a plain answer).

    `error` is `{"type", "code", "message", "param"}` read from whatever shape the body had; `body` is the body's text
    (it can repeat what was sent, so it is an attribute and not part of the message). `retryable`: the same request may
    succeed later; `retry_after` is in seconds, None where the server named no time.
    """

    def __init__(
        self,
        status: int,
        *,
        error: Mapping[str, Any] | None = None,
        body: str = "",
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        url: str | None = None,
    ) -> None:
        self.status = status
        self.error: dict[str, Any] = dict(error or {})
        self.body = body
        self.request_id = request_id
        self.retry_after = retry_after
        self.retryable = retryable
        said = self.error.get("message")
        code = self.error.get("code")
        text = f"HTTP {status}"
        if code is not None:
            text += f" ({code})"
        if said:
            text += f": {said}"
        if request_id:
            text += f" [request id {request_id}]"
        super().__init__(text, url=url)


class Disconnected(TransportError):
    """The connection ended before the response did. `code` is the WebSocket close code where there is one."""

    def __init__(self, reason: str, *, code: int | None = None, url: str | None = None) -> None:
        super().__init__(f"disconnected: {reason}" + (f" (close code {code})" if code is not None else ""), url=url)
        self.reason = reason
        self.code = code


class ProtocolError(NBResponsesError):
    """What arrived is allowed by no reading of the protocol."""


class DecodeError(ProtocolError):
    """A payload that is no event. `offset` is in bytes from its start (None where unknown), `length` its size.

    `excerpt` holds the payload's first characters for debugging. It is left out of the text and the repr because
    payloads hold what users and models wrote.
    """

    def __init__(self, reason: str, *, offset: int | None = None, length: int = 0, excerpt: str = "") -> None:
        where = f" at byte {offset}" if offset is not None else ""
        super().__init__(f"{reason}{where} (payload of {length} bytes)")
        self.reason = reason
        self.offset = offset
        self.length = length
        self.excerpt = excerpt


class ResponseError(NBResponsesError):
    """The response ended otherwise than by completing. `response` is all that was received of it.

    `last_sequence_number` is that of the last event, None where events had none: what a resume starts after.
    """

    def __init__(
        self, message: str, *, response: Response, ending: str, last_sequence_number: int | None = None
    ) -> None:
        super().__init__(message)
        self.response = response
        self.ending = ending
        self.last_sequence_number = last_sequence_number


class ResponseFailed(ResponseError):
    """The server reported an error for this response (ending "failed" or "error")."""


class ResponseCancelled(ResponseError):
    """The response was cancelled on the server."""


class ResponseCutOff(ResponseError):
    """No terminal event arrived (ending "cut_off"), or the stream was stopped here ("interrupted")."""


class LaneError(NBResponsesError):
    """A lane cannot do that now. `lane` is its stream_id, None for the default lane."""

    def __init__(self, message: str, *, lane: str | None = None) -> None:
        super().__init__(message)
        self.lane = lane


class FormatError(NBResponsesError, ValueError):
    """An answer that is not what `text_format` asked for. `reason`: "refused", "incomplete", "absent" or "invalid"."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


class CaptureError(NBResponsesError, ValueError):
    """A capture file that cannot be read. `line` counts from 1; the text never quotes the line."""

    def __init__(self, problem: str, *, path: str, line: int) -> None:
        super().__init__(f"{path}, line {line}: {problem}")
        self.problem = problem
        self.path = path
        self.line = line


class MissingExtra(NBResponsesError, ImportError):
    """An optional package is needed. The text holds the command that installs it."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(f"{package} is needed for this: pip install 'nbresponses[{extra}]'")
        self.extra = extra
        self.package = package
