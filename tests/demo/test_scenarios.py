"""Every scenario as it comes over the socket, held against the catalogue of events and against itself."""

from __future__ import annotations

import base64
import io
import json
import struct
import wave
import zlib

import pytest

from nbresponses.demo.scenarios import SCENARIOS

JSON_TYPES = {"string": str, "integer": int, "array": list, "object": dict, "boolean": bool}
STEERING = {"response.steer.accepted", "response.steer.pending", "response.steer.failed"}
# Real servers send these two, and the catalogue does not have them.
BESIDE = {"response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done"}
MODELS = sorted(SCENARIOS)
QUICK = {"metadata": {"demo_delay": "0", "demo_count": "300"}}


def check_fields(found, fields):
    for name, kind in fields.items():
        assert name in found, f"{found['type']} lacks {name}"
        assert isinstance(found[name], JSON_TYPES[kind]), f"{found['type']}.{name} is no {kind}"


@pytest.fixture(scope="module")
def shown(stream):
    """Model -> the events of one response."""
    return {model: stream(model, **QUICK) for model in MODELS}


@pytest.fixture(params=MODELS)
def events(request, shown):
    return shown[request.param]


def test_together_the_scenarios_show_every_event_but_steering(shown, stream, event_fields):
    seen = {event["type"] for events in shown.values() for event in events}
    seen |= {event["type"] for event in stream(background=True)}
    assert set(event_fields) - seen == STEERING
    assert seen - set(event_fields) == BESIDE


def test_every_event_has_its_required_fields(events, event_fields):
    for event in events:
        if event["type"] == "error" and "error" in event:  # nested, as real servers send it
            event = {**event["error"], "sequence_number": event["sequence_number"]}  # noqa: PLW2901
            check_fields(event, event_fields["error"])
        elif event["type"] not in BESIDE:
            check_fields(event, event_fields[event["type"]])


def test_every_item_has_its_required_fields(events, item_fields):
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    for item in items + events[-1]["response"]["output"]:
        check_fields(item, item_fields[item["type"]])


def test_events_are_numbered_and_in_order(events):
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [next(iter(event)) for event in events] == ["type"] * len(events)
    assert [list(event)[-1] for event in events] == ["sequence_number"] * len(events)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    terminal = {"response.completed", "response.failed", "response.incomplete"}
    assert [event["type"] in terminal for event in events] == [False] * (len(events) - 1) + [True]


def test_ids_and_indexes_agree(events):
    lives = {event["response"]["id"] for event in events if "response" in event}
    assert len(lives) == 1
    names = {}
    for event in events:
        if event["type"] == "response.output_item.added":
            assert event["output_index"] == len(names)
            names[event["output_index"]] = event["item"]["id"]
        elif event["type"] == "response.output_item.done":
            assert event["item"]["id"] == names[event["output_index"]]
        elif "item_id" in event:
            assert event["item_id"] == names[event["output_index"]]


def test_done_items_are_the_output(events):
    done = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.done"}
    final = events[-1]["response"]
    if final["status"] != "failed":
        assert final["output"] == [done[index] for index in sorted(done)]


