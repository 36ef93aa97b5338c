"""The IPython surface of nbresponses: the magics. Users load it with `%load_ext nbresponses`."""

from __future__ import annotations

from nbresponses_magics.extension import load, unload

__all__ = ["load", "unload"]
