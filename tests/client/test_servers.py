"""The settings of docs/servers.md: what goes to such a server, on one that only writes it down.

Nothing here has spoken to the servers themselves; tests/peers does, with those that it can start.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from nbresponses.client import Client
from nbresponses.client.settings import OPENAI_BASE_URL

PAGE = (Path(__file__).parents[2] / "docs" / "servers.md").read_text(encoding="utf-8")
ROWS = {
    cells[0]: cells[1:]
    for line in PAGE[PAGE.index("| server |") : PAGE.index('"server":')].splitlines()[2:]
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5
}
BY_REQUEST = {name: row for name, row in ROWS.items() if row[2] == "request"}
AUTHORISING = {"authorization", "api-key", "x-api-key", "openai-organization", "openai-project", "cookie"}
ENVIRONMENT = "sk-of-the-environment"

# server → settings beside the address, the headers that authorise, the query
SENT: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, str]]] = {
    "OpenAI": ({}, {"authorization": f"Bearer {ENVIRONMENT}"}, {}),
    "Azure OpenAI": ({"headers": {"api-key": "azure-key"}}, {"api-key": "azure-key"}, {}),
    "OpenRouter": ({"api_key": "sk-or-v1-key"}, {"authorization": "Bearer sk-or-v1-key"}, {}),
    "vLLM": ({"api_key": "as-started"}, {"authorization": "Bearer as-started"}, {}),
    "LM Studio": ({}, {}, {}),
    "Ollama": ({}, {}, {}),
}
AZURE: list[tuple[dict[str, Any], dict[str, str], dict[str, str]]] = [
    ({"api_key": lambda: "entra-token"}, {"authorization": "Bearer entra-token"}, {}),
    (
        {"headers": {"api-key": "azure-key"}, "query": {"api-version": "preview"}},
        {"api-key": "azure-key"},
        {"api-version": "preview"},
    ),
]


def path_in(cell: str) -> str:
    """The path of an address in the table; that of the API where it is left out."""
    found = re.search(r"`(https?://[^`]+)`", cell)
    return urlsplit(found[1] if found else OPENAI_BASE_URL).path


def authorising(request: Any) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name in AUTHORISING}


def ask(raw: Any, path: str, **settings: Any) -> None:
    address = f"http://127.0.0.1:{raw.port}{path}"
    with Client(base_url=address, max_retries=0, **settings) as client:
        assert client.stream("x", model="m", store=False).get_final_response().output_text == "a"
        client.models()


def assert_sent(raw: Any, path: str, headers: dict[str, str], query: dict[str, str]) -> None:
    posted, listed = raw.requests
    assert (posted.method, posted.path) == ("POST", f"{path}/responses")
    assert (listed.method, listed.path) == ("GET", f"{path}/models")
    assert posted.json == {"input": "x", "model": "m", "store": False, "stream": True}
    assert (posted.headers["accept"], posted.headers["content-type"]) == ("text/event-stream", "application/json")
    for request in raw.requests:
        assert authorising(request) == headers
        assert request.query == query


@pytest.fixture
def raw(serve: Any, wire: Any) -> Any:
    return serve([wire.UNTIL_CLOSE + wire.answer("a")], [wire.json({"object": "list", "data": []})])


def test_each_row_without_a_server_has_its_request() -> None:
    assert set(BY_REQUEST) == set(SENT)
    assert {row[2].split(",")[0] for row in ROWS.values()} == {"request", "server"}


@pytest.mark.parametrize("name", SENT)
def test_the_settings_make_the_request(raw: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, headers, query = SENT[name]
    if name not in {"LM Studio", "Ollama"}:  # they need none, so none is set
        monkeypatch.setenv("OPENAI_API_KEY", ENVIRONMENT)
    path = path_in(BY_REQUEST[name][0])
    ask(raw, path, **settings)
    assert_sent(raw, path, headers, query)


@pytest.mark.parametrize(("settings", "headers", "query"), AZURE)
def test_the_ways_of_azure(raw: Any, settings: Any, headers: Any, query: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", ENVIRONMENT)
    ask(raw, "/openai/v1", **settings)
    assert_sent(raw, "/openai/v1", headers, query)


def test_an_azure_client_is_taken_over_whole(raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = openai.AzureOpenAI(
        azure_endpoint=f"http://127.0.0.1:{raw.port}", api_key="azure-key", api_version="2025-04-01-preview"
    )
    monkeypatch.setenv("OPENAI_API_KEY", ENVIRONMENT)
    with Client.from_openai(theirs, max_retries=0) as client:
        client.stream("x", model="m", store=False).get_final_response()
        client.models()
    assert_sent(raw, "/openai", {"api-key": "azure-key"}, {"api-version": "2025-04-01-preview"})


def test_what_the_official_client_sends_to_azure_is_the_same(serve: Any, wire: Any, raw: Any) -> None:
    """Their own request, beside ours: address, key and version."""
    other = serve([wire.UNTIL_CLOSE + wire.answer("a")])
    theirs = openai.AzureOpenAI(
        azure_endpoint=f"http://127.0.0.1:{other.port}", api_key="azure-key", api_version="2025-04-01-preview"
    )
    list(theirs.responses.create(model="m", input="x", stream=True, store=False))
    settings = {"headers": {"api-key": "azure-key"}, "query": {"api-version": "2025-04-01-preview"}}
    ask(raw, "/openai", **settings)
    (one,), two = other.requests, raw.requests[0]
    assert (one.method, one.target) == (two.method, two.target)
    assert authorising(one) == authorising(two)
    assert one.json == two.json


def test_the_handshake_of_lanes_carries_the_same(serve: Any, wire: Any) -> None:
    raw = serve([wire.error(404)], [wire.UNTIL_CLOSE + wire.answer("a")])
    address = f"http://127.0.0.1:{raw.port}/openai/v1"
    settings: dict[str, Any] = {"headers": {"api-key": "azure-key"}, "query": {"api-version": "preview"}}
    with Client(base_url=address, max_retries=0, **settings) as client, client.lanes(model="m") as lanes:
        assert lanes["a"].create("x").output_text == "a"  # over HTTP: this one has no WebSocket mode
    handshake, posted = raw.requests
    assert handshake.headers["upgrade"] == "websocket"
    for request in (handshake, posted):
        assert request.target == "/openai/v1/responses?api-version=preview"
        assert authorising(request) == {"api-key": "azure-key"}
