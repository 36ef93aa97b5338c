"""Pictures in a capture, as bytes with what is known of them. Decodes base64 and nothing else: a picture is data.

What it is is read from the first bytes (PNG, JPEG, WebP or GIF), whatever the server declared.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbresponses.errors import MissingExtra
from nbresponses.render.pictures import read_picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from PIL.Image import Image

    from nbresponses.capture.messages import Message

__all__ = ["CapturedImage", "images_in", "media_of"]

_PREVIEW = "response.image_generation_call.partial_image"
_SIGNS = (b"partial_image", b"image_generation_call", b"data:image")
"""One of these stands in every event that holds a picture."""
_DONE = "response.output_item.done"
_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


@dataclass(frozen=True)
class CapturedImage:
    """One picture: its bytes as the server sent them (`data`), its media type (`mime`, such as "image/png"), and where
    it comes from: `lane`, `output_index`, `item_id`.

    `preview` counts the partial images of an item from 0 and is None for a finished picture. `time` is when it came.
    """

    data: bytes = field(repr=False)
    mime: str
    item_id: str | None = None
    output_index: int | None = None
    preview: int | None = None
    time: datetime | None = None
    lane: str | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal, as in `items()`."""
        return hashlib.sha256(self.data).hexdigest()

    def to_pil(self) -> Image:
        """As a Pillow image; MissingExtra where Pillow is not installed. Pillow decodes it when it is used."""
        try:
            from PIL import Image
        except ImportError as error:
            raise MissingExtra("plot", "Pillow") from error
        from io import BytesIO

        return Image.open(BytesIO(self.data))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        shown = {"text/plain": repr(self)}
        if self.mime in {"image/png", "image/jpeg", "image/gif"}:
            shown[self.mime] = base64.b64encode(self.data).decode("ascii")
        return shown


def images_in(messages: Iterable[Message], started: datetime, *, previews: bool = False) -> list[CapturedImage]:
    """The finished pictures, in order; with `previews` the partial images before them too. No picture twice."""
    found: list[CapturedImage] = []
    seen: set[str] = set()
    for message in messages:
        if message.kind != "event" or not any(sign in message.payload for sign in _SIGNS):
            continue
        time = started + timedelta(seconds=message.at)
        for image in _images_of(message, previews=previews):
            if image.preview is not None or image.sha256 not in seen:
                seen.add(image.sha256)
                found.append(replace(image, time=time, lane=message.lane))
    return found


def _images_of(message: Message, *, previews: bool) -> Iterator[CapturedImage]:
    event = message.event()
    if event is None:
        return
    fields = event.to_dict()
    if event.type == _PREVIEW:
        image = _image(fields.get("partial_image_b64")) if previews else None
        if image is not None:
            index, place = _whole(fields.get("partial_image_index")), _whole(fields.get("output_index"))
            yield replace(image, item_id=_text(fields.get("item_id")), output_index=place, preview=index or 0)
    elif event.type == _DONE and isinstance(fields.get("item"), dict):
        yield from _placed(fields["item"], _whole(fields.get("output_index")))
    elif event.type in _FINAL and isinstance(fields.get("response"), dict):
        output = fields["response"].get("output")
        for place, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                yield from _placed(item, place)


def _placed(item: Mapping[str, Any], place: int | None) -> Iterator[CapturedImage]:
    for image in media_of(item):
        yield replace(image, item_id=_text(item.get("id")), output_index=place)


def media_of(item: Mapping[str, Any]) -> Iterator[CapturedImage]:
    """The finished pictures of an output item: of image generation, and of a code interpreter's outputs."""
    sources = [item.get("result")] if item.get("type") == "image_generation_call" else []
    outputs = item.get("outputs")
    sources += [each.get("url") for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    for source in sources:
        image = _image(source)
        if image is not None:
            yield image


def _image(source: object) -> CapturedImage | None:
    picture = read_picture(source)
    return CapturedImage(base64.b64decode(picture.data), picture.mime) if picture is not None else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
