"""A short real sound: a sine tone as a WAV file (16 bit, mono). Standard library only."""

from __future__ import annotations

import array
import math
import struct
import sys

RATE = 16_000


def tone(seconds: float = 0.6, frequency: float = 440.0) -> bytes:
    """A tone that fades in and out, as the bytes of a WAV file."""
    count = int(seconds * RATE)
    samples = array.array("h", (_sample(index, count, frequency) for index in range(count)))
    if sys.byteorder == "big":
        samples.byteswap()
    data = samples.tobytes()
    header = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
    header += struct.pack("<IHHIIHH", 16, 1, 1, RATE, RATE * 2, 2, 16) + b"data" + struct.pack("<I", len(data))
    return header + data


def _sample(index: int, count: int, frequency: float) -> int:
    fade = min(1.0, index / 800, (count - index) / 800)
    return int(9_000 * fade * math.sin(2 * math.pi * frequency * index / RATE))
