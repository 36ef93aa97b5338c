"""What the how-to pages say and their own code does not show: proxies are used, recordings play without a server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from doc_pages import ROOT, blocks
from forward_proxy import ForwardProxy

from nbresponses import AsyncClient, Client, ConnectionFailed, DemoServer

ELSEWHERE = "http://models.example/v1"  # a name that no resolver knows: only the proxy leads there
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def proxy(server: DemoServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForwardProxy]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    proxy = ForwardProxy(server.port)
    yield proxy
    proxy.close()


def test_a_proxy_of_the_environment_carries_requests_and_lanes(
    proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with Client(base_url=ELSEWHERE, allow_insecure=True) as client:
        assert client.create("Hello", model="demo-echo").output_text == "Demo turn 1: Hello"
        assert proxy.seen == ["POST http://models.example/v1/responses HTTP/1.1"]
        with client.lanes(model="demo-echo", store=False, transport="websocket") as lanes:
            assert lanes["one"].create("Hello").output_text == "Demo turn 1: Hello"
    assert proxy.seen[1] == "CONNECT models.example:80 HTTP/1.1"


def test_no_proxy_and_this_machine_go_past_it(
    proxy: ForwardProxy, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with Client(base_url=server.base_url) as client:
        assert client.create("Hello", model="demo-echo").status == "completed"
    monkeypatch.setenv("NO_PROXY", "models.example")
    with Client(base_url=ELSEWHERE, allow_insecure=True, max_retries=0) as client, pytest.raises(ConnectionFailed):
        client.create("Hello", model="demo-echo")
    assert proxy.seen == []


def test_an_http_client_of_ones_own_is_used_and_not_closed(proxy: ForwardProxy) -> None:
    async def ask() -> str:
        async with httpx.AsyncClient(proxy=proxy.url, trust_env=False) as through:
            async with AsyncClient(base_url=ELSEWHERE, allow_insecure=True, http_client=through) as client:
                response = await client.create("Hello", model="demo-echo")
            assert not through.is_closed
        return response.output_text

    assert asyncio.run(ask()) == "Demo turn 1: Hello"
    assert len(proxy.seen) == 1


@pytest.fixture
def recorded_test(tmp_path: Path) -> Path:
    """The file of tests in docs/recording.md, beside nothing else."""
    page = blocks(ROOT / "docs" / "recording.md")
    [block] = [block for block in page if block.text.startswith("# test_answers.py\n")]
    path = tmp_path / "test_answers.py"
    path.write_text(block.text.replace("gpt-5-mini", "demo-echo"))  # whose answer is one paragraph
    return path


def run_pytest(test: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTEST_"))}
    without["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # which takes longer than the test
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, test.name]
    return subprocess.run(
        command, cwd=test.parent, env=without | environment, capture_output=True, text=True, timeout=50, check=False
    )


def test_the_example_records_once_and_replays_without_a_server(recorded_test: Path) -> None:
    with DemoServer(delay=0) as server:
        given = {"RECORD": "1", "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-of-the-reader"}
        recording = run_pytest(recorded_test, **given)
        assert "1 passed" in recording.stdout, recording.stdout
        assert len(server.requests) == 1
    replaying = run_pytest(recorded_test)
    assert "1 passed" in replaying.stdout, replaying.stdout
    [kept] = (recorded_test.parent / "recordings").iterdir()
    assert kept.name == "test_the_answer_is_one_paragraph.jsonl.gz"
