"""What a reported error means: retryable or not, how long to wait, and its facts from any body."""

from __future__ import annotations

import pytest

from nbresponses.core.failures import error_of_body, judge, requested_wait

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"code": "rate_limit_exceeded", "type": "tokens"}, True),
        ({"code": "server_error"}, True),
        ({"code": None, "type": "server_error"}, True),
        ({"code": None, "type": "overloaded_error"}, True),
        ({"code": None, "type": "rate_limit_error"}, True),
        ({"code": "slow_down"}, True),
        ({"code": "unheard_of", "type": "server_error"}, True),
        ({"code": 503}, True),
        ({"code": "429"}, True),
        ({"code": "context_length_exceeded", "type": "server_error"}, False),
        ({"code": "insufficient_quota", "type": "insufficient_quota"}, False),
        ({"code": None, "type": "insufficient_quota"}, False),
        ({"code": "no_credit_left", "type": "insufficient_quota"}, False),
        ({"code": "invalid_prompt"}, False),
        ({"code": None, "type": "invalid_request_error"}, False),
        ({"code": 400}, False),
        ({"code": True}, False),
        ({"code": ["odd"]}, False),
        ({"code": "unheard_of"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_without_a_status_the_code_decides_then_the_type(error, retryable):
    assert judge(error, now=NOW).retryable is retryable


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        *((status, None, True) for status in (408, 409, 429, 500, 502, 503, 504, 520, 529)),
        *((status, None, False) for status in (400, 401, 403, 404, 413, 422, 501, 505)),
        (429, "rate_limit_exceeded", True),
        (429, "insufficient_quota", False),
        (500, "context_length_exceeded", False),
        (400, "server_error", False),
        (404, 503, False),
    ],
)
def test_with_a_status_it_decides_unless_the_code_says_that_it_stays(status, code, retryable):
    assert judge({"code": code}, status=status, now=NOW).retryable is retryable


def test_the_servers_own_word_counts():
    assert judge({}, status=400, headers={"x-should-retry": "true"}, now=NOW).retryable
    assert not judge({}, status=500, headers={"x-should-retry": "False"}, now=NOW).retryable
    quota = {"code": "insufficient_quota"}
    assert not judge(quota, status=429, headers={"x-should-retry": "true"}, now=NOW).retryable


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "30"}, 30),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-1"}, 0),
        ({"retry-after-ms": "-1"}, 0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0),
        ({"retry-after": "Wednesday"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-tokens": "9m", "x-ratelimit-remaining-tokens": "5000"}, None),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "1h0m2s"}, 3602),
        ({"x-ratelimit-reset-tokens": "7.5"}, 7.5),
        ({"x-ratelimit-reset-tokens": "soon"}, None),
        ({"x-ratelimit-reset": "12"}, 12),
        ({"x-ratelimit-reset": str(NOW + 20)}, 20),
        ({"x-ratelimit-reset": str((NOW + 20) * 1000)}, 20),
        ({"x-ratelimit-reset": str(NOW - 20)}, 0),
        ({}, None),
    ],
)
def test_the_wait_of_the_headers(headers, wait):
    assert requested_wait(headers, now=NOW) == (None if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Rate limit reached. Please try again in 4.2s. Visit the page.", 4.2),
        ("Please try again in 350ms.", 0.35),
        ("Try again in 6m0s.", 360),
        ("please try again in 1m30.5s", 90.5),
        ("Try again in 20 seconds", 20),
        ("try again after 1 minute, please", 60),
        ("try again in about 2 hours", 7200),
        ("Try again in 5 stages", None),
        ("Try again in time", None),
        ("Try again.", None),
        ("", None),
        (None, None),
        ({"odd": 1}, None),
    ],
)
def test_the_wait_of_the_message(message, wait):
    assert judge({"message": message}, now=NOW).wait == (None if wait is None else pytest.approx(wait))


def test_headers_come_before_the_message_and_resets_after_it():
    message = "try again in 2s"
    assert requested_wait({"retry-after": "3"}, message, now=NOW) == 3
    assert requested_wait({"x-ratelimit-reset": "9"}, message, now=NOW) == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error":{"type":"t","code":"c","message":"m","param":"p"}}', ("t", "c", "m", "p")),
        (b'{"type":"t","code":7,"message":"m"}', ("t", 7, "m", None)),
        (b'{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}', ("RESOURCE_EXHAUSTED", 429, "m", None)),
        (b'[{"error":{"code":400,"message":"m"}}]', (None, 400, "m", None)),
        (b'{"errors":[{"code":"c","message":"m"},{"code":"d"}]}', (None, "c", "m", None)),
        (b'{"error":"Not Found","message":"no route","statusCode":404}', ("Not Found", None, "no route", None)),
        (b'{"error":"invalid_grant","error_description":"d"}', ("invalid_grant", None, "d", None)),
        (b'{"detail":"Not authenticated"}', (None, None, "Not authenticated", None)),
        (b'{"detail":[{"loc":["body","model"],"msg":"x"},{"msg":"y"}]}', (None, None, "body.model: x; y", None)),
        (b'{"detail":{"code":"c","message":"m"}}', (None, "c", "m", None)),
        (b'{"error":{"message":{"en":"m"}}}', (None, None, '{"en":"m"}', None)),
        (b'{"error":null,"message":"m"}', (None, None, "m", None)),
        (b'"text"', (None, None, "text", None)),
        (b"null", (None, None, None, None)),
        (b"[]", (None, None, None, None)),
        (b"{}", (None, None, None, None)),
        (b"", (None, None, None, None)),
        (b"  upstream\n connect error ", (None, None, "upstream connect error", None)),
        (b"<html><TITLE>502 &amp; more</TITLE><p>secret", (None, None, "502 & more", None)),
        (b"<html><p>no title", (None, None, None, None)),
        (b'{"cut', (None, None, '{"cut', None)),
        (b"\xff\xfe", (None, None, "\ufffd\ufffd", None)),
        (b"[" * 100_000, (None, None, "[" * 500, None)),
    ],
)
def test_the_error_of_a_body(body, error):
    found = error_of_body(body)
    assert tuple(found[name] for name in ("type", "code", "message", "param")) == error
    assert list(found) == ["type", "code", "message", "param"]
