"""Response → blocks: the items in their order, then what the response as a whole has to say.

A result stands with its call: an output item whose call is in the same response gives no block of its own. An item of
a type that is not known here becomes an `Unknown`. Nothing is taken for granted about an item but that it is an object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbresponses.render.blocks import (
    Audio,
    Block,
    Compaction,
    Error,
    Key,
    Notice,
    Reasoning,
    Refusal,
    Source,
    Text,
    Unknown,
)
from nbresponses.render.pictures import audio_type
from nbresponses.render.tool_items import TOOL_ITEMS, Item, Preview
from nbresponses.render.untrusted import fields, objects, one_line, text

if TYPE_CHECKING:
    from nbresponses.core.response import Response

__all__ = ["Preview", "blocks", "item_blocks"]

_RUNNING = {"in_progress", "queued", "searching", "generating", "interpreting", "calling"}
# Whether more may come: what was accumulated can lack a status while it runs, an object from the wire cannot.
_LIVE = {True: ("in_progress", "queued"), False: ("in_progress", "queued", None)}
_REASONS = {
    "max_output_tokens": "it reached the limit of output tokens",
    "content_filter": "a content filter stopped it",
    "steered": "it was steered; another response follows",
}
_NOTICES = {
    "cut_off": "Cut off: the stream ended before the response did. This is what had arrived.",
    "interrupted": "Interrupted: the stream was stopped here. This is what had arrived.",
    "cancelled": "Cancelled: the response was stopped on the server.",
}
_LONGEST_JSON = 20_000
_WHOLE = -1


def blocks(
    response: Response | Mapping[str, Any],
    *,
    seconds: Mapping[int, float] | None = None,
    previews: Mapping[int, Preview] | None = None,
    results: Mapping[str, str] | None = None,
) -> list[Block]:
    """The response as blocks, in order.

    Args:
        response: a `Response`, partial or final, or a response object in wire shape.
        seconds: how long items took (reasoning shows it), by output index.
        previews: the latest partial image by output index. A `Response` has them itself, but not their numbers.
        results: what the caller's own functions gave, as text, by call id.
    """
    data = response if isinstance(response, dict) else getattr(response, "to_dict", dict)()
    ending = getattr(response, "ending", None)
    output = objects(data.get("output"))
    live = ending is None and data.get("status") in _LIVE[isinstance(response, Mapping)]
    answers = _answers(output)
    pictures = _previews(output, getattr(response, "partial_images", None), previews)
    found: list[Block] = []
    for index, item in enumerate(output):
        place = answers.get(_call_id(item))
        if place == index:
            continue  # it stands with its call
        found += item_blocks(
            item,
            index,
            live=live and (index == len(output) - 1 or _is_running(item)),
            answer=None if place is None else output[place],
            result=(results or {}).get(_call_id(item), ""),
            seconds=(seconds or {}).get(index),
            preview=pictures.get(index),
        )
    return found + _audio(response, live) + _ending(data, ending, getattr(response, "error", None))


def item_blocks(
    item: Mapping[str, Any],
    index: int,
    *,
    live: bool = False,
    answer: Mapping[str, Any] | None = None,
    result: str = "",
    seconds: float | None = None,
    preview: Preview | None = None,
) -> list[Block]:
    """The blocks of one output item: for a view that knows which item changed. `live`: more of it may come."""
    data = fields(item)
    named = data.get("type")
    kind = named if isinstance(named, str) else ""
    reader = TOOL_ITEMS.get(kind)
    done = not live or (isinstance(data.get("status"), str) and not _is_running(data))
    if kind == "message":
        return _message(data, index, done)
    if kind == "reasoning":
        return _reasoning(data, index, done, seconds)
    if kind in {"compaction", "compaction_summary"}:
        return [Compaction(key=Key(index, "compaction"), done=done)]
    if reader is None:
        return [_unknown(data, Key(index, "unknown"), done)]
    whole = Item(index, data, done, fields(answer) or None, text(result), seconds, preview)
    return reader(whole)


# ── messages and reasoning ──


def _message(item: dict[str, Any], index: int, done: bool) -> list[Block]:
    content = item.get("content")
    parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else objects(content)
    phase = one_line(text(item.get("phase")))
    found: list[Block] = []
    for place, part in enumerate(parts):
        ready = done or place < len(parts) - 1
        kind = part.get("type")
        if kind == "refusal":
            found.append(Refusal(key=Key(index, "refusal", place), done=ready, text=text(part.get("refusal"))))
        elif kind == "reasoning_text":
            found.append(Reasoning(key=Key(index, "reasoning", place), done=ready, text=text(part.get("text"))))
        elif "text" not in part:
            found.append(_unknown(part, Key(index, "unknown", place), ready))
        elif said := text(part.get("text")):
            key = Key(index, "text", place)
            found.append(Text(key=key, done=ready, text=said, citations=_citations(part), phase=phase))
    return found


def _citations(part: dict[str, Any]) -> tuple[Source, ...]:
    """What the text cites, each once, in order. Some servers nest a citation under its type's name."""
    found: dict[Source, None] = {}
    for note in objects(part.get("annotations")):
        kind = text(note.get("type"))
        inner = fields(note.get(kind)) or note
        url = text(inner.get("url"))
        title = one_line(text(inner.get("title") or inner.get("filename") or inner.get("file_id")))
        if url or title:
            found[Source(title or one_line(url), url)] = None
    return tuple(found)


