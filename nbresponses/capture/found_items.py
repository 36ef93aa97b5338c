"""Which item each event is about, and what the server says of the item. Reads the columns; makes no frame.

The items are those that an accumulator finds (and so those of `stream.response`): one event of each run of alike ones
is put through it, as all of a run are about one item. Items that only the terminal event lists are found there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from nbresponses.capture.event_columns import NO_INDEX
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import decode_kept
from nbresponses.core.events import EVENT_TYPES
from nbresponses.core.items import implied_type
from nbresponses.core.wire import open_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.core.wire import Event

__all__ = ["FoundItem", "FoundItems", "found_items"]

_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_KEYS = ("type", "output_index", "item_id")
"""What events in a row have in common if they are about one item."""
_INDEXES = ("output_index", "content_index", "summary_index")


class FoundItem(msgspec.Struct):
    """An item. `response` is the number of its turn, `place` its index; `done` the row of its last event of that
    kind. `says` is what the server said of it, later words over earlier ones."""

    response: int
    lane: int
    place: int
    says: dict[str, Any]
    done: int | None = None

    @property
    def type(self) -> str:
        return _text(self.says, "type")


class FoundItems(NamedTuple):
    """`numbers`: for each row its place in `items`, -1 for what is about none."""

    numbers: NDArray[np.int32]
    items: list[FoundItem]

    def rows(self) -> dict[int, NDArray[np.intp]]:
        """Place of an item → its rows, in order."""
        order = np.argsort(self.numbers, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.numbers[order])) + 1)
        return {int(self.numbers[rows[0]]): rows for rows in parts if len(rows)}


def found_items(events: EventColumns) -> FoundItems:
    """All items, in order of their first events; those that were never streamed after the others of their response."""
    finder = _Finder(events)
    responses = events.turn_numbers()
    rows = np.flatnonzero(responses >= 0)
    rows = rows[np.argsort(responses[rows], kind="stable")]  # each response's rows side by side
    starts = _runs(events, responses, rows)
    of_runs = [finder.item_of(int(rows[start]), int(responses[rows[start]])) for start in starts.tolist()]
    numbers = np.full(len(events), -1, np.int32)
    if len(rows):
        numbers[rows] = np.repeat(np.array(of_runs, np.int32), np.diff(starts, append=len(rows)))
    _add_final(events, responses, finder.items)
    return _in_order(numbers, finder.items)


def _runs(events: EventColumns, responses: NDArray[np.int32], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where runs of alike rows begin. What was kept is alike to nothing."""
    begins = np.diff(responses[rows], prepend=-1) != 0
    for name in _KEYS:
        values = events.column(name)[rows]
        begins[1:] |= values[1:] != values[:-1]
    kept = np.zeros(len(events), bool)
    kept[list(events.kept)] = True
    deltas = events.column("tokens")[rows] != NO_INDEX  # kept for their log probabilities only
    begins |= kept[rows] & ~deltas
    begins[1:] |= (kept[rows] & ~deltas)[:-1]
    return np.flatnonzero(begins)


class _Finder:
    """Puts events through accumulators, one for each response, one response after the other."""

    def __init__(self, events: EventColumns) -> None:
        self.items: list[FoundItem] = []
        self._events = events
        self._types, self._type_words = events.column("type"), events.types.listed()
        self._ids, self._id_words = events.column("item_id"), events.items.listed()
        self._lanes = events.column("lane")
        self._indexes = {name: events.column(name) for name in _INDEXES}
        self._response = -1
        self._accumulator = Accumulator()
        self._first = 0  # of this response's items
        self._count = 0  # of this response's items

    def item_of(self, row: int, response: int) -> int:
        """The number of the item that this row is about, -1 if it is about none."""
        if response != self._response:
            self._response, self._accumulator = response, Accumulator()
            self._first, self._count = len(self.items), 0
        type_ = self._type_words[self._types[row]]
        event = self._event(row, type_)
        changes = self._accumulator.apply(event) if event is not None else []
        order = changes[0].item if changes else None
        if order is None:
            return -1
        while self._count <= order:
            place = changes[0].output_index
            says = {"type": _implied(changes[0].part[0], type_)}
            self.items.append(FoundItem(response, int(self._lanes[row]), order if place is None else place, says))
            self._count += 1
        item = self.items[self._first + order]
        if type_ in {_ADDED, _DONE} and event is not None:
            item.says |= {name: value for name, value in _announced(event).items() if value is not None}
            item.done = row if type_ == _DONE else item.done
        return self._first + order

    def _event(self, row: int, type_: str) -> Event | None:
        payload = self._events.kept.get(row)
        if payload is not None:
            return decode_kept(payload, type_)
        make: Callable[..., Event] | None = EVENT_TYPES.get(type_)
        if make is None:
            return None
        known = EVENT_TYPES[type_].__struct_fields__
        fields: dict[str, Any] = {
            name: int(column[row])
            for name, column in self._indexes.items()
            if name in known and column[row] != NO_INDEX
        }
        if "partial_image_b64" in known:
            fields["partial_image_b64"] = "-"  # there was one, else it would be no preview
        if "item_id" in known and self._ids[row] >= 0:
            fields["item_id"] = self._id_words[self._ids[row]]
        return make(**fields)


