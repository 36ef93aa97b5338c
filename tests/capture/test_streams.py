"""The captured streams of real servers, all of them: recorded, saved, loaded, and counted by an independent reader."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import NamedTuple

import pandas as pd
import pytest

from nbresponses.capture import schema
from nbresponses.capture.record import Capture
from nbresponses.core.accumulator import Accumulator

TERMINAL = {f"response.{word}" for word in ("completed", "incomplete", "failed")}
PIECE = 1000
ROTATING = "copilot"  # in the names of streams whose server gives a response another id in each event


class Recorded(NamedTuple):
    name: str
    wire: bytes
    objects: list[dict]
    """The events, as an independent reader has them."""
    capture: Capture

    def of(self, type_: str) -> list[dict]:
        return [each for each in self.objects if each["type"] == type_]

    @property
    def terminal(self) -> list[dict]:
        return [each["response"] for each in self.objects if each["type"] in TERMINAL]


def read_independently(wire: bytes) -> list[dict]:
    """The JSON objects of a stream, by nothing but str methods and json."""
    blocks = wire.decode().replace("\r\n", "\n").split("\n\n")
    data = [[line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:")] for block in blocks]
    texts = ["\n".join(lines) for lines in data if lines]
    return [json.loads(text) for text in texts if text.strip() not in ("", "[DONE]")]


@pytest.fixture(scope="module")
def streams(stream_files, recorder) -> list[Recorded]:
    found = []
    for path in stream_files:
        wire = path.read_bytes()
        capture = recorder(wire, piece=PIECE, source=path.name)
        found.append(Recorded(path.name, wire, read_independently(wire), capture))
    return found


def values(frame: pd.DataFrame, column: str) -> list:
    return [None if pd.isna(value) else value for value in frame[column]]


def test_every_stream_survives_record_save_and_load(streams, recorder, tmp_path) -> None:
    for name, wire, _, capture in streams:
        capture.save(tmp_path / "c.jsonl")
        loaded = Capture.load(tmp_path / "c.jsonl")
        assert loaded == capture, name
        assert loaded.columns().payloads == recorder(wire, piece=1 << 20).columns().payloads, name
        assert not loaded.truncated


def test_every_frame_of_every_stream_has_its_schema(streams) -> None:
    for name, _, _, capture in streams:
        for method, columns in schema.FRAMES.items():
            frame = getattr(capture, method)()
            assert [(each, str(dtype)) for each, dtype in frame.dtypes.items()] == [
                (column.name, column.dtype) for column in columns
            ], (name, method)
            assert frame.attrs["source"] == name
            assert frame.attrs["frame"] == method


def test_every_events_frame_agrees_with_an_independent_reader(streams, told) -> None:
    rows = 0
    for name, _, objects, capture in streams:
        frame = capture.events()
        rows += len(frame)
        assert len(frame) == len(objects), name
        assert frame["type"].tolist() == [each["type"] for each in objects], name
        for column in ("sequence_number", "output_index", "content_index", "summary_index"):
            assert values(frame, column) == [each.get(column) for each in objects], (name, column)
        texts = [each["delta"] for each in objects if isinstance(each.get("delta"), str)]
        shell = [each for each in objects if isinstance(each.get("delta"), dict)]
        assert len(frame["delta"].dropna()) == len(capture.deltas()) == len(texts) + len(shell), name
        if not shell:
            assert frame["delta"].dropna().tolist() == texts, name
        ids = {each["response"]["id"] for each in objects if each.get("response", {}).get("id") is not None}
        mine = set(frame["response_id"].dropna())
        assert mine <= ids if ROTATING in name else mine == ids, name
    told(f"frames: {len(streams)} streams, {rows} events")


def test_every_piece_of_text_starts_where_the_one_before_ended(streams) -> None:
    for name, _, _, capture in streams:
        frame = capture.deltas()
        by_part = frame.groupby(["output_index", "kind", "part_index"], dropna=False, observed=True)
        for _, part in by_part:
            whole = "".join(part["delta"])
            for start, delta in zip(part["start"], part["delta"], strict=True):
                assert whole[start : start + len(delta)] == delta, name


def test_the_responses_agree_with_the_terminal_events(streams, told) -> None:
    endings: Counter[str] = Counter()
    for name, _, objects, capture in streams:
        terminal = [each for each in objects if each["type"] in TERMINAL]
        frame = capture.responses()
        assert len(frame) == max(len(terminal), 1), name
        assert frame["ending"].dropna().tolist() == [each["type"].removeprefix("response.") for each in terminal] or (
            name.startswith("aibridge__conversation") and frame["ending"].tolist() == ["error"]
        ), name
        told_usage = [each["response"].get("usage") or {} for each in terminal]
        assert sum(usage.get("output_tokens", 0) for usage in told_usage) == frame["output_tokens"].sum(), name
        assert sum(usage.get("input_tokens", 0) for usage in told_usage) == frame["input_tokens"].sum(), name
        answered = [each["delta"] for each in objects if each["type"] == "response.output_text.delta"]
        assert frame["characters"].sum() == len("".join(answered)), name
        assert frame["model"].tolist() == [each["response"].get("model") for each in terminal] or not terminal, name
        endings.update(str(ending) for ending in frame["ending"])
    told(f"frames: {sum(endings.values())} responses, {dict(endings)}")


def leaves(value: object) -> int:
    if isinstance(value, (dict, list)):
        return sum(map(leaves, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def test_usage_has_every_number_that_was_counted(streams) -> None:
    for name, _, _, capture in streams:
        frame = capture.usage()
        assert len(frame) == sum(leaves(each.get("usage")) for each in streams_terminal(streams, name)), name
        totals = frame[frame["counter"] == "total_tokens"]["count"].tolist()
        told_totals = [(each.get("usage") or {}).get("total_tokens") for each in streams_terminal(streams, name)]
        assert totals == [total for total in told_totals if total is not None], name


def streams_terminal(streams: list[Recorded], name: str) -> list[dict]:
    return next(each.terminal for each in streams if each.name == name)


def test_the_items_are_those_of_the_raw_files_and_of_the_accumulator(streams, told) -> None:
    kinds: Counter[str] = Counter()
    for stream in streams:
        frame = stream.capture.items()
        added = [each["item"] for each in stream.of("response.output_item.added")]
        finals = [item for each in stream.terminal for item in each.get("output") or []]
        if stream.terminal:  # the fragments that were copied by hand announce nothing
            assert len(frame) == max(len(added), len(finals)), stream.name
        done = [each["item"] for each in stream.of("response.output_item.done")]
        assert frame["ended"].notna().sum() == len(done), stream.name
        accumulator = Accumulator()
        for message in stream.capture:
            event = message.event()
            if event is not None:
                accumulator.apply(event)
        if len(stream.terminal) <= 1:
            output = [str(item["type"]) for item in accumulator.response.output]
            assert Counter(frame["type"]) == Counter(output), stream.name
        kinds.update(frame["type"])
    told(f"frames: {sum(kinds.values())} items, {dict(kinds)}")


def test_the_texts_of_items_and_their_sizes_add_up(streams) -> None:
    for stream in streams:
        frame = stream.capture.items()
        deltas = [each["delta"] for each in stream.objects if isinstance(each.get("delta"), str)]
        shell = [each["delta"] for each in stream.objects if isinstance(each.get("delta"), dict)]
        texts = len("".join(deltas)) + sum(len(text) for each in shell for text in each.values())
        assert frame["characters"].sum() == texts, stream.name
        assert frame["deltas"].sum() == len(deltas) + len(shell), stream.name
        partial = stream.of("response.image_generation_call.partial_image")
        assert frame["previews"].sum() == len(partial), stream.name


def test_the_spans_cover_what_was_streamed(streams) -> None:
    for stream in streams:
        frame, items = stream.capture.timeline(), stream.capture.items()
        assert frame["output_index"].notna().sum() == items["started"].notna().sum(), stream.name
        assert (frame["duration"] >= pd.Timedelta(0)).all(), stream.name
        reasoning = (items["type"] == "reasoning") & items["started"].notna()
        assert (frame["kind"] == "reasoning").sum() == reasoning.sum(), stream.name


def test_every_logprob_is_a_row(streams, told) -> None:
    tokens = alternatives = 0
    for stream in streams:
        frame = stream.capture.logprobs()
        entries = [entry for each in stream.of("response.output_text.delta") for entry in each.get("logprobs") or ()]
        if not entries:
            entries = [entry for each in stream.of("response.output_text.done") for entry in each.get("logprobs") or ()]
        assert frame["token"].tolist() == [entry["token"] for entry in entries], stream.name
        assert frame["logprob"].tolist() == [entry["logprob"] for entry in entries], stream.name
        assert math.isclose(frame["probability"].sum(), sum(math.exp(entry["logprob"]) for entry in entries))
        tops = [top for entry in entries for top in entry.get("top_logprobs") or ()]
        long = stream.capture.logprobs(alternatives=True)
        assert Counter(long["token"]) == Counter(top["token"] for top in tops), stream.name
        counted = [each for each in stream.of("response.output_text.delta") if each.get("logprobs")]
        assert stream.capture.deltas()["tokens"].notna().sum() == len(counted), stream.name
        tokens, alternatives = tokens + len(frame), alternatives + len(long)
    assert tokens > 300
    told(f"frames: {tokens} tokens with log probabilities, {alternatives} alternatives")


def test_every_call_is_a_row_with_its_arguments(streams, told) -> None:
    calls = argued = 0
    for stream in streams:
        frame = stream.capture.tools()
        done = [each["item"] for each in stream.of("response.output_item.done")]
        made = [item for item in done if item["type"] in {"function_call", "mcp_call"}]
        mine = frame[frame["type"].isin(["function_call", "mcp_call"]) & frame["started"].notna()]
        if not stream.terminal:  # the fragments that were copied by hand
            continue
        assert sorted(mine["arguments"].fillna("")) == sorted(item["arguments"] or "" for item in made), stream.name
        valid = [item for item in made if (item["arguments"] or "").startswith("{") and "}" in item["arguments"]]
        names = [name for item in valid for name in json.loads(item["arguments"])]
        long = stream.capture.tools(arguments=True)
        assert Counter(long["argument"]) == Counter(names), stream.name
        calls, argued = calls + len(frame), argued + len(long)
    told(f"frames: {calls} calls of tools, {argued} arguments")


def test_lanes_and_lineage_of_a_stream_without_lanes(streams) -> None:
    for stream in streams:
        lanes, lineage = stream.capture.lanes(), stream.capture.lineage()
        assert len(lanes) == 1, stream.name
        assert lanes["events"].tolist() == [len(stream.objects)], stream.name
        assert lanes["completed"].sum() == len(stream.of("response.completed")), stream.name
        named = [each for each in stream.terminal if each.get("id") is not None]
        assert len(lineage) == len(named) or not stream.terminal, stream.name
        told_parents = [each.get("previous_response_id") for each in named]
        assert Counter(values(lineage, "parent_id")) == Counter(told_parents) or not stream.terminal, stream.name


def test_the_gaps_are_those_in_the_numbers(streams, told) -> None:
    kinds: Counter[str] = Counter()
    for stream in streams:
        frame = stream.capture.gaps(stall=1e9)
        expected: Counter[str] = Counter()
        before = None
        for each in stream.objects:
            number = each.get("sequence_number")
            if each["type"] == "response.created":
                before = None
            if number is not None and before is not None and number != before + 1:
                expected["gap" if number > before else "repeat" if number == before else "backwards"] += 1
            before = number
        assert Counter(frame["kind"]) == expected, stream.name
        kinds.update(frame["kind"])
    told(f"frames: {dict(kinds)} in the sequence numbers")


def test_all_frames_joined_keep_their_types(streams) -> None:
    joined = pd.concat([stream.capture.events() for stream in streams], ignore_index=True)
    assert isinstance(joined["type"].dtype, pd.CategoricalDtype)
    assert "object" not in set(map(str, joined.dtypes))
