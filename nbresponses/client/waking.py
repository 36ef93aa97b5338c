"""Keeps the caller's loop waking while something is awaited, so that an interrupt is noticed. Waits for nothing.

A kernel's interrupt of an `await` cell is a callback that doesn't wake the loop: it runs when the loop wakes next, and
in a silent stream that is minutes later. A timer wakes it.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WAKING", "waking"]

WAKING = 0.1  # seconds between two wakings


@contextmanager
def waking() -> Iterator[None]:
    """Wakes the running loop at least every `WAKING` seconds while the block lasts."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def tick() -> None:
        nonlocal timer
        timer = loop.call_later(WAKING, tick)

    tick()
    try:
        yield
    finally:
        timer.cancel()
