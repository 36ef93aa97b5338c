"""Calls of tools with their results: the columns of `tools()`. Imported when that frame is asked for.

The result of a call is in its own item where the server ran the tool, in another output item that names the call, or in
the input of a later request. Free-form values stay JSON text: their keys never become columns.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from nbresponses.capture.found_items import found_items
from nbresponses.capture.frames import attrs
from nbresponses.capture.item_table import ItemTimes
from nbresponses.capture.messages import dump_json
from nbresponses.capture.response_table import word
from nbresponses.capture.rows import well_formed
from nbresponses.capture.schema import TOOL_ARGUMENTS, TOOLS
from nbresponses.capture.turns import asked
from nbresponses.capture.typed import frame_of_rows
from nbresponses.core.items import joined
from nbresponses.core.response import error_of
from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from nbresponses.capture.event_columns import EventColumns
    from nbresponses.capture.found_items import FoundItem, FoundItems

__all__ = ["tool_arguments_frame", "tools_frame"]

_JSON_ARGUMENTS = frozenset({"function_call", "mcp_call"})
_ARGUMENTS = ("arguments", "input", "code", "action", "actions", "operation", "queries")
"""Fields of an item that say what the call is made with; the first that is there counts."""
_RESULTS = ("output", "outputs", "results")
_RUN_BY_SERVER = frozenset(
    f"{name}_call"
    for name in ("mcp", "web_search", "file_search", "code_interpreter", "image_generation", "tool_search")
)
_OWN = frozenset({"function_call", "custom_tool_call"})
"""Calls whose results come from the client."""
_DATA_URL = re.compile(r"data:([^,\s]*);base64,")
_STREAMED = tuple(
    f"response.{name}"
    for name in (
        "function_call_arguments",
        "mcp_call_arguments",
        "custom_tool_call_input",
        "code_interpreter_call_code",
    )
)


class _Result(NamedTuple):
    """What a call came to: the value, when (µs), and whether the client sent it."""

    value: Any
    time: int | None
    by_client: bool


def tools_frame(events: EventColumns) -> pd.DataFrame:
    """One row per call of a tool: `schema.TOOLS`."""
    calls = _Calls(events)
    return frame_of_rows(TOOLS, [calls.row(number) for number in calls.numbers], attrs("tools", events))


def tool_arguments_frame(events: EventColumns) -> pd.DataFrame:
    """One row per argument: `schema.TOOL_ARGUMENTS`."""
    calls = _Calls(events)
    rows = []
    for number in calls.numbers:
        call = calls.row(number)
        of = {name: call[name] for name in ("response_id", "lane", "call_id", "type", "name")}
        for argument, value in _object(call["arguments"]).items() if call["arguments_valid"] else ():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append({**of, "argument": well_formed(argument), "kind": _kind(value), "value": well_formed(text)})
    return frame_of_rows(TOOL_ARGUMENTS, rows, attrs("tool_arguments", events))


class _Calls:
    """The calls among the items. `numbers` are their places."""

    def __init__(self, events: EventColumns) -> None:
        self._events = events
        self._found: FoundItems = found_items(events)
        self._rows = self._found.rows()
        self._times = ItemTimes(events)
        self._at = events.column("time") + events.began
        self._types, self._words = events.column("type"), events.types.listed()
        self._lanes = events.lanes.listed()
        self.numbers = [number for number, item in enumerate(self._found.items) if item.type.endswith("_call")]
        self._results: dict[str, list[_Result]] = defaultdict(list)
        for call, result in (*self._by_server(), *self._by_client()):
            self._results[call].append(result)

    def row(self, number: int) -> dict[str, Any]:
        item = self._found.items[number]
        rows = self._rows.get(number)
        times: dict[str, Any] = self._times.of(item, rows) if rows is not None else {"started": None, "ended": None}
        arguments = self._arguments(item, rows)
        called = self._called(item, rows, times)
        result = self._result(item, times["ended"], called)
        error = error_of(item.says.get("error"))
        return {
            "response_id": self._events.response_id(item.response),
            "lane": self._lanes[item.lane] if item.lane >= 0 else None,
            "output_index": item.place if abs(item.place) < 2**31 else None,
            "item_id": word(item.says.get("id")),
            "call_id": word(item.says.get("call_id")),
            "type": word(item.type),
            "name": word(item.says.get("name")),
            "server_label": word(item.says.get("server_label")),
            "status": word(item.says.get("status")),
            "arguments": arguments,
            "arguments_valid": _is_json(arguments) if item.type in _JSON_ARGUMENTS and arguments is not None else None,
            "started": times["started"],
            "called": called,
            "error": word(error["message"]) or word(error["code"]) if error is not None else None,
            **_described(result, called),
        }

    def _arguments(self, item: FoundItem, rows: NDArray[np.intp] | None) -> str | None:
        value = next((item.says[name] for name in _ARGUMENTS if item.says.get(name)), None)
        if isinstance(value, str) and item.type == "image_generation_call":  # its `action` is a word
            value = None
        if value is None and rows is not None:  # a call that was cut off: what came of it
            pieces = [piece for piece in self._events.deltas().take(rows).to_pylist() if piece is not None]
            value = joined(pieces) or None
        if value is None:
            return None
        return _plain(value)

    def _called(self, item: FoundItem, rows: NDArray[np.intp] | None, times: dict[str, int | None]) -> int | None:
        """When the call was complete: its item's end for one of the client's tools, else its arguments'."""
        if rows is None:
            return None
        if item.type in _OWN:
            return times["ended"]
        told = [row for row in rows.tolist() if self._words[self._types[row]].startswith(_STREAMED)]
        return int(self._at[told[-1]]) if told else times["started"]

    def _result(self, item: FoundItem, ended: int | None, called: int | None) -> _Result | None:
        value = next((item.says[name] for name in _RESULTS if item.says.get(name) is not None), None)
        elsewhere = self._elsewhere(str(item.says.get("call_id") or item.says.get("id")), called)
        if value is None and (elsewhere is not None or item.type not in _RUN_BY_SERVER or item.done is None):
            return elsewhere
        return _Result(value, ended, by_client=False)

    def _elsewhere(self, call: str, called: int | None) -> _Result | None:
        """The first result that came after the call: a context that is sent again has it once more.

        Some servers use ids again; then the last of a request is that of the latest call.
        """
        told = self._results.get(call, ())
        later = [result for result in told if called is None or result.time is None or result.time >= called]
        return [result for result in later if result.time == later[0].time][-1] if later else None

    def _by_server(self) -> Iterator[tuple[str, _Result]]:
        for item in self._found.items:
            if item.type.endswith("_call_output") and item.says.get("call_id"):
                time = int(self._at[item.done]) if item.done is not None else None
                yield str(item.says["call_id"]), _Result(item.says.get("output"), time, by_client=False)

    def _by_client(self) -> Iterator[tuple[str, _Result]]:
        for request in asked(self._events):
            if b"_call_output" not in request.payload:
                continue
            for entry in _input(request.payload):
                if str(entry.get("type")).endswith("_call_output") and entry.get("call_id"):
                    result = _Result(entry.get("output"), request.time + self._events.began, by_client=True)
                    yield str(entry["call_id"]), result


