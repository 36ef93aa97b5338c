"""Capture files → event columns, without holding the file's messages. For files of any length.

Only what frames are made from stays in memory: 25 to 40 bytes per event and its text, and the payloads of the few
events that hold objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.capture.event_columns import EventColumns, batches
from nbresponses.capture.files import CaptureReader
from nbresponses.capture.messages import columns_of

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["read_columns"]


def read_columns(path: str | PathLike[str], payloads: list[bytes] | None = None) -> EventColumns:
    """The columns of a file that `Capture.save` or `tee` wrote. The events' payloads are added to `payloads`, if given.

    Raises CaptureError (file, line), or OSError as `open` does.
    """
    with CaptureReader(path) as reader:
        events = EventColumns(reader.header.started, reader.header.source)
        for messages in reader.batches():
            columns = columns_of(messages, reader.header.started)
            events.extend(columns)
            if payloads is not None:
                payloads += [payload for batch in batches(columns) for payload in batch.payloads]
    return events
