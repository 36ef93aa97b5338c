"""Speed and size of frames, gross excess only: the figures themselves are printed by `python -m benchmarks.frames`."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.frames import DICTS, FILE, FRAME, JSON, kept_bytes, measure_files, measure_frames, received
from benchmarks.streams import pieces, text_events, wire
from nbresponses.capture.record import Capture
from nbresponses.core.decode import EventDecoder

ROOT = Path(__file__).parents[2]
LIMIT = 350  # bytes per event of 279 bytes on the wire


def test_the_frame_of_a_stream_just_received_beside_plain_pandas() -> None:
    cost, size = measure_frames(30_000, rounds=3)
    assert cost[DICTS] / cost[FRAME] > 2.5, (cost, "5 is the goal; less than 2.5 is gross excess")
    assert size <= 60


def test_a_frame_from_a_file_beside_parsing_by_hand(tmp_path) -> None:
    cost = measure_files(20_000, tmp_path, rounds=2)
    assert cost[JSON] / cost[FILE] > 1, (cost, "2 is the goal; less than 1 is gross excess")


def test_what_a_capture_costs_per_event() -> None:
    events = text_events(20_000)
    for event in events:
        if "obfuscation" in event:
            event["obfuscation"] = str(event["obfuscation"]).ljust(46, "x")  # 279 bytes on the wire
    data = wire(events[10:-10])
    assert 277 <= len(data) / len(events[10:-10]) <= 281
    bare, filled = kept_bytes(20_000, events)
    assert bare <= filled <= LIMIT


def test_columns_are_filled_while_a_long_stream_comes_in() -> None:
    assert "pandas" in sys.modules
    capture = received(pieces(wire(text_events(20_000)), 4096))
    assert capture._filling.count >= 16_000
    before = capture._filling.count
    capture.forget_columns()
    assert len(capture.events()) == len(capture) > before
    decoder = EventDecoder()
    capture.received(decoder.feed(b'data: {"type":"keepalive"}\n\n'), 99.0)
    assert capture.events()["type"].iloc[-1] == "keepalive"


def test_nothing_is_filled_where_pandas_is_not_at_work() -> None:
    code = (
        "import sys; from benchmarks.streams import pieces, text_events, wire; "
        "from datetime import UTC, datetime; from nbresponses import Capture, EventDecoder; "
        "capture, decoder = Capture(datetime.now(UTC)), EventDecoder(); "
        "capture.received(decoder.feed(wire(text_events(20_000))), 1.0); "
        "print(len(capture), 'pandas' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["20008", "False", "False"]


def test_a_failure_to_fill_ends_no_stream(monkeypatch) -> None:
    def fails(*_args: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("nbresponses.capture.event_columns.EventColumns.extend_batch", fails)
    capture = received(pieces(wire(text_events(20_000)), 4096))
    assert len(capture) == 20_008
    with pytest.raises(RuntimeError, match="broken"):
        capture.events()
    monkeypatch.undo()
    assert len(capture.events()) == 20_008


def test_frames_can_be_asked_for_while_a_stream_comes_in() -> None:
    import threading

    network = pieces(wire(text_events(30_000)), 512)
    capture, failures, counts = Capture(datetime.now(UTC)), [], []
    decoder = EventDecoder()

    def read() -> None:
        try:
            while not counts or counts[-1] < 30_008:
                counts.append(len(capture.events()))
        except Exception as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number, piece in enumerate(network):
        capture.received(decoder.feed(piece), number / 1000)
    reader.join(30)
    assert not failures
    assert counts == sorted(counts)
    assert counts[-1] == 30_008
    assert capture.deltas()["start"].is_monotonic_increasing


def halves_of_characters(count: int, new_tape: type) -> Capture:
    tape = new_tape().created(0)
    for number in range(count):
        tape.text(number / 1000, "\ud83d\udcbb"[number % 2])
    return tape.capture


def many_lanes(count: int, new_tape: type) -> Capture:
    tape = new_tape()
    for number in range(count):
        lane = f"lane {number}"
        tape.sent(number, lane, **({"previous_response_id": "r0"} if number else {}))
        tape.created(number + 0.1, f"r{number}", lane).ended(number + 0.2, f"r{number}", lane)
    return tape.capture


@pytest.mark.parametrize(
    ("make", "frame", "count"), [(halves_of_characters, "deltas", 1000), (many_lanes, "lanes", 500)]
)
def test_six_times_as_much_takes_about_six_times_as_long(make, frame: str, count: int, new_tape) -> None:
    took = {}
    for size in (count, 6 * count):
        capture, rounds = make(size, new_tape), []
        for _ in range(2):
            capture.forget_columns()
            start = time.perf_counter()
            getattr(capture, frame)()
            rounds.append(time.perf_counter() - start)
        took[size] = min(rounds)
    assert took[6 * count] < 18 * took[count], took  # 36 where all is compared with all


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_events() -> None:
    cost, size = measure_frames(1_000_000, rounds=2)
    assert cost[DICTS] / cost[FRAME] > 2.5, (cost, "5 is the goal; less than 2.5 is gross excess")
    assert size <= 60


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_long_capture_file_becomes_a_dataset_in_little_memory(tmp_path) -> None:
    code = (
        "import sys; from pathlib import Path; from benchmarks.frames import peak_memory, received; "
        "from benchmarks.streams import pieces, text_events, wire; "
        "received(pieces(wire(text_events(1_000_000)), 4096)).save(sys.argv[1])"
    )
    path = tmp_path / "long.jsonl"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=ROOT)
    code = (
        "import sys; from benchmarks.frames import peak_memory; from nbresponses.capture.dataset import write_files; "
        "before = peak_memory(); written = write_files(sys.argv[1:2], sys.argv[2], ['events', 'responses']); "
        "print(written.rows['events'], (peak_memory() - before) / 2**20)"
    )
    arguments = [sys.executable, "-c", code, str(path), str(tmp_path / "set")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT)
    rows, mebibytes = done.stdout.split()
    assert int(rows) == 1_000_008
    assert float(mebibytes) < 512
