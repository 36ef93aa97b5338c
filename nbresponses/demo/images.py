"""Small real PNG pictures, made with zlib alone: a landscape that gets sharper from one partial image to the next."""

from __future__ import annotations

import math
import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def landscape(*, size: int = 256, block: int = 1, seed: int = 0) -> bytes:
    """A square RGB picture of `size` pixels, drawn in blocks of `block` pixels (1 is the sharpest)."""
    hue = (seed % 360) / 360
    rows = bytearray()
    for top in range(0, size, block):
        row = bytearray(b"\x00")  # filter type 0: none
        for left in range(0, size, block):
            colour = _colour((left + block / 2) / size, (top + block / 2) / size, hue)
            row += colour * min(block, size - left)
        rows += bytes(row) * min(block, size - top)
    return encode_png(size, size, bytes(rows))


def sharpening(partials: int, *, size: int = 256, seed: int = 0) -> list[bytes]:
    """`partials` pictures, each sharper than the one before, and the finished one last."""
    blocks = [max(2, size >> (2 + 4 * step // max(partials, 1))) for step in range(partials)]
    return [landscape(size=size, block=block, seed=seed) for block in [*blocks, 1]]


def encode_png(width: int, height: int, rows: bytes) -> bytes:
    """Rows of RGB pixels, each led by its filter byte, as a PNG file."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows, 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _colour(x: float, y: float, hue: float) -> bytes:
    if math.hypot(x - 0.7, y - 0.28) < 0.11:
        return bytes((255, 214, 102))
    far = 0.58 + 0.07 * math.sin(9 * x + 6 * hue)
    near = 0.74 + 0.09 * math.sin(5 * x + 2 + 6 * hue)
    if y > near:
        return bytes((int(30 + 40 * hue), int(88 - 30 * (y - near)), 54))
    if y > far:
        return bytes((72, int(118 + 30 * hue), 104))
    return bytes((int(96 + 120 * y), int(158 + 70 * y), int(220 - 30 * hue)))
