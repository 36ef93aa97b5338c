"""The columns for frames of one growing capture. Fills them once, whoever asks; never lets a stream fail.

Nothing is read before a frame is asked for, except where pandas is loaded: then a long stream is read while it comes
in, some thousand messages at a time, so that its frames are ready when it ends.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.record import Capture

__all__ = ["Filling"]

_AT_ONCE = 8192  # messages


class Filling:
    """`lock` keeps the columns from growing while it is held. `due` is the number of messages to fill at."""

    __slots__ = ("_columns", "count", "due", "lock")

    def __init__(self) -> None:
        self._columns: EventColumns | None = None
        self.count = 0
        """Messages that are in the columns."""
        self.due = _AT_ONCE
        self.lock = RLock()

    def up_to_date(self, capture: Capture) -> EventColumns:
        """The columns of all messages so far. What was read once is not read again."""
        with self.lock:
            if self._columns is None:
                from nbresponses.capture.event_columns import EventColumns

                self._columns = EventColumns(capture.started, capture.source)
            end = len(capture)
            if self.count < end:
                try:
                    self._columns.extend(capture.columns(self.count, end))
                except BaseException:
                    self.forget()  # they are half filled
                    raise
                self.count = end
            self._columns.source = capture.source  # it may have been renamed
            return self._columns

    def while_streaming(self, capture: Capture) -> None:
        """Read what has come, if pandas is at work and nobody else reads."""
        self.due = len(capture) + _AT_ONCE
        if "pandas" in sys.modules and self.lock.acquire(blocking=False):
            try:
                self.up_to_date(capture)
            except Exception:  # the stream goes on; who asks for a frame will be told
                self.due = sys.maxsize
            finally:
                self.lock.release()

    def forget(self) -> None:
        """Free the room. The next frame reads everything anew."""
        with self.lock:
            self._columns, self.count = None, 0