def _implied(kind: str, type_: str) -> str:
    """The type of an item that nobody announced, by the first event about it."""
    if kind == "item":
        return type_.removeprefix("response.").rpartition(".")[0]
    return "mcp_call" if "mcp_call" in type_ else implied_type("text" if kind == "annotation" else kind)


def _announced(event: Event) -> dict[str, Any]:
    item = event.to_dict().get("item")
    return item if isinstance(item, dict) else {}


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


# ── What only the terminal event says ────────────────────────────────────────────────────────────────────────────────


def _add_final(events: EventColumns, responses: NDArray[np.int32], items: list[FoundItem]) -> None:
    """Later words over earlier ones: the items of the terminal event, and those that it alone has."""
    lanes = events.column("lane")
    streamed: dict[int, list[FoundItem]] = {}
    for item in items:
        streamed.setdefault(item.response, []).append(item)
    outputs = {}
    for mark in events.marks:
        response = open_json(mark.payload).get("response")
        output = response.get("output") if isinstance(response, dict) else None
        if isinstance(output, list) and output:
            outputs[int(responses[mark.row])] = (int(lanes[mark.row]), output)
    for number, (lane, output) in outputs.items():
        rest = list(streamed.get(number, ()))
        final = {place: entry for place, entry in enumerate(output) if isinstance(entry, dict)}
        for same in (_same_id, _same_call, _same_place, _same_type):
            _pair(final, rest, same)
        items += [FoundItem(number, lane, place, entry) for place, entry in final.items()]


def _pair(
    final: dict[int, dict[str, Any]], rest: list[FoundItem], same: Callable[[int, dict[str, Any], FoundItem], bool]
) -> None:
    for place, entry in list(final.items()):
        found = next((item for item in rest if same(place, entry, item)), None)
        if found is not None:
            rest.remove(found)
            del final[place]
            found.says |= {name: value for name, value in entry.items() if value not in (None, "", [], {})}


def _same_id(_place: int, entry: dict[str, Any], item: FoundItem) -> bool:
    return bool(entry.get("id")) and entry.get("id") == item.says.get("id") and entry.get("type") == item.type


def _same_call(_place: int, entry: dict[str, Any], item: FoundItem) -> bool:
    return (
        bool(entry.get("call_id")) and entry.get("call_id") == item.says.get("call_id") and _same_type(0, entry, item)
    )


def _same_place(place: int, entry: dict[str, Any], item: FoundItem) -> bool:
    return place == item.place and _same_type(place, entry, item)


def _same_type(_place: int, entry: dict[str, Any], item: FoundItem) -> bool:
    return not item.type or entry.get("type") == item.type


def _in_order(numbers: NDArray[np.int32], items: list[FoundItem]) -> FoundItems:
    """The items by their first rows."""
    seen, first = np.unique(numbers, return_index=True)
    rows = dict(zip(seen.tolist(), first.tolist(), strict=True))
    after: dict[int, float] = {}
    for number, item in enumerate(items):
        after[item.response] = max(after.get(item.response, 0.5), rows.get(number, 0) + 0.5)
    order = sorted(range(len(items)), key=lambda number: (rows.get(number, after[items[number].response]), number))
    places = np.full(len(items) + 1, -1, np.int32)
    places[order] = np.arange(len(order))
    return FoundItems(places[numbers], [items[number] for number in order])
