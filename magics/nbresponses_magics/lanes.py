"""The notebook's lanes: one connection per client, made with the first cell that asks for it; and their commands.

What a lane continues, forks and limits are the client's business (`nbresponses.client.lanes`); here are names, waiting
and what is printed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses.errors import LaneError
from nbresponses_magics.saying import say

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from nbresponses import Capture, Client, LaneBoard
    from nbresponses.client.lanes import Lane, LaneManager
    from nbresponses.client.stream import ResponseStream
    from nbresponses.display import LiveView
    from nbresponses_magics.options import Options

__all__ = ["LANE_COMMANDS", "SessionLanes"]

_SLICE = 0.1  # seconds between two looks, so that an interrupt comes through
_SUCCESSOR = 30.0  # seconds for the server to begin what steering asked for
DEFAULT = "(default)"
"""How the lane without a name is written in commands and tables."""
_WELL = {None, "completed", "incomplete"}
_NONE_YET = "No lane has been used yet: %%responses --lane NAME"


class SessionLanes:
    """The lane managers of one session, newest last, and the threads that show what nobody waits for."""

    def __init__(self) -> None:
        self._managers: dict[Client, LaneManager] = {}
        self._watching: list[tuple[threading.Thread, LiveView]] = []
        self._board: LaneBoard | None = None

    def stream(
        self, client: Client, options: Options, body: dict[str, Any], *, settings: dict[str, Any]
    ) -> ResponseStream | None:
        """The stream of a cell that names a lane; None where there is nothing to follow (a warm-up, or steering with
        --no-wait)."""
        lane = self._manager(client, settings)[options.lane]
        if options.steer:
            return self._steered(lane, body, wait=not options.no_wait)
        if options.fork_from is not None:
            self._check_known([options.fork_from])
            source = self._manager(client, settings)[_lane_name(options.fork_from)]
            source.fork(options.lane or "")
        if options.new:
            body["previous_response_id"] = None
        if options.warm_up:
            response = lane.warm_up([], **{name: value for name, value in body.items() if name != "input"})
            say(f"{_shown(lane.name)} is warm: its next request continues {response.id}")
            return None
        return lane.stream(**body)

    def watch(self, thread: threading.Thread, view: LiveView) -> None:
        """A thread that shows a stream until it ends, and what it shows it in."""
        self._watching.append((thread, view))

    def names(self) -> list[str]:
        """The lanes that were used, for completion and tables."""
        return [_shown(row["lane"]) for manager in self._managers.values() for row in manager.status()["lanes"]]

    # ── commands ──

    def table(self) -> str:
        """A line for each lane, and one for each connection."""
        if not self._managers:
            return _NONE_YET
        lines: list[str] = []
        for manager in self._managers.values():
            status = manager.status()
            rows = [("lane", "state", "queued", "latest answer")]
            rows += [
                (_shown(row["lane"]), str(row["state"]), str(row["queued"]), row["latest"] or "")
                for row in status["lanes"]
            ]
            widths = [max(len(row[column]) for row in rows) for column in range(4)]
            lines += [
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
            ]
            lines += [_why(row) for row in status["lanes"] if row["ending"] not in _WELL]
            for connection in status["connections"]:
                age = f"{connection['age']:.0f} s old" if connection["age"] is not None else "not open"
                lines.append(
                    f"{status['transport'] or 'connection'}: {connection['in_flight']} of 16 in flight, "
                    f"{connection['names_used']} of 32 names, {age}"
                )
            lines += [f"note: {notice}" for notice in manager.notices]
        return "\n".join(lines)

    def wait(self, names: list[str]) -> str:
        """Until nothing runs on these lanes (none named: on all), with what is shown of it."""
        self._check_known(names)
        wanted = {_lane_name(name) for name in names}
        while self._busy(wanted):
            time.sleep(_SLICE)
        if not names:
            watching, self._watching = self._watching, []
            for thread, view in watching:
                while thread.is_alive():
                    thread.join(_SLICE)
                _settle_again(view)
        return self.table()

    def stop(self, names: list[str]) -> str:
        for lane in self._named(names, "stop"):
            lane.stop()
        return f"stopped: {', '.join(names)}; what came is kept"

    def compact(self, names: list[str]) -> str:
        texts = []
        for lane in self._named(names, "compact"):
            window = lane.compact()
            texts.append(f"{_shown(lane.name)}: the next request starts from a window of {len(window.output)} items")
        return "\n".join(texts)

    def board(self, words: list[str]) -> str:
        """Show the lanes used last in a board; "settle" leaves a static copy in the place of the one shown last."""
        if words not in ([], ["settle"]):
            raise UsageError(f"%responses board takes nothing, or settle: {' '.join(words)}")
        if words:
            if self._board is None:
                raise UsageError("no lane board is shown: %responses board")
            board, self._board = self._board, None
            board.settle()
        elif not self._managers:
            return _NONE_YET
        else:
            from nbresponses import LaneBoard

            self._board = LaneBoard(list(self._managers.values())[-1])
            self._board.display_once()
        return ""

    def capture(self, name: str | None = None) -> Capture:
        """The record of all lanes on the connection used last, or of the lane of this name. UsageError without any."""
        for manager in reversed(self._managers.values()):
            if name is None:
                return manager.capture
            if _lane_name(name) in {row["lane"] for row in manager.status()["lanes"]}:
                return manager.capture.select(lane=_lane_name(name))
        raise UsageError(_NONE_YET if name is None else f"no lane {name!r} has been used here")

    def close(self) -> None:
        board, self._board = self._board, None
        if board is not None:
            board.close()
        managers, self._managers = self._managers, {}
        for manager in managers.values():
            manager.close()
        for thread, _ in self._watching:
            thread.join(2.0)
        self._watching = []

    # ── inside ──

    def _manager(self, client: Client, settings: dict[str, Any]) -> LaneManager:
        if client not in self._managers:
            self._managers[client] = client.lanes(**settings)
        return self._managers[client]

    def _named(self, names: list[str], command: str) -> list[Lane]:
        if not names:
            raise UsageError(f"%responses {command} needs the name of a lane")
        self._check_known(names)
        return [
            manager[_lane_name(name)]
            for manager in self._managers.values()
            for name in names
            if _lane_name(name) in {row["lane"] for row in manager.status()["lanes"]}
        ]

    def _check_known(self, names: list[str]) -> None:
        known = set(self.names())
        for name in names:
            if name not in known:
                used = ", ".join(sorted(known)) or "none"
                raise UsageError(f"no lane {name!r} has been used here; used: {used}")

    def _busy(self, wanted: set[str | None]) -> bool:
        return any(manager.busy(*wanted) for manager in self._managers.values())

    def _steered(self, lane: Lane, body: dict[str, Any], *, wait: bool) -> ResponseStream | None:
        before = len(lane.successors)
        steer = lane.steer(body.get("input", ""))
        if steer.state in {"failed", "lost"}:
            said = (steer.error or {}).get("message") or steer.state
            raise LaneError(f"{_shown(lane.name)} was not steered: {said}", lane=lane.name)
        say(f"{_shown(lane.name)}: steering {steer.state}")
        if steer.required_input:
            calls = ", ".join(str(stub.get("call_id") or stub.get("type")) for stub in steer.required_input)
            say(f"it waits for: {calls}")
            return None
        until = time.monotonic() + _SUCCESSOR
        while wait and time.monotonic() < until:
            if len(lane.successors) > before:
                return lane.successors[before]
            if not self._busy({lane.name}):
                break
            time.sleep(_SLICE)
        return None


def _settle_again(view: LiveView) -> None:
    """A host without a page (nbclient, papermill) takes updates from the cell that runs, and no others."""
    from nbresponses.display.updating import UpdatingView

    if isinstance(view, UpdatingView):
        view.settle()


def _why(row: Mapping[str, Any]) -> str:
    """How the latest request of a lane ended. What the server said is in that request's own output."""
    reason = " ".join(str(row["error"] or "").split())
    return f"{_shown(row['lane'])}: the latest request ended as {row['ending']}{reason and f', {reason}'}"


def _shown(name: str | None) -> str:
    return DEFAULT if name is None else name


def _lane_name(text: str) -> str | None:
    return None if text == DEFAULT else text


LANE_COMMANDS: dict[str, Callable[[SessionLanes, list[str]], str]] = {
    "lanes": lambda lanes, names: lanes.table() if not names else _nothing_more("lanes", names),
    "board": SessionLanes.board,
    "wait": SessionLanes.wait,
    "stop": SessionLanes.stop,
    "compact": SessionLanes.compact,
}
"""Command → what it prints, given the names of lanes."""


def _nothing_more(command: str, names: list[str]) -> str:
    raise UsageError(f"%responses {command} takes nothing more: {' '.join(names)}")
