"""What a reported error means: its facts in one shape, whether the request may be sent again, and when.

Pure: reads what a server said (a body, headers, an error object); the time is an argument, nothing is sent or waited
for. Classification goes by code, and by type where the code is null; codes stay as sent. What is not known is decided
by the HTTP status alone.
"""

from __future__ import annotations

import html
import math
import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nbresponses.core.response import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Verdict", "error_of_body", "judge", "requested_wait"]

_PASSING = frozenset(
    [
        "server_error",
        "internal_error",
        "internal_server_error",
        "rate_limit_exceeded",
        "rate_limit_error",
        "rate_limited",
        "overloaded_error",
        "overloaded",
        "server_overloaded",
        "engine_overloaded",
        "slow_down",
        "service_unavailable",
        "service_unavailable_error",
        "timeout",
        "timeout_error",
        "upstream_error",
        "vector_store_timeout",
        "too_many_requests",
    ]
)
_LASTING = frozenset(
    [
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
        "context_length_exceeded",
        "string_above_max_length",
        "invalid_api_key",
        "invalid_request_error",
        "invalid_prompt",
        "authentication_error",
        "permission_error",
        "model_not_found",
        "content_policy_violation",
        "unsupported_parameter",
        "unsupported_value",
        "missing_required_parameter",
        "previous_response_not_found",
        "response_already_completed",
    ]
)
_PASSING_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504})

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_STEP = re.compile(
    r"(\d+(?:\.\d+)?) ?(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?|d|days?)(?![a-z])", re.IGNORECASE
)
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+\Z", re.IGNORECASE)
_STEPS_IN_A_ROW = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.IGNORECASE)
_TRY_AGAIN = re.compile(r"again (?:in|after) (?:about )?((?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+(?![a-z]))?", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_LONGEST_TEXT = 500  # characters kept of a body that is no JSON


class Verdict(NamedTuple):
    """`wait` is in seconds, None where the server named no time."""

    retryable: bool
    wait: float | None


def judge(
    error: Mapping[str, Any] | None, *, status: int | None = None, headers: Mapping[str, str] | None = None, now: float
) -> Verdict:
    """May the request that met this error be sent again, if nothing of it ran?

    `error` is `{"type", "code", "message", "param"}`; `headers` have lower-case names; `now` is in seconds since 1970.
    """
    error = error or {}
    headers = headers or {}
    return Verdict(_retryable(error, status, headers), requested_wait(headers, error.get("message"), now=now))


def _retryable(error: Mapping[str, Any], status: int | None, headers: Mapping[str, str]) -> bool:
    code, type_ = error.get("code"), error.get("type")
    if str(code) in _LASTING or (type_ == "insufficient_quota"):
        return False
    asked = headers.get("x-should-retry", "").strip().lower()
    if asked in {"true", "false"}:
        return asked == "true"
    if status is None:
        status = _status_in(code)
    if status is not None and status >= 400:
        return status in _PASSING_STATUSES or status > 505
    kind = str(type_ if code is None else code)
    return kind in _PASSING or (kind not in _LASTING and type_ in _PASSING)


def _status_in(code: Any) -> int | None:
    """Some servers put the HTTP status where the code belongs, as a number or as digits."""
    if isinstance(code, bool):
        return None
    if isinstance(code, str) and code.isascii() and code.isdigit():
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


# ── How long to wait ─────────────────────────────────────────────────────────────────────────────────────────────────


def requested_wait(headers: Mapping[str, str], message: Any = None, *, now: float) -> float | None:
    """Seconds that the server asks to wait, never negative; None where it names no time.

    Read in this order: Retry-After-Ms, Retry-After (seconds or a date), the error's message ("try again in 4.2s"), the
    x-ratelimit-reset headers of what is used up.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    wait = _retry_after(headers.get("retry-after"), now)
    if wait is None:
        wait = _wait_in_message(message)
    if wait is None:
        wait = _reset(headers, now)
    return wait


def _retry_after(value: str | None, now: float) -> float | None:
    seconds = _number(value)
    if seconds is None and value:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return None if seconds is None else max(0.0, seconds)


def _wait_in_message(message: Any) -> float | None:
    if not isinstance(message, str):
        return None
    found = _TRY_AGAIN.search(message)
    if found is None:
        return None
    if found[1]:
        return _duration(found[1])
    step = _STEP.match(message, found.end())
    if step is None:
        return None
    unit = step[2].lower()
    return float(step[1]) * _SECONDS["ms" if unit.startswith(("ms", "milli")) else unit[0]]


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """The longest of the resets whose remainder is used up (or not told)."""
    waits: list[float] = []
    for name in ("requests", "tokens"):
        value = headers.get(f"x-ratelimit-reset-{name}")
        if value and headers.get(f"x-ratelimit-remaining-{name}", "0").strip() in {"0", ""}:
            wait = _duration(value) if _DURATION.match(value.strip()) else _number(value)
            if wait is not None:
                waits.append(max(0.0, wait))
    plain = _number(headers.get("x-ratelimit-reset"))
    if plain is not None:
        waits.append(max(0.0, _until(plain, now)))
    return max(waits, default=None)


def _until(value: float, now: float) -> float:
    """A plain reset is in seconds from now, or a time in seconds or milliseconds since 1970, by its size."""
    if value > 1e11:
        return value / 1000 - now
    return value - now if value > 1e8 else value


def _duration(text: str) -> float:
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _STEPS_IN_A_ROW.findall(text))


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# ── The error in a body ──────────────────────────────────────────────────────────────────────────────────────────────


def error_of_body(body: bytes) -> dict[str, Any]:
    """The error that the body of an HTTP answer reports, whatever its shape: `{"type", "code", "message", "param"}`.

    Nested, flat, `{"detail": …}` in both of its forms, a list of errors, plain text, an HTML page (its title), nothing.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = _readable(body)
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = _unwrapped(value)
    return error_of(value) or {"type": None, "code": None, "message": None, "param": None}


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Shapes that name things otherwise, brought to the usual names."""
    inner = value.get("error")
    if isinstance(inner, str):
        # {"error": "Bad Request", "message": "what it means"}: the message says more than the word.
        message = value.get("message") or value.get("detail") or value.get("error_description") or inner
        inner = {**value, "type": value.get("type") or inner, "message": message}
    elif not isinstance(inner, dict):
        errors = value.get("errors")
        inner = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else value
    detail = inner.get("detail")
    if inner.get("message") is None and detail is not None:
        inner = {**_unwrapped(detail)} if isinstance(detail, dict) else {**inner, "message": _detail_text(detail)}
    if inner.get("type") is None and isinstance(inner.get("status"), str):
        inner = {**inner, "type": inner["status"]}
    message = inner.get("message")
    if message is not None and not isinstance(message, str):
        inner = {**inner, "message": msgspec.json.encode(message).decode()}
    return {name: inner.get(name) for name in ("type", "code", "message", "param")}


def _detail_text(detail: Any) -> str:
    """`detail` is a text, or a list of `{"loc": […], "msg": …}`."""
    if not isinstance(detail, list):
        return str(detail)
    rows = [row if isinstance(row, dict) else {"msg": row} for row in detail]
    return "; ".join(
        f"{'.'.join(map(str, row['loc']))}: {row.get('msg')}" if row.get("loc") else str(row.get("msg")) for row in rows
    )


def _readable(body: bytes) -> str | None:
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        title = _TITLE.search(text)
        text = html.unescape(title[1]).strip() if title else ""
    return " ".join(text[:_LONGEST_TEXT].split()) or None
