"""Pictures as they come over the wire: base64 or a data URL. Their type is read from the first bytes; nothing else is
decoded, and only raster types that browsers draw without running anything are let through."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

__all__ = ["Picture", "audio_type", "image_type", "read_picture"]

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_DATA_URL = re.compile(r"data:image/[a-z0-9.+-]{1,40}(?:;[a-z0-9=.-]{1,40})*;base64,", re.IGNORECASE)
_FIRST_CHARACTERS = 32  # of base64: 24 bytes, more than any of the signatures needs


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that can be shown: its media type, and its bytes as base64."""

    mime: str
    data: str

    @property
    def size(self) -> int:
        """Bytes of the image."""
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")

    @property
    def name(self) -> str:
        """The type as people write it: PNG, JPEG, WebP, GIF."""
        return {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "image/gif": "GIF"}[self.mime]

    @property
    def uri(self) -> str:
        return f"data:{self.mime};base64,{self.data}"

    def __repr__(self) -> str:
        return f"Picture({self.name}, {self.size} bytes)"


def image_type(data: bytes) -> str | None:
    """The media type by the first bytes, whatever was declared; None unless PNG, JPEG, WebP or GIF."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:6] in {b"GIF87a", b"GIF89a"}:
        return "image/gif"
    return None


def read_picture(value: object) -> Picture | None:
    """A picture from base64 text, a data URL or bytes; None where there is none or its type is not known."""
    if isinstance(value, bytes | bytearray | memoryview):
        value = base64.b64encode(value).decode("ascii")
    if not isinstance(value, str) or not value:
        return None
    prefix = _DATA_URL.match(value)
    data = "".join(value[prefix.end() if prefix else 0 :].split()).replace("-", "+").replace("_", "/")
    if _BASE64.fullmatch(data) is None:
        return None
    data = data.rstrip("=")
    if len(data) % 4 == 1:  # no number of bytes gives that length
        return None
    data += "=" * (-len(data) % 4)
    mime = image_type(base64.b64decode(data[:_FIRST_CHARACTERS]))
    return Picture(mime, data) if mime else None


def audio_type(data: str) -> str:
    """The media type of base64 audio by its first bytes; "" where browsers cannot play it (raw samples)."""
    if _BASE64.fullmatch(data) is None or len(data) < _FIRST_CHARACTERS:
        return ""
    head = base64.b64decode(data[:_FIRST_CHARACTERS])
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "audio/wav"
    if head[:3] == b"ID3" or head[:2] in {b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"}:
        return "audio/mpeg"
    return {b"OggS": "audio/ogg", b"fLaC": "audio/flac"}.get(head[:4], "")
