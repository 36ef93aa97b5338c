"""The answer in a notebook's output by display updates: one output, replaced whole, no more often than a page can take.

Rules
1. Two updates are at least `max(0.1 s, 10 ms a kB of text)` apart, a tenth of that per kB of pictures; a page spends
   about 2 ms per kB on an update, so it stays free for the reader most of the time.
2. Where nothing changed but the clock, once in a second and ten times that distance is enough.
3. The last state is always shown: an update that came too early is made up for later, at the latest by `settle`.
4. Nothing is ever cleared. The display id is random and belongs to one view.
5. What is published are bundles of texts by media type, never objects that would read a text as a file or an address.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

from nbresponses.display.bundles import Bundle, live, never_began, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbresponses.client.stream import ResponseStream
    from nbresponses.core.accumulator import Change

__all__ = ["UpdatingView", "pause_after", "publish"]

_SHORTEST = 0.1
_PER_KB_OF_TEXT = 0.01
_PER_KB_OF_PICTURES = 0.001
_CLOCK = 1.0


def publish(bundle: Bundle, *, display_id: str | None = None, update: bool = False) -> None:
    """Put a bundle into the cell's output, or in the place of the one with this id."""
    from IPython.display import display

    data, metadata = bundle
    display(data, metadata=metadata, raw=True, display_id=display_id, update=update)  # type: ignore[no-untyped-call, unused-ignore]


def pause_after(data: dict[str, Any]) -> float:
    """Seconds until the next update after one with this bundle."""
    size = max((len(text) for text in data.values()), default=0) / 1000
    text = len(data.get("text/plain", "")) / 1000  # pictures are a line there, and their bytes in the others
    return max(_SHORTEST, _PER_KB_OF_TEXT * text + _PER_KB_OF_PICTURES * max(0.0, size - text))


class UpdatingView:
    """Follows one stream in one output."""

    def __init__(
        self,
        *,
        allow_remote_images: bool = False,
        publish: Callable[..., None] = publish,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allow_remote_images = allow_remote_images
        self._publish = publish
        self._clock = clock
        self._display_id = f"nbresponses-{secrets.token_hex(8)}"
        self._stream: ResponseStream | None = None
        self._stale = True
        self._shown = False
        self._pause = 0.0
        self._drawn = clock()

    def start(self, stream: ResponseStream) -> None:
        self._stream = stream

    def apply(self, changes: Sequence[Change]) -> None:
        self._stale = self._stale or bool(changes)
        self._draw_if_due()

    def tick(self) -> None:
        self._draw_if_due()

    def settle(self) -> None:
        if self._stream is not None and (self._shown or not never_began(self._stream)):
            self._draw(settled(self._stream, allow_remote_images=self._allow_remote_images))

    def _draw_if_due(self) -> None:
        pause = self._pause if self._stale else max(_CLOCK, 10 * self._pause)
        now = self._clock()
        if self._stream is not None and now >= self._drawn + pause:
            self._draw(live(self._stream, now, allow_remote_images=self._allow_remote_images))

    def _draw(self, bundle: Bundle) -> None:
        self._publish(bundle, display_id=self._display_id, update=self._shown)
        self._shown, self._stale = True, False
        self._pause = pause_after(bundle[0])
        self._drawn = self._clock()  # after the work: what a slow host needs for it is not counted as pause
