"""A forward proxy for tests: passes requests and tunnels on to one server, whatever host they name, and counts them."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress


class ForwardProxy:
    """Listens on this machine. `seen` holds the first line of each connection."""

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.seen: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):  # closed
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, suppress(OSError):
            head = _head(client)
            self.seen.append(head.partition(b"\r\n")[0].decode())
            if head.startswith(b"CONNECT "):
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                head = _head(client)
            server.sendall(self._for_target(head))
            threading.Thread(target=_pipe, args=(client, server), daemon=True).start()
            _pipe(server, client)

    def _for_target(self, head: bytes) -> bytes:
        """With the path alone, and the target's own name: the demo server answers to no other."""
        head = re.sub(rb"^(\w+) http://[^/]+", rb"\1 ", head)
        return re.sub(rb"(?i)\r\nhost: [^\r]+", b"\r\nHost: %s:%d" % (self._target[0].encode(), self._target[1]), head)


def _head(client: socket.socket) -> bytes:
    """A request up to its empty line, and what came with it."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += client.recv(65536)
    return head


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
