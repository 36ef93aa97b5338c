"""Images and audio, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbresponses.client import Client
from nbresponses.core.response import Response


@pytest.mark.parametrize(
    ("model", "endings"),
    [("demo-image", [".png"]), ("demo-code", [".png"]), ("demo-audio", [".wav"])],
)
def test_media_are_saved_and_nothing_is_overwritten(demo: Any, tmp_path: Path, model: str, endings: list[str]) -> None:
    folder = tmp_path / "made" / "here"
    with Client(base_url=demo.base_url) as client, client.stream("Draw.", model=model) as stream:
        response = stream.get_final_response()
    first, second = response.save_media(folder), response.save_media(folder)
    assert [path.suffix for path in first] == endings
    assert not {*first} & {*second}
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes() != b""


def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    item = {"type": "image_generation_call", "result": "iVBORw0KGgo="}
    (path,) = Response({"id": "../../x/../y", "output": [item]}).save_media(tmp_path / "a")
    assert path.parent == tmp_path / "a"


GOOD = "iVBORw0KGgo="


def test_a_picture_that_a_gateway_sends_as_a_link(tmp_path: Path) -> None:
    item = {"type": "image_generation_call", "result": f"data:image/png;base64,{GOOD}"}
    (path,) = Response({"id": "r", "output": [item]}).save_media(tmp_path)
    assert path.read_bytes() == b"\x89PNG\r\n\x1a\n"


def test_what_is_no_media_is_left_out_and_named(tmp_path: Path) -> None:
    output: list[dict[str, Any]] = [
        {"type": "image_generation_call", "result": "not base64!"},
        {"type": "image_generation_call", "result": {"b64": GOOD}},
        {"type": "image_generation_call", "result": None},
        {"type": "image_generation_call", "result": "iVBORw0\nKGgo=\n"},
        {"type": "code_interpreter_call", "outputs": 7},
        {"type": "code_interpreter_call", "outputs": [3, {"url": 3}, {"url": f"data:image/png;base64,{GOOD}"}]},
        {"type": "code_interpreter_call", "outputs": [{"url": "data:image/png;base64,"}]},
        {"type": "image_generation_call", "result": "abc"},
    ]
    response = Response({"id": "r", "output": output}, audio="%%%")
    with pytest.warns(UserWarning, match="left out") as told:
        saved = response.save_media(tmp_path)
    assert [path.name for path in saved] == ["r-image-1.png", "r-image-2.png"]
    assert {path.read_bytes() for path in saved} == {b"\x89PNG\r\n\x1a\n"}
    assert sorted(tmp_path.iterdir()) == saved
    assert str(told[0].message) == (
        "left out: output[0].result (it is not base64); output[1].result (a text is expected, not dict); "
        "output[6].outputs[0].url (it is empty); output[7].result (it is not base64); audio (it is not base64)"
    )
    assert told[0].filename == __file__


def test_a_disk_that_is_full_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[:3])
            raise OSError(28, "No space left on device")

    def opened(path: Path, mode: str) -> Any:
        file = real(path, mode)
        return Full(file) if path.name == "r-image-2.png" else file

    monkeypatch.setattr(Path, "open", opened)
    item = {"type": "image_generation_call", "result": GOOD}
    with pytest.raises(OSError, match="No space"):
        Response({"id": "r", "output": [item, item, item]}).save_media(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["r-image-1.png"]
