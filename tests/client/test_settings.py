"""Settings: arguments, then the environment; addresses in every form; what is wrong is named without its value."""

from __future__ import annotations

import pytest

from nbresponses.client import AsyncClient, Client
from nbresponses.client.secret import Secret
from nbresponses.client.settings import OPENAI_BASE_URL, Settings, Timeouts, is_loopback
from nbresponses.errors import RequestError

ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-env-0123456789",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/env",
    "OPENAI_ORG_ID": "org-env",
    "OPENAI_PROJECT_ID": "proj-env",
}


def headers_of(client):
    return client._api.settings.secret.headers()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_environment_counts_where_there_is_no_argument(monkeypatch, kind):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    client = kind()
    assert client.base_url == "http://127.0.0.1:9/env"
    assert headers_of(client) == {
        "Authorization": "Bearer sk-env-0123456789",
        "OpenAI-Organization": "org-env",
        "OpenAI-Project": "proj-env",
    }
    client = kind(base_url="https://h/v1/", api_key=" sk-arg ", organization="o", project="p")
    assert client.base_url == "https://h/v1"
    assert headers_of(client) == {"Authorization": "Bearer sk-arg", "OpenAI-Organization": "o", "OpenAI-Project": "p"}


def test_an_empty_variable_counts_as_unset(monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "")
    client = Client()
    assert client.base_url == OPENAI_BASE_URL
    assert headers_of(client) == {}


def test_the_environment_is_read_when_the_client_is_made(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-before-01234567")
    client = Client()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-after-01234567")
    assert headers_of(client)["Authorization"] == "Bearer sk-before-01234567"


@pytest.mark.parametrize(
    ("given", "url", "query"),
    [
        ("https://h/v1/", "https://h/v1", {}),
        ("https://h", "https://h", {}),
        (" http://localhost:8000/v1 ", "http://localhost:8000/v1", {}),
        ("https://x.openai.azure.com/openai/v1?api-version=preview", "https://x.openai.azure.com/openai/v1", "preview"),
        ("http://[::1]:8/v1#part", "http://[::1]:8/v1", {}),
    ],
)
def test_addresses(given, url, query):
    settings = Settings.read(secret=Secret(), base_url=given)
    assert settings.base_url == url
    assert dict(settings.query) == ({"api-version": query} if query else {})


@pytest.mark.parametrize("given", ["h/v1", "ftp://h", "http://", "http://h:port/", "http://h:99999/", "file:///etc", 5])
def test_an_address_that_is_none(given):
    with pytest.raises(RequestError, match="base_url"):
        Client(base_url=given)


def test_an_address_with_a_password_is_refused_unshown():
    with pytest.raises(RequestError, match="user name or password") as caught:
        Client(base_url="https://me:hunter2@h/v1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"api_key": " "}, "api_key"),
        ({"api_key": "two words"}, "api_key"),
        ({"api_key": 5}, "api_key"),
        ({"headers": {"a": 1}}, "headers"),
        ({"headers": {"": "x"}}, "headers"),
        ({"headers": {"x": "line\r\nX-More: 1"}}, "headers"),
        ({"headers": "x: y"}, "headers"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"max_event_bytes": 0}, "max_event_bytes"),
        ({"timeout": 0}, "timeout"),
        ({"http_client": "x"}, "http_client"),
    ],
)
def test_what_is_wrong_is_named(wrong, field):
    with pytest.raises(RequestError) as caught:
        Client(base_url="http://127.0.0.1/v1", **wrong)
    assert caught.value.field == field


def test_defaults():
    settings = Settings.read(secret=Secret())
    assert settings.timeouts == Timeouts(connect=10, first_byte=600, idle=600, total=None)
    assert (settings.max_retries, settings.allow_insecure, settings.max_event_bytes) == (2, False, 64 << 20)


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *(
            (host, True)
            for host in ("localhost", "LocalHost.", "a.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")
        ),
        *((host, False) for host in ("localhost.evil.test", "127.0.0.1.evil.test", "0.0.0.1", "10.0.0.1", "", "::")),
    ],
)
def test_this_machine(host, here):
    assert is_loopback(host) is here


def test_a_proxy_of_the_environment_is_not_for_this_machine(serve, wire, client_of, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = serve([wire.json({"data": []})])
    assert client_of(server).models() == []
