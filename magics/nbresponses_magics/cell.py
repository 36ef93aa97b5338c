"""One `%%responses` cell from its options to its ending: make the stream, bind the names, show it, end the cell.

Synchronous: the main thread waits, so an interrupt arrives here. Binds `_responses` and the names that were asked for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from nbresponses.capture.tables import is_tabular
from nbresponses.core.request import Request
from nbresponses.core.tools import Tool, tool_of
from nbresponses.errors import NBResponsesError, RequestError
from nbresponses_magics.commands import request_text
from nbresponses_magics.failures import explain, interrupted, without_traceback
from nbresponses_magics.interpolate import interpolate, interpolate_json
from nbresponses_magics.named import add_parts, format_named, functions, handlers_named
from nbresponses_magics.request import body_of
from nbresponses_magics.saying import say
from nbresponses_magics.tool_cells import run_with_tools

if TYPE_CHECKING:
    from nbresponses import Client
    from nbresponses.client.stream import ResponseStream
    from nbresponses.client.tools import ToolRun
    from nbresponses.display import LiveView
    from nbresponses_magics.options import Options
    from nbresponses_magics.session import Endpoint, Session

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
    streams: list[ResponseStream] = []  # with --tools there are several
    try:
        if options.calls:
            _run_calls(session, shell, options, cell, streams)
            return
        stream = _replayed(options) if options.replay is not None else _sent(session, shell, options, cell)
        if stream is None:
            return
        streams.append(stream)
        _bind(shell, options, stream)
        if options.no_wait:
            _show_apart(session, shell, options, stream)
            return
        _show(session, shell, options, stream)
    except RequestError as error:
        raise UsageError(str(error)) from None
    except NBResponsesError as error:
        raise _shown(session, error, streams[-1] if streams else None, options.out) from error.__cause__
    except KeyboardInterrupt as stop:
        if streams:
            streams[-1].close()
            _after_interrupt(session, options, streams[-1])
        raise interrupted(stop, options.out) from None
    _end(session, options, stream)


def _prepared(session: Session, shell: Any, options: Options, cell: str) -> tuple[Endpoint, dict[str, Any]]:
    """Where the cell's request goes, and its fields. --format is in it as `text_format`."""
    write = interpolate_json if options.json else interpolate
    text = cell if options.raw else write(cell, shell.user_ns)
    endpoint = session.endpoint(options)
    body = body_of(options, session.settings, text, previous=session.previous(options))
    add_parts(options, shell.user_ns, body)
    if not options.json and isinstance(body.get("input"), str) and not body["input"].strip() and not options.warm_up:
        raise UsageError("a prompt is needed: write it below the line")
    session.model_for(endpoint, body)
    if (wanted := format_named(options, shell.user_ns)) is not None:
        body["text_format"] = wanted
    return endpoint, body


def _client(session: Session, options: Options, endpoint: Endpoint) -> Client:
    client = session.client(endpoint, insecure=options.insecure)
    if endpoint.demo and not session.demo_asked:
        say(f"Embedded demo server, no real model ({endpoint.source}): {session.demo_url}")
    return client


def _open(
    session: Session, client: Client, options: Options, body: dict[str, Any], *, appended: bool = False
) -> ResponseStream | None:
    """The stream of a request; None where there is nothing to follow."""
    _check_capture(options)
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
        _tee(stream, options.capture, append=appended)
    return stream


def _sent(session: Session, shell: Any, options: Options, cell: str) -> ResponseStream | None:
    """The stream of a request; None where it is only to be looked at."""
    if options.resume is not None:
        if cell.strip():
            raise UsageError("--resume takes up a response as it is: the cell below it stays empty")
        _check_capture(options)
        client = _client(session, options, session.endpoint(options))
        stream = client.stream(response_id=options.resume, text_format=format_named(options, shell.user_ns))
        if options.capture is not None:
            _tee(stream, options.capture)
        return stream
    endpoint, body = _prepared(session, shell, options, cell)
    if options.no_execute:
        say(session.scrubbed(request_text(endpoint, Request(**body).body if "text_format" in body else body)))
        return None
    return _open(session, _client(session, options, endpoint), options, body)


