"""`show`: an answer, the lanes of a connection or a capture, in any cell. Imports a widget only for what needs one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.capture.record import Capture
from nbresponses.client.lanes import LaneManager
from nbresponses.display.show import show as show_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from nbresponses.widgets.board import LaneBoard
    from nbresponses.widgets.inspector import EventInspector

__all__ = ["show"]


def show(shown: Any, *, allow_remote_images: bool = False) -> LaneBoard | EventInspector | Awaitable[None] | None:
    """Show a response, a stream, lanes or a capture in the output of this cell.

    A response gets its settled form, and a running stream is followed until it ends. Lanes get a `LaneBoard`, a capture
    an `EventInspector`, which are returned: `.settle()` leaves a static copy in their place. A picture that an answer
    names by its address is a link; `allow_remote_images` loads it from there, which tells that host that it was read.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(shown, LaneManager):
        from nbresponses.widgets.board import LaneBoard

        board = LaneBoard(shown)
        board.display_once()
        return board
    if isinstance(shown, Capture):
        from nbresponses.widgets.inspector import EventInspector

        inspector = EventInspector(shown)
        inspector.display_once()
        return inspector
    return show_answer(shown, allow_remote_images=allow_remote_images)
