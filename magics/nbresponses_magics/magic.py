"""The magic `%%responses` / `%responses`: reads the line and hands over. Registers nothing by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbresponses.errors import NBResponsesError
from nbresponses_magics.cell import run_cell
from nbresponses_magics.commands import COMMANDS, EXAMPLES, run_command
from nbresponses_magics.completion import Known
from nbresponses_magics.data import DATA_COMMANDS, recorded_names
from nbresponses_magics.failures import explain, without_traceback
from nbresponses_magics.lanes import LANE_COMMANDS
from nbresponses_magics.options import help_text, parse, split
from nbresponses_magics.records import RECORD_COMMANDS
from nbresponses_magics.saying import say

if TYPE_CHECKING:
    from contextlib import ExitStack

    from nbresponses_magics.session import Session

__all__ = ["ResponsesMagics"]


@magics_class
class ResponsesMagics(Magics):
    """The magics of one shell, the session behind them, and what takes them away again."""

    def __init__(self, shell: Any, session: Session, undo: ExitStack) -> None:
        super().__init__(shell)
        self.session = session
        self.undo = undo

    @no_var_expand
    @line_cell_magic
    def responses(self, line: str, cell: str | None = None) -> Any:
        if cell is not None:
            run_cell(self.session, self.shell, parse(line), cell)
        elif line.strip() in {"-h", "--help"}:
            self._command(["help"])
        elif line.lstrip().startswith("-"):
            options = parse(line)
            if options.replay is None and options.resume is None and not options.warm_up:
                raise UsageError("a prompt is needed: use a %%responses cell and write it below the line")
            run_cell(self.session, self.shell, options, "")
        else:
            return self._command(split(line))
        return None

    responses.__doc__ = f"The cell is the prompt; the answer streams into the output.\n\n{EXAMPLES}\n{help_text()}"

    def _command(self, words: list[str]) -> Any:
        """Prints a text; anything else is the value of the cell."""
        try:
            found = run_command(self.session, words, self.shell)
        except NBResponsesError as error:
            raise without_traceback(error, explain(error)) from None
        except KeyboardInterrupt:
            raise without_traceback(KeyboardInterrupt("interrupted"), "interrupted: what runs goes on") from None
        if not isinstance(found, str):
            return found
        if found:
            say(found)
        return None

    def known(self) -> Known:
        """What completion may offer from this session."""
        shell: Any = self.shell
        names = [name for name in shell.user_ns if not name.startswith("_") and name not in shell.user_ns_hidden]
        return Known(
            commands=(*COMMANDS, *RECORD_COMMANDS, *DATA_COMMANDS, *LANE_COMMANDS),
            models=self.session.model_names(),
            names=names,
            lanes=self.session.lanes.names(),
            records=recorded_names(shell.user_ns),
        )
