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
