"""What tokens cost by a table that the user gives: `{model: {input: , cached_input: , output: }}`, per million tokens.

Knows no price by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["check_prices", "cost_of", "price_name"]

_MILLION = 1_000_000
_NEEDED = ("input", "output")
_KINDS = (*_NEEDED, "cached_input", "cached")


def check_prices(prices: Any) -> None:
    """ValueError where the table is none, or lacks a price that is needed."""
    if not isinstance(prices, Mapping):
        raise ValueError(f"prices: a table by model is expected, not {type(prices).__name__}")  # noqa: TRY004
    for name, price in prices.items():
        if not isinstance(name, str) or not name or not isinstance(price, Mapping):
            raise ValueError(f"prices: {name!r} must be a model's name with a table of input, cached_input and output")
        missing = [kind for kind in _NEEDED if kind not in price]
        if missing:
            given = ", ".join(map(str, price)) or "none"
            raise ValueError(f"prices: {name!r} has no price for {' and '.join(missing)}; it has {given}")
        for kind in _KINDS:
            if kind in price and not _is_price(price[kind]):
                raise ValueError(f"prices: {name!r}: {kind} must be a number, 0 or above, not {price[kind]!r}")


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def price_name(model: str | None, prices: Mapping[str, Any]) -> str | None:
    """The longest of the table's names that the model's begins with; None where none does."""
    return max((name for name in prices if model and model.startswith(name)), key=len, default=None)


def cost_of(price: Mapping[str, float], *, read: int, cached: int, written: int) -> float:
    """What these tokens cost. `read` counts the cached ones too."""
    of_cached = price.get("cached_input", price.get("cached", price["input"]))
    full = (read - cached) * price["input"] + cached * of_cached
    return float(full + written * price["output"]) / _MILLION
