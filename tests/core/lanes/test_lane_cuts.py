"""The connection cut at every event of a run on three lanes with a fork: what comes out in the end, and what ran twice.

The model server answers with a digest of the whole conversation as it knows it, so a context that was lost, doubled or
put together wrongly changes every text after it.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from nbresponses.core.lanes.actions import Deliver, Ended, Repeated

TURNS = [("a", "plan"), ("b", "risks"), ("c", "fork of a"), ("a", "roll back"), ("b", "more"), ("c", "again")]


def texts(items):
    for item in items:
        if isinstance(item.get("content"), list):
            yield from (f"{item.get('role')}:{part['text']}" for part in item["content"])


class ModelServer:
    """Keeps conversations by id: stored ones for ever, others the latest of each lane for a connection's life."""

    def __init__(self):
        self.conversations, self.stored, self.cache = {}, set(), {}
        self.runs, self.ran = {}, Counter()
        self.ids = 0

    def disconnect(self):
        self.runs, self.cache = {}, {}

    def take(self, send):
        message = send.message
        parent = message.get("previous_response_id")
        known = parent is None or parent in self.stored or parent in self.cache.values()
        before = self.conversations[parent] if known and parent else []
        given = message["input"]
        items = given if isinstance(given, list) else [{"role": "user", "content": [{"text": given}]}]
        self.runs[send.lane] = self.events(send, [*before, *texts(items)] if known else None)

    def events(self, send, conversation):
        lane = {"stream_id": send.lane}
        if conversation is None:
            error = {"type": "invalid_request_error", "code": "previous_response_not_found", "message": "not found"}
            yield {"type": "error", "status": 400, "error": error, **lane}
            return
        self.ids += 1
        response = {"id": f"resp_{self.ids}", "output": []}
        text = hashlib.sha1("\n".join(conversation).encode(), usedforsecurity=False).hexdigest()[:12]
        self.ran[send.ticket] += 1
        for kind in ("response.created", "response.in_progress"):
            yield {"type": kind, "response": response, **lane}
        for piece in (text[:6], text[6:]):
            yield {"type": "response.output_text.delta", "delta": piece, "output_index": 0, **lane}
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        self.conversations[response["id"]] = [*conversation, f"assistant:{text}"]
        self.cache[send.lane] = response["id"]
        if send.message["store"]:
            self.stored.add(response["id"])
        yield {"type": "response.completed", "response": {**response, "output": [message]}, **lane}


def run(w, *, store, cut):
    """All turns, the connection cut after `cut` events (None: never). The texts by ticket, and what the server ran."""
    server, texts_of, events = ModelServer(), {}, 0
    pending = list(TURNS)
    while True:
        while pending:
            lane, text = pending[0]
            more = {}
            if lane == "c" and "fork" in text:
                parent = w.table.latest("a")
                if parent is None:
                    break
                more = {"previous_response_id": parent}
            pending.pop(0)
            w.submit(lane, text, store=store, **more)
        sends, w.sends = w.sends, []
        for send in sends:
            server.take(send)
        if not server.runs:
            if w.wake is None or w.table.status(w.now)["queued"] + w.table.status(w.now)["in_flight"] == 0:
                break
            w.at(w.wake)
            continue
        for lane in list(server.runs):
            event = next(server.runs[lane], None)
            if event is None:
                del server.runs[lane]
                continue
            w.recv(event)
            events += 1
            if events == cut:
                server.disconnect()
                w.sends = []
                w.lose(1006)
                break
    for action in w.log:
        if isinstance(action, Repeated):
            texts_of[action.ticket] = ""
        if isinstance(action, Deliver) and action.event.type.endswith("delta"):
            texts_of[action.ticket] = texts_of.get(action.ticket, "") + action.event.delta
    return texts_of, server, events


@pytest.mark.parametrize("store", [True, False])
def test_with_retry_every_cut_leads_to_the_same_texts(world, store):
    whole, _, events = run(world(), store=store, cut=None)
    assert len(whole) == len(set(whole.values())) == len(TURNS)
    for cut in range(1, events + 1):
        w = world(on_uncertain="retry")
        found, _, _ = run(w, store=store, cut=cut)
        assert found == whole, f"cut after event {cut}"
        assert {end.ending for end in w.log if isinstance(end, Ended)} == {"completed"}


@pytest.mark.parametrize("store", [True, False])
def test_with_raise_nothing_runs_twice_and_partial_texts_are_kept(world, store):
    whole, _, events = run(world(), store=store, cut=None)
    kept = 0
    for cut in range(1, events):
        w = world(on_uncertain="raise")
        found, server, _ = run(w, store=store, cut=cut)
        assert set(server.ran.values()) <= {1}, f"cut after event {cut}"
        assert w.tickets == set(w.ended)
        for ticket, end in w.ended.items():
            if end.ending == "cut_off":
                assert whole[ticket].startswith(found.get(ticket, ""))
                assert not end.safe_to_repeat
        partial = sum(end.ending == "cut_off" and bool(found.get(ticket)) for ticket, end in w.ended.items())
        kept += partial
    assert kept > 10
