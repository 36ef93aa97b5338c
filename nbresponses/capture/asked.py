"""What can be asked of a record, as DataFrames: one method per frame, the same for one capture and for many.

The columns, their types and units are in schema.py and docs/frames.md. pandas is imported when a frame is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pandas import DataFrame

    from nbresponses.capture.event_columns import EventColumns

__all__ = ["FrameMethods"]


class FrameMethods:
    """The frames of a record. A subclass says where the columns come from."""

    __slots__ = ()

    def events(self, *, payload: bool = False) -> DataFrame:
        """One row per event received; with `payload` also its JSON text."""
        from nbresponses.capture.frames import events_frame

        if payload:
            return self._framed_by(lambda events: events_frame(events, self._event_payloads()))
        return self._framed_by(events_frame)

    def deltas(self) -> DataFrame:
        """One row per piece of text: what part it belongs to, where it begins, when it came."""
        from nbresponses.capture.frames import deltas_frame

        return self._framed_by(deltas_frame)

    def items(self) -> DataFrame:
        """One row per output item: type, status, when it began and ended, sizes."""
        from nbresponses.capture.item_table import items_frame

        return self._framed_by(items_frame)

    def responses(self, prices: Mapping[str, Mapping[str, float]] | None = None, *, stall: float = 1.0) -> DataFrame:
        """One row per response: model, status, ending, times to the first event and text, tokens, stalls, error.

        `prices`, per million tokens, fills `cost`: `{"gpt-5.6": {"input": 1.25, "cached": 0.125, "output": 10.0}}`. A
        model is found by the longest of these names that its own begins with. A stall is `stall` seconds or more
        without an event.
        """
        from nbresponses.capture.response_table import responses_frame

        return self._framed_by(lambda events: responses_frame(events, prices, stall))

    def timeline(self) -> DataFrame:
        """One row per span of time: queued, waiting, and each item while it was open."""
        from nbresponses.capture.item_table import timeline_frame

        return self._framed_by(timeline_frame)

    def logprobs(self, *, alternatives: bool = False) -> DataFrame:
        """One row per token with its log probability; with `alternatives` one row per alternative of each token."""
        from nbresponses.capture.token_table import alternatives_frame, logprobs_frame

        return self._framed_by(alternatives_frame if alternatives else logprobs_frame)

    def tools(self, *, arguments: bool = False) -> DataFrame:
        """One row per call of a tool, with its result; with `arguments` one row per argument of each call."""
        from nbresponses.capture.tool_table import tool_arguments_frame, tools_frame

        return self._framed_by(tool_arguments_frame if arguments else tools_frame)

    def usage(self) -> DataFrame:
        """One row per number that the server counted: tokens, and what else it reports."""
        from nbresponses.capture.response_table import usage_frame

        return self._framed_by(usage_frame)

    def lanes(self) -> DataFrame:
        """One row per lane: requests, responses, how they ended, when, sizes."""
        from nbresponses.capture.lane_table import lanes_frame

        return self._framed_by(lanes_frame)

    def lineage(self) -> DataFrame:
        """One row per response: which one it continues, on which lane; parents before their children."""
        from nbresponses.capture.lane_table import lineage_frame

        return self._framed_by(lineage_frame)

    def gaps(self, *, stall: float = 1.0) -> DataFrame:
        """One row per gap, repeat or step back in the sequence numbers, and per stall (`stall` seconds or more)."""
        from nbresponses.capture.lane_table import gaps_frame

        return self._framed_by(lambda events: gaps_frame(events, stall))

    def _framed_by(self, make: Callable[[EventColumns], DataFrame]) -> DataFrame:
        raise NotImplementedError

    def _event_payloads(self) -> Sequence[bytes]:
        raise NotImplementedError
