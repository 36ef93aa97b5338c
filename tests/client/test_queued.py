"""A background response that stays in the server's queue: a limit that the user sets."""

from __future__ import annotations

from typing import Any

from nbresponses.errors import TimedOut
from nbresponses.transports.timeouts import Timeouts


def test_a_stuck_queue_ends_at_its_limit_although_the_connection_lives(serve: Any, client_of: Any, wire: Any) -> None:
    waiting = {"id": "resp_1", "status": "queued", "output": []}
    queued = wire.event("response.created", 0, response=waiting) + wire.event("response.queued", 1, response=waiting)
    alive = [0.02, wire.event("keepalive", None), 0.02, b": still here\n\n"] * 50
    raw = serve([wire.UNTIL_CLOSE + queued, *alive, "hold"])
    with client_of(raw, timeout=Timeouts(queued=0.3)).stream("x", model="m", background=True) as stream:
        stream.until_done(timeout=10)
    assert stream.ending == "cut_off"
    assert isinstance(stream.error, TimedOut)
    assert (stream.error.phase, stream.id) == ("queued", "resp_1")
    assert len(raw.requests) == 1  # it is not taken up again by itself


def test_a_response_that_leaves_the_queue_is_limited_no_more(serve: Any, client_of: Any, wire: Any) -> None:
    waiting = {"id": "resp_1", "status": "queued", "output": []}
    queued, begun = (
        wire.event("response.queued", 0, response=waiting),
        wire.event("response.in_progress", 1, response={}),
    )
    raw = serve([wire.UNTIL_CLOSE + queued, 0.05, begun, 0.5, wire.delta("late", 2) + wire.end(number=3)])
    with client_of(raw, timeout=Timeouts(queued=0.2)).stream("x", model="m", background=True) as stream:
        assert stream.get_final_response().output_text == "late"
