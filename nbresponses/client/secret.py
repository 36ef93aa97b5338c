"""What authorises a request, kept out of sight: no repr, text, pickle or local variable of a traceback shows it.

A traceback can show the local variables of its frames, so every function here that may raise holds secrets only as
`Hidden`. Headers are secrets too: some servers take the key in a header of their own (`api-key`), others in the query.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nbresponses.errors import ConnectionFailed, NBResponsesError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Hidden", "Secret", "hidden", "hide_headers", "holds_key"]

T = TypeVar("T")

_MASK = "***"
_UNSENDABLE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CREDENTIALS = re.compile(
    r"authorization|cookie|api[-_]?key|subscription-key|token|secret|signature|^(key|sig|code)$", re.IGNORECASE
)
_KEY_HEADERS = frozenset({"api-key", "x-api-key", "authorization"})
_SHORTEST_SCRUBBED = 8  # characters; what is shorter is no key, and could stand in any text


class Hidden(Generic[T]):
    """A value that does not print itself."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        return self._value

    def __repr__(self) -> str:
        return _MASK

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not pickled: make the client anew where it is needed")


def hide_headers(options: dict[str, Any]) -> None:
    """Hides the headers among the options of a call, before anything is raised."""
    if "extra_headers" in options:
        options["extra_headers"] = hidden(options["extra_headers"])


def hidden(value: T | Hidden[T]) -> Hidden[T]:
    return value if isinstance(value, Hidden) else Hidden(value)


def holds_key(headers: Hidden[Any]) -> bool:
    """Whether headers of the user's own bring a key."""
    if not hasattr(headers.reveal(), "keys"):
        return False
    return not _KEY_HEADERS.isdisjoint(str(name).lower() for name in headers.reveal())


class Secret:
    """The key, the headers and the query of a client. Making one never raises; `check()` does."""

    __slots__ = ("_headers", "_key", "_query", "_seen")

    def __init__(
        self,
        key: str | Callable[[], str] | Hidden[Any] | None = None,
        headers: Mapping[str, str] | Hidden[Any] | None = None,
        query: Mapping[str, Any] | Hidden[Any] | None = None,
    ) -> None:
        self._key: Hidden[Any] = hidden(key)
        self._headers: Hidden[Any] = hidden(headers)
        self._query: Hidden[Any] = hidden(query)
        self._seen: Hidden[set[str]] = Hidden(set())  # keys that a function has given

    def check(self) -> None:
        """RequestError for a key or header that cannot be sent. Names the header, never shows a value."""
        key = self._key.reveal()
        problem = None if key is None or callable(key) else _problem_of_key(self._key)
        del key
        if problem is not None:
            raise RequestError("api_key", problem)
        problem = _problem_of_headers(self._headers)
        if problem is not None:
            raise RequestError("headers", problem)

    def with_key(self, key: str | Callable[[], str] | Hidden[Any] | None) -> Secret:
        """This one with another key, unless it is None or empty."""
        return Secret(key, self._headers, self._query) if hidden(key).reveal() else self

    def with_headers(self, headers: Mapping[str, str] | Hidden[Any] | None) -> Secret:
        """This one with headers that replace those of the same name, unchecked if they are no mapping."""
        if not hidden(headers).reveal():
            return self
        return Secret(self._key, _laid_over(self._headers, hidden(headers)), self._query)

    def with_query(self, query: Mapping[str, Any] | None) -> Secret:
        """This one, that knows also what authorises in the query of an address."""
        return Secret(self._key, self._headers, {**(self._query.reveal() or {}), **query}) if query else self

    def headers(self) -> dict[str, str]:
        """What goes on a request, now: a key that is a function is asked each time."""
        key = Hidden(self._key_now())
        problem = None if key.reveal() is None else _problem_of_key(key)
        if problem is not None:
            raise RequestError("api_key", problem)
        return _on_request(self._headers, key)

    def headers_for(self, url: str) -> dict[str, str]:
        """The same for a request to `url`. ConnectionFailed where the key is a function that fails: its text could hold
        anything, so the error names its kind only.
        """
        try:
            return self.headers()
        except NBResponsesError:
            raise
        except Exception as error:
            failed = type(error).__name__
            raise ConnectionFailed(f"the function given as api_key failed ({failed})", url=url) from error

    @property
    def authorises(self) -> bool:
        """Whether a request carries anything that must not be overheard."""
        names = (*(self._headers.reveal() or ()), *(self._query.reveal() or ()))
        return self._key.reveal() is not None or any(_CREDENTIALS.search(name) for name in names)

    def values(self) -> tuple[str, ...]:
        """The texts to take out of whatever a server sends back, the longest first."""
        found = {value for name, value in (self._headers.reveal() or {}).items() if _CREDENTIALS.search(name)}
        found |= {value.partition(" ")[2].strip() for value in found}
        found |= {str(value) for name, value in (self._query.reveal() or {}).items() if _CREDENTIALS.search(name)}
        found |= self._seen.reveal()
        if isinstance(self._key.reveal(), str):
            found.add(self._key.reveal().strip())
        return tuple(sorted((value for value in found if len(value) >= _SHORTEST_SCRUBBED), key=len, reverse=True))

    def scrub(self, text: str) -> str:
        """`text` with every secret replaced by ***."""
        for value in self.values():
            text = text.replace(value, _MASK)
        return text

    def scrub_bytes(self, data: bytes) -> bytes:
        for value in self.values():
            data = data.replace(value.encode(), _MASK.encode())
        return data

    def _key_now(self) -> str | None:
        key = self._key.reveal()
        if not callable(key):
            return None if key is None else str(key)
        now = key()
        self._seen.reveal().add(now) if isinstance(now, str) else None
        return now  # type: ignore[no-any-return]  # looked at by the caller

    def __repr__(self) -> str:
        return f"Secret({_MASK})"


def _problem_of_key(key: Hidden[Any]) -> str | None:
    value = key.reveal()
    if not isinstance(value, str) or not value.strip():
        return "must be a text that is not empty"
    value = value.strip()
    if not value.isascii() or _UNSENDABLE.search(value) or " " in value or "\t" in value:
        return "holds characters that no key has (white space, a line end, a letter beyond ASCII)"
    return None


def _problem_of_headers(headers: Hidden[Any]) -> str | None:
    value = headers.reveal()
    if value is None:
        return None
    if not hasattr(value, "items"):
        return "must be a mapping of names to texts"
    for name, text in value.items():
        if not isinstance(name, str) or not _HEADER_NAME.match(name):
            return "holds a name that is no header name"
        if not isinstance(text, str) or _UNSENDABLE.search(text):
            return f"{name} must be a text without line ends"
    return None


def _laid_over(headers: Hidden[Any], more: Hidden[Any]) -> Hidden[Any]:
    if not hasattr(more.reveal(), "items"):
        return more
    replaced = {str(name).lower() for name in more.reveal()}
    kept = {name: value for name, value in (headers.reveal() or {}).items() if name.lower() not in replaced}
    return Hidden({**kept, **more.reveal()})


def _on_request(headers: Hidden[Any], key: Hidden[Any]) -> dict[str, str]:
    complete = dict(headers.reveal() or {})
    if key.reveal() is not None and not any(name.lower() == "authorization" for name in complete):
        complete["Authorization"] = f"Bearer {key.reveal().strip()}"
    return complete
