"""What stands in a notebook, shown to a model."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbresponses import Client, file_part, image_part, message, table_part
from nbresponses.core.inputs import png
from nbresponses.errors import RequestError

PNG = png(bytes(12), width=2, height=2, channels=3)


def bytes_of(part: dict[str, Any]) -> bytes:
    return base64.b64decode(part["image_url"].partition(",")[2])


def test_images_from_paths_bytes_and_links(tmp_path: Path) -> None:
    path = tmp_path / "a picture.png"
    path.write_bytes(PNG)
    assert bytes_of(image_part(path)) == bytes_of(image_part(str(path))) == bytes_of(image_part(PNG)) == PNG
    assert image_part("https://x.test/a.png", detail="low")["detail"] == "low"


def test_images_from_pillow_figures_and_arrays() -> None:
    image = pytest.importorskip("PIL.Image")
    opened = image.open(io.BytesIO(bytes_of(image_part(image.new("RGB", (3, 2), "red")))))
    assert opened.size == (3, 2)
    array = np.zeros((2, 3, 3), dtype=np.uint8)
    array[..., 0] = 255
    assert image.open(io.BytesIO(bytes_of(image_part(array)))).getpixel((2, 1)) == (255, 0, 0)
    assert image.open(io.BytesIO(bytes_of(image_part(np.full((2, 3), 0.5))))).getpixel((0, 0)) == 128
    with pytest.raises(RequestError, match="within 0 and 1"):
        image_part(np.full((2, 2), 3.0))
    with pytest.raises(RequestError, match="int64"):
        image_part(np.zeros((2, 2), dtype=np.int64))


def test_images_from_matplotlib() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure()
    axes = figure.subplots()
    axes.plot([1, 2])
    assert bytes_of(image_part(figure)).startswith(b"\x89PNG")
    assert bytes_of(image_part(axes)).startswith(b"\x89PNG")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert file_part(path)["filename"] == "notes.txt"
    assert file_part("file-abc") == {"type": "input_file", "file_id": "file-abc"}
    with pytest.raises(RequestError, match="cannot be read: No such file"):
        file_part(tmp_path / "none.txt")
    with pytest.raises(RequestError, match="not float"):
        image_part(1.5)


def test_a_frame_as_context() -> None:
    frame = pd.DataFrame({"city": ["Oslo", "Rome"], "degrees": [3.5, 20.0]})
    text = table_part(frame, name="weather")["text"]
    assert text.startswith("Table weather: 2 rows. Columns: city (str), degrees (float64).")
    assert "0,Oslo,3.5" in text
    long = table_part(pd.DataFrame({"x": range(10_000)}), max_bytes=1000)["text"]
    assert len(long) < 1200
    assert "10000 rows; the first" in long
    assert "x" in table_part(pd.Series([1, 2], name="x"))["text"]
    with pytest.raises(RequestError, match="not list"):
        table_part([1, 2])


def test_a_request_takes_texts_and_parts(demo: Any) -> None:
    with Client(base_url=demo.base_url) as client:
        response = client.create(["What is it?", image_part(PNG)], model="demo-echo")
        assert "What is it?" in response.output_text
        talk = [message("My name is Ada."), *response.to_input(), message("And now?")]
        assert "And now?" in client.create(talk, model="demo-echo").output_text
    assert demo.requests[-2].body["input"][0]["content"][1]["type"] == "input_image"
    assert [item["type"] for item in demo.requests[-1].body["input"]] == ["message"] * 3


@pytest.mark.parametrize(
    ("mode", "kept"), [("CMYK", "RGB"), ("F", "L"), ("LAB", "RGB"), ("I", "I;16"), ("PA", "RGBA"), ("RGBa", "RGBA")]
)
def test_pictures_that_png_cannot_hold_are_converted(mode: str, kept: str) -> None:
    image = pytest.importorskip("PIL.Image")
    part = image_part(image.new(mode, (2, 2)))
    assert part["image_url"].startswith("data:image/png;base64,")
    assert image.open(io.BytesIO(base64.b64decode(part["image_url"].partition(",")[2]))).mode == kept


def test_a_device_is_no_picture() -> None:
    with pytest.raises(RequestError, match=r"^image: /dev/zero is no file but a device or a pipe"):
        image_part("/dev/zero")


def test_a_picture_of_floats_is_read_as_the_array_it_is() -> None:
    image = pytest.importorskip("PIL.Image")
    grey = np.array([[0.0, 1.0], [0.5, np.nan]], dtype=np.float32)
    link = image_part(image.fromarray(grey))["image_url"]
    assert link == image_part(grey)["image_url"]
    assert [*image.open(io.BytesIO(base64.b64decode(link.partition(",")[2]))).tobytes()] == [0, 255, 128, 0]
    with pytest.raises(RequestError, match="within 0 and 1"):
        image_part(image.fromarray(grey * 255))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: image_part(pytest.importorskip("PIL.Image").new("RGB", (0, 3))), "cannot be written as PNG"),
        (lambda: image_part("a\0b.png"), "image: .* cannot be read: embedded null"),
        (lambda: file_part("a\0b.pdf"), "file: .* cannot be read: embedded null"),
        (lambda: file_part("http://127.0.0.1/a.pdf"), r"file: an id \(file-…\) or a link \(https:\) is expected"),
    ],
)
def test_what_cannot_be_shown_is_told_in_words(make: Any, text: str) -> None:
    with pytest.raises(RequestError, match=text):
        make()


def test_a_frame_with_half_characters_goes_along() -> None:
    text = table_part(pd.DataFrame({"a": ["\ud800"] * 50}, dtype=object), max_bytes=200)["text"]
    assert "50 rows; the first" in text
    assert "\ud800" in text
