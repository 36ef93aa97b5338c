"""JSON → typed events. One class per wire type, one table; what is not known is kept whole, never an error.

An event is its payload: `event.payload` is the JSON text as received, `event.to_dict()` opens it, and nothing is lost.
The flat fields that a stream repeats thousands of times (indexes, ids, deltas) are decoded at once into typed
attributes; nested objects (`response`, `item`, `part` …) are opened when first asked for. Every field is optional,
because real servers leave out each of them: a missing index or id is None, a missing text "".

Class names are those of the official SDK. Source: the Responses API streaming reference and its WebSocket mode.
"""

from __future__ import annotations

from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Union

import msgspec

from nbresponses.core.tool_events import *  # noqa: F403
from nbresponses.core.wire import Event, InvalidEvent, NestedEvent, TypedEvent, UnknownEvent, WireObject

if TYPE_CHECKING:
    from collections.abc import Mapping

# ── The response as a whole ──────────────────────────────────────────────────────────────────────────────────────────


class ResponseEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the lifecycle events: `response` is the response object as of now."""

    @property
    def response(self) -> WireObject:
        """The response object as of this event; empty where the server left it out."""
        return self._object("response")


class ResponseCreatedEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.created"):
    """The first event of a response."""


class ResponseQueuedEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.queued"):
    """A background response waits for its turn."""


class ResponseInProgressEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.in_progress"):
    """The model has begun."""


class ResponseCompletedEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.completed"):
    """Terminal: the response is complete."""


class ResponseFailedEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.failed"):
    """Terminal: `response.error` says why."""


class ResponseIncompleteEvent(ResponseEvent, frozen=True, kw_only=True, tag="response.incomplete"):
    """Terminal: `response.incomplete_details.reason` says why."""


class ResponseErrorEvent(NestedEvent, frozen=True, kw_only=True, tag="error"):
    """An error of the request, flat or nested under "error"; both are read alike. `response.failed` may follow."""

    @property
    def error(self) -> dict[str, Any]:
        """`{"type", "code", "message", "param"}`, None for what was not sent. Codes stay as sent (text or number)."""
        nested = self._nested("error")
        if isinstance(nested, str):
            nested = {"message": nested}
        source = nested if isinstance(nested, dict) else {n: self._nested(n) for n in ("code", "message", "param")}
        return {name: source.get(name) for name in ("type", "code", "message", "param")}

    @property
    def code(self) -> Any:
        """What kind of error, such as "rate_limit_exceeded": as sent, a text or a number."""
        return self.error["code"]

    @property
    def message(self) -> Any:
        """What the server says of it, for people."""
        return self.error["message"]

    @property
    def param(self) -> Any:
        """The field of the request that it is about."""
        return self.error["param"]

    @property
    def status(self) -> Any:
        """The HTTP status that WebSocket mode sends with an error, else None."""
        return self._nested("status")


# ── Output items and their parts ─────────────────────────────────────────────────────────────────────────────────────


class OutputItemEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the two item events: `item` is the item as of now."""

    output_index: int | None = None

    @property
    def item(self) -> WireObject:
        """The item as of this event, in wire shape."""
        return self._object("item")


class ResponseOutputItemAddedEvent(OutputItemEvent, frozen=True, kw_only=True, tag="response.output_item.added"):
    """An item of the output begins."""


class ResponseOutputItemDoneEvent(OutputItemEvent, frozen=True, kw_only=True, tag="response.output_item.done"):
    """An item is finished; its fields here win over what was streamed."""


class ContentPartEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the two part events: `part` is an output_text, refusal or reasoning_text part."""

    content_index: int | None = None
    item_id: str | None = None
    output_index: int | None = None

    @property
    def part(self) -> WireObject:
        """The part as of this event, in wire shape."""
        return self._object("part")


class ResponseContentPartAddedEvent(ContentPartEvent, frozen=True, kw_only=True, tag="response.content_part.added"):
    """A content part begins."""


class ResponseContentPartDoneEvent(ContentPartEvent, frozen=True, kw_only=True, tag="response.content_part.done"):
    """A content part is finished."""


# ── Text and refusal ─────────────────────────────────────────────────────────────────────────────────────────────────


class TopLogprob(msgspec.Struct, frozen=True, gc=False):
    """One alternative at a position. `logprob` is a natural logarithm, `bytes` the token's UTF-8."""

    token: str | None = None
    bytes: tuple[int, ...] | None = None
    logprob: float | None = None


class Logprob(msgspec.Struct, frozen=True, gc=False):
    """The token that was taken at a position. `logprob` is a natural logarithm, `bytes` the token's UTF-8.

    `top_logprobs` holds the most likely alternatives (up to 20), `token` among them where it is one.
    """

    token: str | None = None
    bytes: tuple[int, ...] | None = None
    logprob: float | None = None
    top_logprobs: tuple[TopLogprob, ...] | None = None


class ResponseTextDeltaEvent(TypedEvent, frozen=True, tag="response.output_text.delta"):
    """The next piece of text; log probabilities where they were asked for."""

    content_index: int | None = None
    delta: str = ""
    item_id: str | None = None
    logprobs: tuple[Logprob, ...] | None = ()
    output_index: int | None = None


class ResponseTextDoneEvent(TypedEvent, frozen=True, tag="response.output_text.done"):
    """The whole text of a part."""

    content_index: int | None = None
    item_id: str | None = None
    logprobs: tuple[Logprob, ...] | None = ()
    output_index: int | None = None
    text: str = ""


