"""Loading and unloading leave a shell as it was; loading is cheap and reads nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError


def state(shell: Any) -> dict[str, Any]:
    """All of a shell that an extension can reach, by identity where that matters."""
    formatters = shell.display_formatter.formatters
    bundles = shell.display_formatter.mimebundle_formatter
    return {
        "magics": {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        "registry": dict(shell.magics_manager.registry),
        "configurables": [id(one) for one in shell.configurables],
        "matchers": list(shell.Completer.custom_matchers),
        "hooks": {name: vars(dispatch) for name, dispatch in shell.strdispatchers.items()},
        "events": {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
        "transformers": (list(shell.input_transformers_cleanup), list(shell.input_transformers_post)),
        "ast": list(shell.ast_transformers),
        "custom": shell.custom_exceptions,
        "printers": {
            name: (dict(f.type_printers), dict(f.deferred_printers)) for name, f in {**formatters, "": bundles}.items()
        },
        "names": dict(shell.user_ns),
        "hidden": dict(shell.user_ns_hidden),
        "config": dict(shell.config),
        "hooks_of_sys": (sys.displayhook, sys.excepthook),
    }


def test_unloading_undoes_loading(shell: Any) -> None:
    getattr(
        shell.magics_manager, "load_all_lazy_magics", list
    )()  # else %load_ext itself appears in the tables with its first use
    before = state(shell)
    shell.run_line_magic("load_ext", "nbresponses")
    assert "responses" in shell.magics_manager.magics["cell"]
    assert state(shell) != before
    shell.run_line_magic("unload_ext", "nbresponses")
    assert state(shell) == before


def test_unloading_after_use(shell: Any) -> None:
    shell.run_line_magic("load_ext", "nbresponses")
    before = dict(shell.user_ns)
    shell.run_cell_magic("responses", "answer << -q", "Hello")
    session = shell.magics_manager.registry["ResponsesMagics"].session
    assert session.demo_url is not None
    shell.display_formatter.format(shell.user_ns["answer"])  # moves the formatter from deferred to known
    shell.run_line_magic("unload_ext", "nbresponses")
    assert session.demo_url is None
    assert set(shell.user_ns) - set(before) == {"answer", "_responses"}
    bundles = shell.display_formatter.mimebundle_formatter
    assert not any("nbresponses" in cls.__module__ for cls in bundles.type_printers)


def test_what_had_the_name_before_comes_back(shell: Any) -> None:
    def responses(line: str) -> str:
        return "the user's own"

    shell.register_magic_function(responses, "line")
    shell.run_line_magic("load_ext", "nbresponses")
    shell.run_line_magic("unload_ext", "nbresponses")
    assert shell.run_line_magic("responses", "") == "the user's own"
    assert "responses" not in shell.magics_manager.magics["cell"]


def test_loading_twice_and_unloading_twice(shell: Any) -> None:
    from nbresponses import load_ipython_extension, unload_ipython_extension

    before = state(shell)
    load_ipython_extension(shell)
    once = state(shell)
    load_ipython_extension(shell)
    assert state(shell) == once
    unload_ipython_extension(shell)
    unload_ipython_extension(shell)
    assert state(shell) == before


def test_reloading(loaded: Any) -> None:
    first = loaded.magics_manager.registry["ResponsesMagics"]
    loaded.run_line_magic("reload_ext", "nbresponses")
    second = loaded.magics_manager.registry["ResponsesMagics"]
    assert second is not first
    assert loaded.magics_manager.magics["cell"]["responses"].__self__ is second


def test_loading_reads_no_project_file(shell: Any) -> None:
    Path("pyproject.toml").write_text("this is no TOML")
    shell.run_line_magic("load_ext", "nbresponses")
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        shell.run_line_magic("responses", "")


def test_loading_imports_little() -> None:
    code = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "s = InteractiveShell.instance()\nbefore = set(sys.modules)\ns.run_line_magic('load_ext', 'nbresponses')\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new & {'httpx', 'pandas', 'starlette', 'uvicorn', 'websockets', 'anywidget', 'ipywidgets'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.strip() == "[]"
