"""Changes → a live view that settles into a static bundle. IPython is imported when something is published."""

from __future__ import annotations

from nbresponses.display.bundles import settled, status_line
from nbresponses.display.view import LiveView, choose_view, follow, follow_apart

__all__ = ["LiveView", "choose_view", "follow", "follow_apart", "settled", "status_line"]
