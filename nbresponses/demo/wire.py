"""The shapes of the API that are no events: ids, the response object, usage, errors. No I/O."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

_HEX = "0123456789abcdef"
_NOISE = string.ascii_letters + string.digits
# About a token per word piece: at most eight letters, with the space before them.
_PIECE = re.compile(r"\s*[^\W_]{1,8}|\s*[^\w\s]{1,3}|\s+|_+")


class Ids:
    """Ids and padding, random unless seeded."""

    def __init__(self, seed: str | None = None) -> None:
        self._random = random.Random(seed)

    def new(self, prefix: str) -> str:
        return f"{prefix}_{self._random.getrandbits(192):048x}"

    def call(self) -> str:
        return "call_" + "".join(self._random.choices(_NOISE, k=24))

    def padding(self, text: str) -> str:
        """Random characters that bring a delta's length to a multiple of 16, so that it gives nothing away."""
        return "".join(self._random.choices(_NOISE, k=-len(text) % 16))


class ApiError(Exception):
    """An answer of the API that is an error, with its HTTP status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        kind: str = "invalid_request_error",
        lane: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.kind = kind
        self.lane = lane  # of a WebSocket, where the error belongs to one

    @property
    def error(self) -> Json:
        return {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}


def not_found(response_id: str) -> ApiError:
    return ApiError(404, f"Response with id '{response_id}' not found.")


def previous_not_found(response_id: str) -> ApiError:
    message = f"Previous response with id '{response_id}' not found."
    return ApiError(400, message, code="previous_response_not_found", param="previous_response_id")


def pieces(text: str) -> list[str]:
    """Text in the pieces in which it is streamed; joined they are the text again."""
    return _PIECE.findall(text)


def texts_of(item: Mapping[str, Any]) -> list[str]:
    """All the texts an item carries that a model would read."""
    found: list[str] = []
    for name in ("arguments", "output", "input", "code", "encrypted_content"):
        value = item.get(name)
        if isinstance(value, str):
            found.append(value)
    for name in ("content", "summary", "output"):
        value = item.get(name)
        if isinstance(value, str) and name == "content":
            found.append(value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            found += [part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return found


def count_tokens(items: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(pieces(text)) for item in items for text in texts_of(item))


def usage(*, input_tokens: int, cached: int, output_tokens: int, reasoning: int) -> Json:
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input_tokens + output_tokens,
    }


def response_object(body: Mapping[str, Any], *, response_id: str, created_at: int) -> Json:
    """A response that has just been created: every field of the real API, the request's own values in them."""
    background = bool(body.get("background"))
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "status": "queued" if background else "in_progress",
        "background": background,
        "completed_at": None,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": body.get("model"),
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "presence_penalty": 0.0,
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": None,
        "reasoning": {"effort": None, "summary": None} | _mapping(body.get("reasoning")),
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "store": _flag(body.get("store"), True),
        "temperature": _or(body.get("temperature"), 1.0),
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | _mapping(body.get("text")),
        "tool_choice": _or(body.get("tool_choice"), "auto"),
        "tools": _or(body.get("tools"), []),
        "top_logprobs": _or(body.get("top_logprobs"), 0),
        "top_p": _or(body.get("top_p"), 1.0),
        "truncation": _or(body.get("truncation"), "disabled"),
        "usage": None,
        "user": body.get("user"),
        "metadata": _or(body.get("metadata"), {}),
    }


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _flag(value: Any, default: bool) -> bool:
    return default if value is None else bool(value)


def _mapping(value: Any) -> Json:
    return dict(value) if isinstance(value, Mapping) else {}
