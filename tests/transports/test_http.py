"""The HTTP transport by itself: what it puts on a request, what an origin is, what its texts leave out."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from nbresponses.errors import ProtocolError, Rejected
from nbresponses.transports.http import HttpCall, HttpTransport, SecretHeaders, origin_of, plain_url


def sent(call, *, answers=(), secrets=None, **client_settings):
    """The requests that a call leads to, and the reply or the error."""
    requests = []
    remaining = iter(answers)

    def handler(request):
        requests.append(request)
        return next(remaining, httpx.Response(200, text="ok"))

    async def main():
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler), **client_settings) as client:
            reply = await HttpTransport(client, secrets=secrets, user_agent="nbresponses/9").send(call, connect=7)
            pieces = []
            while piece := await reply.piece():
                pieces.append(piece)
            await reply.aclose()
            return reply, b"".join(pieces)

    return requests, asyncio.run(main())


def test_a_request_for_a_stream():
    call = HttpCall("POST", "https://h/v1/responses", b"{}", {"api-version": "1"}, "text/event-stream")
    [request], (reply, body) = sent(call, secrets=SecretHeaders(lambda: {"Authorization": "Bearer k", "api-key": "z"}))
    assert (request.method, str(request.url), request.content) == (
        "POST",
        "https://h/v1/responses?api-version=1",
        b"{}",
    )
    wanted = {
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "nbresponses/9",
        "authorization": "Bearer k",
        "api-key": "z",
    }
    assert {name: request.headers[name] for name in wanted} == wanted
    assert request.extensions["timeout"] == {"connect": 7, "read": None, "write": None, "pool": 7}
    assert (reply.status, body) == (200, b"ok")


def test_a_query_in_the_address_is_kept():
    [request], _ = sent(HttpCall("GET", "https://h/v1/x?a=1", query={"b": "2 &"}))
    assert dict(request.url.params) == {"a": "1", "b": "2 &"}


def test_headers_and_auth_of_a_given_client():
    call = HttpCall("GET", "https://h/")
    [request], _ = sent(call, headers={"x-own": "1"}, auth=("me", "pw"))
    assert request.headers["x-own"] == "1"
    assert request.headers["authorization"].startswith("Basic ")
    [request], _ = sent(call, auth=("me", "pw"), secrets=SecretHeaders(lambda: {"Authorization": "Bearer k"}))
    assert request.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "target",
    ["http://h/v1", "https://h:444/v1", "https://h.evil.test/v1", "//other/v1", "https://user@other/", "ftp://h/v1"],
)
def test_another_host_port_or_scheme_is_another_origin(target):
    answer = httpx.Response(307, headers={"location": target})
    with pytest.raises(Rejected, match="another origin"):
        sent(HttpCall("POST", "https://h/v1", b"{}"), answers=[answer], follow_redirects=True)


@pytest.mark.parametrize("target", ["/v2", "v2", "https://h/v2", "https://H:443/v2", "//h/v2", "?v=2"])
def test_the_same_origin_is_followed(target):
    requests, (reply, _) = sent(
        HttpCall("POST", "https://h/v1", b"{}"), answers=[httpx.Response(308, headers={"location": target})]
    )
    assert (len(requests), reply.status, requests[1].content) == (2, 200, b"{}")
    assert origin_of(str(requests[1].url)) == ("https", "h", 443)


def test_a_redirect_without_a_target_is_an_answer():
    _, (reply, _) = sent(HttpCall("GET", "https://h/"), answers=[httpx.Response(304)])
    assert reply.status == 304


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity", "", "GZIP"])
def test_codings_that_can_be_undone(coding):
    import gzip
    import zlib

    data = {"gzip": gzip.compress(b"text"), "deflate": zlib.compress(b"text")}.get(coding.lower(), b"text")
    headers = {"content-encoding": coding} if coding else {}
    _, (_, body) = sent(HttpCall("GET", "https://h/"), answers=[httpx.Response(200, headers=headers, content=data)])
    assert body == b"text"


@pytest.mark.parametrize("coding", ["compress", "gzip, exi", "aes128gcm"])
def test_codings_that_cannot(coding):
    answer = httpx.Response(200, headers={"content-encoding": coding}, stream=httpx.ByteStream(b"text"))
    with pytest.raises(ProtocolError, match="content coding"):
        sent(HttpCall("GET", "https://h/"), answers=[answer])


def test_texts_leave_out_what_may_be_secret():
    assert plain_url("https://u:p@h:1/a?key=k#f") == "https://h:1/a"
    assert repr(SecretHeaders(lambda: {"a": "secret"})) == "SecretHeaders(***)"
    call = HttpCall("POST", "https://h/", b"private body", {"key": "secret"})
    assert "secret" not in repr(call)
    assert "private" not in repr(call)
    _, (reply, _) = sent(call)
    assert repr(reply) == "<HttpReply 200 https://h/>"


def test_header_names_of_a_reply_are_lower_case():
    _, (reply, _) = sent(HttpCall("GET", "https://h/"), answers=[httpx.Response(200, headers={"X-Request-Id": "r"})])
    assert reply.headers["x-request-id"] == "r"
