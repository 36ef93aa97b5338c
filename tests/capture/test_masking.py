"""Secrets of a request never reach a capture, whatever the field is spelled like; all else stays as it was."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime

import pytest

from nbresponses.capture.masking import masked
from nbresponses.capture.record import Capture
from nbresponses.core.decode import decode_event

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    "body",
    [
        {"api_key": SECRET},
        {"metadata": {"API-Key": SECRET, "Authorization": f"Bearer {SECRET}"}},
        {"tools": [{"type": "mcp", "server_label": "x", "authorization": SECRET}]},
        {"tools": [{"type": "mcp", "headers": {"X-Custom": SECRET, "Cookie": [SECRET]}}]},
        {"tools": [{"type": "mcp", "server_url": f"https://user:{SECRET}@host.test/mcp?key={SECRET}#{SECRET}"}]},
        {"tools": [{"type": "mcp", "server_url": f"https://[bad?key={SECRET}"}]},
        {"tools": [{"environment": {"network_policy": {"domain_secrets": [{"domain": "d", "value": SECRET}]}}}]},
        {"extra_headers": {"x": SECRET}},
        {"input": [{"password": SECRET}, {"access_token": SECRET}, {"client-secret": {"deep": [SECRET]}}]},
        {"x": ({"token": SECRET},)},
    ],
)
def test_secrets_are_masked(body: dict, tmp_path) -> None:
    capture = Capture(datetime(2026, 1, 31, tzinfo=UTC))
    capture.sent(body, 0.0)
    capture.noted("status", 0.0, **body)
    capture.save(tmp_path / "c.jsonl")
    everything = (tmp_path / "c.jsonl").read_text() + "".join(message.text for message in capture)
    assert SECRET not in everything
    assert "***" in everything


def test_everything_else_stays() -> None:
    body = {
        "model": "m",
        "input": [{"role": "user", "content": "my api_key is what?"}],
        "max_output_tokens": 5,
        "prompt_cache_key": "k",
        "stream": True,
        "tools": [
            {
                "type": "function",
                "parameters": {"properties": {"api_key": {"type": "string"}, "token": {"enum": ["a"]}}},
            },
            {"type": "mcp", "server_url": "https://host.test/mcp", "authorization": None, "headers": {}},
        ],
        "logprobs": [{"token": "a", "logprob": -1.0}],
    }
    before = json.dumps(body)
    assert masked(body) == body
    assert json.dumps(body) == before, "the request itself must not change"


def test_structure_stays_under_a_secret_name() -> None:
    headers = {"Authorization": SECRET, "n": 5, "flag": True, "none": None}
    assert masked({"headers": headers}) == {
        "headers": {"Authorization": "***", "n": "***", "flag": True, "none": None},
    }


def test_bodies_that_strict_json_refuses_are_kept() -> None:
    capture = Capture(datetime(2026, 1, 31, tzinfo=UTC))
    capture.sent(
        {
            "input": "\ud83d",
            "n": 10**30,
            "at": {
                1,
            },
        },
        0.0,
    )
    assert json.loads(capture[0].text) == {"input": "\ud83d", "n": 10**30, "at": "{1}"}


@pytest.mark.parametrize("plain", [True, False])
def test_secrets_that_a_server_repeats_are_masked_there_too(plain: bool) -> None:
    secret = 'pass"phrase-ü'
    capture = Capture(datetime(2026, 1, 31, tzinfo=UTC))
    tool = {"type": "mcp", "headers": {"X-Key": secret, "X-Env": "prod"}}
    capture.sent({"tools": [tool]}, 0.0)
    echo = {"type": "response.created", "response": {"id": "r", "tools": [tool], "instructions": "prod"}}
    said = {"type": "response.output_text.delta", "delta": "what comes from the model stays"}
    capture.received([decode_event(json.dumps(each, ensure_ascii=plain)) for each in (echo, said)], 1.0)
    tool["headers"]["X-Key"] = "***"
    assert [message.facts() for message in capture][1:] == [echo, said]
    assert b"phrase" not in pickle.dumps(capture)
