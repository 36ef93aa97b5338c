"""What a user shows a model, as input items: messages of text, images, files and tables. Pure: reads no file.

Sizes are checked here, before anything is sent. Source: the input items of the Responses API and its limits on images
and files.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from nbresponses.errors import RequestError

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_IMAGE_BYTES",
    "as_items",
    "check_sizes",
    "data_url",
    "file_part",
    "image_part",
    "is_part",
    "message",
    "png",
    "text_part",
]

MAX_IMAGE_BYTES = 50 * 1024 * 1024  # all of a request's images together
MAX_FILE_BYTES = 50 * 1024 * 1024  # all of a request's files together
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_DETAILS = frozenset({"low", "high", "auto", "original"})
_LINKS = ("https://", "http://", "data:")
_CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels → PNG colour type


def text_part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def message(*parts: str | Mapping[str, Any], role: str = "user") -> dict[str, Any]:
    """A message of texts and parts (`image_part`, `file_part`, `table_part`), as an input item.

    RequestError for no parts, and for what is neither.
    """
    if not parts:
        raise RequestError("input", "a message needs at least one part")
    content = [_part(part) for part in parts]
    if role == "assistant":
        content = [{**part, "type": "output_text"} if part.get("type") == "input_text" else part for part in content]
    return {"type": "message", "role": role, "content": content}


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return text_part(part)
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return dict(part)
    raise RequestError("input", f"a part of a message is a text or made by image_part and the like, not {_name(part)}")


def image_part(data: bytes | str, *, detail: str | None = None, media_type: str | None = None) -> dict[str, Any]:
    """An image from its bytes (PNG, JPEG, GIF or WebP), or a link to one (https: or data:).

    `detail` is "low", "high", "auto" or "original". RequestError where it is no image, or larger than 50 MB.
    """
    if detail is not None and detail not in _DETAILS:
        raise RequestError("detail", f"must be one of {', '.join(sorted(_DETAILS))}, not {detail!r}")
    if isinstance(data, str):
        if not data.lower().startswith(_LINKS):
            raise RequestError("image", "a link is expected (https: or data:), or the bytes of an image")
        link = data
    else:
        _check_size("image", len(data), MAX_IMAGE_BYTES)
        link = data_url(data, media_type or _image_type(data))
    return {"type": "input_image", "image_url": link, **({"detail": detail} if detail else {})}


def file_part(data: bytes | str, *, filename: str | None = None, media_type: str | None = None) -> dict[str, Any]:
    """A file from its bytes (`filename` is told to the model), by its id ("file-…"), or by a link (https:)."""
    if isinstance(data, str):
        if data.startswith(("file-", "file_")):
            return {"type": "input_file", "file_id": data}
        if data.lower().startswith("https://"):
            return {"type": "input_file", "file_url": data}
        raise RequestError("file", "an id (file-…) or a link (https:) is expected, or the bytes of a file")
    if not filename:
        raise RequestError("file", "a file that is sent as bytes needs a filename")
    if not data:
        raise RequestError("file", f"{filename} is empty")
    _check_size("file", len(data), MAX_FILE_BYTES)
    return {"type": "input_file", "filename": filename, "file_data": data_url(data, media_type or _file_type(data))}


def data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _image_type(data: bytes) -> str:
    for start, media_type in _IMAGES:
        if data.startswith(start):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise RequestError("image", "these bytes are no PNG, JPEG, GIF or WebP")


def _file_type(data: bytes) -> str:
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


def _check_size(field: str, size: int, limit: int) -> None:
    if size > limit:
        raise RequestError(field, f"{size / 2**20:.1f} MB are more than the {limit / 2**20:.0f} MB of a request")


def as_items(value: Any) -> list[Any]:
    """Any input as a list of items: a text is a user's message, parts become one, items stay as they are.

    Checks what all images and all files of the request weigh together.
    """
    if isinstance(value, str):
        return [message(value)]
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)):
        raise RequestError("input", f"must be a text or a list of items, not {_name(value)}")
    items: list[Any] = []
    loose: list[Any] = []
    for entry in value:
        if isinstance(entry, str) or is_part(entry):
            loose.append(entry)
            continue
        if loose:
            items.append(message(*loose))
            loose = []
        items.append(entry)
    if loose:
        items.append(message(*loose))
    check_sizes(items)
    return items


def check_sizes(items: Sequence[Any]) -> None:
    """RequestError where all images, or all files, of these items are more than a request takes."""
    images = files = 0
    for item in items:
        content = item.get("content") if isinstance(item, Mapping) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                images += _weight(part.get("image_url"))
                files += _weight(part.get("file_data"))
    _check_size("input", images, MAX_IMAGE_BYTES)
    _check_size("input", files, MAX_FILE_BYTES)


def _weight(link: Any) -> int:
    """The bytes that a data: link holds."""
    if not isinstance(link, str) or not link.startswith("data:"):
        return 0
    return (len(link) - link.find(",") - 1) * 3 // 4


def is_part(value: Any) -> bool:
    """Whether a value is a part of a message (input_text, input_image, input_file), not an item."""
    return isinstance(value, Mapping) and str(value.get("type", "")).startswith("input_") and "role" not in value


def _name(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def png(pixels: bytes, *, width: int, height: int, channels: int) -> bytes:
    """Pixels (8 bits a channel: grey, grey + alpha, RGB or RGBA; row by row from the top) as a PNG file."""
    if channels not in _CHANNELS:
        raise RequestError("image", f"1 to 4 channels are expected, not {channels}")
    row = width * channels
    if width < 1 or height < 1 or len(pixels) != row * height:
        raise RequestError(
            "image", f"{width} by {height} pixels of {channels} bytes are expected, not {len(pixels)} bytes"
        )
    lines = b"".join(b"\0" + pixels[start : start + row] for start in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, _CHANNELS[channels], 0, 0, 0)
    chunks = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(lines)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", binascii.crc32(kind + data))
