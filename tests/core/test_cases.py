"""Small inputs that broke tools of this kind, with the right result: the areas sse, events and accumulator."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.events import Event, InvalidEvent, ResponseTextDeltaEvent, UnknownEvent
from nbresponses.core.failures import judge
from nbresponses.core.response import Response
from nbresponses.core.sse import ServerSentEvent, SSEDecoder

Case = dict[str, Any]
CASES = Path(__file__).parents[1] / "data" / "cases"


class Run:
    """A case, run: server-sent events, events, one response after the other."""

    def __init__(self, case: Case) -> None:
        kind = case["input"]["kind"]
        self.sse, self.blocks = SSEDecoder(), list[ServerSentEvent]()
        if kind == "sse_chunks":
            pieces = [base64.b64decode(piece) for piece in case["input"]["chunks_b64"]]
            self.blocks = [event for piece in pieces for event in self.sse.feed(piece)] + self.sse.finish()
            decoder = EventDecoder()
            self.events: list[Event] = [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()
        else:
            assert kind == "events"
            self.events = [decode_event(json.dumps(fields)) for fields in case["input"]["events"]]
        self.responses: list[Response] = []
        accumulator = Accumulator()
        for event in self.events:
            if event.type == "response.created" and accumulator.ending is not None:
                self.responses.append(accumulator.response)
                accumulator = Accumulator()
            accumulator.apply(event)
        accumulator.finish()
        self.ending = accumulator.ending
        self.responses.append(accumulator.response)

    @property
    def response(self) -> Response:
        return self.responses[-1]

    def output(self, type_: str) -> list[Any]:
        return [item for item in self.response.output if item.get("type") == type_]


def subset(wanted: Any, found: Any) -> bool:
    """Objects are compared as subsets, lists by position."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(k in found and subset(v, found[k]) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(subset, wanted, found))
    return bool(wanted == found)


def parts_of_reasoning(run: Run) -> list[str]:
    return [part["text"] for item in run.output("reasoning") for part in item["summary"] or item["content"]]


FACTS: dict[str, Callable[[Run], Any]] = {
    "sse_events": lambda run: [{"event": e.event or "message", "data": e.data, "id": e.id} for e in run.blocks],
    "retry": lambda run: run.sse.retry,
    "last_event_id": lambda run: run.sse.last_event_id,
    "n_json_events": lambda run: sum(not isinstance(event, InvalidEvent) for event in run.events),
    "json_types": lambda run: [event.type for event in run.events],
    "unknown_types": lambda run: [event.type for event in run.events if isinstance(event, UnknownEvent)],
    "delta_text": lambda run: "".join(e.delta for e in run.events if isinstance(e, ResponseTextDeltaEvent)),
    "output_text": lambda run: run.response.output_text,
    "status": lambda run: run.response.status,
    "response_id": lambda run: run.response.id,
    "usage": lambda run: run.response.usage,
    "incomplete_reason": lambda run: (run.response.incomplete_details or {}).get("reason"),
    "item_types": lambda run: [item["type"] for item in run.response.output],
    "tool_calls": lambda run: list(run.response.function_calls),
    "reasoning_parts": parts_of_reasoning,
    "images": lambda run: run.response.images,
    "n_partial_images": lambda run: len(run.response.partial_images),
    "annotations": lambda run: list(run.response.annotations),
    "responses": lambda run: [
        {"response_id": r.id, "output_text": r.output_text, "status": r.status} for r in run.responses
    ],
    "retryable": lambda run: judge(run.response.error, now=0).retryable,
    "renders": lambda run: {"reasoning_text": run.response.reasoning_text},
}
"""What a case can expect → where it is found."""

READ_ELSEWHERE = {"error", "pending_discarded", "lenient", "must_not", "events_unchanged", "snapshot_is_copy", "note"}
"""B074 is what the last test of this file does; the rest is read by the test of a case."""


def check_error(run: Run, wanted: dict[str, Any] | None) -> None:
    if wanted is None:
        assert run.response.error is None
        return
    kind = wanted["kind"]
    if kind == "malformed_json":
        (invalid,) = [event for event in run.events if isinstance(event, InvalidEvent)]
        assert invalid.error is not None
        assert invalid.error.offset is not None
        assert run.ending == "cut_off"
        return
    assert run.ending == {"api_error": "error", "response_failed": "failed"}[kind]
    assert run.response.error is not None
    found = {**run.response.error, "error_type": run.response.error["type"], "kind": kind}
    found["retry_after_s"] = judge(run.response.error, now=0).wait
    assert subset(wanted, found)


@pytest.mark.cases("sse", "events", "accumulator")
def test_case(case: Case) -> None:
    run = Run(case)
    expect = dict(case["expect"])
    assert set(expect) <= set(FACTS) | READ_ELSEWHERE, "an expectation that nothing looks at"
    if "lenient" in expect:  # nbresponses is lenient at the end of a stream
        lenient = {name: value for name, value in expect.pop("lenient").items() if name in FACTS}
        expect = {**expect, **lenient, "error": None}
        assert run.ending == "completed"
    for name, wanted in expect.items():
        if name in FACTS:
            assert subset(wanted, FACTS[name](run)), (name, wanted, FACTS[name](run))
    if "error" in expect:
        check_error(run, expect["error"])
    if "must_not" in expect:
        assert expect["must_not"] == ["status completed"]
        assert run.response.status != "completed"
    if run.blocks and "sse_events" not in expect:
        assert [event.data for event in run.blocks if event.data.strip() not in ("", "[DONE]")] == [
            event.payload.decode() for event in run.events
        ]


def test_all_cases_of_these_areas_are_here() -> None:
    areas = [json.loads(path.read_text(encoding="utf-8"))["area"] for path in CASES.glob("*.json")]
    assert [areas.count(area) for area in ("sse", "events", "accumulator")] == [17, 14, 17]


@pytest.mark.cases("accumulator")
def test_accumulating_changes_no_event_and_snapshots_share_nothing(case: Case) -> None:
    events = Run(case).events
    before = [event.to_dict() for event in events]
    accumulator = Accumulator()
    shown: list[tuple[Response, dict[str, Any]]] = []
    for event in events:
        accumulator.apply(event)
        response = accumulator.response
        shown.append((response, json.loads(json.dumps(response.to_dict()))))
        spoilt = accumulator.response
        for item in spoilt.output:
            item.clear()
    assert [event.to_dict() for event in events] == before
    for response, then in shown:
        assert response.to_dict() == then
