"""What a live view is, how a stream is followed in one, and which view a host gets.

A view draws; it never decides how a stream ends and never reads from the network. It runs on the caller's thread.
"""

from __future__ import annotations

import contextvars
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from nbresponses.display.host import kernel_id, shows_widgets
from nbresponses.errors import NBResponsesError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbresponses.client.stream import ResponseStream
    from nbresponses.core.accumulator import Change

__all__ = ["INTERVAL", "LiveView", "choose_view", "follow", "follow_apart"]

INTERVAL = 0.05
"""Seconds between two batches of changes: twenty a second look smooth, more cost the front end for nothing."""


class LiveView(Protocol):
    """Shows one stream while it runs. `start` comes first, `settle` last and once, whatever happened in between."""

    def start(self, stream: ResponseStream) -> None:
        """The stream that will be shown. Nothing may have arrived yet."""

    def apply(self, changes: Sequence[Change]) -> None:
        """What changed since the last call; empty only right after `start`, to open the output."""

    def tick(self) -> None:
        """Nothing changed; a clock may go on."""

    def settle(self) -> None:
        """The stream has ended: show its last state, for good."""


def follow(stream: ResponseStream, view: LiveView, *, interval: float = INTERVAL) -> None:
    """Show a stream to its end. An interrupt closes it at once; what came is kept and settled.

    Raises:
        NBResponsesError: nothing came at all, because the request failed before its first event.
        KeyboardInterrupt: it was stopped here.
    """
    view.start(stream)
    _follow_to_the_end(stream, view, interval)


def follow_apart(stream: ResponseStream, view: LiveView, *, done: Callable[[], object]) -> threading.Thread:
    """Show a stream in the output of the present cell while other cells run; `done` is called at its end.

    The output is opened here and now, so that it belongs to this cell; the thread keeps the cell's context.
    """
    view.start(stream)
    view.apply(())

    def run() -> None:
        try:
            with suppress(NBResponsesError):  # the view shows what happened; there is no cell left to fail
                _follow_to_the_end(stream, view, INTERVAL)
        finally:
            done()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="nbresponses-view", daemon=True)
    thread.start()
    return thread


def _follow_to_the_end(stream: ResponseStream, view: LiveView, interval: float) -> None:
    try:
        for changes in stream.batches(interval):
            if changes:
                view.apply(changes)
            else:
                view.tick()
    except KeyboardInterrupt:
        stream.close()
        raise
    finally:
        view.settle()


def choose_view(
    shell: Any,
    *,
    quiet: bool = False,
    widget: bool = True,
    apart: bool = False,
    allow_remote_images: bool = False,
) -> LiveView:
    """The view for this host, by what the host can: a widget in JupyterLab and Notebook 7, display updates behind any
    other kernel, plain text anywhere else.

    Args:
        shell: the IPython shell, or None outside IPython.
        quiet: show nothing but what a reader must not miss.
        widget: a widget may be used where the front end can show one.
        apart: other streams are shown at the same time.
        allow_remote_images: a picture that the answer names by its address is loaded from there, which tells that host
            that the answer was read; otherwise it is a link.
    """
    if quiet:
        from nbresponses.display.plain import QuietView

        return QuietView()
    if widget and shows_widgets(shell):
        from nbresponses.display.live import LiveView as WidgetView

        return WidgetView(kernel_id=kernel_id(shell), allow_remote_images=allow_remote_images)
    if getattr(shell, "kernel", None) is not None:
        from nbresponses.display.updating import UpdatingView

        return UpdatingView(allow_remote_images=allow_remote_images)
    from nbresponses.display.plain import PlainView, WholeView

    return WholeView() if apart else PlainView()
