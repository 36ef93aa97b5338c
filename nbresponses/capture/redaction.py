"""A capture without what was said in it: texts, names and ids replaced; shapes, sizes and times kept. For sharing.

Rules
1. What is kept is listed; all else is replaced. A text becomes as many "x" as it had characters.
2. Fields that the API is known to have keep their names. Below a field that users or tools fill freely, and below one
   that is not known, names are replaced too, numbers are 0 and truth values false. Counters of usage keep theirs.
3. Words of the API (types, statuses, reasons, settings) stay, if they look like words of the API.
4. Ids, and names of tools and lanes, become others: the same for the same, as long as before unless they are very
   short, and nobody can tell which.
5. A picture keeps its first bytes, which say its type, and its size. Encrypted content and other base64 keep theirs.
6. Whole arguments of a call that are JSON stay JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from typing import TYPE_CHECKING, Any

from nbresponses.capture.messages import Message
from nbresponses.core.wire import open_json
from nbresponses.errors import DecodeError
from nbresponses.render.pictures import read_picture

if TYPE_CHECKING:
    from nbresponses.capture.messages import Channel

__all__ = ["Redaction"]

_WORD = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_SIZE = re.compile(r"[0-9]{1,5}x[0-9]{1,5}|[0-9]{1,3}h")
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/-]{0,79}", re.ASCII)
_PREFIX = re.compile(r"[a-z]{1,12}_")
_ENOUGH = 8  # characters after the prefix of what is an id and not a name
_TYPE = 16  # characters of base64 that say what a picture is


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = _names("""
    type object status role phase reason effort verbosity truncation service_tier tool_choice ending over kind
    prompt_cache_retention search_context_size size quality output_format moderation mode execution context token_type
    source_type severity generate_summary return_token_budget encoding background
""")
"""Fields whose values are words of the API."""

_IDS = _names("""
    id item_id response_id previous_response_id call_id stream_id conversation conversation_id request_id caller_id
    container container_id file_id turn_id approval_request_id prompt_cache_key safety_identifier user name server_label
    namespace fingerprint file_ids vector_store_ids allowed_callers lane
""")
"""Fields that are replaced by the same for the same."""

_FREE = _names("""
    metadata arguments parameters schema input_schema output_schema properties variables attributes filters environment
    env headers logit_bias internal_chat_message_metadata_passthrough user_location server_url extra_body domain_secrets
    allowed_tools definition
""")
"""Fields below which everything is the user's own."""

_COUNTED = _names("usage tool_usage copilot_usage")
"""Fields below which names and numbers are the server's counters."""

_OTHERS = _names("""
    sequence_number output_index content_index summary_index command_index annotation_index partial_image_index delta
    text refusal input output outputs code item part response error message param content summary logprobs top_logprobs
    token logprob bytes obfuscation encrypted_content annotations annotation title url start_index end_index index
    filename quote created_at completed_at instructions tools tool description strict format reasoning temperature top_p
    max_output_tokens max_tool_calls parallel_tool_calls store stream generate include incomplete_details
    frequency_penalty presence_penalty prompt revised_prompt action actions query queries sources results result
    partial_image_b64 partial_images output_compression logs commands command stdout stderr outcome exit_code operation
    path diff max_output_length timeout_ms require_approval server_description connector_id goal model steer detail
    required_input stream_options include_obfuscation context_management compact_threshold image_url file_url file_data
    audio transcript data expires_at attempt pause starting_after after before generation defer_loading score
    output_text
""")
_KNOWN = _WORDS | _IDS | _FREE | _COUNTED | _OTHERS


class Redaction:
    """One way of replacing: the same id becomes the same other id as long as the same redaction is used."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._other: dict[str, str] = {}
        self._taken: set[str] = set()

    def payload(self, channel: Channel, payload: bytes) -> bytes:
        """The payload of a message without what it said."""
        if channel.kind == "remainder":
            return b"x" * len(payload)
        try:
            return _dumped(self._object(open_json(payload), free=False, counted=False))
        except (DecodeError, RecursionError):
            return b"x" * len(payload)

    def message(self, message: Message) -> Message:
        """The message without what it said; its time stays."""
        channel = self.channel(message.channel)
        return Message(message.at, *channel, self.payload(channel, message.payload))

    def channel(self, channel: Channel) -> Channel:
        """Where it belongs, without names that users gave."""
        name = channel.name if channel.name is None or _WORD.fullmatch(channel.name) else _hidden(channel.name)
        return channel._replace(lane=None if channel.lane is None else self.other(channel.lane), name=name)

    def other(self, text: str) -> str:
        """Another id in place of this one, with its prefix."""
        if text and text not in self._other:
            found = _PREFIX.match(text)
            prefix = found.group() if found is not None and len(text) - found.end() >= _ENOUGH else ""
            digest = hashlib.blake2b(text.encode("utf-8", "replace"), key=self._key).hexdigest()
            length = len(text) - len(prefix)
            while (other := prefix + (digest * (length // len(digest) + 1))[:length]) in self._taken or other == text:
                length += 1
            self._taken.add(other)
            self._other[text] = other
        return self._other.get(text, "")

    def _object(self, fields: dict[str, Any], *, free: bool, counted: bool) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for name, value in fields.items():
            known = not free and (name in _KNOWN or (counted and _WORD.fullmatch(name) is not None))
            whole = known and name == "arguments" and isinstance(value, str)
            below = free or not known or (name in _FREE and not whole)
            told[name if known else self.other(name)] = self._field(name, value, fields, free=below, counted=counted)
        return told

    def _field(self, name: str, value: Any, beside: dict[str, Any], *, free: bool, counted: bool) -> Any:
        if isinstance(value, dict):
            return self._object(value, free=free, counted=counted or name in _COUNTED)
        if isinstance(value, list):
            if name == "bytes" and not free:  # a token's text in numbers
                return [ord("x")] * len(value)
            return [self._field(name, entry, beside, free=free, counted=counted) for entry in value]
        if isinstance(value, str):
            return _hidden(value) if free else self._text(name, value, beside)
        if value is None or not free:
            return value
        return False if isinstance(value, bool) else 0

    def _text(self, name: str, value: str, beside: dict[str, Any]) -> str:
        if name == "model":
            return _model(value)
        if name in _IDS:
            return self.other(value)
        is_word = name in _WORDS or (name == "code" and "message" in beside)
        if name == "reason" and "approve" in beside:  # a user's own words
            is_word = False
        if is_word and (_WORD.fullmatch(value) or _SIZE.fullmatch(value)):
            return value
        if name == "arguments":
            return self._arguments(value)
        return _data(value)

    def _arguments(self, value: str) -> str:
        try:
            fields = open_json(value.encode("utf-8", "replace"))
        except DecodeError:
            return _hidden(value)
        return _dumped(self._object(fields, free=True, counted=False)).decode()


def _hidden(text: str) -> str:
    return "x" * len(text)


def _model(name: str) -> str:
    """A model's name; of a fine-tuned one, whose name has the organization's in it, that of its base."""
    if _MODEL.fullmatch(name) is None:
        return _hidden(name)
    return ":".join(name.split(":")[:2]) if name.startswith("ft:") else name


def _data(text: str) -> str:
    """A text, or a picture: of that its beginning and its size."""
    head, comma, data = text.partition(",") if text.startswith("data:image/") else ("", "", text)
    if len(data) <= _TYPE or read_picture(text) is None:
        return _hidden(text)
    padding = data[-2:].count("=")
    return head + comma + data[:_TYPE] + "A" * (len(data) - _TYPE - padding) + "=" * padding


def _dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
