"""Server-sent events: bytes → events by the WHATWG algorithm, and back. Never looks into the data.

Source: HTML Living Standard, section 9.2 "Server-sent events". Three steps, each usable alone:

* `BlockReader` finds complete blocks in pieces of any size (byte-order mark, CR / LF / CRLF, size limit),
* `parse_block` reads the fields of one block,
* `SSEDecoder` joins both and keeps what outlives a block: the last event id and the reconnection time.

Two deliberate readings of the standard. At the end of the stream a block that lacks its blank line is delivered, not
discarded: servers that close right after the terminal event lose it otherwise. And a CR at the end of a piece ends the
line at once; a LF that opens the next piece then belongs to it. No byte is ever held back to look ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from nbresponses.errors import DecodeError

__all__ = ["DEFAULT_MAX_EVENT_BYTES", "BlockReader", "SSEDecoder", "ServerSentEvent", "encode_sse", "parse_block"]

DEFAULT_MAX_EVENT_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LF = ord("\n")


class ServerSentEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event. `data` is its data lines, joined by LF.

    `event` is the name that was sent, None where none was (the standard then calls it "message"). `id` is the last
    event id at dispatch ("" before any was sent; it persists from block to block). `retry` is the reconnection time in
    milliseconds that this very block carried, or None.
    """

    data: str
    event: str | None = None
    id: str = ""
    retry: int | None = None


class BlockReader:
    """Cuts pieces of a byte stream into runs of complete blocks. Searches each byte once, copies it at most twice."""

    __slots__ = ("_after_cr", "_at_start", "_max_bytes", "_open", "_unusual", "oversize")

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._open = bytearray()  # the block that is not complete yet; a list of tiny pieces would take many times more
        self._at_start = True
        self._after_cr = False
        self._unusual = True  # at the start, after a CR, and after the end
        self.oversize = 0
        """Bytes of the block that broke the limit when it was given up; 0 while none did."""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece; return the complete blocks that are now there.

        The run has LF line ends and ends with a blank line, or is empty. Once `oversize` is set, nothing more comes.
        """
        if b"\r" in piece or self._unusual:
            piece = self._normalized(piece)
        if not self._open:
            if piece[:1] == b"\n":
                piece = piece.lstrip(b"\n")  # a blank line between blocks says nothing
            if piece[-2:] == b"\n\n":
                return self._checked(piece)
        if not piece:
            return b""
        end = piece.rfind(b"\n\n")
        if end < 0 and not (piece[0] == _LF and self._open and self._open[-1] == _LF):
            self._keep(piece)
            return b""
        if self._open:
            self._open += piece
            piece = bytes(self._open)
            self._open.clear()
            end = piece.rfind(b"\n\n")
        run = self._checked(piece[: end + 2])
        rest = piece[end + 2 :].lstrip(b"\n")
        if rest and not self.oversize:
            self._keep(rest)
        return run

    def rest(self) -> bytes:
        """The bytes of the block that is still open, with LF line ends."""
        return bytes(self._open)

    def _keep(self, piece: bytes) -> None:
        self._open += piece
        if len(self._open) > self._max_bytes:
            self._give_up(len(self._open))

    def _checked(self, run: bytes) -> bytes:
        """The run up to its first block above the limit (a block counts without its blank line)."""
        if len(run) <= self._max_bytes:
            return run
        good = 0
        for block in run.split(b"\n\n"):
            if len(block.lstrip(b"\n")) >= self._max_bytes:
                self._give_up(len(block.lstrip(b"\n")) + 1)
                return run[:good]
            good += len(block) + 2
        return run

    def _give_up(self, size: int) -> None:
        self.oversize = size
        self._unusual = True
        self._open.clear()

    def _normalized(self, piece: bytes) -> bytes:
        """The piece without a leading byte-order mark and with LF line ends; empty while nothing may be said yet."""
        if self.oversize:
            return b""
        if self._at_start:
            piece = bytes(self._open) + piece
            self._open.clear()
            if len(piece) < len(_BOM) and _BOM.startswith(piece):  # the next piece will tell
                self._open += piece
                return b""
            self._at_start = False
            piece = piece.removeprefix(_BOM)
        if self._after_cr and piece[:1] == b"\n":
            piece = piece[1:]
            self._after_cr = False
        if piece:
            self._after_cr = piece[-1:] == b"\r"
        self._unusual = self._after_cr
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class Block(NamedTuple):
    """The fields of one block. `data` is None where no data line came; `event` and `id` likewise."""

    data: bytes | None
    event: bytes | None
    id: bytes | None
    retry: int | None


def parse_block(block: bytes) -> Block:
    """Read the fields of one block (LF line ends). Comments and unknown fields are ignored, as the standard says."""
    data: list[bytes] = []
    event: bytes | None = None
    id_: bytes | None = None
    retry: int | None = None
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]  # "If value starts with a U+0020 SPACE character, remove it from value": one, and no tab
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value
        elif name == b"id" and b"\0" not in value:
            id_ = value
        elif name == b"retry" and value.isdigit():
            retry = _milliseconds(value)
    if not data:
        return Block(None, event, id_, retry)
    return Block(data[0] if len(data) == 1 else b"\n".join(data), event, id_, retry)


def _milliseconds(digits: bytes) -> int:
    return int(digits.lstrip(b"0")[:18] or b"0")  # no one waits for longer; int() itself refuses very long texts


class SSEDecoder:
    """Bytes → server-sent events, for inspection and for tests. (`EventDecoder` is the fast way to typed events.)

    Invalid UTF-8 becomes U+FFFD, as the standard's decoder does it. A block above `max_event_bytes` ends the decoder:
    what came before it is returned, `error` says why, and nothing follows.
    """

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._blocks = BlockReader(max_event_bytes)
        self._max_bytes = max_event_bytes
        self.last_event_id = ""
        self.retry: int | None = None

    @property
    def error(self) -> DecodeError | None:
        """Set once a block broke the size limit."""
        return too_large(self._blocks.oversize, self._max_bytes) if self._blocks.oversize else None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Take the next bytes; return the events they complete."""
        run = self._blocks.feed(data)
        return [event for block in run.split(b"\n\n") if (event := self._dispatch(block))] if run else []

    def finish(self) -> list[ServerSentEvent]:
        """The end of the stream: deliver a last block that lacks its blank line, if it has data.

        The decoder is then ready for the next connection; id and reconnection time stay, and so does an error.
        """
        if self._blocks.oversize:
            return []
        rest, self._blocks = self._blocks.rest(), BlockReader(self._max_bytes)
        event = self._dispatch(rest)
        return [event] if event else []

    def _dispatch(self, block: bytes) -> ServerSentEvent | None:
        data, name, id_, retry = parse_block(block)
        if id_ is not None:
            self.last_event_id = id_.decode("utf-8", "replace")
        if retry is not None:
            self.retry = retry
        if data is None:
            return None
        event = name.decode("utf-8", "replace") if name else None
        return ServerSentEvent(data.decode("utf-8", "replace"), event, self.last_event_id, retry)


