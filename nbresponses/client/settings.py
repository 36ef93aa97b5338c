"""Where requests go and with what: arguments first, then the environment. Never prints a key, never opens a connection.

Environment: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID; an empty variable counts as unset.

A key goes over plain http to this machine only, unless `allow_insecure` says otherwise. Every header that the user
gives is treated like the key, because some servers take the key in a header of their own (`api-key`).
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from nbresponses.core.sse import DEFAULT_MAX_EVENT_BYTES
from nbresponses.errors import RequestError
from nbresponses.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OPENAI_BASE_URL", "Secret", "Settings", "is_loopback"]

OPENAI_BASE_URL = "https://api.openai.com/v1"
_UNSENDABLE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CREDENTIALS = frozenset({"authorization", "api-key", "x-api-key", "cookie", "proxy-authorization"})
_SHORTEST_SCRUBBED = 8  # characters; what is shorter is no key, and could stand in any text
_HIDDEN = "***"


class Secret:
    """Header values that no repr, no text and no pickle shows. `scrub` takes them out of a foreign text."""

    __slots__ = ("_headers", "_key")

    def __init__(self, key: str | Callable[[], str] | None, headers: Mapping[str, str]) -> None:
        self._key = key
        self._headers = dict(headers)

    def headers(self) -> dict[str, str]:
        """What authorises a request, now: a key that is a function is asked each time."""
        headers = dict(self._headers)
        if self._key is not None and "authorization" not in {name.lower() for name in headers}:
            headers["Authorization"] = f"Bearer {self._current_key()}"
        return headers

    def with_headers(self, headers: Mapping[str, str] | None) -> Secret:
        if not headers:
            return self
        given = _checked_headers(headers)
        kept = {name: value for name, value in self._headers.items() if name.lower() not in map(str.lower, given)}
        return Secret(self._key, {**kept, **given})

    @property
    def authorises(self) -> bool:
        """Whether a request carries anything that must not be overheard."""
        return self._key is not None or any(name.lower() in _CREDENTIALS for name in self._headers)

    def values(self) -> tuple[str, ...]:
        """The texts to take out of whatever a server sends back."""
        values = [value for name, value in self._headers.items() if name.lower() in _CREDENTIALS]
        if isinstance(self._key, str):
            values.append(self._key)
        bare = [value.removeprefix("Bearer ").strip() for value in values]
        return tuple(value for value in bare if len(value) >= _SHORTEST_SCRUBBED)

    def scrub(self, text: str) -> str:
        for value in self.values():
            text = text.replace(value, _HIDDEN)
        return text

    def _current_key(self) -> str:
        if isinstance(self._key, str) or self._key is None:
            return self._key or ""
        return _checked_key(self._key())

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN})"

    def __reduce__(self) -> Any:
        raise TypeError("a Secret is not pickled: make the client anew where it is needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a client was told, checked. Make it with `Settings.read`."""

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
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,
        max_retries: int = 2,
        allow_insecure: bool = False,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """Arguments first, then the environment. RequestError names what is wrong, without its value."""
        env = os.environ if environ is None else environ
        url, query_in_url = _checked_base_url(base_url or env.get("OPENAI_BASE_URL") or OPENAI_BASE_URL)
        key = api_key or env.get("OPENAI_API_KEY") or None
        known = {
            "OpenAI-Organization": organization or env.get("OPENAI_ORG_ID"),
            "OpenAI-Project": project or env.get("OPENAI_PROJECT_ID"),
        }
        given = {name: value for name, value in known.items() if value}
        secret = Secret(_checked_key(key) if isinstance(key, str) else key, {})
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise RequestError("max_retries", "must be a whole number, 0 or above")
        return cls(
            base_url=url,
            secret=secret.with_headers(given).with_headers(headers),
            query=MappingProxyType({**query_in_url, **(query or {})}),
            timeouts=Timeouts.of(timeout),
            max_retries=max_retries,
            allow_insecure=allow_insecure,
            max_event_bytes=max_event_bytes,
        )

    @property
    def loopback(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname or "")

    def check_sendable(self, secret: Secret) -> None:
        """RequestError if a request with this secret would show it to the network, or lacks one that is needed."""
        if secret.authorises and self.base_url.startswith("http://") and not (self.loopback or self.allow_insecure):
            host = urlsplit(self.base_url).hostname
            raise RequestError(
                "base_url",
                f"the API key would cross the network to {host} unencrypted: use https://, or allow_insecure=True if "
                "that network is yours",
            )
        if not secret.authorises and self.base_url == OPENAI_BASE_URL:
            raise RequestError("api_key", "there is none: set OPENAI_API_KEY, or give api_key= (or base_url=)")


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
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise RequestError(
            "base_url", f"is no http(s) address: https://host/v1 is expected, not {parts.scheme or url!r}"
        )
    if "@" in parts.netloc:
        raise RequestError("base_url", "holds a user name or password: give what authorises as api_key= or headers=")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")), dict(parse_qsl(parts.query))


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not key.strip():
        raise RequestError("api_key", "must be a text that is not empty")
    key = key.strip()
    if not key.isascii() or _UNSENDABLE.search(key) or " " in key:
        raise RequestError(
            "api_key", "holds characters that no key has (white space, a line end, a letter beyond ASCII)"
        )
    return key


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER_NAME.match(name):
            raise RequestError("headers", "holds a name that is no header name")
        if not isinstance(value, str) or _UNSENDABLE.search(value):
            raise RequestError("headers", f"{name} must be a text without line ends")
    return dict(headers)
