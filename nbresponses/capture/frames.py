"""Columns of messages → DataFrames. Knows no capture and no file; pandas is imported when a frame is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

    from nbresponses.capture.messages import Columns

__all__ = ["events_frame"]


def events_frame(columns: Columns, *, source: str = "") -> DataFrame:
    """One row per event received."""
    raise NotImplementedError("frames are not built yet")
