"""Every captured stream, from 12 servers: the same events in any pieces, and accumulated what the server says itself.

How many captures pass each of the three comparisons is printed at the end of the run; every exception is named here
with its reason, and the lists are exact: none may be missing, none may be left over.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nbresponses.core import decode
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import EventDecoder
from nbresponses.core.events import Event, InvalidEvent, ResponseOutputItemDoneEvent, ResponseTextDeltaEvent
from nbresponses.core.response import Response

TERMINAL = {"response.completed", "response.incomplete", "response.failed"}


def decoded(stream: bytes, cuts: list[int] | None = None) -> list[Event]:
    decoder = EventDecoder()
    places = [0, *(cuts or []), len(stream)]
    events = [event for a, b in pairwise(places) for event in decoder.feed(stream[a:b])]
    events += decoder.finish()
    assert decoder.remainder == b""
    return events


@cache
def events_of(path: Path) -> list[Event]:
    return decoded(path.read_bytes())


def payloads(stream: bytes) -> Iterator[tuple[str, Any]]:
    """Event name and JSON of each block, by nothing but str.split and json.loads."""
    for block in stream.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        data = [line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data")]
        if data and data != ["[DONE]"]:
            assert len(data) == 1
            yield data[0], json.loads(data[0])


# ── Decoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_decoded_whole_bytewise_and_at_random_cuts(stream_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_file.read_bytes()
    events = events_of(stream_file)
    assert [(event.payload.decode(), event.to_dict()) for event in events] == list(payloads(stream))
    assert not any(isinstance(event, InvalidEvent) for event in events)
    assert [event.type for event in events] == [event.to_dict()["type"] for event in events]
    assert decoded(stream, list(range(1, len(stream)))) == events
    rng = random.Random(stream_file.name)
    for average in (20, 700, 4000):
        cuts = sorted(rng.choices(range(len(stream)), k=max(1, len(stream) // average)))
        assert decoded(stream, cuts) == events
    monkeypatch.setattr(decode, "_LARGE", 0)
    assert decoded(stream) == events, "the thorough path"


def variants(stream: bytes) -> Iterator[tuple[str, bytes]]:
    yield "CRLF", stream.replace(b"\n", b"\r\n")
    yield "CR", b"\xef\xbb\xbf" + stream.replace(b"\n", b"\r")
    yield "no names", b"\n".join(line for line in stream.split(b"\n") if not line.startswith(b"event:"))
    yield "comments", b": hi\n\n" + stream.replace(b"\ndata: ", b"\n: keepalive\ndata: ").replace(b"\n\n", b"\n:\n\n")
    yield "ids", b"retry: 100\n\n" + stream.replace(b"data: ", b"id: 7\nretry: 5\ndata:")
    yield "empty data", stream.replace(b"\n\n", b"\n\ndata:\n\ndata: \n\n")
    yield "several lines", stream.replace(b"data: {", b"data: {\ndata: ")
    yield "no last blank line", stream.rstrip(b"\n")


def test_other_framing_of_the_same_events_gives_the_same_events(stream_file: Path) -> None:
    stream = stream_file.read_bytes()
    events = events_of(stream_file)
    wanted = [(type(event), event.to_dict()) for event in events]
    rng = random.Random(stream_file.name)
    for name, variant in variants(stream):
        cuts = sorted(rng.choices(range(len(variant)), k=len(variant) // 900 + 2))
        got = decoded(variant, cuts)
        assert [(type(event), event.to_dict()) for event in got] == wanted, name
        if name != "several lines":
            assert got == events


# ── What was streamed against what the terminal event says ───────────────────────────────────────────────────────────

ONLY_AT_THE_END = {
    ("reasoning", "encrypted_content"): "encrypted anew for the terminal event",
    ("compaction", "encrypted_content"): "encrypted anew for the terminal event",
    ("program", "fingerprint"): "made anew for the terminal event",
}
"""(Item type, field) that the terminal event alone has in this form."""

ROTATED_IDS = {
    "fast-agent__vllm_openresponses_openai-gpt-oss-120b_plain_text",
    "fast-agent__vllm_openresponses_openai-gpt-oss-120b_tool_use_weather",
    "pydantic-ai__test_openai_responses_raw_cot_stream_openrouter",
    "rig__github-copilot_reasoning_roundtrip_streaming.0",
    "rig__github-copilot_reasoning_roundtrip_streaming.1",
}
"""Their server gives an item another id in the terminal event."""

REWRITTEN: dict[str, tuple[set[str], str]] = {
    "agentgateway__stream-image": (
        {"image_generation_call.result"},
        "the recorder cut the image in output_item.done to one character",
    ),
    "pydantic-ai__test_openai_responses_model_mcp_list_tools_stream_backfills_missing_results": (
        {"mcp_list_tools.tools"},
        "two of the lists never get their output_item.done; only the terminal event has their tools",
    ),
    "fast-agent__vllm_openresponses_openai-gpt-oss-120b_plain_text": (
        {"reasoning.status"},
        "the server drops the status of reasoning in the terminal event",
    ),
    "fast-agent__vllm_openresponses_openai-gpt-oss-120b_tool_use_weather": (
        {"reasoning.status", "function_call.status", "function_call.call_id"}
        | {f"function_call.{stray}" for stray in ("item_id", "output_index", "sequence_number")},
        "the server makes the call anew in the terminal event, and sends keys of the event inside the streamed item",
    ),
}
"""Capture → fields that differ, and why."""

NO_FULL_OUTPUT = {
    "agentgateway__agentgateway_reasoning.bedrock-responses-streaming": "the gateway ends with an empty output",
    "agentgateway__agentgateway_stream.completions-responses-streaming": "the gateway ends with an empty output",
    "rig__chatgpt-codex_parallel_tool_calls_single_turn_nonstreaming.0": "this backend ends with an empty output",
    "rig__chatgpt-codex_reasoning_session_two_tool_calls_streaming.0": "this backend ends with an empty output",
    "rig__chatgpt-codex_store_false_and_prompt_cache_fields_roundtrip": "this backend ends with an empty output",
    "rig__chatgpt-codex_tool_call_completed_response_without_output": "this backend ends with an empty output",
    "rust-genai__chatgpt-codex_tools_completed_no_output_field_response_000": "the terminal event has no output field",
    "prism__stream-rate-limited-1": "failed before any output",
    "vercel-ai__openai-error.1": "failed before any output",
    "vllm__pr24788_reasoning_item_gets_output_text_part.fragment": "a fragment without an end",
    "vllm__pr30192_mcp_call_content_index_minus1.fragment": "a fragment without an end",
    "vllm__pr31761_reasoning_done_other_output_index.fragment": "a fragment without an end",
    "vllm__pr35184_reasoning_content_index_per_token.fragment": "a fragment without an end",
}
"""Captures whose terminal event lists no output, so that there is nothing to compare."""

DIFFERENT_TEXTS = {
    "braintrust-js__flue-v0-8-latest.cassette.8": "the recorder replaced a path that two deltas divide",
    "vercel-ai__openai-shell-container.1": "edited: only the first half of the deltas is left",
    "vllm__pr31761_reasoning_done_other_output_index.fragment": "a fragment: the deltas came before it",
}
"""Captures in which the deltas are not the whole text."""


def terminal_output(path: Path) -> list[dict[str, Any]]:
    terminal = [event for event in events_of(path) if event.type in TERMINAL]
    response = terminal[0].to_dict()["response"] if terminal else {}
    return response.get("output") or []


def accumulated(events: list[Event]) -> list[dict[str, Any]]:
    accumulator = Accumulator()
    for event in events:
        accumulator.apply(event)
    return accumulator.response.output


def before_the_end(path: Path) -> list[Event]:
    events = events_of(path)
    return events[: next((n for n, event in enumerate(events) if event.type in TERMINAL), len(events))]


def differences(mine: list[dict[str, Any]], theirs: list[dict[str, Any]], *, ids: bool) -> set[tuple[str, str]]:
    """(Item type, field) of what is not the same; fields that are absent in one differ from null in the other."""
    if [item["type"] for item in mine] != [item["type"] for item in theirs]:
        return {("items", "type")}
    pairs = list(zip(mine, theirs, strict=True))
    return {
        (item["type"], name)
        for item, other in pairs
        for name in item.keys() | other.keys()
        if (ids or name != "id") and (name in item, item.get(name)) != (name in other, other.get(name))
    }


Told = Callable[[str], None]


def test_the_snapshot_before_the_terminal_event_equals_its_output(stream_files: tuple[Path, ...], told: Told) -> None:
    full = [path for path in stream_files if terminal_output(path)]
    assert {path.stem for path in stream_files} - {path.stem for path in full} == set(NO_FULL_OUTPUT)
    exact, encrypted, rewritten = 0, 0, {}
    used: set[tuple[str, str]] = set()
    for path in full:
        mine, theirs = accumulated(before_the_end(path)), terminal_output(path)
        rotated = path.stem in ROTATED_IDS
        assert any(a.get("id") != b.get("id") for a, b in zip(mine, theirs, strict=True)) == rotated, path.stem
        found = differences(mine, theirs, ids=not rotated)
        used |= found & ONLY_AT_THE_END.keys()
        exact += not found and not rotated
        rest = found - ONLY_AT_THE_END.keys()
        encrypted += not rest
        if rest:
            rewritten[path.stem] = {".".join(field) for field in rest}
    assert rewritten == {name: fields for name, (fields, _) in REWRITTEN.items()}
    assert used == set(ONLY_AT_THE_END)
    assert (len(full), exact, encrypted) == (183, 146, 179)
    told(
        f"snapshot before the terminal event = its output: {encrypted} of {len(full)} captures with a full output "
        f"({exact} in every field, {encrypted - exact} but for fields that are encrypted or ids that are made anew; "
        f"{len(rewritten)} named exceptions; {len(NO_FULL_OUTPUT)} captures have no full output)"
    )


def test_the_output_after_the_end_is_the_terminal_event_s_exactly(stream_files: tuple[Path, ...], told: Told) -> None:
    full = [path for path in stream_files if terminal_output(path)]
    for path in full:
        assert accumulated(events_of(path)) == terminal_output(path), path.stem
    told(f"output after the terminal event = its output, in every field: {len(full)} of {len(full)} captures")


@pytest.mark.parametrize("name", NO_FULL_OUTPUT)
def test_what_was_streamed_survives_a_terminal_event_without_output(name: str, stream_files: tuple[Path, ...]) -> None:
    (path,) = [path for path in stream_files if path.stem == name]
    events = events_of(path)
    output = accumulated(events)
    assert output == accumulated(before_the_end(path))
    finished = [event.item for event in events if isinstance(event, ResponseOutputItemDoneEvent)]
    if "agentgateway" in name:  # its finished items are empty too
        deltas = [event.delta for event in events if isinstance(event, ResponseTextDeltaEvent)]
        assert Response({"output": output}).output_text == "".join(deltas) != ""
    elif "fragment" not in name:
        assert output == finished


# ── Deltas against the texts of the done events ──────────────────────────────────────────────────────────────────────

TEXT_FIELDS = {
    "response.output_text.done": "text",
    "response.refusal.done": "refusal",
    "response.reasoning_text.done": "text",
    "response.reasoning_summary_text.done": "text",
    "response.function_call_arguments.done": "arguments",
    "response.mcp_call_arguments.done": "arguments",
    "response.code_interpreter_call_code.done": "code",
    "response.custom_tool_call_input.done": "input",
    "response.shell_call_command.done": "command",
    "response.shell_call_output_content.done": "output",
    "response.apply_patch_call_operation_diff.done": "diff",
}
ADDED = {"response.output_item.added", "response.content_part.added", "response.reasoning_summary_part.added"}

Texts = dict[tuple[int | None, tuple[str, int | None]], str]


def texts_of_deltas(events: list[Event]) -> Texts:
    """From the deltas alone, with what announces items and parts, but no done event."""
    accumulator, texts = Accumulator(), Texts()
    for event in events:
        if event.type.endswith(".delta") or event.type in ADDED:
            texts |= {(c.output_index, c.part): c.snapshot for c in accumulator.apply(event) if c.delta is not None}
    return texts


def texts_of_done_events(events: list[Event]) -> Texts:
    accumulator, texts = Accumulator(), Texts()
    for event in events:
        changes = accumulator.apply(event)
        if event.type in TEXT_FIELDS:
            (change,) = changes
            text = event.to_dict()[TEXT_FIELDS[event.type]]
            if isinstance(text, list):
                text = "".join(output[name] for output in text for name in ("stdout", "stderr"))
            texts[change.output_index, change.part] = text
    return texts


def test_texts_built_from_deltas_alone_equal_their_done_texts(stream_files: tuple[Path, ...], told: Told) -> None:
    different, compared, without_delta = set(), 0, 0
    for path in stream_files:
        built, done = texts_of_deltas(events_of(path)), texts_of_done_events(events_of(path))
        compared += len(done)
        without_delta += sum(place not in built for place in done)
        if any(built.get(place, "") != text for place, text in done.items()):
            different.add(path.stem)
    assert different == set(DIFFERENT_TEXTS)
    same = len(stream_files) - len(different)
    assert (len(stream_files), same, compared) == (196, 193, 248)
    told(
        f"texts built from deltas alone = their done texts: {same} of {len(stream_files)} captures ({compared} texts, "
        f"{without_delta} without any delta; {len(different)} named exceptions)"
    )


# ── Readable at any moment ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_snapshot_is_readable_and_grows_after_any_event(stream_file: Path) -> None:
    accumulator = Accumulator()
    events = events_of(stream_file)
    step = max(1, len(events) // 25)
    length = 0
    for number, event in enumerate(events):
        for change in accumulator.apply(event):
            assert change.event is event
        if number % step == 0:
            response = accumulator.response
            json.dumps(response.to_dict())
            assert len(response.output) >= length
            length = len(response.output)
    accumulator.finish()
    assert accumulator.ending is not None
    assert [event.to_dict() for event in events] == [fields for _, fields in payloads(stream_file.read_bytes())]
