"""The summaries from which quantiles are taken: exact for few values, within the stated error for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresponses.capture.quantiles import POINTS, Quantiles, quantiles_of

SHARES = (0.001, 0.1, 0.5, 0.9, 0.99, 1.0)


def error_in_rank(values: np.ndarray, found: float, share: float) -> float:
    """How far, as a share of all values, the found one is from the wanted rank."""
    ordered = np.sort(values)
    low = np.searchsorted(ordered, found, side="left") / len(values)
    high = np.searchsorted(ordered, found, side="right") / len(values)
    return max(low - share, share - high, 0.0)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=50), st.sampled_from(SHARES))
def test_few_values_give_the_very_quantile(values, share) -> None:
    expected = sorted(values)[max(math.ceil(share * len(values) - 1e-9), 1) - 1]
    assert quantiles_of(values).at(share) == expected
    assert quantiles_of(values, exact=True).at(share) == expected


def test_none_of_nothing_and_nan_is_nothing() -> None:
    assert quantiles_of([]).at(0.5) is None
    assert quantiles_of([math.nan]).at(0.5) is None
    assert quantiles_of([math.nan, 3.0]).at(0.5) == 3.0
    assert Quantiles.joined([]).at(0.5) is None


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from(["even", "long tail", "few words"]))
def test_many_values_in_many_places_are_within_half_a_percent_in_rank(seed, places, kind) -> None:
    rng = np.random.default_rng(seed)
    draw = {
        "even": lambda n: rng.uniform(0, 1, n),
        "long tail": lambda n: rng.lognormal(0, 3, n),
        "few words": lambda n: rng.integers(0, 5, n).astype(float),
    }[kind]
    parts = [draw(int(rng.integers(1, 4000))) + rng.uniform(0, 2) for _ in range(places)]
    summaries = [quantiles_of(part) for part in parts]
    while len(summaries) > 1:
        summaries = [Quantiles.joined(summaries[first : first + 3]) for first in range(0, len(summaries), 3)]
    values = np.concatenate(parts)
    for share in SHARES:
        found = summaries[0].at(share)
        assert error_in_rank(values, found, share) <= 0.005, share
    assert len(summaries[0].values) <= 16 * POINTS
    assert summaries[0].weights.sum() == pytest.approx(len(values))


def test_a_summary_is_small() -> None:
    assert len(quantiles_of(np.arange(1_000_000)).values) == POINTS
    assert len(quantiles_of(np.arange(1_000_000), exact=True).values) == 1_000_000