@pytest.mark.parametrize(
    ("delta", "done", "field"),
    [
        ("response.output_text.delta", "response.output_text.done", "text"),
        ("response.refusal.delta", "response.refusal.done", "refusal"),
        ("response.reasoning_text.delta", "response.reasoning_text.done", "text"),
        ("response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "text"),
        ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
        ("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done", "arguments"),
        ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input"),
        ("response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done", "code"),
        ("response.shell_call_command.delta", "response.shell_call_command.done", "command"),
        (
            "response.apply_patch_call_operation_diff.delta",
            "response.apply_patch_call_operation_diff.done",
            "diff",
        ),
    ],
)
def test_deltas_join_to_what_done_says(shown, delta, done, field):
    compared = 0
    for events in shown.values():
        told = {}
        for event in events:
            place = tuple(event.get(f"{name}_index") for name in ("output", "content", "summary", "command"))
            if event["type"] == delta:
                told[place] = told.get(place, "") + event["delta"]
            elif event["type"] == done:
                assert told.get(place, "") == event[field]
                compared += 1
    assert compared


def test_usage_counts_the_deltas(stream):
    events = stream("demo-text")
    usage = events[-1]["response"]["usage"]
    assert usage["output_tokens"] == sum(event["type"] == "response.output_text.delta" for event in events)
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    thinking = stream("demo-reasoning")
    told = sum("reasoning" in event["type"] and event["type"].endswith(".delta") for event in thinking)
    assert thinking[-1]["response"]["usage"]["output_tokens_details"]["reasoning_tokens"] == told > 50


def test_the_answer_says_it_is_a_demo_and_echoes_the_prompt(stream):
    text = stream("demo-text", "Wie geht's, Ærø?")[-1]["response"]["output"][0]["content"][0]["text"]
    assert "demo server" in text
    assert "“Wie geht's, Ærø?”" in text
    assert all(sign in text for sign in ("## ", "- *", "|:---", "```python", "$5 and $6", "$$"))


def test_parallel_calls_are_open_together(stream):
    kinds = [(event["type"], event.get("output_index")) for event in stream("demo-tools")]
    assert kinds.index(("response.output_item.added", 1)) < kinds.index(("response.output_item.done", 0))
    items = stream("demo-tools")[-1]["response"]["output"]
    assert [item["type"] for item in items] == ["function_call", "function_call", "custom_tool_call"]
    assert json.loads(items[0]["arguments"]) == {"city": "Oslo", "unit": "celsius"}


def test_citations_point_at_their_words(stream):
    events = stream("demo-search", include=["file_search_call.results", "web_search_call.action.sources"])
    part = events[-1]["response"]["output"][-1]["content"][0]
    web, file = part["annotations"]
    assert part["text"][web["start_index"] : web["end_index"]] == "[example.com]"
    assert part["text"][: file["index"]].endswith("[streams.pdf]")
    kinds = [event["type"] for event in events]
    assert kinds.index("response.output_text.annotation.added") < kinds.index("response.output_text.done")
    search, files = events[-1]["response"]["output"][:2]
    assert search["action"]["query"] == "Hello there"
    assert len(search["action"]["sources"]) == 2
    assert files["results"][0]["filename"] == "streams.pdf"


def test_mcp_fails_where_it_says_so(stream):
    items = stream("demo-mcp")[-1]["response"]["output"]
    listed, closed, good, bad = items[:4]
    assert len(listed["tools"]) == 2
    assert "did not answer" in closed["error"]
    assert (good["status"], bad["status"]) == ("completed", "failed")
    assert bad["error"]["code"] == 424
    assert items[-1]["type"] == "mcp_approval_request"


def test_shell_output_comes_as_objects(stream):
    events = stream("demo-shell")
    deltas = [event["delta"] for event in events if event["type"] == "response.shell_call_output_content.delta"]
    assert deltas[0] == {"stdout": "greet.py\n"}
    assert "stderr" in deltas[-1]
    done = [event["output"][0] for event in events if event["type"] == "response.shell_call_output_content.done"]
    assert [output["outcome"]["exit_code"] for output in done] == [0, 1]


def test_failures_come_in_both_shapes(stream):
    nested, failed = stream("demo-failed")[-2:]
    assert nested["error"]["code"] == failed["response"]["error"]["code"] == "server_error"
    flat, failed = stream("demo-error")[-2:]
    assert (flat["code"], flat["param"], failed["type"]) == ("server_error", None, "response.failed")


def test_incomplete_closes_what_is_open(stream):
    final = stream("demo-incomplete")[-1]
    assert final["type"] == "response.incomplete"
    assert final["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert final["response"]["output"][0]["status"] == "incomplete"
    assert final["response"]["usage"]["output_tokens"] == 40


def test_the_length_of_demo_long_can_be_set(stream):
    events = stream("demo-long", metadata={"demo_count": "1234"})
    assert sum(event["type"] == "response.output_text.delta" for event in events) == 1234


def test_the_tone_is_a_wav_file(stream):
    events = stream("demo-audio")
    pieces = [event["delta"] for event in events if event["type"] == "response.audio.delta"]
    sound = b"".join(base64.b64decode(piece) for piece in pieces)
    assert sound == base64.b64decode("".join(pieces))  # joining first is as good as decoding first
    assert struct.unpack_from("<I", sound, 4) == (len(sound) - 8,)
    with wave.open(io.BytesIO(sound)) as tone:
        assert (tone.getnchannels(), tone.getsampwidth(), tone.getframerate()) == (1, 2, 16_000)
        assert tone.getnframes() == 9_600
        assert len(set(tone.readframes(400))) > 50
    words = [event["delta"] for event in events if event["type"] == "response.audio.transcript.delta"]
    assert "".join(words) == "This is a tone of the demo server."


def test_the_text_is_the_same_each_time_and_the_ids_are_not(stream):
    one, two = stream("demo-text")[-1]["response"], stream("demo-text")[-1]["response"]
    assert one["output"][0]["content"] == two["output"][0]["content"]
    assert one["id"] != two["id"]


def read_png(data):
    """Width, height and pixel rows of an RGB PNG, every checksum checked."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, packed, size = 8, b"", (0, 0)
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", data, place + 8 + length) == (zlib.crc32(kind + body),)
        size = struct.unpack_from(">II", body) if kind == b"IHDR" else size
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    raw = zlib.decompress(packed)
    step = 1 + 3 * size[0]
    assert len(raw) == step * size[1]
    return *size, [raw[start + 1 : start + step] for start in range(0, len(raw), step)]


@pytest.mark.parametrize("asked", [None, 0, 1, 2, 3])
def test_pictures_are_real_and_get_sharper(stream, asked):
    tool = {"type": "image_generation"} if asked is None else {"type": "image_generation", "partial_images": asked}
    events = stream("demo-image", tools=[tool])
    kind = "response.image_generation_call.partial_image"
    partials = [event for event in events if event["type"] == kind]
    assert [event["partial_image_index"] for event in partials] == list(range(asked or 0))
    encoded = [event["partial_image_b64"] for event in partials]
    item = next(item for item in events[-1]["response"]["output"] if item["type"] == "image_generation_call")
    pictures = [read_png(base64.b64decode(text)) for text in [*encoded, item["result"]]]
    assert {picture[:2] for picture in pictures} == {(256, 256)}
    detail = [len(set(rows)) for _, _, rows in pictures]  # rows that differ
    assert detail == sorted(set(detail))
    final = pictures[-1][2]
    assert any(final[row] != final[row + 1] for row in range(0, 256, 2))  # sharp to the pixel


def test_without_an_image_tool_three_partial_images_come(stream):
    events = stream("demo-image")
    assert sum(event["type"].endswith("partial_image") for event in events) == 3
