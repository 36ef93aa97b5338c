"""The settings of an `openai` client, as ours: address, key, headers, query, limits. Opens nothing, prints nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbresponses.errors import RequestError
from nbresponses.transports.timeouts import Timeouts

__all__ = ["settings_of"]

_NO_KEY = frozenset({"", "<missing API key>"})


def settings_of(client: Any) -> dict[str, Any]:
    """The arguments of a `Client` that goes where this `openai` client goes. RequestError if it is none.

    Taken over: base_url, key (or its provider), organization, project, default headers and query, retries, and time
    limits that were set. An Azure client's key goes as its `api-key` header. Not taken over: the http_client.
    """
    if not hasattr(client, "base_url") or not hasattr(client, "api_key"):
        raise RequestError("client", f"an OpenAI client is expected, not {type(client).__name__}")
    found: dict[str, Any] = {
        "base_url": str(client.base_url),
        "organization": getattr(client, "organization", None),
        "project": getattr(client, "project", None),
        "query": dict(getattr(client, "_custom_query", None) or {}),
        "max_retries": getattr(client, "max_retries", 2),
    }
    given = getattr(client, "_custom_headers", None) or {}
    headers = {name: value for name, value in given.items() if isinstance(value, str)}
    key = client.api_key if isinstance(client.api_key, str) and client.api_key not in _NO_KEY else None
    provider = getattr(client, "_api_key_provider", None)
    if hasattr(client, "_azure_ad_token"):
        provider = getattr(client, "_azure_ad_token_provider", None)
        token = client._azure_ad_token  # noqa: SLF001  it has no public name
        if key is not None and provider is None and token is None:
            headers.setdefault("api-key", key)
        key = token
    found["api_key"] = provider or key
    found["headers"] = headers
    limits = _limits(getattr(client, "timeout", None))
    return {**found, "timeout": limits} if limits is not None else found


def _limits(timeout: Any) -> Timeouts | None:
    """The limits that were set: theirs are per read, which is our wait for the first byte and between bytes."""
    if isinstance(timeout, (int, float)):
        return Timeouts(connect=float(timeout), first_byte=float(timeout), idle=float(timeout))
    if timeout is None or isinstance(timeout, Mapping) or _is_default(timeout):
        return None
    read = getattr(timeout, "read", None)
    return Timeouts(connect=getattr(timeout, "connect", None), first_byte=read, idle=read)


def _is_default(timeout: Any) -> bool:
    try:
        from openai import DEFAULT_TIMEOUT
    except ImportError:
        return False
    return bool(timeout == DEFAULT_TIMEOUT)