def too_large(size: int, limit: int) -> DecodeError:
    """The error for a block that broke the limit."""
    reason = f"event too large: over {limit} bytes without its end; raise the limit with max_event_bytes"
    return DecodeError(reason, length=size)


def encode_sse(
    data: str | bytes,
    *,
    event: str | None = None,
    id: str | None = None,  # noqa: A002  the field is called so
    retry: int | None = None,
) -> bytes:
    """One complete block, blank line included. Decoding it gives back the same fields.

    Line ends inside `data` become LF: the format has one data line per line. Raises ValueError for an event name or id
    that holds a line end (or a NUL in the id), or a negative retry: the format cannot carry them.
    """
    for name, value in (("event", event), ("id", id)):
        if value is not None and ("\n" in value or "\r" in value):
            raise ValueError(f"{name}: a line end cannot be sent in this field")
    if id is not None and "\0" in id:
        raise ValueError("id: a NUL cannot be sent in this field; readers ignore the whole line")
    if retry is not None and retry < 0:
        raise ValueError("retry: milliseconds, zero or more")
    body = data.encode() if isinstance(data, str) else data
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    head = b""
    if event is not None:
        head += b"event: " + event.encode() + b"\n"
    if id is not None:
        head += b"id: " + id.encode() + b"\n"
    if retry is not None:
        head += b"retry: " + str(retry).encode() + b"\n"
    return head + b"data: " + body.replace(b"\n", b"\ndata: ") + b"\n\n"
