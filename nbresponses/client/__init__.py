"""What runs a response: clients, streams, replay. One async body; the synchronous face is a thin twin of it."""

from nbresponses.client.async_client import AsyncClient
from nbresponses.client.client import Client
from nbresponses.client.stream import AsyncResponseStream, ResponseStream

__all__ = ["AsyncClient", "AsyncResponseStream", "Client", "ResponseStream"]
