"""The embedded demo server: scenarios as data, spoken as the real API speaks. It stands on `core/` only."""

from __future__ import annotations

from nbresponses.demo.server import DemoServer

__all__ = ["DemoServer"]
