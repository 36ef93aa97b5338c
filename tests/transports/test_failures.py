"""Every exception of the HTTP libraries becomes one of ours, and nothing foreign hangs on it."""

from __future__ import annotations

import asyncio
import socket
import ssl

import anyio
import h11
import httpcore
import httpx
import pytest

from nbresponses.errors import ConnectionFailed, Disconnected, NBResponsesError, ProtocolError, TimedOut
from nbresponses.transports._failures import FOREIGN, failure_of
from nbresponses.transports.http import HttpCall, HttpTransport, SecretHeaders

URL = "http://host/v1/responses"


def exceptions_of(*modules):
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
    }
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


def make(cls):
    if cls is httpx.HTTPStatusError:
        request = httpx.Request("GET", URL)
        return cls("m", request=request, response=httpx.Response(500, request=request))
    if cls in {httpx.StreamConsumed, httpx.StreamClosed, httpx.ResponseNotRead, httpx.RequestNotRead}:
        return cls()
    return cls("m")


ALL = exceptions_of(httpx, httpcore)


def test_the_lists_are_not_empty():
    names = {cls.__name__ for cls in ALL}
    assert {"ConnectError", "ReadTimeout", "RemoteProtocolError", "DecodingError", "InvalidURL"} <= names
    assert len(ALL) >= 40


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
@pytest.mark.parametrize("answered", [False, True])
def test_every_exception_of_the_libraries_is_ours_outside(cls, answered):
    """Raised where the library would raise it: while sending, and while the body is read."""
    failure = asyncio.run((_raised_in_body if answered else _raised_in_send)(make(cls)))
    assert isinstance(failure, NBResponsesError)
    assert failure.__cause__ is None
    assert failure.__context__ is None, "a foreign traceback would show local variables"


async def _raised_in_send(error):
    def handler(request):
        raise error

    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        with pytest.raises(NBResponsesError) as caught:
            await HttpTransport(client).send(HttpCall("GET", URL), connect=3)
    return caught.value


class _Broken(httpx.AsyncByteStream):
    def __init__(self, error):
        self.error = error

    async def __aiter__(self):
        yield b"first"
        raise self.error


async def _raised_in_body(error):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=_Broken(error)))
    async with httpx.AsyncClient(transport=transport) as client:
        reply = await HttpTransport(client).send(HttpCall("GET", URL))
        assert await reply.piece() == b"first"
        with pytest.raises(NBResponsesError) as caught:
            await reply.piece()
        await reply.aclose()
    return caught.value


@pytest.mark.parametrize(
    ("error", "answered", "kind"),
    [
        (httpx.ConnectError("refused"), False, ConnectionFailed),
        (httpx.ProxyError("407"), False, ConnectionFailed),
        (httpx.UnsupportedProtocol("x:"), False, ConnectionFailed),
        (httpx.InvalidURL("x"), False, ConnectionFailed),
        (ssl.SSLError("certificate"), False, ConnectionFailed),
        (UnicodeError("label too long"), False, ConnectionFailed),
        (ssl.SSLError("bad record"), True, Disconnected),
        (httpx.ConnectTimeout("t"), False, TimedOut),
        (httpx.PoolTimeout("t"), False, TimedOut),
        (httpx.ReadTimeout("t"), True, Disconnected),
        (TimeoutError("t"), True, Disconnected),
        (httpx.ReadError("reset"), False, Disconnected),
        (httpx.ReadError("reset"), True, Disconnected),
        (httpx.WriteError("broken pipe"), False, Disconnected),
        (httpx.RemoteProtocolError("incomplete chunked read"), True, Disconnected),
        (httpx.RemoteProtocolError("server disconnected"), False, Disconnected),
        (httpx.LocalProtocolError("illegal header"), False, Disconnected),
        (httpx.DecodingError("not gzip"), True, ProtocolError),
        (anyio.ClosedResourceError(), True, Disconnected),
        (h11.RemoteProtocolError("x"), True, Disconnected),
        (ConnectionResetError("reset"), True, Disconnected),
    ],
)
def test_what_each_means(error, answered, kind):
    assert isinstance(error, FOREIGN)
    failure = failure_of(error, url=URL, connect=3.0, answered=answered)
    assert type(failure) is kind
    if kind is TimedOut:
        assert (failure.phase, failure.seconds) == ("connect", 3.0)
    else:
        assert (str(error) or type(error).__name__) in str(failure)


def test_a_wrapper_without_a_text_tells_its_cause():
    error = httpx.ConnectError("")
    error.__cause__ = OSError("No route to host")
    assert "No route to host" in str(failure_of(error, url=URL, connect=1, answered=False))
    assert "ReadError" in str(failure_of(httpx.ReadError(""), url=URL, connect=1, answered=True))


def test_mistakes_stay_what_they_are():
    """A TypeError is a bug, here or in a user's own client, and no failure of the network."""

    async def send():
        def handler(request):
            raise TypeError("bug")

        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            await HttpTransport(client).send(HttpCall("GET", URL))

    with pytest.raises(TypeError, match="bug"):
        asyncio.run(send())


def test_a_foreign_text_is_scrubbed():
    """h11 quotes a header value that cannot be sent."""

    async def send(port):
        secrets = SecretHeaders(lambda: {"Authorization": "Bearer sk-secret-1\n"})
        async with httpx.AsyncClient(trust_env=False) as client:
            transport = HttpTransport(client, secrets=secrets, scrub=lambda text: text.replace("sk-secret-1", "***"))
            await transport.send(HttpCall("GET", f"http://127.0.0.1:{port}/"))

    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(Disconnected) as caught:
        asyncio.run(send(server.getsockname()[1]))
    assert "sk-secret" not in str(caught.value)
    assert "***" in str(caught.value)
