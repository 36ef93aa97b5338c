"""The inspector's kernel side: every question gets one answer, whatever a page sends; a growing capture is followed."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from nbresponses import Capture, Client, DemoServer, EventInspector, decode_event, show
from nbresponses.core.decode import decode_kept
from nbresponses.widgets.capture_words import decoded, raw, summary


class Inspected:
    """An inspector whose messages are kept."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.sent: list[dict[str, Any]] = []
        self.inspector = EventInspector(capture)
        self.inspector.send = lambda content, buffers=None: self.sent.append(content)  # noqa: ARG005

    def ask(self, **question: Any) -> Any:
        self.sent.clear()
        self.inspector._asked(None, {"id": "q", **question}, [])
        return self.sent[-1] if self.sent else None


@pytest.fixture(scope="module")
def capture() -> Capture:
    with DemoServer(delay=0) as server, Client(base_url=server.base_url, api_key="any") as client:
        with client.stream(model="demo-tools", input="Weather in Oslo?") as stream:
            stream.get_final_response()
        return stream.capture


def test_questions_and_answers(capture: Capture) -> None:
    page = Inspected(capture)
    answer = page.ask(op="rows", first=0, count=5)
    assert (answer["re"], answer["shown"], len(answer["rows"])) == ("q", len(capture), 5)
    only = {"type": "response.completed"}
    answer = page.ask(op="rows", first=0, count=5, only=only)
    assert answer["shown"] == 1
    row = answer["rows"][0][0]
    event = page.ask(op="event", row=row)
    assert event["class"] == "ResponseCompletedEvent"
    assert json.loads(event["raw"])["type"] == "response.completed"
    shown = page.ask(op="seek", row=row, only=only)
    assert (shown["row"], shown["place"]) == (row, 0)
    assert "get_weather" in shown["html"]
    assert page.ask(op="seek", at=-1.0)["row"] == 0


@pytest.mark.parametrize(
    "question",
    [
        {}, {"op": 5}, {"op": "rows", "first": "x", "count": None}, {"op": "rows", "first": -5, "count": 10**9},
        {"op": "event", "row": 10**20}, {"op": "seek", "at": "x", "row": [], "only": 3},
        {"op": "seek", "only": {"lane": 99, "type": [], "text": {}}}, {"op": "rows", "only": {"text": "\ud800"}},
    ],
)  # fmt: skip
def test_what_a_page_sends_is_not_trusted(capture: Capture, question: dict[str, Any]) -> None:
    answer = Inspected(capture).ask(**question)
    assert answer is None or len(answer.get("rows", [])) <= 400
    Inspected(capture).inspector._asked(None, "no object", [])


def test_only_rows_that_are_asked_for_are_sent() -> None:
    many = Capture(datetime.now(UTC))
    event = decode_event('{"type": "response.output_text.delta", "delta": "x"}')
    many.received([event] * 20_000, 0.0)
    state = EventInspector(many).get_state()
    assert len(json.dumps(state["overview"])) < 20_000
    assert len(json.dumps(Inspected(many).ask(op="rows", first=19_000, count=100))) < 20_000
    assert len(Inspected(many).ask(op="rows", first=0, count=10**6)["rows"]) == 400


def test_a_running_capture_is_followed_until_it_ends() -> None:
    growing = Capture(datetime.now(UTC), time.monotonic())
    page = Inspected(growing)
    growing.received([decode_event('{"type": "response.created", "response": {"id": "r"}}')], time.monotonic())
    until = time.monotonic() + 10
    while not page.sent and time.monotonic() < until:
        time.sleep(0.02)
    assert page.sent[0]["overview"]["total"] == 1
    page.inspector.close()
    follower = page.inspector._follower
    assert follower is not None
    follower.join(10)
    assert not follower.is_alive()


def test_a_capture_that_has_ended_is_not(capture: Capture) -> None:
    assert EventInspector(capture)._follower is None


