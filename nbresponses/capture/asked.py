"""What can be asked of a record, as DataFrames: one method per frame, the same for one capture and for many.

The columns, their types and units are in schema.py and docs/frames.md. pandas is imported when a frame is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pandas import DataFrame

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["FrameMethods", "make_frame"]

_MAKERS = {
    "events": ("frames", "events_frame"),
    "deltas": ("frames", "deltas_frame"),
    "items": ("item_table", "items_frame"),
    "responses": ("response_table", "responses_frame"),
    "timeline": ("item_table", "timeline_frame"),
    "logprobs": ("token_table", "logprobs_frame"),
    "alternatives": ("token_table", "alternatives_frame"),
    "tools": ("tool_table", "tools_frame"),
    "tool_arguments": ("tool_table", "tool_arguments_frame"),
    "usage": ("response_table", "usage_frame"),
    "lanes": ("lane_table", "lanes_frame"),
    "lineage": ("lane_table", "lineage_frame"),
    "gaps": ("lane_table", "gaps_frame"),
}
"""Name of a frame → the module, and the function there, that makes it from columns."""


def make_frame(name: str, events: EventColumns, **options: Any) -> DataFrame:
    """The frame of this name."""
    module, function = _MAKERS[name]
    frame: DataFrame = getattr(import_module(f"nbresponses.capture.{module}"), function)(events, **options)
    return frame


class FrameMethods:
    """The frames of a record: a DataFrame each, with exactly the columns, dtypes and units of docs/frames.md, also
    where it is empty. Times are UTC in microseconds, missing numbers `<NA>`. `_frame` makes one, in a subclass.
    """

    __slots__ = ()

    def events(self, *, payload: bool = False) -> DataFrame:
        """One row per event received; with `payload` also its JSON text."""
        return self._frame("events", payload=True) if payload else self._frame("events")

    def deltas(self) -> DataFrame:
        """One row per piece of text: what part it belongs to, where it begins, when it came."""
        return self._frame("deltas")

    def items(self) -> DataFrame:
        """One row per output item: type, status, when it began and ended, sizes."""
        return self._frame("items")

    def responses(self, prices: Mapping[str, Mapping[str, float]] | None = None, *, stall: float = 1.0) -> DataFrame:
        """One row per response: model, status, ending, times to the first event and text, tokens, stalls, error.

        `prices`, per million tokens, fills `cost`: `{"gpt-5.6": {"input": 1.25, "cached_input": 0.125, "output": 10}}`.
        A model is found by the longest of these names that its own begins with. A stall is `stall` seconds or more
        without an event.
        """
        return self._frame("responses", prices=prices, stall=stall)

    def timeline(self) -> DataFrame:
        """One row per span of time: queued, waiting, and each item while it was open."""
        return self._frame("timeline")

    def logprobs(self, *, alternatives: bool = False) -> DataFrame:
        """One row per token with its log probability; with `alternatives` one row per alternative of each token."""
        return self._frame("alternatives" if alternatives else "logprobs")

    def tools(self, *, arguments: bool = False) -> DataFrame:
        """One row per call of a tool, with its result; with `arguments` one row per argument of each call."""
        return self._frame("tool_arguments" if arguments else "tools")

    def usage(self) -> DataFrame:
        """One row per number that the server counted: tokens, and what else it reports."""
        return self._frame("usage")

    def lanes(self) -> DataFrame:
        """One row per lane: requests, responses, how they ended, when, sizes."""
        return self._frame("lanes")

    def lineage(self) -> DataFrame:
        """One row per response: which one it continues, on which lane; parents before their children."""
        return self._frame("lineage")

    def gaps(self, *, stall: float = 1.0) -> DataFrame:
        """One row per gap, repeat or step back in the sequence numbers, and per stall (`stall` seconds or more)."""
        return self._frame("gaps", stall=stall)

    def _frame(self, name: str, **options: Any) -> DataFrame:
        raise NotImplementedError
