"""Where a widget's static copy goes when it settles: in its place, and where `settle` is called if that is not seen."""

from __future__ import annotations

from typing import Any

import pytest

from nbresponses.widgets import displayed
from nbresponses.widgets.displayed import Displayed

COPY = {"text/html": "<p>copy</p>", "text/markdown": "copy", "text/plain": "copy"}
VIEW = "application/vnd.jupyter.widget-view+json"


class Widget(Displayed):
    _esm = "export default {}"
    made = 0

    def static(self) -> dict[str, str]:
        self.made += 1
        return dict(COPY)

    def summary(self) -> str:
        return "a widget"


class Notebook:
    """What was published: (media types, display id, update)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, widgets: bool = True) -> None:
        self.outputs: list[tuple[dict[str, Any], str | None, bool]] = []
        monkeypatch.setattr(displayed, "publish", self._publish)
        monkeypatch.setattr(displayed, "_shell", lambda: self)
        monkeypatch.setattr(displayed, "shows_widgets", lambda _shell: widgets)
        self.execution_count = 1

    def _publish(self, bundle: Any, *, display_id: str | None = None, update: bool = False) -> None:
        self.outputs.append((bundle[0], display_id, update))

    def taken(self) -> list[tuple[dict[str, Any], str | None, bool]]:
        taken, self.outputs = self.outputs, []
        return taken


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    return Notebook(monkeypatch)


def shown(notebook: Notebook) -> tuple[Widget, str]:
    """A widget on the page, and its display id."""
    widget = Widget()
    widget._ipython_display_()
    [(data, display_id, update)] = notebook.taken()
    assert (data["text/plain"], update) == ("a widget", False)
    assert widget.made == 0, "what a page does not show is not made"
    assert display_id is not None
    return widget, display_id


def test_it_settles_in_its_place_once(notebook: Notebook) -> None:
    widget, display_id = shown(notebook)
    notebook.execution_count = 2  # another cell
    widget.settle()
    assert notebook.taken() == [(COPY, display_id, True)]
    widget.settle()
    assert notebook.taken() == []


def test_closed_it_leaves_the_copy_in_its_place(notebook: Notebook) -> None:
    widget, display_id = shown(notebook)
    widget.close()
    assert notebook.taken() == [(COPY, display_id, True)]
    widget.close()
    widget.settle()
    assert notebook.taken() == []
    late, display_id = shown(notebook)
    late.get_state()
    late.close()
    assert notebook.taken() == [(COPY, display_id, True)]
    late.settle()
    assert notebook.taken() == [(COPY, None, False)], "for the page that came late"


def test_closed_unseen_it_makes_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    for notebook in (Notebook(monkeypatch), Notebook(monkeypatch, widgets=False)):
        widget = Widget()
        widget.close()
        assert (notebook.taken(), widget.made) == ([], 0)
    widget = Widget()
    widget._ipython_display_()
    notebook.taken()
    widget.close()
    assert notebook.taken() == [], "the copy is there already"


def test_after_a_page_came_late_it_is_shown_where_it_was_asked_for_too(notebook: Notebook) -> None:
    widget, display_id = shown(notebook)
    widget.get_state()  # as a page does that was reloaded
    widget.settle()
    assert notebook.taken() == [(COPY, display_id, True), (COPY, None, False)]
    widget.settle()
    assert notebook.taken() == [(COPY, None, False)], "the cell ran again: its output was emptied"
    assert widget.made == 1


def test_one_trait_of_the_state_is_no_page(notebook: Notebook) -> None:
    widget, display_id = shown(notebook)
    widget.get_state("_esm")
    widget.settle()
    assert notebook.taken() == [(COPY, display_id, True)]


def test_displayed_again_the_late_page_knows_its_place(notebook: Notebook) -> None:
    widget, display_id = shown(notebook)
    widget.get_state()
    widget._ipython_display_()
    notebook.taken()
    widget.settle()
    assert notebook.taken() == [(COPY, display_id, True)]


def test_what_was_never_displayed_settles_where_it_was_asked_for(notebook: Notebook) -> None:
    widget = Widget()
    widget.settle()
    assert notebook.taken() == [(COPY, None, False)]


def test_without_widgets_the_copy_is_displayed_and_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch, widgets=False)
    widget = Widget()
    widget._ipython_display_()
    [(data, display_id, _)] = notebook.taken()
    assert data == COPY
    widget.settle()
    assert notebook.taken() == [(COPY, display_id, True)]


def test_in_plain_python_it_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    widget = Widget()
    widget.display_once()
    widget.settle()
    widget.settle()
    assert capsys.readouterr().out == "copy\n"
    Widget().settle()
    assert capsys.readouterr().out == "copy\n"