class ResponseOutputTextAnnotationAddedEvent(
    NestedEvent, frozen=True, kw_only=True, tag="response.output_text.annotation.added"
):
    """A citation or file reference in a text part."""

    annotation_index: int | None = None
    content_index: int | None = None
    item_id: str | None = None
    output_index: int | None = None

    @property
    def annotation(self) -> WireObject:
        """The citation or file reference, in wire shape."""
        return self._object("annotation")


class ContentDeltaEvent(TypedEvent, frozen=True, tag=""):
    """Parent of the deltas that belong to a content part."""

    content_index: int | None = None
    delta: str = ""
    item_id: str | None = None
    output_index: int | None = None


class ResponseRefusalDeltaEvent(ContentDeltaEvent, frozen=True, tag="response.refusal.delta"):
    """The next piece of a refusal."""


class ResponseRefusalDoneEvent(TypedEvent, frozen=True, tag="response.refusal.done"):
    """The whole refusal."""

    content_index: int | None = None
    item_id: str | None = None
    output_index: int | None = None
    refusal: str = ""


# ── Reasoning ────────────────────────────────────────────────────────────────────────────────────────────────────────


class ResponseReasoningTextDeltaEvent(ContentDeltaEvent, frozen=True, tag="response.reasoning_text.delta"):
    """The next piece of reasoning text."""


class ResponseReasoningTextDoneEvent(TypedEvent, frozen=True, tag="response.reasoning_text.done"):
    """The whole reasoning text of a part."""

    content_index: int | None = None
    item_id: str | None = None
    output_index: int | None = None
    text: str = ""


class SummaryPartEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the two summary part events: `part` is a summary_text part."""

    item_id: str | None = None
    output_index: int | None = None
    summary_index: int | None = None

    @property
    def part(self) -> WireObject:
        """The part as of this event, in wire shape."""
        return self._object("part")


class ResponseReasoningSummaryPartAddedEvent(
    SummaryPartEvent, frozen=True, kw_only=True, tag="response.reasoning_summary_part.added"
):
    """A part of the reasoning summary begins."""


class ResponseReasoningSummaryPartDoneEvent(
    SummaryPartEvent, frozen=True, kw_only=True, tag="response.reasoning_summary_part.done"
):
    """A part of the reasoning summary is finished; `status` is "incomplete" where it was cut."""

    status: str | None = None


class ResponseReasoningSummaryTextDeltaEvent(TypedEvent, frozen=True, tag="response.reasoning_summary_text.delta"):
    """The next piece of a reasoning summary part."""

    delta: str = ""
    item_id: str | None = None
    output_index: int | None = None
    summary_index: int | None = None


class ResponseReasoningSummaryTextDoneEvent(TypedEvent, frozen=True, tag="response.reasoning_summary_text.done"):
    """The whole text of a reasoning summary part."""

    item_id: str | None = None
    output_index: int | None = None
    summary_index: int | None = None
    text: str = ""


# ── Steering (WebSocket mode) ────────────────────────────────────────────────────────────────────────────────────────


class SteerEvent(NestedEvent, frozen=True, kw_only=True, tag=""):
    """Parent of the steering events: `steer` names the steering message and the response it was for."""

    @property
    def steer(self) -> WireObject:
        """The steering input: its `id`, and what the server says of it."""
        return self._object("steer")


class ResponseSteerAcceptedEvent(SteerEvent, frozen=True, kw_only=True, tag="response.steer.accepted"):
    """The server owns the steering input; it is not applied yet."""


class ResponseSteerFailedEvent(SteerEvent, frozen=True, kw_only=True, tag="response.steer.failed"):
    """The steering input was not taken; `steer.input` gives it back, `error` says why."""

    @property
    def error(self) -> WireObject:
        """Why the steering input was not taken."""
        return self._object("error")


class ResponseSteerPendingEvent(SteerEvent, frozen=True, kw_only=True, tag="response.steer.pending"):
    """The steering input waits for tool outputs or approvals; `required_input` holds a stub for each."""

    reason: str | None = None

    @property
    def required_input(self) -> list[Any]:
        """A stub for each tool output or approval that is waited for."""
        return self._objects("required_input")


# ── The table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _table() -> Mapping[str, type[TypedEvent]]:
    rows: dict[str, type[TypedEvent]] = {}
    pending = [TypedEvent]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        tag = cls.__struct_config__.tag
        if isinstance(tag, str) and tag:
            cls.type = tag
            rows[tag] = cls
    return MappingProxyType(dict(sorted(rows.items())))


EVENT_TYPES: Mapping[str, type[TypedEvent]] = _table()
"""Wire type → class: the 62 types of the catalogue."""


def fitted(event: UnknownEvent) -> TypedEvent | None:
    """The event as its own class, with those fields that fit; None where its type is not in the table."""
    cls = EVENT_TYPES.get(event.type)
    if cls is None:
        return None
    fields = event.to_dict()
    fits: dict[str, Any] = {"payload": event.payload}
    for field in msgspec.structs.fields(cls):
        with suppress(KeyError, msgspec.ValidationError, OverflowError, UnicodeEncodeError):
            fits[field.name] = msgspec.convert(fields[field.encode_name], field.type)
    return cls(**fits)


AnyEvent: Any = Union[tuple(EVENT_TYPES.values())]  # noqa: UP007  a union made from the table
"""What the decoder reads: the tagged union of all classes of the table."""

__all__ = ["EVENT_TYPES", "Event", "InvalidEvent", "Logprob", "TopLogprob", "UnknownEvent"]
__all__ += [cls.__name__ for cls in EVENT_TYPES.values()]
