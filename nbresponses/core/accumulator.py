"""Events of one response → its snapshot, and what each event changed. Linear in the bytes; never raises on an event.

Rules
1. Items are found by output_index first, by id second, as the open item of that kind third. A new item starts when
   output_item.added names another type than the item at its index has, or when that item is finished.
2. A done event's text replaces the pieces, unless it has none. A finished item takes no more: a late event changes
   nothing.
3. An event for an item that nobody announced (a resumed stream) makes one of the kind that it implies.
4. The terminal event's output wins where it has items; what it leaves out is filled from what was streamed.
5. The first ending stands. One step more is allowed: response.failed after error.
6. Of an event whose fields do not all fit its type, those that fit count.

Text is kept in pieces and joined when asked for. Source: the streaming events of the Responses API.
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  get_type_hints() reads it
from typing import Any, ClassVar

import msgspec

from nbresponses.core import events as ev
from nbresponses.core.items import Item, Part, implied_type
from nbresponses.core.kinds import DELTAS, DONES, KIND_OF_PART, KIND_OF_STATUS, PARTS, STATUSES
from nbresponses.core.output import merged_output, output_so_far
from nbresponses.core.response import Response, error_of
from nbresponses.core.wire import Event  # noqa: TC001  the same

__all__ = ["Accumulator", "Change"]

_ENDINGS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}


class Change(msgspec.Struct, frozen=True, gc=False):
    """What one event altered: one part of one item, or the item or response as a whole.

    `delta` is the text that was appended, None where nothing was appended (a done event, a status, an image).
    """

    event: ev.Event | None
    delta: str | None
    _part: Part
    _length: int

    @property
    def output_index(self) -> int | None:
        """The item's place in the output; None for what belongs to the response as a whole."""
        return self._part.item.place if self._part.item is not None else None

    @property
    def item(self) -> int | None:
        """Which item, counted in order of arrival (an output_index can be used twice); None as above."""
        return self._part.item.order if self._part.item is not None else None

    @property
    def part(self) -> tuple[str, int | None]:
        """(kind, index): "text", "reasoning_summary", "arguments" …; the index is None where the kind has none."""
        return self._part.kind, self._part.index

    @property
    def snapshot(self) -> str:
        """The text of the part up to and with this change, joined now; of an image this preview, base64."""
        return self._part.text(self._length)


