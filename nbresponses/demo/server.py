"""DemoServer: the embedded server in a thread of its own, on a loop of its own, on 127.0.0.1 only.

It works beside a running event loop (a notebook's), needs no key and takes any. It is there for demos and tests: it
answers from scenarios, never from a model.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import uvicorn

from nbresponses.demo.app import create_app
from nbresponses.demo.faults import Fault
from nbresponses.demo.guard import guarded
from nbresponses.demo.service import LoggedRequest, Service
from nbresponses.demo.socket import SocketSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from starlette.types import Scope

_PATIENCE = 10.0  # seconds for the thread to start, or to end


class DemoServer:
    """The demo server, as a context manager or by `start()` and `stop()`.

    `port` 0 takes a free one. `delay` is the time between events in seconds. `fault` damages every answer (see
    `nbresponses.demo.faults`). With a `seed` the ids are the same from run to run; texts are anyway. `max_body` is the
    largest request body in bytes, `max_message` the largest message that a WebSocket takes; a WebSocket lasts
    `connection_age` seconds and runs `in_flight` responses at a time.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        delay: float = 0.015,
        fault: str | Mapping[str, Any] | Fault | None = None,
        seed: int | None = None,
        max_body: int = 64 << 20,
        max_message: int = 64 << 20,
        connection_age: float = 3600.0,
        in_flight: int = 16,
    ) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port is to be within 0 and 65535, not {port}")
        self._service = Service(delay=delay, seed=seed, fault=Fault.parse(fault))
        self._wanted_port = port
        self._limits = _Limits(max_body, max_message, SocketSettings(connection_age, in_flight))
        self._running: _Uvicorn | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<DemoServer {self.base_url if self._running else 'stopped'}>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port that it listens on. RuntimeError while it does not run."""
        if self._running is None:
            raise RuntimeError("The demo server is not running: use it in a with statement, or call start() first.")
        return self._running.port

    @property
    def base_url(self) -> str:
        """What a client takes as `base_url`. RuntimeError while it does not run."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[LoggedRequest]:
        """The requests so far (the latest 10,000), with neither headers nor keys."""
        return list(self._service.requests)

    @property
    def active(self) -> tuple[str, ...]:
        """Ids of the responses that are being generated right now."""
        return tuple(self._service.active)

    @property
    def created(self) -> dict[str, int]:
        """How often each prompt (its first 200 characters) began to be answered."""
        return dict(self._service.created)

    @property
    def sockets(self) -> int:
        """How many WebSocket connections were opened."""
        return self._service.sockets

    @property
    def fault(self) -> Fault:
        """The fault of every answer; it can be set while the server runs."""
        return self._service.fault

    @fault.setter
    def fault(self, fault: str | Mapping[str, Any] | Fault | None) -> None:
        self._service.set_fault(Fault.parse(fault))

    def start(self) -> Self:
        """Returns when the server takes requests. Does nothing if it runs already.

        OSError where the port is taken, RuntimeError where the server does not start.
        """
        if self._running is not None:
            return self
        listener = socket.create_server(("127.0.0.1", self._wanted_port))
        # Inherited by the connections. asyncio sets it only where it knows the protocol number, which is 0 here;
        # without it each answer waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        running = _Uvicorn(self._service, listener, self._limits)
        thread = threading.Thread(target=running.run_in_thread, name="nbresponses-demo", daemon=True)
        thread.start()
        if not running.ready.wait(_PATIENCE) or running.failure is not None:
            listener.close()
            raise RuntimeError("The demo server did not start.") from running.failure
        self._running, self._thread = running, thread
        return self

    def stop(self) -> None:
        """Ends the responses in flight, closes every connection, and waits for the thread. Can be called twice."""
        running, thread = self._running, self._thread
        self._running = self._thread = None
        if running is not None and thread is not None:
            running.ask_to_stop()
            thread.join(_PATIENCE)


@dataclass(frozen=True, slots=True)
class _Limits:
    body: int  # bytes
    message: int  # bytes
    socket: SocketSettings


class _Uvicorn(uvicorn.Server):
    """uvicorn, told where to listen, when it is ready, and to end without waiting for anybody."""

    def __init__(self, service: Service, listener: socket.socket, limits: _Limits) -> None:
        self.port: int = listener.getsockname()[1]
        self.ready = threading.Event()
        self.failure: BaseException | None = None
        self._listener = listener
        self._service = service
        app = create_app(service, abort=self._abort, max_body=limits.body, settings=limits.socket)
        super().__init__(
            uvicorn.Config(
                guarded(app, port=self.port),
                http="h11",
                ws="websockets-sansio",
                ws_max_size=limits.message,
                ws_per_message_deflate=False,  # nothing is saved on loopback, and it costs more than all the rest
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
            )
        )

    def run_in_thread(self) -> None:
        try:
            asyncio.run(self.serve(sockets=[self._listener]))
        except BaseException as error:  # reported where start() waits
            self.failure = error
        finally:
            self.ready.set()

    def ask_to_stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets=sockets)

    async def _abort(self, scope: Scope) -> None:
        """Breaks the connection of a scope, once what was written has left (or a second has passed)."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) != scope["client"]:
                continue
            transport = connection.transport
            for _ in range(200):
                if transport.is_closing() or not transport.get_write_buffer_size():
                    break
                await asyncio.sleep(0.005)
            transport.abort()
