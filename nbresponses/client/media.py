"""Images and audio of a response → files. Writes into the folder that is named, over nothing that is there."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from nbresponses.core.response import Response

__all__ = ["save_media"]

_ENDINGS = (
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"<svg", ".svg"),
    (b"ID3", ".mp3"),
    (b"\xff\xfb", ".mp3"),
    (b"OggS", ".ogg"),
    (b"fLaC", ".flac"),
)


def save_media(response: Response, folder: str | PathLike[str]) -> list[Path]:
    """Writes each finished image (the code interpreter's too) and the audio; the paths, in order.

    Names are made from the response's id, and from the bytes what kind of file it is. The folder is made if need be.
    """
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", response.id or "response")[:80]
    return [
        _written(place, f"{stem}-{kind}-{number}", data)
        for kind, found in (("image", _images(response)), ("audio", _audio(response)))
        for number, data in enumerate(found, 1)
    ]


def _images(response: Response) -> Iterator[bytes]:
    for item in response.output:
        if item.get("type") == "image_generation_call" and (data := _decoded(item.get("result"))):
            yield data
        for output in item.get("outputs") or () if item.get("type") == "code_interpreter_call" else ():
            url = output.get("url") if isinstance(output, dict) else None
            if isinstance(url, str) and url.startswith("data:image/") and (data := _decoded(url.partition(",")[2])):
                yield data


def _audio(response: Response) -> Iterator[bytes]:
    if data := _decoded(response.audio):
        yield data


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text) if isinstance(text, str) else b""
    except ValueError:
        return b""


def _written(place: Path, stem: str, data: bytes) -> Path:
    number = 0
    while True:
        path = place / f"{stem}{f'-{number}' if number else ''}{_ending(data)}"
        try:
            with path.open("xb") as file:  # never over what is there, nor through a link that waits there
                file.write(data)
        except FileExistsError:
            number += 1
            continue
        return path


def _ending(data: bytes) -> str:
    if data[:4] == b"RIFF":
        return ".webp" if data[8:12] == b"WEBP" else ".wav"
    return next((ending for start, ending in _ENDINGS if data.startswith(start)), ".bin")
