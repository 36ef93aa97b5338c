"""Request bodies without their secrets. Changes no body in place, and knows no transport.

A capture is made to be kept and shared, so what authorises a request must not be in it: neither ours (headers are never
recorded at all) nor a tool's (an MCP tool's `authorization` and `headers`, a shell's `domain_secrets`).

The rule goes by the name of the field, letter case and separators aside. Under a secret name every text and number is
replaced by "***"; names and structure stay. Names below `properties` are those of a JSON schema, not fields. An address
(`server_url`) loses its credentials and its query, where keys are put too.

Some servers repeat the request in their events, secrets included; there the same texts are masked again.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MASK", "echoes", "masked", "without_echoes"]

MASK = "***"

_SECRET = frozenset({
    "apikey", "xapikey", "openaiapikey", "authorization", "proxyauthorization", "auth", "authtoken", "bearer",
    "bearertoken", "accesstoken", "refreshtoken", "idtoken", "token", "secret", "secretkey", "clientsecret",
    "privatekey", "password", "passwd", "credentials", "cookie", "setcookie", "headers", "extraheaders",
    "domainsecrets",
})  # fmt: skip
_ADDRESS = frozenset({"serverurl", "baseurl"})
_SEPARATORS = re.compile(r"[-_ .]")
_SCHEMA_NAMES = "properties"
_RECOGNISABLE = 8  # characters


def masked(body: Mapping[str, Any], found: set[str] | None = None) -> dict[str, Any]:
    """A copy of a JSON object with its secrets replaced by "***". The texts that were replaced are added to `found`."""
    found = set() if found is None else found
    if "logprob" in body:  # here `token` is a piece of text, not a credential
        return dict(body)
    return {name: _field(name, value, found) for name, value in body.items()}


def _field(name: str, value: Any, found: set[str]) -> Any:
    plain = _SEPARATORS.sub("", str(name)).lower()
    if plain in _SECRET:
        return _hidden(value, found)
    if plain in _ADDRESS and isinstance(value, str):
        return _address(value, found)
    if name == _SCHEMA_NAMES and isinstance(value, dict):
        return {key: _value(entry, found) for key, entry in value.items()}
    return _value(value, found)


def _value(value: Any, found: set[str]) -> Any:
    if isinstance(value, dict):
        return masked(value, found)
    if isinstance(value, (list, tuple)):
        return [_value(entry, found) for entry in value]
    return value


def _hidden(value: Any, found: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(entry, found) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(entry, found) for entry in value]
    if value is None or isinstance(value, bool):
        return value
    found.add(str(value))
    return MASK


def _address(url: str, found: set[str]) -> str:
    """The address up to its path. What cannot be read as one is left out whole."""
    try:
        parts = urlsplit(url)
    except ValueError:
        found.add(url)
        return MASK
    user, at, host = parts.netloc.rpartition("@")
    found.update({user, parts.query, parts.fragment} - {""})
    return urlunsplit((parts.scheme, f"{MASK}@{host}" if at else host, parts.path, MASK if parts.query else "", ""))


def echoes(found: set[str]) -> frozenset[bytes]:
    """The texts that were masked, as a server that repeats the request would write them inside JSON strings.

    Short ones are left out: they could be anything.
    """
    return frozenset(
        json.dumps(text, ensure_ascii=plain)[1:-1].encode("utf-8", "replace")
        for text in found
        if len(text) >= _RECOGNISABLE
        for plain in (True, False)
    )


def without_echoes(payload: bytes, secrets: frozenset[bytes]) -> bytes:
    """A payload that was received, with those texts masked where it repeats the request's tools; else as it is."""
    if b'"tools"' in payload:
        for secret in secrets:
            payload = payload.replace(secret, MASK.encode())
    return payload
