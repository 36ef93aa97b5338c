"""Output items as rows: the columns of `items()` and the spans of `timeline()`. Imported when one of them is asked for.

No picture and nothing encrypted gets into a cell: sizes and hashes stand for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbresponses.capture.found_items import found_items
from nbresponses.capture.frames import attrs
from nbresponses.capture.media import media_of
from nbresponses.capture.response_table import word
from nbresponses.capture.schema import ITEMS, SPAN_KINDS, TIMELINE
from nbresponses.capture.turns import found_turns
from nbresponses.capture.typed import frame_of_rows, typed_frame

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.found_items import FoundItem
    from nbresponses.capture.turns import Turn

__all__ = ["ItemTimes", "items_frame", "timeline_frame"]

_PREVIEW = "response.image_generation_call.partial_image"
_BEFORE_WORK = frozenset({"response.created", "response.queued", "keepalive"})
_NO_ITEM = _BEFORE_WORK | {"response.in_progress"}
_SPAN_OF_TYPE = {"reasoning": "reasoning", "message": "text"}


def items_frame(events: EventColumns) -> pd.DataFrame:
    """One row per output item: `schema.ITEMS`."""
    found, times = found_items(events), ItemTimes(events)
    lanes = events.lanes.listed()
    of_items = found.rows()
    sizes = events.column("bytes")
    previews = events.column("type") == events.types[_PREVIEW]
    rows = []
    for number, item in enumerate(found.items):
        own = of_items.get(number, np.empty(0, np.intp))
        rows.append(
            {
                "response_id": events.response_id(item.response),
                "lane": lanes[item.lane] if item.lane >= 0 else None,
                "output_index": item.place if abs(item.place) < 2**31 else None,
                "item_id": word(item.says.get("id")),
                "type": word(item.type) or None,
                "name": word(item.says.get("name")),
                "status": word(item.says.get("status")),
                **times.of(item, own),
                "events": len(own),
                "bytes": int(sizes[own].sum()),
                "previews": int(previews[own].sum()),
                **_inside(item.says),
            }
        )
    return frame_of_rows(ITEMS, rows, attrs("items", events))


class ItemTimes:
    """When an item began, said something, and ended."""

    def __init__(self, events: EventColumns) -> None:
        self._times = events.column("time") + events.began
        self._is_delta = events.deltas().is_valid().to_numpy()
        self._lengths = events.lengths()

    def of(self, item: FoundItem, rows: NDArray[np.intp]) -> dict[str, Any]:
        pieces = rows[self._is_delta[rows]]
        started = int(self._times[rows[0]]) if len(rows) else None
        ended = int(self._times[item.done]) if item.done is not None else None
        return {
            "started": started,
            "to_first_delta": int(self._times[pieces[0]]) - started if started is not None and len(pieces) else None,
            "ended": ended,
            "duration": ended - started if started is not None and ended is not None else None,
            "deltas": len(pieces),
            "characters": int(self._lengths[pieces].sum()),
        }


def _inside(says: dict[str, Any]) -> dict[str, Any]:
    encrypted = says.get("encrypted_content")
    picture = next(iter(media_of(says)), None)
    return {
        "encrypted_bytes": len(encrypted.encode("utf-8", "replace")) if isinstance(encrypted, str) else None,
        "media_bytes": picture.size if picture is not None else None,
        "media_sha256": picture.sha256 if picture is not None else None,
    }


# ── Timeline ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def timeline_frame(events: EventColumns) -> pd.DataFrame:
    """One row per span: `schema.TIMELINE`."""
    found = found_items(events)
    of_items, times = found.rows(), events.column("time")
    spans: dict[int, list[dict[str, Any]]] = {}
    for number, item in enumerate(found.items):
        rows = of_items.get(number)
        if rows is not None:
            spans.setdefault(item.response, []).append(_item_span(item, rows, times))
    listed = []
    for turn in found_turns(events):
        own = sorted(_before_items(events, turn, times) + spans.get(turn.number, []), key=lambda span: span["started"])
        last = int(times[turn.rows[-1]])
        for span in own:
            ended = last if span["ended"] is None else span["ended"]
            listed.append(
                {
                    **span,
                    "response_id": turn.response_id,
                    "lane": turn.lane,
                    "started": span["started"] + events.began,
                    "ended": ended + events.began,
                    "duration": ended - span["started"],
                    "closed": span["ended"] is not None,
                }
            )
    data: dict[str, Any] = {column.name: [span.get(column.name) for span in listed] for column in TIMELINE}
    data["kind"] = ([SPAN_KINDS.index(kind) for kind in data["kind"]], SPAN_KINDS)
    return typed_frame(TIMELINE, data, attrs("timeline", events))


def _item_span(item: FoundItem, rows: NDArray[np.intp], times: NDArray[np.int64]) -> dict[str, Any]:
    kind = _SPAN_OF_TYPE.get(item.type, "tool" if "call" in item.type or item.type.startswith("mcp_") else "other")
    return {
        "kind": kind,
        "name": word(item.says.get("name")) or word(item.type),
        "output_index": item.place if abs(item.place) < 2**31 else None,
        "started": int(times[rows[0]]),
        "ended": int(times[item.done]) if item.done is not None else None,
    }


def _before_items(events: EventColumns, turn: Turn, times: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Until the response was at work (queued), and from there to its first item (waiting)."""
    types, words = events.column("type")[turn.rows], events.types.listed()
    begun = next((place for place, type_ in enumerate(types.tolist()) if words[type_] not in _BEFORE_WORK), None)
    if begun is None:
        start = turn.asked.time if turn.asked is not None else int(times[turn.rows[0]])
        return [{"kind": "queued", "started": start, "ended": None}]
    first = next((place for place, type_ in enumerate(types.tolist()) if words[type_] not in _NO_ITEM), None)
    at_work = int(times[turn.rows[begun]])
    start = turn.asked.time if turn.asked is not None else int(times[turn.rows[0]])
    spans: list[dict[str, Any]] = [{"kind": "queued", "started": start, "ended": at_work}]
    if words[types[begun]] == "response.in_progress":
        ended = int(times[turn.rows[first]]) if first is not None else None
        spans.append({"kind": "waiting", "started": at_work, "ended": ended})
    return [span for span in spans if span["ended"] != span["started"]]
