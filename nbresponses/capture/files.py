"""Captures on disk: JSON lines, one per message. Knows messages and files, no capture and no stream.

    {"nbresponses":"capture","version":1,"started":"2026-01-31T12:00:00.000000Z","source":"…"}
    {"at":0.0123,"direction":"in","kind":"event","transport":"sse","text":"{\\"type\\":…}"}

Every line is complete in itself and ends with LF, so a file can be written while the stream runs, appended to, and read
after a crash: a last line that was cut off is no message, and the reader says so (`truncated`). Appending begins with a
new header line; the times of what follows count from its `started`, and the reader turns them into seconds since the
first header's. docs/captures.md has the format in full.
"""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal, cast

import msgspec

from nbresponses.capture.messages import LONGEST, Message
from nbresponses.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

__all__ = ["VERSION", "CaptureHeader", "CaptureReader", "CaptureWriter", "save_messages"]

VERSION = 1
_BATCH_BYTES = 1 << 20
_HEADER_BYTES = 1 << 20  # a first line longer than this is no header
_LINES_PER_WRITE = 1024


class CaptureHeader(msgspec.Struct, frozen=True):
    """The first line. `started` is the wall time, in UTC, from which the messages' `at` counts."""

    started: Annotated[datetime, msgspec.Meta(tz=True)]
    source: str = ""

    def line(self) -> bytes:
        started = self.started.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        source = self.source.encode("utf-8", "replace").decode()
        head = {"nbresponses": "capture", "version": VERSION, "started": started, "source": source}
        return msgspec.json.encode(head) + b"\n"


class _Magic(msgspec.Struct):
    nbresponses: Literal["capture"]
    version: int


class _Line(msgspec.Struct, omit_defaults=True):
    at: float
    direction: Literal["in", "out", "note"]
    kind: str
    transport: str
    lane: str | None = None
    name: str | None = None
    text: str | None = None
    base64: str | None = None


_encode_line = msgspec.json.Encoder().encode
_decode_line = msgspec.json.Decoder(_Line).decode
_decode_magic = msgspec.json.Decoder(_Magic).decode
_decode_header = msgspec.json.Decoder(CaptureHeader).decode
_DAMAGED = (msgspec.MsgspecError, ValueError, RecursionError)


def _open(path: str, mode: str, *, packed: bool | None = None) -> IO[bytes]:
    if path.endswith(".gz") if packed is None else packed:
        return cast("IO[bytes]", gzip.open(path, mode))
    return cast("IO[bytes]", Path(path).open(mode))


def _message_line(message: Message) -> bytes:
    """One message as its line. The payload is `text` where it is UTF-8, else `base64`: no byte is ever changed."""
    text: str | None = None
    encoded: str | None = None
    try:
        text = message.payload.decode()
    except UnicodeDecodeError:
        encoded = b64encode(message.payload).decode("ascii")
    direction = cast("Literal['in', 'out', 'note']", message.direction)
    line = _Line(message.at, direction, message.kind, message.transport, message.lane, message.name, text, encoded)
    return _encode_line(line) + b"\n"


def _read_message(line: _Line, offset: float) -> Message:
    if not -LONGEST < line.at < LONGEST:
        raise ValueError("`at` out of range")
    if line.text is not None:
        payload = line.text.encode()
    elif line.base64 is not None:
        try:
            payload = b64decode(line.base64, validate=True)
        except ValueError:
            raise ValueError("the base64 is malformed") from None
    else:
        raise ValueError("neither text nor base64")
    return Message(line.at + offset, line.direction, line.kind, line.transport, line.lane, line.name, payload)


def _read_messages(lines: list[bytes], offset: float) -> list[Message] | None:
    """The messages of lines that are all as they should be, else None."""
    try:
        return [_read_message(line, offset) for line in map(_decode_line, lines)]
    except _DAMAGED:
        return None


def _reason(error: Exception) -> str:
    malformed = isinstance(error, (msgspec.MsgspecError, RecursionError, UnicodeDecodeError))
    if malformed and not isinstance(error, msgspec.ValidationError):
        return "no complete JSON object"
    return str(error)


