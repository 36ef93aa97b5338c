"""Servers that others wrote, on loopback. How to start them is kept outside the repository, beside the streams.

Looked for in $NBRESPONSES_PEERS, then in ../shared/peers. Each is started once for all its tests, and ended after them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READY_WITHIN = 240.0  # seconds; the first start installs the server
UPSTREAM = {"start-agentic.sh": "/readiness"}
"""Script of a gateway → path on the next port that answers 200 when its upstream is ready: its own does not say."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.peer)
            item.add_marker(pytest.mark.timeout(READY_WITHIN + 60))


def peers_folder() -> Path:
    given = os.environ.get("NBRESPONSES_PEERS")
    return Path(given) if given else ROOT.parent / "shared" / "peers"


def free_port() -> int:
    """A port that is free, and the next one with it: a gateway has its upstream there."""
    while True:
        with socket.socket() as listener, socket.socket() as beside:
            listener.bind(("127.0.0.1", 0))
            port: int = listener.getsockname()[1]
            with suppress(OSError):
                beside.bind(("127.0.0.1", port + 1))
                return port


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:  # noqa: S310  loopback
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running(script: str, ready: str, log: Path) -> Iterator[str]:
    """The server's address while its script runs in a process group of its own."""
    path = peers_folder() / script
    if not path.exists():
        reason = f"no {script} in {peers_folder()}; set NBRESPONSES_PEERS to the folder that holds it"
        pytest.skip(reason)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(["bash", path, str(port)], stdout=output, stderr=output, start_new_session=True)
    try:
        deadline = time.monotonic() + READY_WITHIN
        wanted = [address + ready]
        if script in UPSTREAM:
            wanted.append(f"http://127.0.0.1:{port + 1}{UPSTREAM[script]}")
        while not all(map(answers, wanted)):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{script} did not get ready:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], str]]:
    """Start a server by its script, once; `start(script, path that answers 200 when it is ready)` is its address."""
    addresses: dict[str, str] = {}
    with ExitStack() as stack:

        def once(script: str, ready: str) -> str:
            if script not in addresses:
                log = tmp_path_factory.mktemp("peer") / "log"
                addresses[script] = stack.enter_context(running(script, ready, log))
            return addresses[script]

        yield once
