"""Speed, gross excess only: the figures themselves are printed by `make bench`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.decode import ACCUMULATED, DECODED, SDK_STREAM, SDK_TYPED, SPLIT, measure


def test_decoding_beside_the_official_sdk_and_beside_untyped_parsing() -> None:
    cost = measure(events=2_000, rounds=3)
    assert cost[SDK_TYPED] / cost[DECODED] > 15, cost
    assert cost[SDK_STREAM] / cost[ACCUMULATED] > 15, cost
    assert cost[DECODED] / cost[SPLIT] < 3, cost
    assert cost[ACCUMULATED] / cost[SPLIT] < 4, cost


def test_cost_per_event_does_not_grow_with_the_stream() -> None:
    short = measure(events=3_000, rounds=3, with_sdk=False)
    long = measure(events=30_000, rounds=2, with_sdk=False)
    assert long[DECODED] < 3 * short[DECODED], (short, long)
    assert long[ACCUMULATED] < 3 * short[ACCUMULATED], (short, long)


def test_one_event_in_each_network_piece_is_no_special_burden() -> None:
    small = measure(events=2_000, rounds=3, size=290, with_sdk=False)
    assert small[DECODED] < 8 * small[SPLIT], small