class CaptureReader:
    """The messages of a file, one at a time, in bounded memory. Iterate once; `.gz` files are unpacked on the way.

    `header` is the file's first line. After the iteration `truncated` says whether a message was cut off: the file's
    last line after a crash, or the last one before something was appended. Raises CaptureError for what is no capture,
    another version, or a damaged line; OSError as `open` does.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.truncated = False
        self._number = 1  # of the line that is read
        self._offset = 0.0  # of the part that is read: seconds from the first header's start to its own
        self._torn: CaptureError | None = None
        self._torn_line = b""
        self._file = _open(self.path, "rb")
        try:
            self.header = self._first_header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> CaptureReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Leaving `with` does it too."""
        self._file.close()

    @property
    def position(self) -> int:
        """How many bytes of the file have been read; of a `.gz` as they are on the disk."""
        on_disk: IO[bytes] = getattr(self._file, "fileobj", None) or self._file
        return on_disk.tell()

    def __iter__(self) -> Iterator[Message]:
        for messages in self.batches():
            yield from messages

    def batches(self) -> Iterator[list[Message]]:
        """The same messages, some thousand at a time."""
        while lines := self._readlines():
            messages = None if self._torn else _read_messages(lines, self._offset)
            if messages is None:
                messages = self._read_carefully(lines)
            else:
                self._number += len(lines)
            yield messages
        if self._torn is not None:
            if self._torn_line.endswith(b"\n"):
                raise self._torn
            self.truncated = True

    def _readlines(self) -> list[bytes]:
        lines: list[bytes] = []
        size = 0
        try:
            for raw in self._file:
                lines.append(raw)
                size += len(raw)
                if size >= _BATCH_BYTES:
                    break
        except EOFError:  # the compressed data ends early
            self.truncated = True
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._error("the compressed data is damaged") from error
        return lines

    def _read_carefully(self, lines: list[bytes]) -> list[Message]:
        """Line by line. A damaged line is forgiven if nothing, or a new header, follows it."""
        messages: list[Message] = []
        for raw in lines:
            self._number += 1
            if not raw.strip():
                continue
            found = self._message_or_header(raw)
            if isinstance(found, CaptureHeader):
                self._offset = (found.started - self.header.started).total_seconds()
                self.truncated = self.truncated or self._torn is not None
                self._torn = None
            elif self._torn is not None:
                raise self._torn
            elif isinstance(found, CaptureError):
                self._torn, self._torn_line = found, raw
            else:
                messages.append(found)
        return messages

    def _message_or_header(self, raw: bytes) -> Message | CaptureHeader | CaptureError:
        try:
            return _read_message(_decode_line(raw), self._offset)
        except _DAMAGED as error:
            reason = _reason(error)
        try:
            _decode_magic(raw)
        except _DAMAGED:
            return self._error(f"damaged: {reason}. Remove the line to read the rest")
        return self._header(raw)

    def _first_header(self) -> CaptureHeader:
        try:
            raw = self._file.readline(_HEADER_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._error("the compressed data is damaged") from error
        try:
            _decode_magic(raw)
        except _DAMAGED:
            found = "an empty file" if not raw else "something else"
            raise self._error(
                f'{found} instead of the header of a capture ({{"nbresponses":"capture","version":{VERSION},…}}). '
                "Was the file written by Capture.save or tee?"
            ) from None
        return self._header(raw)

    def _header(self, raw: bytes) -> CaptureHeader:
        version = _decode_magic(raw).version
        if version != VERSION:
            raise self._error(f"capture version {version}; this nbresponses reads version {VERSION}. Upgrade it")
        try:
            return _decode_header(raw)
        except _DAMAGED as error:
            raise self._error(f"the header is damaged: {error}") from None

    def _error(self, problem: str) -> CaptureError:
        return CaptureError(problem, path=self.path, line=self._number)


class CaptureWriter:
    """Writes messages to a file as they come; after each `write` they are in the operating system's hands.

    An existing file is replaced, or with `append` continued, if it is a capture. The file is not compressed: a crash
    would take the compressor's memory with it.
    """

    def __init__(self, path: str | os.PathLike[str], header: CaptureHeader, *, append: bool = False) -> None:
        self.path = os.fspath(path)
        if self.path.endswith(".gz"):
            raise ValueError(f"{self.path}: a file that is written live is not compressed; save() to .gz afterwards")
        torn = _check_appendable(self.path) if append else False
        self._file = _open(self.path, "ab" if append else "wb")
        self._file.write((b"\n" if torn else b"") + header.line())
        self._file.flush()

    def write(self, messages: Iterable[Message]) -> None:
        self._file.write(b"".join(map(_message_line, messages)))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _check_appendable(path: str) -> bool:
    """True if the file's last line lacks its end. CaptureError if the file is something else than a capture."""
    if not Path(path).exists() or not Path(path).stat().st_size:
        return False
    CaptureReader(path).close()
    with Path(path).open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def save_messages(path: str | os.PathLike[str], header: CaptureHeader, messages: Iterable[Message]) -> None:
    """Write a whole capture. The file appears complete or not at all; one that was there is replaced."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    rest = iter(messages)
    try:
        with _open(str(part), "wb", packed=target.suffix == ".gz") as file:
            file.write(header.line())
            while lines := b"".join(map(_message_line, islice(rest, _LINES_PER_WRITE))):
                file.write(lines)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