def _input(payload: bytes) -> list[dict[str, Any]]:
    try:
        items = open_json(payload).get("input")
    except DecodeError:
        return []
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _described(result: _Result | None, called: int | None) -> dict[str, Any]:
    if result is None:
        return {}
    when = {
        "answered": result.time,
        "latency": result.time - called if result.time is not None and called is not None else None,
        "answered_by": "client" if result.by_client else "server",
    }
    if result.value is None:  # the server shows none
        return when
    sent = result.value if isinstance(result.value, str) else dump_json(result.value).decode("utf-8", "replace")
    return {**when, "result": _plain(result.value), "result_bytes": len(sent.encode("utf-8", "replace"))}


def _plain(value: Any) -> str:
    """A text as it is, text parts joined, all else as JSON text. A picture is its type and size."""
    if isinstance(value, str):
        return well_formed(_without_data(value))
    if isinstance(value, list) and value and all(_is_text_part(part) for part in value):
        return well_formed("\n".join(_without_data(str(part.get("text", part.get("logs")))) for part in value))
    return dump_json(_stripped(value)).decode("utf-8", "replace")


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and (isinstance(part.get("text"), str) or isinstance(part.get("logs"), str))


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_stripped(entry) for entry in value]
    return well_formed(_without_data(value)) if isinstance(value, str) else value


def _without_data(text: str) -> str:
    found = _DATA_URL.match(text)
    return f"[{found[1]}, {(len(text) - found.end()) * 3 // 4} bytes]" if found is not None else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return False
    return True


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _object(text: str) -> dict[str, Any]:
    try:
        return open_json(text.encode())
    except DecodeError:  # an array, a text, a number
        return {}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")
