"""Where requests go and with what: arguments first, then the environment. Never prints a key, never opens a connection.

Environment: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID; an empty variable counts as unset.

What authorises a request goes over plain http to this machine only, unless `allow_insecure` says otherwise.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from nbresponses.client.secret import Secret, holds_key
from nbresponses.core.sse import DEFAULT_MAX_EVENT_BYTES
from nbresponses.errors import RequestError
from nbresponses.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses.client.secret import Hidden

__all__ = ["OPENAI_BASE_URL", "Settings", "Timeouts", "is_loopback", "secret_from_environment"]

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a client was told, checked. Made by `Settings.read`."""

    base_url: str
    secret: Secret
    query: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    max_retries: int = 2
    allow_insecure: bool = False
    max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES

    @classmethod
    def read(
        cls,
        *,
        secret: Secret,
        base_url: str | None = None,
        query: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,
        max_retries: int = 2,
        allow_insecure: bool = False,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
    ) -> Settings:
        """Arguments first, then the environment. RequestError names what is wrong, without its value."""
        secret.check()
        url, query_in_url = _checked_base_url(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_BASE_URL)
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise RequestError("max_retries", "must be a whole number, 0 or above")
        if isinstance(max_event_bytes, bool) or not isinstance(max_event_bytes, int) or max_event_bytes < 1:
            raise RequestError("max_event_bytes", "must be a number of bytes above 0")
        query = {**query_in_url, **(query or {})}
        return cls(
            base_url=url,
            secret=secret.with_query(query),
            query=MappingProxyType(query),
            timeouts=Timeouts.of(timeout),
            max_retries=max_retries,
            allow_insecure=allow_insecure,
            max_event_bytes=max_event_bytes,
        )

    @property
    def loopback(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname or "")

    def check_sendable(self, secret: Secret, *, needs_key: bool = True) -> None:
        """RequestError if a request with this secret would show it to the network, or lacks one that is needed."""
        secret.check()
        if secret.authorises and self.base_url.startswith("http://") and not (self.loopback or self.allow_insecure):
            host = urlsplit(self.base_url).hostname
            raise RequestError(
                "base_url",
                f"the API key would cross the network to {host} unencrypted: use https://, or allow_insecure=True if "
                "that network is yours",
            )
        if needs_key and not secret.authorises and self.base_url == OPENAI_BASE_URL:
            raise RequestError("api_key", "there is none: set OPENAI_API_KEY, or give api_key= (or base_url=)")


def secret_from_environment(
    organization: str | None, project: str | None, *, headers: Hidden[Any] | None = None
) -> Secret:
    """The key of the environment, and the headers that go with it. Never raises.

    Where the user's own `headers` hold a key, that of the environment is meant for another server, and stays here.
    """
    named = {
        "OpenAI-Organization": organization or os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": project or os.environ.get("OPENAI_PROJECT_ID"),
    }
    foreign = headers is not None and holds_key(headers)
    return Secret(
        None if foreign else os.environ.get("OPENAI_API_KEY") or None,
        {name: value for name, value in named.items() if value},
    )


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine by definition, with no look into the DNS."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_base_url(url: str) -> tuple[str, dict[str, str]]:
    """The address without a trailing slash, and the query that it brings (an `api-version`)."""
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except (ValueError, AttributeError):
        raise RequestError("base_url", "is no address: https://host/v1 is expected") from None
    if "@" in parts.netloc:
        raise RequestError("base_url", "holds a user name or password: give what authorises as api_key= or headers=")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise RequestError("base_url", "is no http or https address: https://host/v1 is expected")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")), dict(parse_qsl(parts.query))
