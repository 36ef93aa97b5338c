"""Request bodies without their secrets. Changes no body in place, and knows no transport.

A capture is made to be kept and shared, so what authorises a request must not be in it: neither ours (headers are never
recorded at all) nor a tool's (an MCP tool's `authorization` and `headers`, a shell's `domain_secrets`).

The rule goes by the name of the field, letter case and separators aside. Under a secret name every text and number is
replaced by "***"; names and structure stay. Names below `properties` are those of a JSON schema, not fields. An address
(`server_url`) loses its credentials and its query, where keys are put too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MASK", "masked"]

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


def masked(body: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a JSON object with its secrets replaced by "***"."""
    if "logprob" in body:  # here `token` is a piece of text, not a credential
        return dict(body)
    return {name: _field(name, value) for name, value in body.items()}


def _field(name: str, value: Any) -> Any:
    plain = _SEPARATORS.sub("", str(name)).lower()
    if plain in _SECRET:
        return _hidden(value)
    if plain in _ADDRESS and isinstance(value, str):
        return _address(value)
    if name == _SCHEMA_NAMES and isinstance(value, dict):
        return {key: _value(entry) for key, entry in value.items()}
    return _value(value)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return masked(value)
    if isinstance(value, (list, tuple)):
        return [_value(entry) for entry in value]
    return value


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(entry) for entry in value]
    return value if value is None or isinstance(value, bool) else MASK


def _address(url: str) -> str:
    """The address up to its path. What cannot be read as one is left out whole."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    user = f"{MASK}@" if "@" in parts.netloc else ""
    return urlunsplit((parts.scheme, user + host, parts.path, MASK if parts.query else "", ""))
