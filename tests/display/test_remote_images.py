"""A picture that an answer names by its address is a link wherever it is shown, unless loading it was allowed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbresponses import ResponseStream, show
from nbresponses.display import choose_view, follow
from nbresponses.display import live as live_module
from nbresponses.display import show as show_module
from nbresponses.display import updating as updating_module

ADDRESS = "https://pictures.test/a.png"
HOSTS = {
    "a widget": SimpleNamespace(kernel=SimpleNamespace(), widgets=True),
    "updates": SimpleNamespace(kernel=SimpleNamespace(), widgets=False),
}


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The texts by media type of all that is published, whichever view does it."""
    found: list[dict[str, str]] = []

    def publish(bundle: Any, **_how: Any) -> None:
        found.append(bundle[0])

    for module in (live_module, show_module):
        monkeypatch.setattr(module, "publish", publish)
    monkeypatch.setitem(updating_module.UpdatingView.__init__.__kwdefaults__, "publish", publish)
    return found


@pytest.fixture
def stream(events: Any, played: Any) -> ResponseStream:
    result: ResponseStream = played(events(f"Look: ![words]({ADDRESS})"))
    return result


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_in_a_cell(
    host: str, allowed: bool, stream: ResponseStream, published: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbresponses.display.view.shows_widgets", lambda shell: shell.widgets)
    monkeypatch.setattr("nbresponses.display.view.kernel_id", lambda _shell: "k-1")
    view = choose_view(HOSTS[host], allow_remote_images=allowed)
    follow(stream, view)
    last = published[-1]
    assert (f'src="{ADDRESS}"' in last["text/html"]) is allowed
    assert (f"![words]({ADDRESS})" in last["text/markdown"]) is allowed
    assert ADDRESS in last["text/html"], "a link, where it is no picture"
    if isinstance(view, live_module.LiveView):
        assert view._widget is not None
        assert view._widget.allow_remote_images is allowed


@pytest.mark.parametrize("allowed", [False, True])
def test_shown_again(allowed: bool, stream: ResponseStream, published: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show_module, "_shell", object)
    show(stream.until_done(), **({"allow_remote_images": True} if allowed else {}))
    show(stream.response, allow_remote_images=allowed)
    assert len(published) == 2
    assert [f'src="{ADDRESS}"' in data["text/html"] for data in published] == [allowed, allowed]
