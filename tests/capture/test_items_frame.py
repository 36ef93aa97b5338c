"""Items, timeline, images and tools: what a response is made of, when it came, and what became of calls."""

from __future__ import annotations

import base64
import json
import zlib

import pandas as pd
import pytest

from nbresponses.capture.media import CapturedImage

SECOND = pd.Timedelta(seconds=1)


def png(colour: int = 0) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    header = chunk(b"IHDR", b"\0\0\0\1\0\0\0\1\x08\2\0\0\0")
    pixel = chunk(b"IDAT", zlib.compress(bytes([0, colour, 0, 0])))
    return b"\x89PNG\r\n\x1a\n" + header + pixel + chunk(b"IEND", b"")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# ── Items ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_item_has_its_times_and_sizes(tape) -> None:
    tape.created(1).added(2, 0, "message", id="m1", status="in_progress").text(3.5, "grün").text(4, " 😀")
    tape.done(5, 0, "message", id="m1", status="completed").ended(6)
    [row] = tape.capture.items().to_dict("records")
    assert (row["response_id"], row["item_id"], row["type"], row["status"]) == ("r1", "m1", "message", "completed")
    assert row["started"] == pd.Timestamp("2026-01-31 12:00:02.123456", tz="UTC")
    assert (row["to_first_delta"], row["duration"]) == (1.5 * SECOND, 3 * SECOND)
    assert (row["events"], row["deltas"], row["characters"]) == (4, 2, 6)
    assert row["bytes"] == sum(len(message.payload) for message in tape.capture[1:-1])


def test_an_item_that_was_cut_off_has_no_end(tape, cells) -> None:
    frame = tape.created(1).added(2, 0, "message").text(3, "Hi").capture.items()
    assert cells(frame, "ended") == cells(frame, "duration") == [None]
    assert cells(frame, "characters") == [2]


def test_items_open_together_are_told_apart(tape, cells) -> None:
    tape.created(1).added(2, 0, "function_call", id="a").added(2, 1, "function_call", id="b")
    for index, piece in [(0, "{"), (1, "{{"), (0, "}"), (1, "}}")]:
        tape.got(3, "response.function_call_arguments.delta", output_index=index, delta=piece)
    tape.done(4, 1, "function_call", id="b").done(5, 0, "function_call", id="a")
    frame = tape.capture.items()
    assert cells(frame, "item_id") == ["a", "b"]
    assert cells(frame, "characters") == [2, 4]
    assert cells(frame, "duration") == [3 * SECOND, 2 * SECOND]


def test_an_index_that_is_used_again_is_another_item(tape, cells) -> None:
    tape.created(1).added(2, 0, "reasoning").done(3, 0, "reasoning").added(4, 0, "message").text(5, "x")
    assert cells(tape.capture.items(), "type") == ["reasoning", "message"]
    assert cells(tape.capture.items(), "deltas") == [0, 1]


def test_ids_that_rotate_make_no_items(tape, cells) -> None:
    tape.created(1).added(2, 0, "message", id="m1").text(3, "a", item_id="m2").text(4, "b", item_id="m3")
    frame = tape.done(5, 0, "message", id="m4").capture.items()
    assert cells(frame, "characters") == [2]
    assert cells(frame, "item_id") == ["m4"]


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("response.output_text.delta", "message"),
        ("response.reasoning_summary_text.delta", "reasoning"),
        ("response.mcp_call_arguments.delta", "mcp_call"),
        ("response.web_search_call.searching", "web_search_call"),
    ],
)
def test_an_item_that_nobody_announced_is_of_the_kind_implied(tape, cells, type_: str, expected: str) -> None:
    assert cells(tape.got(1, type_, output_index=2, delta="x").capture.items(), "type") == [expected]


def test_what_only_the_terminal_event_lists_has_no_times(tape, cells) -> None:
    output = [{"type": "mcp_list_tools", "id": "l1"}, {"type": "message", "id": "m1", "status": "completed"}]
    tape.created(1).added(2, 1, "message", id="m0").done(3, 1, "message", id="m0").ended(4, output=output)
    frame = tape.capture.items()
    assert cells(frame, "type") == ["message", "mcp_list_tools"]
    assert cells(frame, "item_id") == ["m1", "l1"]
    assert cells(frame, "started")[1] is None
    assert cells(frame, "output_index") == [1, 0]
    assert cells(frame, "events") == [3 - 1, 0]


def test_a_response_without_an_id_has_items_too(tape, cells) -> None:
    tape.got(1, "response.created", response={}).added(2, 0, "message").text(3, "a")
    tape.got(4, "response.completed", response={}).got(5, "response.created", response={}).text(6, "b")
    frame = tape.capture.items()
    assert cells(frame, "response_id") == [None, None]
    assert cells(frame, "characters") == [1, 1]
    assert cells(tape.capture.deltas(), "start") == [0, 0]
    assert cells(tape.capture.responses(), "ending") == ["completed", None]


