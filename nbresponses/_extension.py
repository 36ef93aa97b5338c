"""The hooks that `%load_ext nbresponses` and `%unload_ext nbresponses` call; they forward to the magics package.

The only place where the library knows of the floor above it. IPython is imported with the magics, never before.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Add the `%%responses` magics, their settings, completion, and the display of results to this shell."""
    from nbresponses_magics import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take away exactly what loading added."""
    from nbresponses_magics import unload

    unload(ipython)
