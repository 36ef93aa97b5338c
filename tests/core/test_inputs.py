"""Input items: messages, images, files, and what they may weigh."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest

from nbresponses.core import inputs
from nbresponses.core.inputs import as_items, file_part, image_part, message, png
from nbresponses.errors import RequestError

PNG = png(bytes(12), width=2, height=2, channels=3)


def test_a_message_of_texts_and_parts() -> None:
    said = message("What is it?", image_part(PNG, detail="low"))
    assert said["role"] == "user"
    text, image = said["content"]
    assert text == {"type": "input_text", "text": "What is it?"}
    assert image["detail"] == "low"
    assert base64.b64decode(image["image_url"].removeprefix("data:image/png;base64,")) == PNG
    assert message("Yes.", role="assistant")["content"][0]["type"] == "output_text"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF0000WEBPVP8", "webp")],
)
def test_the_kind_of_an_image_is_read_from_its_bytes(data: bytes, media_type: str) -> None:
    assert image_part(data)["image_url"].startswith(f"data:image/{media_type};base64,")


def test_links_and_ids_go_out_as_they_are() -> None:
    assert image_part("https://x.test/a.png") == {"type": "input_image", "image_url": "https://x.test/a.png"}
    assert file_part("file-1") == {"type": "input_file", "file_id": "file-1"}
    assert file_part("https://x.test/a.pdf") == {"type": "input_file", "file_url": "https://x.test/a.pdf"}
    assert file_part(b"%PDF-1.7", filename="a.pdf")["file_data"].startswith("data:application/pdf;base64,")
    assert file_part(b"a,b", filename="a.csv")["file_data"].startswith("data:text/plain;base64,")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: image_part(b"hello"), "no PNG"),
        (lambda: image_part("picture.png"), "a link is expected"),
        (lambda: image_part(PNG, detail="sharp"), "detail: must be one of"),
        (lambda: file_part(b"x"), "needs a filename"),
        (lambda: file_part(b"", filename="a"), "a is empty"),
        (lambda: file_part("a.pdf"), "an id"),
        (message, "at least one part"),
        (lambda: message(3), "a part of a message"),  # type: ignore[arg-type]
        (lambda: as_items(3), "a list of items"),
        (lambda: png(b"", width=1, height=1, channels=3), "1 by 1 pixels"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_words(make: Any, text: str) -> None:
    with pytest.raises(RequestError, match=text):
        make()


def test_sizes_are_checked_before_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_IMAGE_BYTES", 100)
    monkeypatch.setattr(inputs, "MAX_FILE_BYTES", 10)
    with pytest.raises(RequestError, match="than the 0 MB"):
        image_part(PNG + bytes(100))
    with pytest.raises(RequestError, match="than the 0 MB"):
        file_part(bytes(11), filename="a")
    with pytest.raises(RequestError, match="input: "):  # each is small enough, all together are not
        as_items([message("a", image_part(PNG)), message("b", image_part(PNG))])


def test_texts_and_parts_in_a_list_become_a_message() -> None:
    items = as_items(["Look:", image_part(PNG), {"type": "function_call_output", "call_id": "1", "output": "x"}, "So?"])
    assert [item["type"] for item in items] == ["message", "function_call_output", "message"]
    assert len(items[0]["content"]) == 2
    assert as_items("Hello") == [message("Hello")]


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_pixels_become_a_png_that_others_read(channels: int, mode: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = bytes(range(2 * 3 * channels))
    opened = image.open(io.BytesIO(png(pixels, width=3, height=2, channels=channels)))
    assert (opened.size, opened.mode, opened.tobytes()) == ((3, 2), mode, pixels)
