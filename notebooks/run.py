"""Run a notebook without a browser and show its outputs in the terminal while they come.

    python notebooks/run.py [NOTEBOOK] [--save]

The kernel is that of this Python. Nothing is written unless `--save` is given; then the outputs go into the file.
Exercises (cells tagged `answer` and `check`) are run and not shown: nobody can answer them here.
"""

from __future__ import annotations

import argparse
import re
import sys
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent
FIRST = HERE / "01_first_response.ipynb"
EXERCISES = {"answer", "check"}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # of tracebacks; they are for terminals, not for pipes


class Terminal:
    """Prints the messages of one cell. Of an output that is replaced again and again only what is new is printed.

    New lines below the one that was printed last come at once, and the last one grows. What comes above it (a summary
    whose reasoning is still written) comes line by line, when it has stopped to change.
    """

    def __init__(self) -> None:
        self._latest: dict[str | None, str] = {}
        self._shown: dict[str | None, list[str]] = {}
        self._open = ""

    def message(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "stream":
            self._print(content["text"])
        elif kind == "error":
            self.end()
            self._print("\n".join([*content["traceback"], ""]))
        elif kind in {"display_data", "update_display_data"}:
            self._display(content.get("transient", {}).get("display_id"), content["data"].get("text/plain", ""))
        elif kind == "execute_result":
            self._print(content["data"].get("text/plain", "") + "\n")

    def end(self) -> None:
        """The cell is done: print what was held back, and the line that closes an answer."""
        for display_id, latest in self._latest.items():
            self._display(display_id, latest)
            self._print(f"\n{_closing(latest)}\n")
        self._latest.clear()
        self._shown.clear()
        self._open = ""

    def _display(self, display_id: str | None, text: str) -> None:
        shown, still = self._shown.get(display_id, [""]), set(_body(self._latest.get(display_id, "")).split("\n"))
        lines = _body(text).split("\n")
        begun = next((at for at, line in enumerate(lines) if self._open and line.startswith(self._open)), 0)
        ready = [line for at, line in enumerate(lines) if (at >= begun or line in still) and line != "[Reasoning]"]
        for what, _, _, start, stop in SequenceMatcher(None, shown, ready, autojunk=False).get_opcodes():
            if what in {"insert", "replace"}:
                for line in ready[start:stop]:
                    self._line(line)
        self._shown[display_id], self._latest[display_id] = ready, text

    def _line(self, line: str) -> None:
        """A line that is new, or more of the one that was printed last."""
        self._print(line.removeprefix(self._open) if line.startswith(self._open) else f"\n{line}")
        self._open = line or "\n"  # an empty line is finished: the next one begins below it

    def _print(self, text: str) -> None:
        sys.stdout.write(text if sys.stdout.isatty() else _COLOURS.sub("", text))
        sys.stdout.flush()


def _body(text: str) -> str:
    """An answer without its last paragraph, the status line, which is new in every update."""
    return text.rpartition("\n\n")[0]


def _closing(text: str) -> str:
    return text.rpartition("\n\n")[2]


class Runner(NotebookClient):
    """nbclient, with everything it hears shown at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._terminal = Terminal()

    async def async_execute_cell(self, cell: Any, cell_index: int, *args: Any, **kwargs: Any) -> Any:
        if cell.cell_type == "code" and not _hidden(cell):
            print("\n" + "\n".join(f">>> {line}" for line in cell.source.split("\n")), flush=True)
        try:
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)
        finally:
            self._terminal.end()

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        if not _hidden(cell):
            self._terminal.message(msg["header"]["msg_type"], msg["content"])
        return super().process_message(msg, cell, cell_index)


def _hidden(cell: Any) -> bool:
    return not EXERCISES.isdisjoint(cell.metadata.get("tags", ()))


def run(path: Path, *, timeout: float = 120) -> Any:
    """Execute the notebook in a new kernel, in its own folder, and return it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    runner = Runner(
        notebook,
        timeout=timeout,
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    return runner.execute()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run a notebook and show its outputs while they come.")
    parser.add_argument("notebook", nargs="?", type=Path, default=FIRST)
    parser.add_argument("--save", action="store_true", help="write the outputs into the file")
    given = parser.parse_args(arguments)
    try:
        notebook = run(given.notebook)
    except CellExecutionError:
        return 1  # the cell's own message stands above
    if given.save:
        nbformat.write(notebook, given.notebook)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
