"""Types are read from the first bytes; nothing but raster images and playable audio gets through."""

from __future__ import annotations

import base64

import pytest

from nbresponses.render import image_type, read_picture
from nbresponses.render.pictures import audio_type

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SAMPLES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 40,
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 40,
    "image/gif": b"GIF89a" + b"\0" * 40,
}
OTHERS = [
    b"",
    b"\x89PN",
    b"<svg xmlns='http://www.w3.org/2000/svg'>",
    b"%PDF-1.7" + b"\0" * 40,
    b"RIFF\0\0\0\0WAVEfmt ",
    b"BM" + b"\0" * 40,
]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(("mime", "data"), SAMPLES.items())
@pytest.mark.parametrize(
    "declared", ["", "data:image/png;base64,", "data:image/svg+xml;charset=utf-8;base64,", "data:image/x;base64,"]
)
def test_the_first_bytes_decide_whatever_was_declared(mime: str, data: bytes, declared: str) -> None:
    picture = read_picture(declared + encoded(data))
    assert picture is not None
    assert picture.mime == mime == image_type(data)
    assert picture.size == len(data)
    assert picture.uri == f"data:{mime};base64,{encoded(data)}"


@pytest.mark.parametrize("data", OTHERS)
def test_other_types_are_no_pictures(data: bytes) -> None:
    assert image_type(data) is None
    assert read_picture(encoded(data)) is None
    assert read_picture(data) is None


@pytest.mark.parametrize("size", range(8, 20))
def test_padding_left_out_is_put_back(size: int) -> None:
    data = PNG[:size]
    picture = read_picture(encoded(data).rstrip("="))
    assert picture is not None
    assert base64.b64decode(picture.data, validate=True) == data


def test_bytes_blanks_and_the_alphabet_of_addresses() -> None:
    data = PNG + bytes(range(240, 256))
    assert read_picture(data) == read_picture(encoded(data)) == read_picture(base64.urlsafe_b64encode(data).decode())
    assert read_picture(base64.encodebytes(data).decode()) == read_picture(data)


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        [],
        {},
        "",
        "!!!",
        "iVBORw0KGgo",
        encoded(PNG) + '" onerror="x',
        "https://evil.test/a.png",
        "data:text/html;base64,PGI+",
        "é" * 50,
    ],
)
def test_what_is_no_picture(value: object) -> None:
    assert value == "iVBORw0KGgo" or read_picture(value) is None


def test_a_length_that_no_bytes_have_is_no_picture() -> None:
    assert read_picture(encoded(PNG) + "AAAA") is not None
    assert read_picture(encoded(PNG) + "A") is None


def test_a_picture_does_not_print_its_bytes() -> None:
    assert repr(read_picture(PNG)) == f"Picture(PNG, {len(PNG)} bytes)"


def test_audio_types() -> None:
    heads = {
        b"RIFF\0\0\0\0WAVEfmt ": "audio/wav",
        b"ID3\4": "audio/mpeg",
        b"\xff\xfb\x90": "audio/mpeg",
        b"OggS": "audio/ogg",
        b"fLaC": "audio/flac",
    }
    for head, mime in heads.items():
        assert audio_type(encoded(head + b"\0" * 60)) == mime
    assert audio_type(encoded(b"\1\0\2\0" * 30)) == ""
    assert audio_type("!" * 100) == audio_type("") == ""
