"""How a magic speaks: text on the cell's standard output, at once."""

from __future__ import annotations

import sys

__all__ = ["say"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