class Accumulator:
    """The state of one response. `apply` takes its events in order, from any point of the stream."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.ending: str | None = None
        self._lifecycle: dict[str, Event] = {}
        self._items: list[Item] = []
        self._by_index: dict[int, Item] = {}
        self._by_id: dict[str, Item] = {}
        self._whole = Part("response", None, None)
        self._audio = Part("audio", None, None)
        self._transcript = Part("transcript", None, None)
        self._error: dict[str, Any] | None = None
        self._text: Part | None = None  # the part that took the last text delta

    @property
    def response(self) -> Response:
        """All that is known now. A copy: it costs the answer's size, and nothing that comes later changes it."""
        data: dict[str, Any] = {}
        for event in self._lifecycle.values():
            data.update(_response_of(event))
        items = sorted(self._items, key=lambda item: item.place)
        own = [(item.place, item.snapshot()) for item in items]
        joined = merged_output if _ENDINGS.keys() & self._lifecycle.keys() else output_so_far
        data["output"] = joined(data.get("output"), own)
        if data.get("status") is None and self.ending in {"completed", "incomplete", "failed", "cancelled"}:
            data["status"] = self.ending
        return Response(
            data,
            ending=self.ending,
            error=self._error,
            partial_images=[item.partial_image for item in items if item.partial_image],
            audio=self._audio.text() if self._audio.pieces else None,
            audio_transcript=self._transcript.text(),
        )

    def apply(self, event: Event) -> list[Change]:
        """Take the next event; return what it changed (empty for what changes nothing, such as a keepalive)."""
        part = self._text
        if (
            part is not None
            and event.__class__ is ev.ResponseTextDeltaEvent
            and event.content_index == part.content_index
            and event.output_index == part.output_index
            and not event.logprobs
        ):
            delta: str = event.delta
            pieces = part.pieces
            pieces.append(delta)
            return [Change(event, delta, part, len(pieces))]
        if self.ending is not None:
            return self._after_the_ending(event)
        handler = self._HANDLERS.get(event.type)
        if handler is None:
            return []
        if isinstance(event, ev.UnknownEvent) and (known := ev.fitted(event)) is not None:
            return [msgspec.structs.replace(change, event=event) for change in handler(self, known)]
        return handler(self, event)

    def restart(self) -> list[Change]:
        """The request is repeated: what came so far counts no more."""
        self._begin()
        return [Change(None, None, self._whole, 0)]

    def finish(self, ending: str = "cut_off") -> list[Change]:
        """The end of the stream. Where no ending came by itself, it is this one ("interrupted" after a stop)."""
        if self.ending is not None:
            return []
        return self._end(ending, None)

    # ── the response as a whole ──

    def _end(self, ending: str, event: Event | None) -> list[Change]:
        self.ending = ending
        self._text = None
        return [Change(event, None, self._whole, 0)]

    def _after_the_ending(self, event: Event) -> list[Change]:
        if self.ending != "error" or event.type != "response.failed":
            return []
        return self._on_terminal(event)

    def _on_lifecycle(self, event: Event) -> list[Change]:
        self._lifecycle.pop(event.type, None)
        self._lifecycle[event.type] = event
        return [Change(event, None, self._whole, 0)]

    def _on_terminal(self, event: Event) -> list[Change]:
        self._on_lifecycle(event)
        ending = _ENDINGS[event.type]
        if b'"cancelled"' in event.payload and _response_of(event).get("status") == "cancelled":
            ending = "cancelled"
        if ending == "failed" and self._error is None:
            self._error = error_of(_response_of(event).get("error"))
        return self._end(ending, event)

    def _on_error(self, event: Event) -> list[Change]:
        self._error = event.error  # type: ignore[attr-defined]  # an error event
        return self._end("error", event)

    # ── items ──

    def _on_item_added(self, event: Event) -> list[Change]:
        announced, index = _dict(event, "item"), _index(event)
        if not announced:
            return []
        type_ = _text(announced, "type")
        item = self._by_index.get(index) if index is not None else self._by_id.get(_text(announced, "id"))
        if item is None or item.done or (type_ not in {"", item.type} and not item.may_be(type_)):
            item = self._new_item(index, type_)
        self._announce(item, event, announced)
        return [self._item_change(event, item)]

    def _on_item_done(self, event: Event) -> list[Change]:
        announced, index = _dict(event, "item"), _index(event)
        type_, with_id = _text(announced, "type"), self._by_id.get(_text(announced, "id"))
        repeated = with_id is not None and with_id.done and with_id.type == type_ and with_id.index == index
        if repeated or not announced:
            return []
        item = self._finished_by(index, type_, with_id) or self._new_item(index, type_)
        self._announce(item, event, announced)
        item.done = True
        return [self._item_change(event, item)]

    def _announce(self, item: Item, event: Event, announced: dict[str, Any]) -> None:
        item.announce(event, announced)
        self._text = None
        if item.id:
            self._by_id[item.id] = item

    def _finished_by(self, index: int | None, type_: str, with_id: Item | None) -> Item | None:
        """Which open item an output_item.done is about: by index, by id, else the oldest open one of its type."""
        at_index = self._by_index.get(index) if index is not None else None
        for item in (at_index, with_id):
            if item is not None and not item.done and type_ in {"", item.type}:
                return item
        if index is not None and at_index is None:
            return None
        return next((item for item in self._items if not item.done and item.type == type_), None)

    def _new_item(self, index: int | None, type_: str) -> Item:
        item = Item(len(self._items), index, type_)
        self._items.append(item)
        if index is not None:
            self._by_index[index] = item
        return item

    def _item_change(self, event: Event, item: Item) -> Change:
        return Change(event, None, Part("item", None, item), 0)

    def _item_for(self, event: Event, kind: str) -> Item:
        """The item that an event belongs to (rules 1 and 3)."""
        index: int | None = _index(event)
        id_: str | None = getattr(event, "item_id", None)
        at_index = self._by_index.get(index) if index is not None else None
        with_id = self._by_id.get(id_) if id_ else None
        if at_index is not None and (at_index is with_id or at_index.holds(kind)):
            return with_id if at_index.done and with_id is not None and not with_id.done else at_index
        if with_id is not None and (with_id.holds(kind) or index is None):
            return with_id
        if index is None or at_index is not None:
            for item in reversed(self._items):
                if not item.done and item.holds(kind):
                    return item
        item = self._new_item(index, _implied_type(event, kind))
        item.id = id_
        if id_:
            self._by_id[id_] = item
        return item

    def _on_status(self, event: Event) -> list[Change]:
        kind, _, status = event.type.removeprefix("response.").rpartition(".")
        item = self._item_for(event, KIND_OF_STATUS.get(kind, kind))
        if item.done:
            return []
        item.status = status
        return [self._item_change(event, item)]

    # ── parts ──

    def _part_for(self, event: Event, kind: str, index: int | None) -> Part | None:
        """The part that an event belongs to; None where its item is finished (rule 2)."""
        item = self._item_for(event, kind)
        return None if item.done else item.part(kind, index)

    def _append(self, event: Event, part: Part | None, delta: str) -> list[Change]:
        if part is None:
            return []
        part.pieces.append(delta)
        return [Change(event, delta, part, len(part.pieces))]

    def _replace(self, event: Event, part: Part | None, text: str) -> list[Change]:
        if part is None:
            return []
        if text or not part.pieces:
            part = self._restarted(part, text)
        return [Change(event, None, part, len(part.pieces))]

    def _restarted(self, part: Part, text: str) -> Part:
        if self._text is part:
            self._text = None
        new = part.restarted(text)
        if new.item is not None:
            new.item.parts[new.kind, new.index] = new
        return new

    def _on_delta(self, event: Event) -> list[Change]:
        kind, index_field = DELTAS[event.type]
        part = self._part_for(event, kind, getattr(event, index_field, None))
        return self._append(event, part, event.delta)  # type: ignore[attr-defined]

    def _on_done(self, event: Event) -> list[Change]:
        kind, text_field, index_field = DONES[event.type]
        part = self._part_for(event, kind, getattr(event, index_field, None))
        return self._replace(event, part, getattr(event, text_field))

    def _on_text_delta(self, event: ev.ResponseTextDeltaEvent) -> list[Change]:
        part = self._part_for(event, "text", event.content_index)
        if part is None:
            return []
        if event.output_index is not None and event.content_index is not None:
            part.output_index, part.content_index = event.output_index, event.content_index
            self._text = part  # only then is the next delta with the same indexes for the same part
        if event.logprobs:
            part.scored.append(event)
        return self._append(event, part, event.delta)

    def _on_text_done(self, event: ev.ResponseTextDoneEvent) -> list[Change]:
        part = self._part_for(event, "text", event.content_index)
        if part is not None and event.logprobs:
            part.scored = [event]
        return self._replace(event, part, event.text)

    def _on_content_part(self, event: Event) -> list[Change]:
        announced = _dict(event, "part")
        kind = KIND_OF_PART.get(_text(announced, "type"))
        if kind is None:
            return []
        index = getattr(event, "summary_index" if kind == "reasoning_summary" else "content_index", None)
        part = self._part_for(event, kind, index)
        if part is None:
            return []
        part.source = event
        text = announced.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            return [Change(event, None, part, len(part.pieces))]
        return self._replace(event, part, text)

    def _on_annotation(self, event: ev.ResponseOutputTextAnnotationAddedEvent) -> list[Change]:
        part = self._part_for(event, "text", event.content_index)
        if part is None or not event.annotation:
            return []
        part.notes.append(event)
        return [Change(event, None, Part("annotation", event.annotation_index, part.item), 0)]

    def _on_partial_image(self, event: ev.ResponseImageGenCallPartialImageEvent) -> list[Change]:
        item, preview = self._item_for(event, "image"), event.partial_image_b64
        if item.done or not preview:
            return []
        item.partial_image = preview
        return [Change(event, None, Part("image", event.partial_image_index, item, [preview]), 1)]

    def _on_audio_delta(self, event: ev.ResponseAudioDeltaEvent) -> list[Change]:
        return self._append(event, self._audio, event.delta)

    def _on_transcript_delta(self, event: ev.ResponseAudioTranscriptDeltaEvent) -> list[Change]:
        return self._append(event, self._transcript, event.delta)

    def _on_audio_done(self, event: Event) -> list[Change]:
        part = self._transcript if "transcript" in event.type else self._audio
        return [Change(event, None, part, len(part.pieces))]

    def _on_shell_output_delta(self, event: ev.ResponseShellCallOutputContentDeltaEvent) -> list[Change]:
        part = self._part_for(event, "shell_output", event.command_index)
        if part is not None and event.delta:
            part.notes.append(event)
        return self._append(event, part, _shell_text([event.delta]))

    def _on_shell_output_done(self, event: ev.ResponseShellCallOutputContentDoneEvent) -> list[Change]:
        part = self._part_for(event, "shell_output", event.command_index)
        if part is not None and event.output:
            part.source = event
        return self._replace(event, part, _shell_text(event.output))

    def _on_diff(self, event: Event) -> list[Change]:
        """The diff events of apply_patch are not in the catalogue, so they come as unknown events."""
        part = self._part_for(event, "diff", None)
        fields = event.to_dict()
        if event.type.endswith(".done"):
            return self._replace(event, part, _text(fields, "diff"))
        return self._append(event, part, _text(fields, "delta"))

    _HANDLERS: ClassVar[dict[str, Callable[[Accumulator, Any], list[Change]]]] = {
        **dict.fromkeys(("response.created", "response.queued", "response.in_progress"), _on_lifecycle),
        **dict.fromkeys(("response.completed", "response.incomplete", "response.failed"), _on_terminal),
        "response.cancelled": _on_terminal,  # not in the catalogue
        "error": _on_error,
        "response.output_item.added": _on_item_added,
        "response.output_item.done": _on_item_done,
        **dict.fromkeys(PARTS, _on_content_part),
        **dict.fromkeys(DELTAS, _on_delta),
        **dict.fromkeys(DONES, _on_done),
        "response.output_text.delta": _on_text_delta,
        "response.output_text.done": _on_text_done,
        "response.output_text.annotation.added": _on_annotation,
        **dict.fromkeys(STATUSES, _on_status),
        "response.image_generation_call.partial_image": _on_partial_image,
        "response.audio.delta": _on_audio_delta,
        "response.audio.done": _on_audio_done,
        "response.audio.transcript.delta": _on_transcript_delta,
        "response.audio.transcript.done": _on_audio_done,
        "response.shell_call_output_content.delta": _on_shell_output_delta,
        "response.shell_call_output_content.done": _on_shell_output_done,
        **dict.fromkeys((f"response.apply_patch_call_operation_diff.{word}" for word in ("delta", "done")), _on_diff),
    }


def _index(event: Event) -> Any:
    return getattr(event, "output_index", None)


def _dict(event: Event, name: str) -> dict[str, Any]:
    value = getattr(event, name, None)
    return value if isinstance(value, dict) else {}


def _response_of(event: Event) -> dict[str, Any]:
    response = event.to_dict().get("response")
    return response if isinstance(response, dict) else {}


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _shell_text(outputs: list[Any]) -> str:
    rows = [output for output in outputs if isinstance(output, dict)]
    return "".join(str(row.get(name) or "") for row in rows for name in ("stdout", "stderr"))


def _implied_type(event: Event, kind: str) -> str:
    return "mcp_call" if "mcp_call" in event.type else implied_type(kind)
