"""What the board and the inspector share: a place in the output that can be settled, and a way to a busy kernel."""

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
        super().__init__(**traits)
        # As in the live view: from ipykernel 7.4 on a busy cell would keep the buttons waiting.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = None  # noqa: SLF001  there is no public way yet

    def static(self) -> dict[str, str]:
        """The static copy, as texts by media type."""
        raise NotImplementedError

    def settle(self) -> None:
        """Put a static copy in the widget's place, and close it."""
        if _shell() is not None:
            publish((self.static(), {}), display_id=self._display_id, update=True)
        self.close()

    def display_once(self) -> None:
        """Display it; if it is this cell's result too, that does not display it again."""
        self._ipython_display_()
        self._shown_in = _cell()

    def _ipython_display_(self) -> None:
        if self._shown_in is not None and self._shown_in == _cell():
            return
        data, shell = self.static(), _shell()
        if shell is None:
            sys.stdout.write(f"{data['text/plain']}\n")
            return
        if shows_widgets(shell):
            shown, _ = self._repr_mimebundle_() or ({}, {})
            data = {**shown, "text/plain": data["text/plain"]}
        publish((data, {}), display_id=self._display_id, update=False)


def _cell() -> object:
    """The number of the cell that runs."""
    return getattr(_shell(), "execution_count", None)


def _shell() -> object | None:
    """The IPython shell of this process; None in plain Python, where text is printed."""
    shell: object | None = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
    return shell
