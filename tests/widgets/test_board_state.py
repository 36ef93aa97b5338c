"""The lane board's state: texts grow by pieces, rows change field by field, and a snapshot says what was told."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from nbresponses import Capture, Client, DemoServer, decode_event
from nbresponses.widgets.board_settled import board_bundle
from nbresponses.widgets.board_state import BoardState


class Lanes:
    """Messages of lanes, written by hand, and the status beside them."""

    def __init__(self) -> None:
        self.capture = Capture(datetime.now(UTC))
        self.state = BoardState()
        self.seen = 0
        self.rows: dict[str | None, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}
        self.shown: dict[str, dict[str, Any]] = {}

    def ask(self, lane: str | None, text: Any) -> None:
        self.capture.sent({"type": "response.create", "input": text}, 0.1, transport="websocket", lane=lane)
        self.rows[lane] = {"lane": lane, "state": "sent", "queued": 0, "latest": None}

    def receive(self, lane: str | None, *events: dict[str, Any], at: float = 1.0) -> None:
        decoded = [decode_event(json.dumps(event)) for event in events]
        self.capture.received(decoded, at, transport="websocket", lane=lane)

    def look(self) -> dict[str, Any]:
        self.state.take(self.capture[self.seen :])
        self.seen = len(self.capture)
        status = {
            "transport": "websocket",
            "in_flight": 1,
            "queued": 0,
            "connections": [],
            "lanes": [*self.rows.values()],
        }
        news = self.state.look(status, [], 2.0)
        for what, id_, text in news.get("texts", ()):
            self.texts[id_] = self.texts.get(id_, "") + text if what == "add" else text
        for key, fields in news.get("rows", {}).items():
            self.shown.setdefault(key, {}).update(fields)
        return news


def created(id_: str) -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": id_, "status": "in_progress", "output": []}}


def delta(text: str, index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text}


def completed(id_: str, tokens: int = 3) -> dict[str, Any]:
    response = {"id": id_, "status": "completed", "output": [], "usage": {"output_tokens": tokens}}
    return {"type": "response.completed", "response": response}


def test_texts_of_lanes_grow_side_by_side() -> None:
    lanes = Lanes()
    for lane in ("a", "b"):
        lanes.ask(lane, f"ask {lane}")
        lanes.receive(lane, created(f"r-{lane}"), delta(f"{lane}1 "))
    lanes.look()
    lanes.receive("b", delta("b2 "), delta("b3"))
    assert lanes.look()["texts"] == [["add", "r-b", "b2 b3"]]
    assert lanes.texts == {"r-a": "a1 ", "r-b": "b1 b2 b3"}


def test_a_row_goes_out_only_where_it_changed() -> None:
    lanes = Lanes()
    lanes.ask("a", [{"role": "user", "content": [{"type": "input_text", "text": "What?"}]}])
    lanes.receive("a", created("r"))
    lanes.look()
    assert lanes.shown["lane a"]["asked"] == "What?"
    assert lanes.look() == {}
    lanes.receive("a", delta("x"), completed("r", 7), at=3.5)
    lanes.rows["a"] |= {"state": "idle", "latest": "r"}
    rows = lanes.look()["rows"]
    assert rows == {"lane a": {"state": "completed", "latest": "r", "ended": 3.5, "tokens": 7}}


def test_the_next_response_of_a_lane_has_a_text_of_its_own() -> None:
    lanes = Lanes()
    lanes.ask("a", "one")
    lanes.receive("a", created("r1"), delta("one"), completed("r1"), created("r2"), delta("two"))
    lanes.look()
    assert lanes.texts == {"r1": "one", "r2": "two"}
    assert lanes.shown["lane a"]["response"] == "r2"


def test_a_text_that_grows_before_another_is_told_anew() -> None:
    lanes = Lanes()
    lanes.ask("a", "x")
    lanes.receive("a", created("r"), delta("first", 0), delta("second", 1), delta(" more", 0))
    lanes.look()
    assert lanes.texts == {"r": "first more\n\nsecond"}
    lanes.receive("a", delta(" and", 1), delta(" again", 0))
    lanes.look()
    assert lanes.texts == {"r": "first more again\n\nsecond and"}


def test_calls_are_named() -> None:
    lanes = Lanes()
    lanes.ask("a", "x")
    call = {"type": "function_call", "name": "f", "call_id": "c", "arguments": '{"a": 1}', "status": "completed"}
    lanes.receive("a", created("r"), {"type": "response.output_item.done", "output_index": 0, "item": call})
    lanes.look()
    assert lanes.texts == {"r": '→ `f({"a": 1})`'}


def test_what_acts_on_text_is_taken_out() -> None:
    lanes = Lanes()
    lanes.ask("a", "as\x1b[31mk")
    lanes.receive("a", created("r"), delta("\u202eevil\x07"))
    lanes.look()
    assert lanes.texts == {"r": "⟨U+202E⟩evil"}
    assert lanes.shown["lane a"]["asked"] == "ask"


def test_what_is_asked_next_has_no_answer_yet() -> None:
    lanes = Lanes()
    lanes.ask("a", "one")
    lanes.receive("a", created("r1"), delta("one"), completed("r1"))
    lanes.look()
    lanes.ask("a", "two")
    lanes.look()
    shown = lanes.shown["lane a"]
    assert (shown["asked"], shown["response"], shown["tokens"], shown["ended"]) == ("two", None, None, None)
    assert shown["begun"] == 0.1, "the clock runs from the request"
    lanes.receive("a", created("r2"), delta("two"))
    lanes.look()
    assert shown["response"] == "r2"
    assert (lanes.state.prompt("r1"), lanes.state.prompt("r2"), lanes.state.prompt("r3")) == ("one", "two", "")


def test_two_failures_without_a_response_are_two() -> None:
    lanes = Lanes()
    for message in ("first", "second"):
        lanes.ask("a", "x")
        lanes.receive("a", {"type": "error", "error": {"code": "odd", "message": f"{message} \x1b[31m<b>"}})
        lanes.rows["a"] |= {"state": "idle", "ending": "error", "error": None}
        lanes.look()
        assert lanes.shown["lane a"]["why"] == f"{message} <b> (odd)", "text, without what acts on a terminal"
        assert lanes.shown["lane a"]["state"] == "error"


def test_a_lane_at_rest_ends_what_was_read_before_it_was_looked_at() -> None:
    lanes = Lanes()
    lanes.ask("a", "x")
    lanes.receive("a", created("r"), delta("some"))
    lanes.rows["a"] |= {"state": "stopped", "ending": "interrupted", "error": None}
    lanes.look()
    assert (lanes.shown["lane a"]["state"], lanes.shown["lane a"]["ended"]) == ("interrupted", 2.0)
    lanes.receive("a", delta(" more"))
    lanes.look()
    assert lanes.texts == {"r": "some"}
    lanes.ask("a", "y")
    lanes.receive("a", created("later"), at=3.0)  # after the status was taken, which still says stopped
    lanes.rows["a"] |= {"state": "stopped"}
    lanes.look()
    assert lanes.state.responses["later"].ended is None


def test_code_in_calls_cannot_end_its_own_quotes() -> None:
    lanes = Lanes()
    lanes.ask("a", "x")
    call = {"type": "custom_tool_call", "name": "`f", "input": "``x``\n*y*"}
    lanes.receive("a", created("r"), {"type": "response.output_item.done", "output_index": 0, "item": call})
    lanes.look()
    assert lanes.texts == {"r": "→ ``` `f(``x`` *y*) ```"}


def test_a_snapshot_says_what_was_told() -> None:
    lanes = Lanes()
    for lane in (None, "a"):
        lanes.ask(lane, "x")
        lanes.receive(lane, created(f"r-{lane}"), delta("some "), delta("text"))
        lanes.look()
    snapshot = lanes.state.snapshot()
    assert {id_: text for _, id_, text in snapshot["texts"]} == lanes.texts
    assert snapshot["rows"] == lanes.shown
    assert snapshot["rows"]["default"]["lane"] is None


def test_the_lanes_of_a_server() -> None:
    with (
        DemoServer(delay=0) as server,
        Client(base_url=server.base_url, api_key="any") as client,
        client.lanes(model="demo-echo", store=False) as lanes,
    ):
        lanes["planner"].create("Plan")
        lanes["planner"].fork("critic").create("Criticise")
        state = BoardState()
        state.take(lanes.capture)
        news = state.look(lanes.status(), lanes.lineage(), 1.0)
    texts = {id_: text for _, id_, text in news["texts"]}
    for name in ("planner", "critic"):
        row = news["rows"][f"lane {name}"]
        assert row["state"] == "completed"
        assert "Demo turn" in texts[row["response"]]
    assert [node["lane"] for node in news["tree"]] == ["planner", "critic"]
    assert news["meters"]["names"] == 2
    bundle = board_bundle(state.snapshot()["rows"].values(), state.latest())
    assert all("Criticise" in text and "planner" in text for text in bundle.values())


def test_a_settled_board_is_safe() -> None:
    row = {
        "name": "a|b <script>",
        "state": "completed",
        "asked": "<img src=x onerror=alert(1)> | ![x](https://evil.test)",
    }
    bundle = board_bundle([row], [])
    assert "<script>" not in bundle["text/html"]
    assert "<img" not in bundle["text/html"]
    assert bundle["text/html"].count("<td") == 5
    assert "evil.test)" not in bundle["text/markdown"].replace("\\", "") or "![" not in bundle["text/markdown"]


def test_a_long_text_costs_its_pieces_only() -> None:
    lanes = Lanes()
    lanes.ask("a", "x")
    piece = delta("0123456789" * 10)
    lanes.receive("a", created("r"), *[piece] * 30_000)
    begun = time.process_time()
    lanes.look()
    assert time.process_time() - begun < 5, "about 0.2 s expected; minutes where the text is joined at each piece"
    assert len(lanes.texts["r"]) == 3_000_000
    lanes.receive("a", piece)
    assert lanes.look()["texts"] == [["add", "r", "0123456789" * 10]]


def test_half_a_character_in_an_id_can_be_sent() -> None:
    lanes = Lanes()
    lanes.ask("a", "Hi \ud800")
    lanes.receive("a", created("r\ud800"), delta("so \ud800"), completed("r\ud800"))
    lanes.rows["a"]["latest"] = "r\ud800"
    for told in (lanes.look(), lanes.state.snapshot()):
        assert "r\ufffd" in json.dumps(told, ensure_ascii=False).encode().decode()
        assert told["rows"]["lane a"]["response"] == told["texts"][0][1] == "r\ufffd"
