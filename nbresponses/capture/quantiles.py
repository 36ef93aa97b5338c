"""Quantiles of values that are spread over many places. Pure numbers; knows no frame.

The method: of each place's values, sorted, at most POINTS are kept, at equal distances in rank, each standing for as
many values as lie between. A quantile is the smallest kept value at or below which that share of all values lies. A
kept value is at most half a step away in rank from what it stands for, so the error is at most 1 / (2 · POINTS) of all
ranks, plus half of that for each level at which summaries of many places are thinned out again. Up to POINTS values it
is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["POINTS", "Quantiles", "quantiles_of"]

POINTS = 1024
_MOST = 16 * POINTS  # of a joined summary; more are thinned out to an eighth


class Quantiles:
    """A summary of values: `values` in order, each standing for `weights` values."""

    __slots__ = ("values", "weights")

    def __init__(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        self.values = values
        self.weights = weights

    def at(self, share: float) -> float | None:
        """The quantile; None without values."""
        if not len(self.values):
            return None
        below = np.cumsum(self.weights)
        place = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12), side="left"))
        return float(self.values[min(place, len(below) - 1)])

    @classmethod
    def joined(cls, summaries: Iterable[Quantiles], *, exact: bool = False) -> Quantiles:
        """One summary of all; `exact` keeps all their values."""
        listed = list(summaries)
        values = np.concatenate([np.empty(0), *(summary.values for summary in listed)])
        weights = np.concatenate([np.empty(0), *(summary.weights for summary in listed)])
        order = np.argsort(values, kind="stable")
        whole = cls(values[order], weights[order])
        return whole if exact else whole.thinned(_MOST, 2 * POINTS)

    def thinned(self, most: int, points: int) -> Quantiles:
        """A summary of this one with `points` values, if it has more than `most`."""
        if len(self.values) <= most:
            return self
        below = np.cumsum(self.weights)
        wanted = (np.arange(points) + 0.5) * (below[-1] / points)
        places = np.searchsorted(below, wanted, side="left").clip(max=len(below) - 1)
        return Quantiles(self.values[places], np.full(points, below[-1] / points))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantiles):
            return NotImplemented
        return np.array_equal(self.values, other.values) and np.array_equal(self.weights, other.weights)

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


def quantiles_of(values: Sequence[float] | NDArray[Any], *, exact: bool = False) -> Quantiles:
    """A summary of these values, without those that are NaN; `exact` keeps them all."""
    numbers = np.asarray(values, np.float64)
    ordered = np.sort(numbers[~np.isnan(numbers)])
    whole = Quantiles(ordered, np.ones(len(ordered)))
    return whole if exact else whole.thinned(POINTS, POINTS)
