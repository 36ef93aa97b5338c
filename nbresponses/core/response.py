"""A response as a value: what the server sent or what was accumulated so far, in the wire's own shape. Never changes.

Reading is lenient: whatever a server leaves out, or sends in another shape, reads as None, "" or an empty list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbresponses.core.conversation import code_blocks_in
from nbresponses.core.wire import WireObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from pandas import DataFrame

    from nbresponses.core.conversation import CodeBlock
    from nbresponses.core.formats import Format
    from nbresponses.core.tools import ToolCall

__all__ = ["Response", "error_of"]


def error_of(value: Any) -> dict[str, Any] | None:
    """Any of the error shapes that servers send → `{"type", "code", "message", "param"}`; None where there is none.

    Codes stay as sent (text or number). A bare text is a message.
    """
    if not value:
        return None
    if isinstance(value, dict) and isinstance(value.get("error"), (dict, str)):
        value = value["error"]
    if not isinstance(value, dict):
        return {"type": None, "code": None, "message": str(value), "param": None}
    message = value.get("message", value.get("detail"))
    return {"type": value.get("type"), "code": value.get("code"), "message": message, "param": value.get("param")}


class Response:
    """All that is known of one response.

    Fields of the wire that have no property here read by attribute (`response.created_at`), None where they are
    missing. Source: the response object of the Responses API.
    """

    __slots__ = ("_audio", "_data", "_error", "_partial_images", "_transcript", "ending", "format")

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        ending: str | None = None,
        error: Mapping[str, Any] | None = None,
        partial_images: Sequence[str] = (),
        audio: str | None = None,
        audio_transcript: str = "",
    ) -> None:
        self._data = WireObject(data or {})
        self.ending = ending
        self._error = dict(error) if error else None
        self._partial_images = list(partial_images)
        self._audio = audio
        self._transcript = audio_transcript
        self.format: Format | None = None
        """What `text_format` asked for."""

    # ── the response ──

    @property
    def id(self) -> str | None:
        """The server's name for it, which `previous_response_id` and `retrieve` take; None where it sent none."""
        return self._word("id")

    @property
    def status(self) -> str | None:
        """The server's last word, None where it said nothing."""
        return self._word("status")

    @property
    def model(self) -> str | None:
        """The model as the server names it, often with a date."""
        return self._word("model")

    @property
    def usage(self) -> WireObject | None:
        """Token counts; None (not zero) where the server sent none."""
        return self._object("usage")

    @property
    def incomplete_details(self) -> WireObject | None:
        """`reason` says why a response is incomplete."""
        return self._object("incomplete_details")

    @property
    def error(self) -> dict[str, Any] | None:
        """`{"type", "code", "message", "param"}` of the first error that was reported, whatever its shape."""
        return self._error or error_of(self._data.get("error"))

    # ── its output ──

    @property
    def output(self) -> list[dict[str, Any]]:
        """The output items in wire shape, items of unknown types included."""
        return _dicts(self._data.get("output"))

    @property
    def output_text(self) -> str:
        """All text of all messages, joined."""
        return "".join(_text(part, "text") for part in self._message_parts("output_text"))

    @property
    def refusal(self) -> str | None:
        """What the model said when it refused; None where it did not."""
        return "".join(_text(part, "refusal") for part in self._message_parts("refusal")) or None

    @property
    def reasoning_text(self) -> str:
        """The reasoning; of an item without reasoning text its summary. Parts are joined by a blank line."""
        texts: list[str] = []
        for item in self._items("reasoning"):
            parts = _dicts(item.get("content")) or _dicts(item.get("summary"))
            texts += [text for part in parts if (text := _text(part, "text"))]
        return "\n\n".join(texts)

    @property
    def function_calls(self) -> list[WireObject]:
        """The calls of the user's own functions. A call is whole only when its `status` is "completed"."""
        return [WireObject(item) for item in self._items("function_call")]

    @property
    def images(self) -> list[str]:
        """The finished images, base64."""
        return [result for item in self._items("image_generation_call") if (result := _text(item, "result"))]

    @property
    def partial_images(self) -> list[str]:
        """The latest preview of each image that has one, base64."""
        return list(self._partial_images)

    @property
    def audio(self) -> str | None:
        """The audio received so far, base64 of the whole; None where there is none."""
        return self._audio

    @property
    def audio_transcript(self) -> str:
        """What the audio says, as far as it has come; "" where there is none."""
        return self._transcript

    @property
    def annotations(self) -> list[WireObject]:
        """Citations and file references of all text parts, in order."""
        return [
            WireObject(note) for part in self._message_parts("output_text") for note in _dicts(part.get("annotations"))
        ]

    @property
    def logprobs(self) -> list[WireObject]:
        """Log probabilities (natural logarithm) of all text tokens, in order; empty where they were not asked for."""
        return [
            WireObject(entry) for part in self._message_parts("output_text") for entry in _dicts(part.get("logprobs"))
        ]

    @property
    def tool_calls(self) -> list[ToolCall]:
        """All calls that wait for the client, with parsed `arguments`; half-written ones are left out."""
        from nbresponses.core.tools import ToolCall, calls_in

        return [ToolCall(item, 0) for item in calls_in(self.output)]

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The fenced code blocks of the text, in order: `(language, code)`."""
        return code_blocks_in(self.output_text)

    # ── in the format asked for ──

    @property
    def parsed(self) -> Any:
        """The answer as an object of the type that `text_format` named; None where it named none, and while it runs.

        Raises FormatError, whose `reason` tells a refusal, an answer that was cut off and an invalid one apart.
        """
        return self.format.value_of(self) if self.format is not None else None

    @property
    def parsed_so_far(self) -> Any:
        """What has come of a JSON answer, as plain dicts and lists; None where nothing has."""
        from nbresponses.core.formats import answer_text
        from nbresponses.core.partial_json import open_partial

        text = answer_text(self)
        return self.format.so_far(text) if self.format is not None else open_partial(text)

    def save_media(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the finished images and the audio into a folder; the paths of the files."""
        from nbresponses.client.media import save_media

        return save_media(self, folder)

    def to_frame(self) -> DataFrame:
        """`parsed` as a DataFrame: a row per object where it holds a list of them, else one row."""
        from nbresponses.capture.tables import table_of

        return table_of(self.parsed if self.format is not None else self.parsed_so_far)

    # ── as a whole ──

    def to_input(self) -> list[dict[str, Any]]:
        """The output as input items, for a request that brings the conversation along itself.

        Reasoning without encrypted content is left out, and so are half-written calls: no server takes them back.
        """
        from nbresponses.core.lanes.lineage import as_input

        return [ready for item in self.output if (ready := as_input(item)) is not None]

    def to_dict(self) -> dict[str, Any]:
        """The response object in wire shape. A copy."""
        copy: dict[str, Any] = _copied(dict(self._data))
        return copy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._data, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Response):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def __repr__(self) -> str:
        kinds = [str(item.get("type")) for item in self.output]
        return f"Response(id={self.id!r}, status={self.status!r}, ending={self.ending!r}, output={kinds})"

    def _word(self, name: str) -> str | None:
        value = self._data.get(name)
        return value if isinstance(value, str) else None

    def _object(self, name: str) -> WireObject | None:
        value = self._data.get(name)
        return WireObject(value) if isinstance(value, dict) and value else None

    def _items(self, type_: str) -> Iterator[dict[str, Any]]:
        return (item for item in self.output if item.get("type") == type_)

    def _message_parts(self, type_: str) -> Iterable[dict[str, Any]]:
        return (
            part for item in self._items("message") for part in _dicts(item.get("content")) if part.get("type") == type_
        )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _copied(value: Any) -> Any:
    """A copy of JSON values, as deep as they can be decoded (`copy.deepcopy` takes three frames for a level)."""
    if isinstance(value, dict):
        return dict(zip(value, map(_copied, value.values()), strict=True))
    return list(map(_copied, value)) if isinstance(value, list) else value