def test_encrypted_content_and_pictures_are_sizes_and_hashes(tape, cells) -> None:
    tape.created(1).done(2, 0, "reasoning", encrypted_content="gAAA" * 5)
    tape.got(3, "response.image_generation_call.partial_image", output_index=1, partial_image_b64=b64(png(1)))
    tape.done(4, 1, "image_generation_call", result=b64(png(2)))
    frame = tape.capture.items()
    assert cells(frame, "encrypted_bytes") == [20, None]
    assert cells(frame, "media_bytes") == [None, len(png(2))]
    assert cells(frame, "media_sha256")[1] == CapturedImage(png(2), "image/png").sha256
    assert cells(frame, "previews") == [0, 1]
    assert "gAAA" not in frame.to_csv() + tape.capture.tools().to_csv()
    assert b64(png(2))[:40] not in frame.to_csv() + tape.capture.tools().to_csv()


# ── Images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_images_are_bytes_with_where_they_come_from(tape) -> None:
    partial = "response.image_generation_call.partial_image"
    tape.created(1).got(2, partial, output_index=0, partial_image_b64=b64(png(1)), partial_image_index=0, item_id="i")
    item = {"id": "i", "result": b64(png(2))}
    tape.done(3, 0, "image_generation_call", **item).ended(4, output=[{"type": "image_generation_call", **item}])
    [image] = tape.capture.images()
    assert (image.data, image.mime, image.item_id, image.output_index) == (png(2), "image/png", "i", 0)
    assert image.preview is None
    assert image.to_pil().size == (1, 1)
    assert image._repr_mimebundle_()["image/png"] == b64(png(2))
    assert [each.preview for each in tape.capture.images(previews=True)] == [0, None]
    assert "PNG" not in repr(image)


def test_a_picture_in_a_code_interpreters_output_is_an_image(tape) -> None:
    outputs = [{"type": "logs", "logs": "x"}, {"type": "image", "url": f"data:image/png;base64,{b64(png())}"}]
    tape.created(1).done(2, 0, "code_interpreter_call", outputs=outputs)
    assert [image.data for image in tape.capture.images()] == [png()]


@pytest.mark.parametrize("result", [None, 5, "", "no base64!", b64(b"<svg onload=alert(1)>"), "A"])
def test_what_is_no_picture_is_no_image(tape, cells, result: object) -> None:
    tape.created(1).done(2, 0, "image_generation_call", result=result)
    assert tape.capture.images() == []
    assert cells(tape.capture.items(), "media_bytes") == [None]


# ── Timeline ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_spans_from_the_request_to_the_end(tape, cells) -> None:
    tape.sent(1).created(2).got(3, "response.queued", response={"id": "r1"})
    tape.got(5, "response.in_progress", response={"id": "r1"}).added(6, 0, "reasoning").done(8, 0, "reasoning")
    tape.added(8, 1, "function_call", name="find").done(9, 1, "function_call", name="find").added(9, 2, "message")
    frame = tape.text(10, "x").capture.timeline()
    assert cells(frame, "kind") == ["queued", "waiting", "reasoning", "tool", "text"]
    assert cells(frame, "name") == [None, None, "reasoning", "find", "message"]
    assert cells(frame, "duration") == [4 * SECOND, SECOND, 2 * SECOND, SECOND, SECOND]
    assert cells(frame, "closed") == [True, True, True, True, False]
    assert cells(frame, "output_index") == [None, None, 0, 1, 2]


def test_a_response_that_never_began_to_work_is_queued(tape, cells) -> None:
    frame = tape.sent(1).created(2).got(4, "keepalive").capture.timeline()
    assert cells(frame, "kind") == ["queued"]
    assert cells(frame, "duration") == [3 * SECOND]
    assert cells(frame, "closed") == [False]


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_function_call_has_the_result_that_was_sent_later(tape) -> None:
    call = {"id": "fc", "call_id": "c1", "name": "add", "arguments": '{"a": 1, "b": [2]}', "status": "completed"}
    tape.created(1).added(2, 0, "function_call", id="fc", call_id="c1").done(3, 0, "function_call", **call).ended(3)
    output = {"type": "function_call_output", "call_id": "c1", "output": "3"}
    tape.sent(5, input=[output], previous_response_id="r1").created(6, "r2")
    tape.sent(8, input=[output, {"type": "message", "content": "more"}])
    [row] = tape.capture.tools().to_dict("records")
    assert (row["name"], row["arguments"], row["arguments_valid"]) == ("add", '{"a": 1, "b": [2]}', True)
    assert (row["result"], row["result_bytes"], row["answered_by"]) == ("3", 1, "client")
    assert row["latency"] == 2 * SECOND
    long = tape.capture.tools(arguments=True)
    assert long[["argument", "kind", "value"]].to_numpy().tolist() == [["a", "number", "1"], ["b", "array", "[2]"]]


