"""How the acts that speak look on the wire: messages, refusals, reasoning, speech, compaction. Pure.

Each function plays one act and yields its events; `sequence_number` is put on by `script.py`.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from nbresponses.demo.acts import Compact, Count, FileCitation, Message, Reasoning, Refuse, Speech, UrlCitation
from nbresponses.demo.tones import tone

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from nbresponses.demo.ask import Ask
    from nbresponses.demo.stage import Stage
    from nbresponses.demo.wire import Json

_AUDIO_CHUNK = 4_800  # bytes; divisible by 3, so the base64 pieces can be joined too


def play_message(stage: Stage, act: Message) -> Iterator[Json]:
    yield from _message(stage, fill(act.text, stage.ask), act.citations)


def play_count(stage: Stage, act: Count) -> Iterator[Json]:
    # Each word is one token, and so one delta.
    yield from _message(stage, "".join(f" w{index}" for index in range(act.deltas)), ())


def play_refusal(stage: Stage, act: Refuse) -> Iterator[Json]:
    item = _message_item(stage)
    index, added = stage.open(item)
    yield added
    where: Json = {"item_id": item["id"], "output_index": index, "content_index": 0}
    yield {"type": "response.content_part.added", **where, "part": {"type": "refusal", "refusal": ""}}
    said = ""
    for piece in stage.pieces(fill(act.text, stage.ask)):
        said += piece
        yield {"type": "response.refusal.delta", **where, "delta": piece}
    part = {"type": "refusal", "refusal": said}
    yield {"type": "response.refusal.done", **where, "refusal": said}
    yield {"type": "response.content_part.done", **where, "part": part}
    yield stage.close(index, {**item, "status": stage.status, "content": [part]})


def play_reasoning(stage: Stage, act: Reasoning) -> Iterator[Json]:
    item: Json = {"id": stage.ids.new("rs"), "type": "reasoning", "summary": []}
    index, added = stage.open(item)
    yield added
    where: Json = {"item_id": item["id"], "output_index": index}
    done = dict(item, summary=[])
    if act.text:
        text = yield from _reasoning_text(stage, act.text, where)
        done["content"] = [{"type": "reasoning_text", "text": text}]
    for number, summary in enumerate(act.summaries):
        if stage.finished:
            break
        text = yield from _summary(stage, summary, {**where, "summary_index": number})
        done["summary"].append({"type": "summary_text", "text": text})
    if "reasoning.encrypted_content" in stage.ask.include:
        done["encrypted_content"] = seal({"reasoning": done["summary"]})
    yield stage.close(index, done)


def play_speech(stage: Stage, act: Speech) -> Iterator[Json]:
    sound = tone(act.seconds)
    chunks = [sound[start : start + _AUDIO_CHUNK] for start in range(0, len(sound), _AUDIO_CHUNK)]
    words = list(stage.pieces(act.transcript))
    for number in range(max(len(chunks), len(words))):
        if number < len(words):
            yield {"type": "response.audio.transcript.delta", "delta": words[number]}
        if number < len(chunks):
            yield {"type": "response.audio.delta", "delta": base64.b64encode(chunks[number]).decode()}
    yield {"type": "response.audio.transcript.done"}
    yield {"type": "response.audio.done"}


def play_compaction(stage: Stage, _act: Compact) -> Iterator[Json]:
    item = compaction_item(stage.ask, stage.ids.new("cmp"))
    index, added = stage.open({**item, "encrypted_content": ""})
    yield added
    yield {"type": "response.compaction.compacting", "item_id": item["id"], "output_index": index}
    yield stage.close(index, item)


def compaction_item(ask: Ask, item_id: str) -> Json:
    """What stands for the context so far: opaque to clients, a summary to this server."""
    kept = {"turns": len(ask.prompts), "items": len(ask.context.items), "tokens": ask.input_tokens}
    return {"id": item_id, "type": "compaction", "encrypted_content": seal(kept)}


def seal(content: Any) -> str:
    """Content as an opaque string (only encoded: a demo has no secrets)."""
    return "demo" + base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


def fill(text: str, ask: Ask) -> str:
    """The text with what it says about this request: the prompt, the turn, the turn before."""
    turn, prompts = len(ask.prompts), ask.prompts
    earlier = (
        f"This is turn {turn} of our conversation; before, you said: “{_quote(prompts[-2])}”. " if turn > 1 else ""
    )
    given = {"«prompt»": _quote(ask.prompt), "«turn»": str(turn), "«earlier»": earlier}
    for name, value in given.items():
        text = text.replace(name, value)
    return text


def _quote(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _message_item(stage: Stage) -> Json:
    return {"id": stage.ids.new("msg"), "type": "message", "status": "in_progress", "content": [], "role": "assistant"}


def _message(stage: Stage, text: str, citations: tuple[UrlCitation | FileCitation, ...]) -> Iterator[Json]:
    item = _message_item(stage)
    index, added = stage.open(item)
    yield added
    where: Json = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part: Json = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    yield {"type": "response.content_part.added", **where, "part": part}
    said: list[str] = []
    logprobs: list[Json] = []
    for piece in stage.pieces(text):
        said.append(piece)
        added_logprobs = stage.logprobs(piece)
        logprobs += added_logprobs
        yield stage.delta("response.output_text.delta", piece, **where, logprobs=added_logprobs)
    full = "".join(said)
    annotations = [found for found in (_annotation(full, citation) for citation in citations) if found]
    for number, annotation in enumerate(annotations):
        kind = "response.output_text.annotation.added"
        yield {"type": kind, **where, "annotation_index": number, "annotation": annotation}
    yield {"type": "response.output_text.done", **where, "text": full, "logprobs": logprobs}
    part = {"type": "output_text", "annotations": annotations, "logprobs": logprobs, "text": full}
    yield {"type": "response.content_part.done", **where, "part": part}
    yield stage.close(index, {**item, "status": stage.status, "content": [part]})


def _annotation(text: str, citation: UrlCitation | FileCitation) -> Json | None:
    start = text.find(citation.words)
    if start < 0:  # the message was cut before it came to these words
        return None
    end = start + len(citation.words)
    if isinstance(citation, FileCitation):
        return {"type": "file_citation", "file_id": citation.file_id, "filename": citation.filename, "index": end}
    where = {"start_index": start, "end_index": end}
    return {"type": "url_citation", **where, "title": citation.title, "url": citation.url}


def _reasoning_text(stage: Stage, text: str, where: Json) -> Generator[Json, None, str]:
    where = {**where, "content_index": 0}
    yield {"type": "response.content_part.added", **where, "part": {"type": "reasoning_text", "text": ""}}
    said = ""
    for piece in stage.pieces(fill(text, stage.ask), reasoning=True):
        said += piece
        yield stage.delta("response.reasoning_text.delta", piece, **where)
    yield {"type": "response.reasoning_text.done", **where, "text": said}
    yield {"type": "response.content_part.done", **where, "part": {"type": "reasoning_text", "text": said}}
    return said


def _summary(stage: Stage, text: str, where: Json) -> Generator[Json, None, str]:
    yield {"type": "response.reasoning_summary_part.added", **where, "part": {"type": "summary_text", "text": ""}}
    said = ""
    for piece in stage.pieces(fill(text, stage.ask), reasoning=True):
        said += piece
        yield stage.delta("response.reasoning_summary_text.delta", piece, **where)
    yield {"type": "response.reasoning_summary_text.done", **where, "text": said}
    yield {"type": "response.reasoning_summary_part.done", **where, "part": {"type": "summary_text", "text": said}}
    return said
