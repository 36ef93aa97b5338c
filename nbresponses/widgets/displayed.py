"""What the board and the inspector share: a place in the output that can be settled, and a way to a busy kernel.

Rules
1. The static copy takes the widget's place by a display update, which reaches each page that saw the widget displayed.
2. A page that came later (reloaded, a second window) asks for the whole state, and knows the place no more. Where one
   did, the copy is shown once more, where `settle` is called: it is seen, and saved, in any case.
3. What was never displayed is shown there too. A widget that has settled shows its copy wherever it is displayed.
4. `close` leaves the copy in the widget's place too, where there is one: else a page would show nothing there, and a
   saved file would hold a widget that no kernel knows.
"""

from __future__ import annotations

import secrets
import sys
from typing import Any

import anywidget
from IPython.core.getipython import get_ipython

from nbresponses.display.host import shows_widgets
from nbresponses.display.updating import publish

__all__ = ["Displayed"]


class Displayed(anywidget.AnyWidget):
    """A widget that shows itself where widgets are shown, a static copy anywhere else, and settles into that copy."""

    def __init__(self, **traits: Any) -> None:
        self._display_id = f"nbresponses-{secrets.token_hex(8)}"
        self._shown_in: object = None
        self._displayed = self._live = self._opened = self._seen_late = self._settled_here = False
        self._copy: dict[str, str] | None = None
        super().__init__(**traits)
        self._opened = True
        # As in the live view: from ipykernel 7.4 on a busy cell would keep the buttons waiting.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = None  # noqa: SLF001  there is no public way yet

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        if key is None and self._opened:
            self._seen_late = True
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        return state

    def static(self) -> dict[str, str]:
        """The static copy, as texts by media type."""
        raise NotImplementedError

    def summary(self) -> str:
        """What stands in the place of the widget where it cannot be shown, in one line."""
        raise NotImplementedError

    def settle(self) -> None:
        """Put a static copy in the widget's place, and close it.

        Where a page was reloaded since the widget was displayed, or it never was, the copy is shown in the output of
        the cell that calls this. Called again, it does the same with the same copy, and so nothing where the copy has
        its place.
        """
        copy = self._leave_copy()
        self.close()
        if self._settled_here:
            self._show(copy)

    def close(self) -> None:
        """End the widget; a static copy stays in its place."""
        if self._live:
            self._leave_copy()
        super().close()

    def _leave_copy(self) -> dict[str, str]:
        if self._copy is None:
            self._copy = self.static()
            self._settled_here = self._seen_late or not self._displayed
            if self._displayed and _shell() is not None:
                publish((self._copy, {}), display_id=self._display_id, update=True)
        return self._copy

    def display_once(self) -> None:
        """Display it; if it is this cell's result too, that does not display it again."""
        self._ipython_display_()
        self._shown_in = _cell()

    def _ipython_display_(self) -> None:
        if self._shown_in is not None and self._shown_in == _cell():
            return
        if self.comm is not None and shows_widgets(_shell()):
            shown, _ = self._repr_mimebundle_() or ({}, {})
            data = {**shown, "text/plain": self.summary()}
            self._live = True
        else:
            data = self._copy or self.static()
        self._show(data, display_id=self._display_id)
        self._displayed, self._seen_late = True, False

    def _show(self, data: dict[str, str], *, display_id: str | None = None) -> None:
        """In the output of this cell; in plain Python the text is printed."""
        if _shell() is None:
            sys.stdout.write(f"{data['text/plain']}\n")
        else:
            publish((data, {}), display_id=display_id, update=False)


def _cell() -> object:
    """The number of the cell that runs."""
    return getattr(_shell(), "execution_count", None)


def _shell() -> object | None:
    """The IPython shell of this process; None in plain Python, where text is printed."""
    shell: object | None = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
    return shell