def test_a_call_that_was_cut_off_keeps_what_came_of_its_arguments(tape) -> None:
    tape.created(1).added(2, 0, "function_call", name="add", arguments="")
    for piece in ('{"a', '": "gr'):
        tape.got(3, "response.function_call_arguments.delta", output_index=0, delta=piece)
    [row] = tape.capture.tools().to_dict("records")
    assert (row["arguments"], row["arguments_valid"]) == ('{"a": "gr', False)
    assert pd.isna(row["called"])
    assert tape.capture.tools(arguments=True).empty


def test_a_call_that_the_server_makes_has_its_result_and_its_error(tape, cells) -> None:
    ok = {"name": "find", "server_label": "lib", "arguments": "{}", "output": "shelf 12"}
    tape.created(1).added(2, 0, "mcp_call").got(3, "response.mcp_call_arguments.done", output_index=0, arguments="{}")
    tape.done(5, 0, "mcp_call", **ok)
    tape.done(6, 1, "mcp_call", arguments="{}", error={"type": "http_error", "code": 424, "message": "no"})
    tape.added(7, 2, "web_search_call").done(9, 2, "web_search_call", action={"type": "search", "query": "q"})
    frame = tape.capture.tools()
    assert cells(frame, "result") == ["shelf 12", None, None]
    assert cells(frame, "error") == [None, "no", None]
    assert cells(frame, "latency") == [2 * SECOND, 0 * SECOND, 2 * SECOND]
    assert cells(frame, "server_label")[0] == "lib"
    assert json.loads(cells(frame, "arguments")[2]) == {"type": "search", "query": "q"}
    assert cells(frame, "arguments_valid") == [True, True, None]


def test_an_output_item_that_names_the_call_is_its_result(tape, cells) -> None:
    tape.created(1).added(2, 0, "shell_call", call_id="c").done(
        3, 0, "shell_call", call_id="c", action={"commands": []}
    )
    tape.done(5, 1, "shell_call_output", call_id="c", output=[{"stdout": "ok", "stderr": ""}])
    frame = tape.capture.tools()
    assert cells(frame, "type") == ["shell_call"]
    assert json.loads(cells(frame, "result")[0]) == [{"stdout": "ok", "stderr": ""}]
    assert cells(frame, "answered_by") == ["server"]


@pytest.mark.parametrize("said", ["data: 5, 6, 7", "data:5,6", "data:text/plain,as it is", "data: x;base64, y"])
def test_a_result_that_only_begins_like_a_data_url_is_kept_as_it_is(tape, said: str) -> None:
    tape.created(0).done(1, 0, "function_call", call_id="c", name="f", arguments="{}").ended(2)
    tape.sent(3, input=[{"type": "function_call_output", "call_id": "c", "output": said}])
    assert tape.capture.tools()["result"].tolist() == [said]


def test_a_call_whose_id_is_used_again_has_its_own_result(tape, cells) -> None:
    outputs = [{"type": "function_call_output", "call_id": "c", "output": f"r{number}"} for number in range(2)]
    for number in range(2):
        tape.sent(10 * number, input=outputs[:number]).created(10 * number + 1, f"r{number}")
        tape.done(10 * number + 2, 0, "function_call", call_id="c", name="f", arguments="{}", id="fc")
        tape.ended(10 * number + 3, f"r{number}")
    tape.sent(20, input=outputs)
    frame = tape.capture.tools()
    assert cells(frame, "result") == ["r0", "r1"]
    assert frame["latency"].dt.total_seconds().tolist() == [8, 8]
    assert cells(tape.capture.lineage(), "parent_id") == [None, "r0"]


def test_pictures_in_results_are_told_by_type_and_size(tape, cells) -> None:
    picture = f"data:image/png;base64,{b64(png())}"
    tape.created(1).done(2, 0, "function_call", call_id="c", name="shot", arguments="{}")
    parts = [{"type": "input_text", "text": "here"}, {"type": "input_image", "image_url": picture}]
    tape.sent(3, input=[{"type": "function_call_output", "call_id": "c", "output": parts}])
    [result] = cells(tape.capture.tools(), "result")
    assert "here" in result
    assert "[image/png, " in result
    assert b64(png())[:30] not in result


def test_arguments_that_are_odd_stay_texts(tape, cells) -> None:
    for index, arguments in enumerate(["[1]", '{"n": 9007199254740993}', '{"s": "\\ud83d"}', "{", None, 5]):
        tape.done(1, index, "function_call", name="f", arguments=arguments)
    frame = tape.capture.tools()
    assert cells(frame, "arguments_valid") == [True, True, True, False, None, True]
    long = tape.capture.tools(arguments=True)
    assert cells(long, "value") == ["9007199254740993", "�"]