def _run_calls(session: Session, shell: Any, options: Options, cell: str, streams: list[ResponseStream]) -> None:
    """The rounds of a cell that answers calls: each is bound and shown as if it were the only one."""
    endpoint, body = _prepared(session, shell, options, cell)
    tools = [tool_of(each) if callable(each) else each for each in functions(options, shell.user_ns)]
    if options.no_execute:
        definitions = [each.definition if isinstance(each, Tool) else each for each in tools]
        body["tools"] = [*definitions, *(body.get("tools") or ())]
        say(session.scrubbed(request_text(endpoint, Request(**body).body if "text_format" in body else body)))
        return
    client = _client(session, options, endpoint)
    later = dataclasses.replace(options, fork_from=None, new=False)

    def stream(**fields: Any) -> Any:
        return _open(session, client, later if streams else options, fields, appended=bool(streams))

    def shown(stream: ResponseStream) -> None:
        streams.append(stream)
        _bind(shell, options, stream)
        _show(session, shell, options, stream)

    try:
        done = run_with_tools(
            stream,
            body,
            tools=tools,
            confirm=options.confirm,
            handlers=handlers_named(options, shell.user_ns),
            lane=options.on_lane,
            on_stream=shown,
            quiet=options.quiet,
        )
    except BaseException as error:
        _bind_run(shell, options, getattr(error, "partial", None))
        raise
    _bind_run(shell, options, done)
    _end(session, options, streams[-1])


def _after_interrupt(session: Session, options: Options, stream: ResponseStream) -> None:
    """What becomes of a background response: it goes on, unless --cancel-on-interrupt says otherwise."""
    if not (stream.request.get("background") or options.resume) or stream.id is None:
        return
    if not options.cancel_on_interrupt:
        say(f"{stream.id} goes on on the server. Take it up again: %responses --resume {stream.id}")
        return
    try:
        session.client(session.endpoint(options), insecure=options.insecure).cancel(stream.id)
    except NBResponsesError as error:
        say(f"{stream.id} could not be cancelled: {error}")
    else:
        say(f"{stream.id} is cancelled on the server.")


def _check_capture(options: Options) -> None:
    """UsageError, before anything is sent, where --capture cannot be written. Leaves what is there as it is."""
    if options.capture is None:
        return
    path = Path(options.capture).expanduser()
    new = not path.exists()
    try:
        path.open("ab").close()
        if new:
            path.unlink()
    except OSError as error:
        raise UsageError(f"--capture: {error}") from None


def _tee(stream: ResponseStream, path: str, *, append: bool = False) -> None:
    try:
        stream.capture.tee(Path(path).expanduser(), append=append)
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


def _bind_run(shell: Any, options: Options, run: ToolRun | None) -> None:
    if options.out is not None and run is not None:
        shell.user_ns[options.out] = run


def _show(session: Session, shell: Any, options: Options, stream: ResponseStream) -> None:
    """Follow the stream to its end in the view that this host can show. An interrupt closes it at once."""
    from nbresponses.display import follow

    try:
        follow(stream, _view(session, shell, options))
    finally:
        if options.replay is None:  # the server may know nothing of a response that is played again
            session.remember(stream)


def _show_apart(session: Session, shell: Any, options: Options, stream: ResponseStream) -> None:
    """Let the stream go on in this cell's output, and return."""
    from nbresponses.display import follow_apart

    view = _view(session, shell, options, apart=True)
    session.lanes.watch(follow_apart(stream, view, done=lambda: session.remember(stream)), view)


def _view(session: Session, shell: Any, options: Options, *, apart: bool = False) -> LiveView:
    from nbresponses.display import choose_view

    return choose_view(
        shell,
        quiet=options.quiet,
        widget=session.settings.value("widget") and not options.no_widget,
        apart=apart,
        allow_remote_images=session.settings.value("allow_remote_images"),
    )


def _end(session: Session, options: Options, stream: ResponseStream) -> None:
    """End the cell as its response ended."""
    if stream.ending == "interrupted" and options.replay is None:  # stopped by something else than the main thread
        raise interrupted(None, options.out)
    try:
        response = stream.get_final_response()
        value = response.parsed
    except NBResponsesError as error:
        raise _shown(session, error, stream, options.out) from error.__cause__
    if value is not None and not options.quiet and is_tabular(value):
        display(response.to_frame())  # type: ignore[no-untyped-call, unused-ignore]


def _shown(
    session: Session, error: NBResponsesError, stream: ResponseStream | None, out: str | None
) -> NBResponsesError:
    if session.settings.value("tracebacks"):
        return error
    return without_traceback(error, explain(error, stream, out))
