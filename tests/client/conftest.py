"""A server of raw bytes for the client's tests: each request gets the next script, and everything is written down.

A script is a list of steps: bytes go out as they are, a number is a pause in seconds, "hold" waits until the client
closes, "reset" breaks the connection. After the last step the connection is closed, unless the answer says how long it
is and the script ends with "keep".
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from nbresponses.client import Client
from nbresponses.core.sse import encode_sse
from nbresponses.demo import DemoServer

Step = bytes | float | str
KEY = "sk-test-0123456789abcdef"


@dataclass
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    at: float
    closed_at: float | None = None

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RawServer:
    scripts: list[Sequence[Step]]
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    connections: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        request = None
        try:
            while True:
                request = await _read_request(reader, number)
                self.requests.append(request)
                script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
                if not await self._play(script, reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if request is not None:
                request.closed_at = time.monotonic()
            writer.close()

    async def _play(self, script: Sequence[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for step in script:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif step == "hold":
                await reader.read()
            elif step == "reset":
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            elif step == "keep":
                return True
            else:
                await asyncio.sleep(float(step))
        return False


async def _read_request(reader: asyncio.StreamReader, number: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, target, _ = first.split(" ")
    return Received(method, target, headers, body, number, time.monotonic())


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Starts a raw server with these scripts; the last one is played for all further requests too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    servers: list[asyncio.Server] = []

    async def start(raw: RawServer) -> None:
        server = await asyncio.start_server(raw.serve, "127.0.0.1", raw.port)
        raw.port = server.sockets[0].getsockname()[1]
        servers.append(server)

    async def stop() -> None:
        for server in servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def begin(*scripts: Sequence[Step], port: int = 0) -> RawServer:
        raw = RawServer(list(scripts), port)
        asyncio.run_coroutine_threadsafe(start(raw), loop).result(5)
        return raw

    yield begin
    asyncio.run_coroutine_threadsafe(stop(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture
def client_of() -> Iterator[Callable[..., Client]]:
    """A client of a server, closed after the test."""
    clients: list[Client] = []

    def make(server: Any, **settings: Any) -> Client:
        clients.append(Client(base_url=server.base_url, **{"api_key": KEY, "max_retries": 0, **settings}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as server:
        yield server


class Wire:
    """Builds the bytes of answers."""

    STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_1\r\n"
    CHUNKED = STREAM + b"transfer-encoding: chunked\r\n\r\n"
    UNTIL_CLOSE = STREAM + b"connection: close\r\n\r\n"
    LAST_CHUNK = b"0\r\n\r\n"

    @staticmethod
    def chunk(data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data)

    @staticmethod
    def event(type_: str, number: int | None = None, **fields: Any) -> bytes:
        data: dict[str, Any] = {"type": type_, **fields}
        if number is not None:
            data["sequence_number"] = number
        return encode_sse(json.dumps(data), event=type_)

    @classmethod
    def created(cls, number: int | None = 0, id_: str = "resp_1") -> bytes:
        return cls.event("response.created", number, response={"id": id_, "status": "in_progress", "output": []})

    @classmethod
    def delta(cls, text: str, number: int | None = None) -> bytes:
        return cls.event("response.output_text.delta", number, output_index=0, content_index=0, item_id="m", delta=text)

    @classmethod
    def end(cls, status: str = "completed", number: int | None = None, id_: str = "resp_1", **more: Any) -> bytes:
        return cls.event(f"response.{status}", number, response={"id": id_, "status": status, "output": [], **more})

    @classmethod
    def answer(cls, *texts: str, first: int = 0) -> bytes:
        """A whole stream of these deltas."""
        deltas = [cls.delta(text, first + 1 + place) for place, text in enumerate(texts)]
        return cls.created(first) + b"".join(deltas) + cls.end(number=first + len(texts) + 1)

    @classmethod
    def error(cls, status: int, body: Any = b"", *, keep: bool = False, **headers: Any) -> bytes:
        headers.setdefault("connection", "keep-alive" if keep else "close")
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\nx-request-id: req_err\r\ncontent-length: {len(raw)}\r\n{lines}\r\n"
        return head.encode() + raw

    @staticmethod
    def json(body: Any, *, keep: bool = False) -> bytes:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n"
        return (head + f"connection: {'keep-alive' if keep else 'close'}\r\n\r\n").encode() + raw


@pytest.fixture
def wire() -> type[Wire]:
    return Wire


def pieces_of(case: dict[str, Any]) -> list[bytes]:
    """The bytes of a case, in the pieces in which they come."""
    given = case["input"]
    if given["kind"] == "sse_chunks":
        return [base64.b64decode(piece) for piece in given["chunks_b64"]]
    return [encode_sse(json.dumps(event), event=event["type"]) for event in given["events"]]


@pytest.fixture
def wait_until() -> Callable[[Callable[[], Any]], None]:
    """Waits until something is true, 5 s at most."""

    def wait(true: Callable[[], Any]) -> None:
        until = time.monotonic() + 5
        while not true():
            assert time.monotonic() < until, "it did not happen"
            time.sleep(0.005)

    return wait


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def key() -> str:
    return KEY
