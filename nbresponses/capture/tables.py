"""An object, as a table: what `response.to_frame()` gives. Knows neither responses nor captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["is_tabular", "table_of"]


def rows_of(value: Any) -> list[dict[str, Any]] | None:
    """The rows of an object: a list of objects, an object whose only list holds them, else the object itself.

    The object's other fields stand in every row. None where there is no object at all.
    """
    plain = _plain(value)
    if isinstance(plain, list):
        return plain if plain and all(isinstance(row, dict) for row in plain) else None
    if not isinstance(plain, dict):
        return None
    tables = [name for name, entry in plain.items() if _is_table(entry)]
    if len(tables) != 1:
        return [plain]
    shared = {name: entry for name, entry in plain.items() if name != tables[0]}
    return [{**shared, **{_apart(name, shared): cell for name, cell in row.items()}} for row in plain[tables[0]]]


def is_tabular(value: Any) -> bool:
    """Whether an object has more than one row, or is a list of objects."""
    plain = _plain(value)
    return _is_table(plain) or (isinstance(plain, dict) and sum(map(_is_table, plain.values())) == 1)


def table_of(value: Any) -> DataFrame:
    """The rows of an object as a DataFrame; ValueError where it has none."""
    import pandas as pd

    rows = rows_of(value)
    if rows is None:
        plain = _plain(value)
        if not isinstance(plain, list):
            raise ValueError(f"no table can be made of {type(value).__name__}")
        return pd.DataFrame({"value": plain})
    return pd.DataFrame(rows)


def _apart(name: str, shared: dict[str, Any]) -> str:
    return f"{name}_" if name in shared else name


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(row, dict) for row in value)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    plain = msgspec.to_builtins(value, builtin_types=(), enc_hook=_model)
    return list(plain) if isinstance(plain, tuple) else plain


def _model(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    return str(value)
