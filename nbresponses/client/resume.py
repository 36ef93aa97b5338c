"""How a response that the server keeps running is taken up again after its stream broke off. Decides; sends nothing.

Rules
1. It takes the response's id and the number of the last event seen.
2. The first try asks for the stream after that event. If that brings nothing, the next one asks for the response as it
   is now: a server that has no stream of it any more (it was cancelled, it is over) still knows how it ended. And so on
   in turn.
3. An event starts the count anew. Tries without one are `max_retries` at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbresponses.client.patience import pause_before_retry
from nbresponses.errors import Disconnected, Rejected, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbresponses.errors import NBResponsesError
    from nbresponses.transports.http import HttpCall

__all__ = ["Resume"]


class Resume:
    """`stream(id, after)` and `plain(id)` make the two requests."""

    def __init__(
        self,
        *,
        stream: Callable[[str, int | None], HttpCall],
        plain: Callable[[str], HttpCall],
        max_retries: int,
        response_id: str | None = None,
    ) -> None:
        self.response_id = response_id
        self._stream = stream
        self._plain = plain
        self._max_retries = max_retries
        self._tries = 0

    def progress(self) -> None:
        """An event came."""
        self._tries = 0

    def after(self, failure: NBResponsesError, last: int | None) -> tuple[float, HttpCall] | None:
        """Seconds to wait and the request to send then; None where nothing can be taken up."""
        if last is None or self.response_id is None:
            return None
        refused = isinstance(failure, Rejected) and self._tries % 2 == 1  # the stream; the response may still be told
        silent = isinstance(failure, TimedOut) and failure.phase == "idle"
        self._tries += 1
        passing = Disconnected(str(failure)) if refused or silent else failure
        pause = pause_before_retry(passing, self._tries, max_retries=self._max_retries)
        if pause is None:
            return None
        if self._tries % 2 == 1:
            return pause, self._stream(self.response_id, last)
        return pause, self._plain(self.response_id)
