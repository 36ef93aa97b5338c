"""How a stream is followed beside other cells: what is shown is opened where it was asked for."""

from __future__ import annotations

import threading
from typing import Any

from nbresponses.display import follow_apart


class Noting:
    """Notes in which thread each of its methods ran."""

    def __init__(self) -> None:
        self.threads: list[tuple[str, bool]] = []

    def _note(self, method: str) -> None:
        self.threads.append((method, threading.current_thread() is threading.main_thread()))

    def start(self, _stream: Any) -> None:
        self._note("start")

    def apply(self, changes: Any) -> None:
        self._note("apply" if changes else "open")

    def tick(self) -> None:
        """Not looked at."""

    def settle(self) -> None:
        self._note("settle")


def test_the_output_is_opened_before_the_thread_begins(events: Any, played: Any) -> None:
    view, ended = Noting(), threading.Event()
    thread = follow_apart(played(events("Hello")), view, done=ended.set)
    assert view.threads[:2] == [("start", True), ("open", True)]
    thread.join(10)
    assert ended.is_set()
    assert ("apply", False) in view.threads
    assert view.threads[-1] == ("settle", False)
    assert all(method in {"start", "open"} for method, in_main in view.threads if in_main)
