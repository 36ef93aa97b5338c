"""Lanes, lineage and gaps: what goes on beside and between responses. Imported when one of these frames is asked for.

A response continues the one that its request names; where the request names none, the one whose output stands in the
request's input (its context was sent again); where no request was seen, the one that the response itself names.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbresponses.capture.found_items import found_items
from nbresponses.capture.frames import attrs
from nbresponses.capture.response_table import response_rows, stall_length
from nbresponses.capture.rows import NO_NUMBER
from nbresponses.capture.schema import GAP_KINDS, GAPS, LANES, LINEAGE
from nbresponses.capture.turns import asked, found_turns
from nbresponses.capture.typed import frame_of_rows, typed_frame
from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.turns import Asked, Turn

__all__ = ["gaps_frame", "lanes_frame", "lineage_frame"]


# ── Lanes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def lanes_frame(events: EventColumns) -> pd.DataFrame:
    """One row per lane: `schema.LANES`."""
    lanes, words, times = events.column("lane"), events.lanes.listed(), events.column("time")
    requests: dict[str | None, list[Asked]] = defaultdict(list)
    for request in asked(events):
        requests[request.lane].append(request)
    of_rows = {words[number] if number >= 0 else None: rows for number, rows in _grouped(lanes)}
    listed = response_rows(events)
    responses, lineage = _by_lane(listed), _by_lane(_lineage_rows(events, listed))
    sizes = events.column("bytes")
    rows = []
    for lane in dict.fromkeys([*of_rows, *requests]):
        own, sent = of_rows.get(lane, np.empty(0, np.intp)), requests.get(lane, [])
        at = [int(times[row]) for row in (*own[:1], *own[-1:])] + [request.time for request in sent]
        rows.append(
            {
                "lane": lane,
                "requests": len(sent),
                **_of_lane(responses.get(lane, [])),
                "forked_from": _origin(lineage.get(lane, []), lane),
                "started": min(at) + events.began,
                "ended": max(at) + events.began,
                "sent_bytes": sum(len(request.payload) for request in sent),
                "events": len(own),
                "bytes": int(sizes[own].sum()),
            }
        )
    rows.sort(key=lambda row: row["started"])
    return frame_of_rows(LANES, rows, attrs("lanes", events))


def _grouped(numbers: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(rows):
            yield int(numbers[rows[0]]), rows


def _by_lane(rows: list[dict[str, Any]]) -> dict[str | None, list[dict[str, Any]]]:
    found: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["lane"]].append(row)
    return found


def _of_lane(responses: list[dict[str, Any]]) -> dict[str, Any]:
    endings = [row["ending"] for row in responses]
    completed = [row["response_id"] for row in responses if row["ending"] == "completed"]
    counted: dict[str, list[int]] = {
        name: [row[name] for row in responses if row[name] is not None] for name in ("input_tokens", "output_tokens")
    }
    return {
        "responses": sum(row["response_id"] is not None for row in responses),
        "completed": len(completed),
        "failed": sum(ending not in {None, "completed"} for ending in endings),
        "running": endings.count(None),
        "latest_response_id": completed[-1] if completed else None,
        "busy": sum(row["duration"] for row in responses),
        "characters": sum(row["characters"] for row in responses),
        **{name: sum(counts) if counts else None for name, counts in counted.items()},
    }


def _origin(line: list[dict[str, Any]], lane: str | None) -> str | None:
    """The lane that a lane's first response left."""
    first = min(line, key=lambda row: row["started"], default=None)
    return first["parent_lane"] if first is not None and first["fork"] and first["parent_lane"] != lane else None


# ── Lineage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Link(NamedTuple):
    """How a response continues another. `parent` None: it began anew."""

    parent: str | None
    how: str


def lineage_frame(events: EventColumns) -> pd.DataFrame:
    """One row per response, parents before their children: `schema.LINEAGE`."""
    return frame_of_rows(LINEAGE, _lineage_rows(events, response_rows(events)), attrs("lineage", events))


