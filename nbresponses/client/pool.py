"""Connection pools, one for each event loop: a pool cannot be used outside the loop that it was made in.

A client can so be used in several `asyncio.run` calls one after the other. Each pool is closed with its loop, by an
async generator that waits for it: a loop that ends closes the generators that began in it, and a generator that is
forgotten is closed by its loop too. A user's own `httpx.AsyncClient` is used as it is and never closed here.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import httpx

from nbresponses.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["Pools"]

_IDLE_CONNECTIONS = 20
_IDLE_SECONDS = 15.0  # servers close idle connections after 5 to 75 s; a short life avoids most of that race


class Pools:
    """`client()` is the `httpx.AsyncClient` of the running loop."""

    def __init__(self, *, given: httpx.AsyncClient | None, loopback: bool, encrypted: bool) -> None:
        self._given = given
        self._loopback = loopback
        self._encrypted = encrypted
        self._open: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None, None]]
        ] = WeakKeyDictionary()

    async def client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            client = self._make()
            keeper = _open_while_running(client)
            await anext(keeper)
            self._open[loop] = client, keeper
        return self._open[loop][0]

    async def aclose(self) -> None:
        """Closes the pool of the running loop. Those of other loops are closed by their loops."""
        _, keeper = self._open.pop(asyncio.get_running_loop(), (None, None))
        self._open.clear()
        if keeper is not None:
            await keeper.aclose()

    def _make(self) -> httpx.AsyncClient:
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS, keepalive_expiry=_IDLE_SECONDS
        )
        # Without TLS no certificates are needed, and loading them takes longer than all the rest. A context that trusts
        # nobody is safe if it should ever be asked.
        verify = True if self._encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # A proxy from the environment is for the network; a server on this machine is reached directly.
        trusted = not self._loopback
        try:
            return httpx.AsyncClient(limits=limits, verify=verify, trust_env=trusted, follow_redirects=False)
        except ImportError:
            problem = "the environment names a SOCKS proxy, which needs a package: pip install 'httpx[socks]'"
        except (ValueError, httpx.InvalidURL):
            problem = "the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) names one that is no address"
        raise RequestError("proxy", problem)  # out here: the library's frames hold the proxy's password


async def _open_while_running(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await client.aclose()