def _reasoning(item: dict[str, Any], index: int, done: bool, seconds: float | None) -> list[Block]:
    summary = tuple(said for part in _texts(item.get("summary")) if (said := part))
    content = "\n\n".join(_texts(item.get("content")))
    if done and not summary and not content and seconds is None:
        return []  # it reasoned, and nothing of it may be seen
    key = Key(index, "reasoning")
    return [Reasoning(key=key, done=done, summary=summary, text=content, seconds=seconds)]


def _texts(parts: object) -> list[str]:
    if isinstance(parts, str):
        return [text(parts)]
    return [text(part.get("text")) for part in objects(parts)]


def _unknown(data: dict[str, Any], key: Key, done: bool) -> Unknown:
    try:
        shown = json.dumps(data, ensure_ascii=False, indent=2, default=repr)
    except (ValueError, TypeError, RecursionError):
        shown = text(data)
    if len(shown) > _LONGEST_JSON:
        shown = f"{shown[:_LONGEST_JSON]}\n… {len(shown) - _LONGEST_JSON} characters more"
    return Unknown(key=key, done=done, type=one_line(text(data.get("type"))) or "no type", json=text(shown))


# ── what belongs together ──


def _call_id(item: dict[str, Any]) -> str:
    call_id = item.get("call_id")
    return call_id if isinstance(call_id, str) else ""


def _answers(output: list[dict[str, Any]]) -> dict[str, int]:
    """Call id → place of the output item that holds the call's result, where the call itself came before it."""
    called: set[str] = set()
    found: dict[str, int] = {}
    for index, item in enumerate(output):
        kind, call_id = text(item.get("type")), _call_id(item)
        if kind.endswith("_output") and kind != "tool_search_output":
            if call_id in called and call_id not in found:
                found[call_id] = index
        elif call_id and kind in TOOL_ITEMS:
            called.add(call_id)
    return found


def _previews(output: list[dict[str, Any]], partial: object, given: Mapping[int, Preview] | None) -> dict[int, Preview]:
    """The latest partial image of each item that has no final one. A response lists them in the items' order."""
    if given is not None:
        return dict(given)
    pictures = [picture for picture in partial if isinstance(picture, str)] if isinstance(partial, list) else []
    places = [index for index, item in enumerate(output) if item.get("type") == "image_generation_call"]
    waiting = [index for index in places if not output[index].get("result")]
    places = places if len(pictures) == len(places) else waiting
    return {index: Preview(None, picture) for index, picture in zip(places[-len(pictures) :], pictures, strict=False)}


# ── the whole response ──


def _is_running(item: dict[str, Any]) -> bool:
    status = item.get("status")
    return isinstance(status, str) and status in _RUNNING


def _audio(response: object, live: bool) -> list[Block]:
    data = getattr(response, "audio", None)
    sound = data if isinstance(data, str) else ""
    transcript = text(getattr(response, "audio_transcript", None))
    if not sound and not transcript:
        return []
    mime = "" if live else audio_type(sound)
    return [Audio(key=Key(_WHOLE, "audio"), done=not live, transcript=transcript, data=sound, mime=mime)]


def _ending(data: Mapping[str, Any], ending: object, error: object) -> list[Block]:
    how = ending if isinstance(ending, str) else data.get("status")
    said = fields(error) or fields(data.get("error"))
    found: list[Block] = []
    if how in ("failed", "error") or said:
        found.append(
            Error(
                key=Key(_WHOLE, "error"),
                message=text(said.get("message")) or "The server gave no reason.",
                code=one_line(text(said.get("code"))),
                type=one_line(text(said.get("type"))),
                param=one_line(text(said.get("param"))),
            )
        )
    if how == "incomplete":
        reason = one_line(text(fields(data.get("incomplete_details")).get("reason")))
        why = _REASONS.get(reason, reason)
        found.append(Notice(key=Key(_WHOLE, "notice"), text=f"Incomplete: {why}." if why else "Incomplete."))
    elif isinstance(how, str) and how in _NOTICES:
        found.append(Notice(key=Key(_WHOLE, "notice"), text=_NOTICES[how]))
    return found
