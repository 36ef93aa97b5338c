"""One `%%responses` cell from its options to its ending: make the stream, bind the names, show it, end the cell.

Synchronous: the main thread waits, so an interrupt arrives here. Binds `_responses` and the names that were asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses.errors import NBResponsesError, RequestError
from nbresponses_magics.commands import request_text
from nbresponses_magics.failures import explain, interrupted, without_traceback
from nbresponses_magics.interpolate import interpolate, interpolate_json
from nbresponses_magics.request import body_of
from nbresponses_magics.saying import say

if TYPE_CHECKING:
    from nbresponses.client.stream import ResponseStream
    from nbresponses_magics.options import Options
    from nbresponses_magics.session import Session

__all__ = ["RESULT", "run_cell"]

RESULT = "_responses"
# Keywords of client.stream() that are no fields of the request; a pasted body may hold fields of these names.
_KEYWORDS = frozenset(
    {"self", "response_id", "starting_after", "extra_headers", "extra_query", "extra_body", "timeout"}
)


def run_cell(session: Session, shell: Any, options: Options, cell: str) -> None:
    """Run the cell to its end.

    Raises:
        UsageError: the line or the cell asks for what cannot be done.
        NBResponsesError: the response failed, was cut off, or no connection came about; shown as one block.
        KeyboardInterrupt: the user stopped it; what came is bound all the same.
    """
    stream: ResponseStream | None = None
    try:
        stream = _replayed(options) if options.replay is not None else _sent(session, shell, options, cell)
        if stream is None:
            return
        _bind(shell, options, stream)
        if options.no_wait:
            _show_apart(session, shell, options, stream)
            return
        _show(session, shell, options, stream)
    except RequestError as error:
        raise UsageError(str(error)) from None
    except NBResponsesError as error:
        raise _shown(session, error, stream) from error.__cause__
    except KeyboardInterrupt:
        if stream is not None:
            stream.close()
        raise interrupted() from None
    _end(session, options, stream)


def _sent(session: Session, shell: Any, options: Options, cell: str) -> ResponseStream | None:
    """The stream of a request; None where it is only to be looked at."""
    write = interpolate_json if options.json else interpolate
    text = cell if options.raw else write(cell, shell.user_ns)
    endpoint = session.endpoint(options)
    body = body_of(options, session.settings, text, previous=session.previous(options))
    session.model_for(endpoint, body)
    if options.no_execute:
        say(request_text(endpoint, body))
        return None
    client = session.client(endpoint, insecure=options.insecure)
    if endpoint.demo:
        say(f"Embedded demo server, no real model ({endpoint.source}): {session.demo_url}")
    if options.on_lane:
        stream = session.lanes.stream(client, options, body, settings=session.settings.value("lanes"))
        if stream is None:
            return None
    else:
        stream = client.stream(
            **{name: value for name, value in body.items() if name not in _KEYWORDS},
            extra_body={name: value for name, value in body.items() if name in _KEYWORDS} or None,
        )
    if options.capture is not None:
        _tee(stream, options.capture)
    return stream


def _tee(stream: ResponseStream, path: str) -> None:
    try:
        stream.capture.tee(Path(path).expanduser())
    except OSError as error:
        stream.close()
        raise UsageError(f"--capture: {error}") from None


def _replayed(options: Options) -> ResponseStream:
    from nbresponses import Capture

    path = Path(options.replay or "").expanduser()
    try:
        return Capture.load(path).replay(options.speed)
    except (OSError, ValueError) as error:
        raise UsageError(f"--replay: {error}") from None


def _bind(shell: Any, options: Options, stream: ResponseStream) -> None:
    names = {RESULT: stream}
    if options.out is not None:
        names[options.out] = stream
    shell.user_ns.update(names)


def _show(session: Session, shell: Any, options: Options, stream: ResponseStream) -> None:
    """Follow the stream to its end in the view that this host can show. An interrupt closes it at once."""
    from nbresponses.display import choose_view, follow

    widget = session.settings.value("widget") and not options.no_widget
    try:
        follow(stream, choose_view(shell, quiet=options.quiet, widget=widget))
    finally:
        if options.replay is None:  # the server may know nothing of a response that is played again
            session.remember(stream)


def _show_apart(session: Session, shell: Any, options: Options, stream: ResponseStream) -> None:
    """Let the stream go on in this cell's output, and return."""
    from nbresponses.display import choose_view, follow_apart

    widget = session.settings.value("widget") and not options.no_widget
    view = choose_view(shell, quiet=options.quiet, widget=widget, apart=True)
    session.lanes.watch(follow_apart(stream, view, done=lambda: session.remember(stream)), view)


def _end(session: Session, options: Options, stream: ResponseStream) -> None:
    """End the cell as its response ended."""
    if stream.ending == "interrupted" and options.replay is None:  # stopped by something else than the main thread
        raise interrupted()
    try:
        stream.get_final_response()
    except NBResponsesError as error:
        raise _shown(session, error, stream) from error.__cause__


def _shown(session: Session, error: NBResponsesError, stream: ResponseStream | None) -> NBResponsesError:
    if session.settings.value("tracebacks"):
        return error
    return without_traceback(error, explain(error, stream))