@pytest.mark.parametrize("depth", [700, 50_000])
def test_what_is_nested_too_deeply_gets_an_answer(depth: int) -> None:
    deep = Capture(datetime.now(UTC))
    item = f'{{"type": "message", "content": {"[" * depth}{"]" * depth}}}'
    deep.received(
        [decode_kept(f'{{"type": "response.output_item.done", "output_index": 0, "item": {item}}}'.encode())], 0
    )
    page = Inspected(deep)
    for op in ("rows", "event", "seek"):
        assert page.ask(op=op, row=0, first=0, count=1)["re"] == "q"
    assert "1 messages" in page.inspector.static()["text/plain"]
    page.inspector.close()


def test_seek_from_code(capture: Capture) -> None:
    page = Inspected(capture)
    response = page.inspector.seek(-1)
    assert page.sent == [{"seek": len(capture) - 1}]
    assert response is not None
    assert response.ending == "completed"
    assert page.inspector.seek(0) is None, "only the request"
    count = len(capture)
    for row in (count, -count - 1):
        with pytest.raises(
            IndexError, match=rf"no message {row}: .* has {count}, so 0 to {count - 1} \(or -{count} to -1"
        ):
            page.inspector.seek(row)
    with pytest.raises(IndexError, match="no message 0: the capture has none yet"):
        EventInspector(Capture(datetime.now(UTC), source="")).seek(0)


def test_with_a_lane_chosen_its_response_is_shown() -> None:
    lanes = Capture(datetime.now(UTC))
    for at, lane in enumerate("aba"):
        event = f'{{"type": "response.output_text.delta", "output_index": 0, "delta": "{lane}{at} "}}'
        lanes.received([decode_event(event)], float(at), lane=lane)
    page = Inspected(lanes)
    assert "b1" in page.ask(op="seek", row=1)["html"]
    shown = page.ask(op="seek", row=1, only={"lane": 0})["html"]
    assert "a0" in shown
    assert "a2" not in shown, "it comes later"
    page.inspector.close()


def test_a_long_answer_is_shown_by_its_end_while_time_moves() -> None:
    long = Capture(datetime.now(UTC))
    words = [f'{{"type": "response.output_text.delta", "output_index": 0, "delta": "word{n} "}}' for n in range(9000)]
    long.received([decode_event(word) for word in words], 0.0)
    page = Inspected(long)
    assert page.ask(op="seek", row=8999, rough=True)["text"].rstrip().endswith("word8999")
    assert "word0 " in page.ask(op="seek", row=8999)["html"]
    page.inspector.close()


def test_the_static_copy_has_types_and_answers(capture: Capture) -> None:
    copy = EventInspector(capture).static()
    for text in copy.values():
        assert "response.function" in text.replace("\\", "")
        assert "Oslo" in text


def test_in_plain_python_the_text_is_printed(capture: Capture, capsys: pytest.CaptureFixture[str]) -> None:
    inspector = show(capture)
    said = capsys.readouterr().out
    assert said.startswith(f"{len(capture)} messages in ")
    assert "get_weather" in said
    assert "<" not in said
    assert inspector is not None
    inspector.settle()
    assert capsys.readouterr().out == ""


def test_messages_in_words() -> None:
    kept = Capture(datetime.now(UTC))
    kept.received([decode_event('{"type": "response.created", "response": {"id": "r", "status": "in_progress"}}')], 0.0)
    kept.received([decode_event('{"type": "x", "delta": "a\\u001b[31m\\u202eb\\n"}')], 0.0)
    kept.noted("ended", 0.0, ending="completed")
    assert summary(kept[0]) == "in_progress r"
    assert summary(kept[1]) == '"a\\u001b[31m⟨U+202E⟩b\\n"'
    assert summary(kept[2]) == "ending: completed"
    assert decoded(kept[1])["class"] == "UnknownEvent"
    assert decoded(kept[2]) == {"class": "note ended", "fields": [["bytes", "22"], ["ending", '"completed"']]}
    kept.sent({"input": "a\u202eb"}, 0.0)
    assert "⟨U+202E⟩" in raw(kept[3])
    assert "\u202e" not in raw(kept[3])
