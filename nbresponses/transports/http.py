"""HTTP over httpx: sends a request, gives back the answer's bytes as they come. Reads no event, decides no retry.

Rules
1. Every foreign exception leaves here as one of ours, without the foreign traceback.
2. What authorises a request is put on at the last moment (`SecretHeaders`) and is in no value that prints itself.
3. A redirect is followed within its origin only: another host, port or scheme is another origin, and gets nothing.
4. An answer is closed by whoever opened it, at its end, on error and on early exit; then its place in the pool is free.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urljoin, urlsplit

import httpx

from nbresponses.errors import NBResponsesError, ProtocolError, Rejected
from nbresponses.transports._failures import FOREIGN, failure_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping

__all__ = ["HttpCall", "HttpReply", "HttpTransport", "Reply", "SecretHeaders", "Transport", "origin_of", "plain_url"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_CODINGS = {"": (), "identity": (), "gzip": (), "deflate": (), "br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One request, without what authorises it. `content` is its body."""

    method: str
    url: str
    content: bytes | None = field(default=None, repr=False)
    query: Mapping[str, Any] = field(default_factory=dict, repr=False)
    accept: str = "application/json"


class Reply(Protocol):
    """An answer whose body is still to be read."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    async def piece(self) -> bytes:
        """The next bytes of the body, b"" at its end."""

    async def aclose(self) -> None: ...


class Transport(Protocol):
    """Whatever answers calls: HTTP, or a capture that is played."""

    async def send(self, call: HttpCall, *, connect: float | None = None) -> Reply: ...


class SecretHeaders(httpx.Auth):
    """Headers whose values are never shown: put on a request when it is sent, taken out of every text.

    `values` is called for each request, so a token can be renewed.
    """

    def __init__(self, values: Callable[[], Mapping[str, str]]) -> None:
        self._values = values

    def __repr__(self) -> str:
        return "SecretHeaders(***)"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(self._values())
        yield request


class HttpTransport:
    """Sends calls over an `httpx.AsyncClient`, which stays its owner's: it is not closed here."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        secrets: SecretHeaders | None = None,
        user_agent: str = "nbresponses",
        scrub: Callable[[str], str] = str,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._user_agent = user_agent
        self._scrub = scrub

    async def send(self, call: HttpCall, *, connect: float | None = None) -> HttpReply:
        """The answer to a call, its body not yet read. `connect` is the limit for a connection, in seconds."""
        method, content = call.method, call.content
        url = str(httpx.URL(call.url).copy_merge_params(dict(call.query))) if call.query else call.url
        for _ in range(_MAX_REDIRECTS + 1):
            request = self._request(method, url, content, call.accept, connect)
            response = await self._guarded(self._sent(request), url, connect=connect, answered=False)
            if response.status_code not in _REDIRECTS or "location" not in response.headers:
                return HttpReply(response, self._guarded)
            await HttpReply(response, self._guarded).aclose()
            target, origin = _target_of(response, url)
            if target is None:
                raise _redirect_refused(response.status_code, url, origin)
            if response.status_code == 303:
                method, content = "GET", None
            url = target
        raise ProtocolError(f"more than {_MAX_REDIRECTS} redirects from {plain_url(call.url)}")

    def _request(
        self, method: str, url: str, content: bytes | None, accept: str, connect: float | None
    ) -> httpx.Request:
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if accept == "text/event-stream":
            # A proxy that compresses holds events back until its buffer is full.
            headers["Accept-Encoding"] = "identity"
            headers["Cache-Control"] = "no-store"
        if content is not None:
            headers["Content-Type"] = "application/json"
        # The limits on reading are kept by the caller, who knows what is being waited for.
        timeout = httpx.Timeout(None, connect=connect, pool=connect)
        return self._client.build_request(method, url, content=content, headers=headers, timeout=timeout)

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        auth: Any = httpx.USE_CLIENT_DEFAULT if self._secrets is None else self._secrets
        return await self._client.send(request, stream=True, auth=auth, follow_redirects=False)

    async def _guarded(
        self, work: Coroutine[Any, Any, Any], url: str, *, connect: float | None = None, answered: bool = True
    ) -> Any:
        """The result of `work`; a foreign exception as ours, raised out here so that nothing foreign hangs on it."""
        failure: NBResponsesError
        try:
            return await work
        except FOREIGN as error:
            failure = failure_of(error, url=plain_url(url), connect=connect, answered=answered, scrub=self._scrub)
        raise failure


class HttpReply:
    """An answer over HTTP. Content codings are undone as the bytes come, so each event is there when its bytes are."""

    def __init__(self, response: httpx.Response, guarded: Callable[..., Any]) -> None:
        self._response = response
        self._guarded = guarded
        self._pieces: AsyncIterator[bytes] | None = None
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}

    def __repr__(self) -> str:
        return f"<HttpReply {self.status} {plain_url(str(self._response.url))}>"

    async def piece(self) -> bytes:
        """The next bytes of the body, b"" at its end."""
        if self._pieces is None:
            _check_coding(self.headers.get("content-encoding", ""))
            self._pieces = self._response.aiter_bytes()
        pieces = self._pieces
        return bytes(await self._guarded(_next_filled(pieces), str(self._response.url)))

    async def aclose(self) -> None:
        """Closes the answer: its connection goes back to the pool if the body was read to its end, else it ends."""
        with suppress(*FOREIGN):  # it is gone, which is what was wanted
            await self._response.aclose()


async def _next_filled(pieces: AsyncIterator[bytes]) -> bytes:
    async for piece in pieces:
        if piece:
            return piece
    return b""


def _check_coding(header: str) -> None:
    """httpx hands bytes in a coding that it cannot undo on as they are; they would be read as an empty stream."""
    for coding in header.lower().split(","):
        packages = _CODINGS.get(coding.strip())
        if packages is None or (packages and not any(find_spec(package) for package in packages)):
            raise ProtocolError(f"the answer has the content coding {coding.strip()[:40]!r}, which cannot be read")


def origin_of(url: str) -> tuple[str, str, int | None]:
    """(scheme, host, port): what has to be the same for a key to be sent there too."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def plain_url(url: str) -> str:
    """The address without credentials, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _target_of(response: httpx.Response, url: str) -> tuple[str | None, str]:
    """Where a redirect leads, None if to another origin; and that origin, which is all of it that may be shown."""
    try:
        target = urljoin(url, response.headers["location"])
        scheme, host, port = origin_of(target)
    except ValueError:
        return None, "what is no address"
    shown = f"{scheme}://{host}" + (f":{port}" if port else "")
    return (target if origin_of(url) == (scheme, host, port) else None), shown


def _redirect_refused(status: int, url: str, origin: str) -> Rejected:
    message = f"a redirect to {origin} was not followed: it is another origin than that of {plain_url(url)}"
    return Rejected(
        status, error={"type": "redirect", "code": "redirect_refused", "message": message}, url=plain_url(url)
    )
