"""Synthetic streams for the measurements: text deltas in the wire's own shape, cut into network pieces."""

from __future__ import annotations

import json

ITEM = "msg_68a1b2c3d4e5f60718293a4b5c6d7e8f"
WORDS = (" the", " quick", " brown", " fox", " jumps", " over", " a", " lazy", " dog", ",", " naïve", " café", " 東京")


def text_events(deltas: int) -> list[dict[str, object]]:
    """The events of one answer with this many text deltas."""
    words = [WORDS[i % len(WORDS)] for i in range(deltas)]
    text = "".join(words)
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "demo", "output": []}
    item = {"id": ITEM, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    where = {"item_id": ITEM, "output_index": 0, "content_index": 0}
    done_part = {**part, "text": text}
    done_item = {**item, "status": "completed", "content": [done_part]}
    usage = {"input_tokens": 9, "output_tokens": deltas, "total_tokens": deltas + 9}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **where, "part": part},
    ]
    events += [
        {
            "type": "response.output_text.delta",
            "content_index": 0,
            "delta": word,
            "item_id": ITEM,
            "logprobs": [],
            "obfuscation": "aBcDeFgHiJkLmNo"[: 14 - len(word)],
            "output_index": 0,
        }
        for word in words
    ]
    events += [
        {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": done_part},
        {"type": "response.output_item.done", "output_index": 0, "item": done_item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [done_item], "usage": usage},
        },
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def wire(events: list[dict[str, object]]) -> bytes:
    """Server-sent events as the real API frames them."""
    blocks = (
        f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False, separators=(',', ':'))}\n\n" for e in events
    )
    return "".join(blocks).encode()


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
