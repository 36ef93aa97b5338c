"""A Jupyter toolkit for the OpenAI Responses API stream.

In a notebook, `%load_ext nbresponses` brings the `%%responses` cell magic. In code:

    from nbresponses import Client

    with Client() as client, client.stream(model="gpt-5.6", input="Hello") as stream:
        for event in stream:
            print(event.type)
        frame = stream.capture.events()

Importing the package loads the core only (decoder, events, accumulator). Everything else comes on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbresponses.core import events as _events
from nbresponses.core.accumulator import Accumulator, Change
from nbresponses.core.decode import EventDecoder, decode_event
from nbresponses.core.events import *  # noqa: F403  a class per event type
from nbresponses.core.inputs import message
from nbresponses.core.response import Response
from nbresponses.core.sse import ServerSentEvent, SSEDecoder, encode_sse
from nbresponses.errors import *  # noqa: F403

if TYPE_CHECKING:
    from nbresponses._extension import load_ipython_extension, unload_ipython_extension
    from nbresponses.capture.comparing import compare
    from nbresponses.capture.many import Captures, load
    from nbresponses.capture.record import Capture
    from nbresponses.capture.scanning import scan
    from nbresponses.capture.summary import summarize
    from nbresponses.client.async_client import AsyncClient
    from nbresponses.client.client import Client
    from nbresponses.client.inputs import file_part, image_part, table_part
    from nbresponses.client.settings import Timeouts
    from nbresponses.client.stream import AsyncResponseStream, ResponseStream
    from nbresponses.core.request import Request
    from nbresponses.demo.server import DemoServer
    from nbresponses.widgets.board import LaneBoard
    from nbresponses.widgets.inspector import EventInspector
    from nbresponses.widgets.show import show

    __version__: str

_ON_FIRST_USE = {
    "AsyncClient": "nbresponses.client.async_client",
    "AsyncResponseStream": "nbresponses.client.stream",
    "Capture": "nbresponses.capture.record",
    "Captures": "nbresponses.capture.many",
    "Client": "nbresponses.client.client",
    "DemoServer": "nbresponses.demo.server",
    "EventInspector": "nbresponses.widgets.inspector",
    "LaneBoard": "nbresponses.widgets.board",
    "Request": "nbresponses.core.request",
    "ResponseStream": "nbresponses.client.stream",
    "Timeouts": "nbresponses.client.settings",
    "file_part": "nbresponses.client.inputs",
    "image_part": "nbresponses.client.inputs",
    "compare": "nbresponses.capture.comparing",
    "load": "nbresponses.capture.many",
    "scan": "nbresponses.capture.scanning",
    "summarize": "nbresponses.capture.summary",
    "load_ipython_extension": "nbresponses._extension",
    "show": "nbresponses.widgets.show",
    "table_part": "nbresponses.client.inputs",
    "unload_ipython_extension": "nbresponses._extension",
}
"""Public name → the module that has it."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("nbresponses")
    if name in _ON_FIRST_USE:
        value = globals()[name] = getattr(import_module(_ON_FIRST_USE[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Accumulator",
    "AsyncClient",
    "AsyncResponseStream",
    "Capture",
    "Captures",
    "Change",
    "Client",
    "DemoServer",
    "EventDecoder",
    "EventInspector",
    "LaneBoard",
    "Request",
    "Response",
    "ResponseStream",
    "SSEDecoder",
    "ServerSentEvent",
    "Timeouts",
    "compare",
    "decode_event",
    "encode_sse",
    "file_part",
    "image_part",
    "load",
    "load_ipython_extension",
    "message",
    "scan",
    "show",
    "summarize",
    "table_part",
    "unload_ipython_extension",
]
__all__ += _events.__all__
__all__ += import_module("nbresponses.errors").__all__
