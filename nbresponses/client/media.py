"""Images and audio of a response → files. Writes into the folder that is named, over nothing that is there."""

from __future__ import annotations

import base64
import re
import warnings
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
    What is no media, although it stands where media belong, is left out, and a warning says what and why. An OSError
    leaves no half file, and what was written before it stays.
    """
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", response.id or "response")[:80]
    saved: list[Path] = []
    left_out: list[str] = []
    for kind, found in (("image", _images(response)), ("audio", _audio(response))):
        number = 0
        for where, text in found:
            try:
                data = _decoded(text)
            except ValueError as problem:
                left_out.append(f"{where} ({problem})")
                continue
            number += 1
            saved.append(_written(place, f"{stem}-{kind}-{number}", data))
    if left_out:
        warnings.warn(f"left out: {'; '.join(left_out)}", UserWarning, stacklevel=3)
    return saved


def _images(response: Response) -> Iterator[tuple[str, Any]]:
    """(where it stands in the response, base64) of each image; an item that has none yet is no image."""
    for number, item in enumerate(response.output):
        kind = item.get("type")
        if kind == "image_generation_call" and item.get("result") not in (None, ""):
            yield f"output[{number}].result", item.get("result")
        outputs = item.get("outputs") if kind == "code_interpreter_call" else None
        for place, output in enumerate(outputs if isinstance(outputs, list) else ()):
            url = output.get("url") if isinstance(output, dict) else None
            if isinstance(url, str) and url.startswith("data:image/"):
                yield f"output[{number}].outputs[{place}].url", url.partition(",")[2]


def _audio(response: Response) -> Iterator[tuple[str, Any]]:
    if response.audio:
        yield "audio", response.audio


def _decoded(text: Any) -> bytes:
    """The bytes of a base64 text. ValueError says why it is none; line ends within are allowed."""
    if not isinstance(text, str):
        raise ValueError(f"a text is expected, not {type(text).__name__}")  # noqa: TRY004  one kind of error for both
    if text.startswith("data:"):  # some gateways send the picture as a link
        text = text.partition(",")[2]
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise ValueError("it is not base64") from None
    if not data:
        raise ValueError("it is empty")
    return data


def _written(place: Path, stem: str, data: bytes) -> Path:
    number = 0
    while True:
        path = place / f"{stem}{f'-{number}' if number else ''}{_ending(data)}"
        try:
            file = path.open("xb")  # never over what is there, nor through a link that waits there
        except FileExistsError:
            number += 1
            continue
        try:
            with file:
                file.write(data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path


def _ending(data: bytes) -> str:
    if data[:4] == b"RIFF":
        return ".webp" if data[8:12] == b"WEBP" else ".wav"
    return next((ending for start, ending in _ENDINGS if data.startswith(start)), ".bin")
