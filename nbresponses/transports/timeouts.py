"""How long to wait for what: the limits that a user can set, and the nearest of them. Waits for nothing itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from nbresponses.errors import RequestError

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Limits in seconds; None is no limit. RequestError for what is no number above 0.

    Attributes:
        connect: until the connection stands (DNS, TCP, TLS, a free place in the pool), for each attempt
        first_byte: from sending the request until the first byte of the answer's body, for each attempt
        idle: between two bytes of the body; any byte counts, a comment that keeps the connection alive too
        queued: for a background response to leave the server's queue; it goes on there when this runs out
        total: from the start to the end, retries and waits included
    """

    connect: float | None = 10.0
    first_byte: float | None = 600.0
    idle: float | None = 600.0
    queued: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0 or math.isinf(value):
                raise RequestError("timeout", f"{field.name} must be a number of seconds above 0, or None: {value!r}")

    @classmethod
    def of(cls, value: Timeouts | float | None, default: Timeouts | None = None) -> Timeouts:
        """`value` as limits: a number is a total limit over the others of `default`; None is the default."""
        if isinstance(value, Timeouts):
            return value
        default = default or cls()
        if value is None:
            return default
        return replace(default, total=value)
