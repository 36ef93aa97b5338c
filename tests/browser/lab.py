"""A real JupyterLab, or Notebook 7, in headless Chromium: starts a server of its own, drives the page, reads outputs.

Needs `--expose-app-in-browser`, which gives the page `window.jupyterapp`. Settings, runtime files and notebooks are in
a temporary folder; the server listens on 127.0.0.1 and ends with the test process.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from chromium import Watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from playwright.sync_api import Browser

_QUIET = {"@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False}}
_DARK = {"@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Dark"}}
_NOTEBOOK = "window.jupyterapp.shell.currentWidget"


def _end_with_parent() -> None:
    ctypes.CDLL("libc.so.6").prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a killed test run leaves no server behind


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def notebook(cells: Iterable[str]) -> dict[str, Any]:
    """A notebook of code cells, in nbformat 4.5."""
    made = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for at, source in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": made}


class LabServer:
    """A running server; `app` is "lab" or "notebook". `python` starts it, `root` is its folder, else one of its own."""

    def __init__(
        self,
        app: str = "lab",
        *,
        dark: bool = False,
        environment: dict[str, str] | None = None,
        python: str | Path = sys.executable,
        root: Path | None = None,
    ) -> None:
        self.app = app
        self._python = str(python)
        self._folder = tempfile.TemporaryDirectory(prefix="nbresponses-lab-", ignore_cleanup_errors=True)
        home = Path(self._folder.name)
        self.root = root or home / "notebooks"
        self.root.mkdir(exist_ok=True)
        self.origin = f"http://127.0.0.1:{_free_port()}"
        settings = home / "settings"
        for plugin, values in (_QUIET | (_DARK if dark else {})).items():
            path = settings / f"{plugin}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        own = {
            "HOME": str(home),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTERLAB_SETTINGS_DIR": str(settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        }
        without = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        self._environment = without | own | (environment or {})
        self._log = home / "server.log"

    def __enter__(self) -> Self:
        command = [
            *(self._python, "-m", "jupyter", self.app, "--no-browser", "--allow-root", "--expose-app-in-browser"),
            *("--ip=127.0.0.1", f"--port={self.origin.rsplit(':', 1)[1]}", "--ServerApp.port_retries=0"),
            *("--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={self.root}"),
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self.root,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        self._wait()
        return self

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{self.origin}/api/status", timeout=1).read()  # noqa: S310
            except OSError:
                assert self._process.poll() is None, self._log.read_text()[-3000:]
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"the server did not start: {self._log.read_text()[-3000:]}")

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


class LabPage(Watched):
    """One notebook in a page."""

    def __init__(
        self, server: LabServer, browser: Browser, name: str, cells: Iterable[str] = (), *, scale: float = 1
    ) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": 1100, "height": 900}, device_scale_factor=scale)
        super().__init__(self.context)
        self.page.set_default_timeout(20_000)
        self.name = name
        self.path = server.root / name
        if not self.path.exists():
            self.path.write_text(json.dumps(notebook(cells)))
        self.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def open(self, *, kernel: bool = True) -> None:
        folder = "lab/tree" if self.server.app == "lab" else "notebooks"
        self.page.goto(f"{self.server.origin}/{folder}/{self.name}?reset", wait_until="domcontentloaded")
        self.ready(kernel=kernel)

    def ready(self, *, kernel: bool = True) -> None:
        self.page.wait_for_function(f"() => window.jupyterapp && {_NOTEBOOK}?.context?.isReady", timeout=60_000)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        if kernel:
            self.page.wait_for_function(
                f"() => {_NOTEBOOK}.sessionContext.session?.kernel?.status === 'idle'", timeout=60_000
            )

    # ── cells ──

    def start(self, cell: int) -> None:
        """Run a cell; returns at once."""
        self.page.evaluate(
            f"""(at) => {{ const {{ content }} = {_NOTEBOOK}; content.activeCellIndex = at; content.mode = "command";
                 void window.jupyterapp.commands.execute("notebook:run-cell"); }}""",
            cell,
        )

    def wait(self, cell: int, seconds: float = 30) -> None:
        """Until the cell has run."""
        self.page.wait_for_function(
            f"(at) => /\\[\\d+\\]/.test({_NOTEBOOK}.content.widgets[at].inputArea.promptNode.textContent)",
            arg=cell,
            timeout=seconds * 1000,
        )

    def run(self, cell: int, seconds: float = 30) -> None:
        self.start(cell)
        self.wait(cell, seconds)

    def running(self, cell: int) -> bool:
        prompt = self.page.evaluate(f"(at) => {_NOTEBOOK}.content.widgets[at].inputArea.promptNode.textContent", cell)
        return "*" in prompt

    def text(self, cell: int) -> str:
        return str(self.page.evaluate(f"(at) => {_NOTEBOOK}.content.widgets[at].outputArea.node.innerText", cell))

    def outputs(self, cell: int) -> list[dict[str, Any]]:
        return list(self.page.evaluate(f"(at) => {_NOTEBOOK}.content.widgets[at].model.outputs.toJSON()", cell))

    def wait_text(self, cell: int, words: str, seconds: float = 20) -> None:
        self.page.wait_for_function(
            f"([at, words]) => {_NOTEBOOK}.content.widgets[at].outputArea.node.innerText.includes(words)",
            arg=[cell, words],
            timeout=seconds * 1000,
        )

    # ── the notebook ──

    def interrupt(self) -> None:
        """The stop button of the toolbar."""
        self.page.click("[data-command='notebook:interrupt-kernel']")

    def save(self) -> dict[str, Any]:
        """Save, and read the file."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        return dict(json.loads(self.path.read_text()))

    def end_kernel(self) -> None:
        self.page.evaluate(f"() => {_NOTEBOOK}.sessionContext.shutdown()")

    def shows_the_whole_after_a_reload(self, cell: int, again: int, *, last: str) -> None:
        """Reload the page while `cell` streams: it shows the answer to its `last` words, and so does `again`."""
        self.start(cell)
        self.wait_text(cell, "This demo")
        self.save()
        self.page.reload()
        self.ready()
        self.wait_text(cell, last)
        self.page.wait_for_selector(".nbr[data-state=completed]")
        self.run(again)
        assert last in self.text(again)
        self.run(cell)
        self.page.wait_for_selector(".nbr", state="detached")


@contextmanager
def opened(browser: Browser, name: str, cells: Mapping[str, str], first: str) -> Iterator[LabPage]:
    """A notebook of these cells in a server of its own, the cell `first` run."""
    with LabServer() as server, LabPage(server, browser, name, cells.values()) as page:
        page.run(list(cells).index(first))
        yield page