def _lineage_rows(events: EventColumns, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    turns = {turn.response_id: turn for turn in found_turns(events) if turn.response_id is not None}
    responses = {row["response_id"]: row for row in listed}
    links = dict(_links(events, turns.values(), responses))
    children: dict[str | None, list[str]] = defaultdict(list)
    firsts: dict[tuple[str | None, str | None], str] = {}  # (parent, lane) → the first that continues it there
    for id_, link in links.items():
        children[link.parent if link.parent in links else None].append(id_)
        firsts.setdefault((link.parent, turns[id_].lane), id_)
    times = events.column("time") + events.began
    rows = []
    for id_, root, depth in _walked(children, links):
        link, turn = links[id_], turns[id_]
        parent = turns.get(link.parent) if link.parent is not None else None
        rows.append(
            {
                "response_id": id_,
                "parent_id": link.parent,
                "root_id": root,
                "depth": depth,
                "lane": turn.lane,
                "parent_lane": parent.lane if parent is not None else None,
                "continued_by": link.how,
                "fork": parent is not None and (parent.lane != turn.lane or firsts[link.parent, turn.lane] != id_),
                "children": len(children.get(id_, ())),
                "ending": responses[id_]["ending"],
                "started": (turn.asked.time + events.began) if turn.asked is not None else int(times[turn.rows[0]]),
                "ended": int(times[turn.rows[-1]]),
            }
        )
    return rows


def _links(events: EventColumns, turns: Iterable[Turn], responses: dict[Any, Any]) -> Iterator[tuple[str, _Link]]:
    owners: dict[str, list[tuple[int, str]]] = defaultdict(list)  # id of an item or a call → who put it out, from where
    begun = {turn.response_id: int(turn.rows[0]) for turn in turns}
    if any(turn.asked is not None and turn.asked.previous_response_id is None for turn in turns):
        for item in found_items(events).items:
            for name in ("id", "call_id"):
                owner = events.response_id(item.response)
                if item.says.get(name) and owner is not None and not item.type.endswith("_output"):
                    owners[str(item.says[name])].append((begun[owner], owner))
    for turn in turns:
        id_ = str(turn.response_id)
        told = responses[id_]["previous_response_id"]
        if turn.asked is None:
            yield id_, _Link(told, "id" if told else "anew")
        elif turn.asked.previous_response_id is not None:
            yield id_, _Link(turn.asked.previous_response_id, "id")
        else:
            parent = _in_context(turn.asked, owners)
            yield id_, _Link(parent or told, "context" if parent else "id" if told else "anew")


def _in_context(request: Asked, owners: dict[str, list[tuple[int, str]]]) -> str | None:
    """The response to whose output the latest item of a request's input belongs, of those that are anyone's.

    Some servers use ids again: the latest response before the request counts.
    """
    try:
        items = open_json(request.payload).get("input") if owners else None
    except DecodeError:
        return None
    for item in reversed(items) if isinstance(items, list) else ():
        if isinstance(item, dict):
            ids = (str(item.get("call_id")), str(item.get("id")))
            earlier = [owner for id_ in ids for owner in owners.get(id_, ()) if owner[0] < request.row]
            if earlier:
                return max(earlier)[1]
    return None


def _walked(children: dict[str | None, list[str]], links: dict[str, _Link]) -> Iterator[tuple[str, str, int]]:
    """(response, root, depth), each conversation as a whole, depth first. A ring is entered at its first response."""
    seen: set[str] = set()
    for start in [*children.get(None, ()), *links]:
        pending = [(start, 0)]
        while pending:
            id_, depth = pending.pop()
            if id_ not in seen:
                seen.add(id_)
                yield id_, start, depth
                pending += [(child, depth + 1) for child in reversed(children.get(id_, ()))]


# ── Gaps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def gaps_frame(events: EventColumns, stall: float = 1.0) -> pd.DataFrame:
    """One row per irregularity: `schema.GAPS`. A stall is `stall` seconds or more between two events of a response."""
    turns = events.turn_numbers()
    order = np.argsort(turns, kind="stable")
    order = order[turns[order] >= 0]
    earlier, later = order[:-1], order[1:]
    within = turns[earlier] == turns[later]
    earlier, later = earlier[within], later[within]
    times, numbers = events.column("time"), events.column("sequence_number")
    before, after = numbers[later], numbers[earlier]
    told = (before != NO_NUMBER) & (after != NO_NUMBER)
    spans = times[later] - times[earlier]
    found = {
        "gap": told & (before > after) & (before != after + 1),
        "repeat": told & (before == after),
        "backwards": told & (before < after),
        "stall": spans >= stall_length(stall),
    }
    kinds = np.concatenate([np.full(int(mask.sum()), number, np.int32) for number, mask in enumerate(found.values())])
    pairs = np.concatenate([np.flatnonzero(mask) for mask in found.values()])
    by_row = np.lexsort((kinds, later[pairs]))
    kinds, pairs = kinds[by_row], pairs[by_row]
    rows = later[pairs]
    data = {
        "kind": (kinds, GAP_KINDS),
        "response_id": (events.response_numbers()[rows], events.response_ids()),
        "lane": (events.column("lane")[rows], events.lanes.listed()),
        "row": rows.astype(np.int64),
        "type": (events.column("type")[rows], events.types.listed()),
        "after": after[pairs],
        "before": before[pairs],
        "missing": _missing(after[pairs], before[pairs], kinds == 0),
        "time": times[rows] + events.began,
        "duration": spans[pairs],
    }
    return typed_frame(GAPS, data, attrs("gaps", events))


def _missing(after: NDArray[np.int64], before: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many numbers lie between; null where it isn't wanted, or no number of 64 bits."""
    fits = before.astype(float) - after.astype(float) < -float(NO_NUMBER)
    return np.where(wanted & fits, before - after - 1, NO_NUMBER)
