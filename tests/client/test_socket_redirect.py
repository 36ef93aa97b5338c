"""A WebSocket handshake that is answered with a redirect: the credentials go nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbresponses import Client, Rejected

KEY = "sk-a-key-that-nobody-may-see"
HEADERS = {"api-key": "another-secret", "X-Custom-Token": "a-third-secret"}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirected_handshake_is_refused_and_the_target_gets_nothing(serve: Callable[..., Any], status: int) -> None:
    target = serve(["hold"])
    location = f"ws://127.0.0.1:{target.port}/v1/responses"
    answer = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    server = serve([answer])
    with Client(base_url=server.base_url, api_key=KEY, headers=HEADERS) as client, pytest.raises(Rejected) as caught:
        client.lanes(model="m", transport="websocket", open_timeout=5).__enter__()
    assert caught.value.status == status
    assert len(server.requests) == 1
    assert target.connections == 0
    for secret in (KEY, *HEADERS.values()):
        assert secret not in str(caught.value) + repr(caught.value)
