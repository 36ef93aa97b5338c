"""Calls, objects and many prompts in a real kernel: whose loop an async function has, what an interrupt leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

SET_UP = """
%load_ext nbresponses
import asyncio, json, time
from nbresponses import Client, DemoServer
server = DemoServer(delay=0).start()
client = Client(base_url=server.base_url)
%config Responses.base_url = server.base_url
seen = []

async def later() -> str:
    "Waits."
    await asyncio.sleep(0.01)
    return str(id(asyncio.get_running_loop()))

async def forever() -> str:
    "Waits for ever."
    print("READY")
    try:
        await asyncio.sleep(60)
    finally:
        seen.append("ended")

def blocking() -> str:
    "Waits for ever."
    print("READY")
    time.sleep(60)

def go(stream):
    next(stream)
    print("READY")
    for _ in stream:
        pass
"""


class Kernel:
    def __init__(self, manager: Any, client: Any) -> None:
        self.manager = manager
        self.client = client

    def run(self, code: str, *, interrupt: bool = False) -> tuple[str, str]:
        """(everything printed or shown as text, how it ended); with `interrupt` interrupted once it printed READY."""
        request, texts = self.client.execute(code), []
        while True:
            message = self.client.get_iopub_msg(timeout=50)
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            texts.append(content.get("text") or content.get("data", {}).get("text/plain") or "")
            if interrupt and "READY" in texts[-1]:
                time.sleep(0.3)  # so that it waits by then
                self.manager.interrupt_kernel()
            if content.get("execution_state") == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=50)
            if reply["parent_header"].get("msg_id") == request:
                return "".join(texts), reply["content"].get("ename") or reply["content"]["status"]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "pyproject.toml").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
            patch.delenv(name, raising=False)
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        manager, client = start_new_kernel(cwd=str(folder), extra_arguments=["--log-level=ERROR"])
    kernel = Kernel(manager, client)
    assert kernel.run(SET_UP)[1] == "ok"
    yield kernel
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_an_async_function_runs_on_the_kernels_own_loop(kernel: Kernel) -> None:
    assert kernel.run("loop = await asyncio.sleep(0) or str(id(asyncio.get_running_loop()))")[1] == "ok"
    out, ended = kernel.run("%%responses -m demo-tools --tools later -o run\nGo.")
    assert ended == "ok", out
    assert kernel.run("print(run.calls[0].output == loop)")[0] == "True\n"
    out, _ = kernel.run("print(client.run('Go.', model='demo-tools', tools=[later]).calls[0].output == loop)")
    assert out == "True\n"
    assert kernel.run("print(await later() == loop)")[0] == "True\n"  # the kernel's loop works as before


INTERRUPTED = {
    "an async function": "%%responses -m demo-tools --tools forever\nGo.",
    "a function": "%%responses -m demo-tools --tools blocking\nGo.",
    "a round": "client.run('Go.', model='demo-slow', tools=[later], on_stream=go)",
    "objects": "with client.stream('Go.', model='demo-slow', text_format=list[int]) as stream:\n    go(stream)",
    "many prompts": "print('READY')\nclient.map(['a', 'b', 'c'], model='demo-slow', progress=False)",
    "many prompts over lanes": "print('READY')\nclient.map(['a', 'b'], model='demo-echo', lanes=True, progress=False,"
    " metadata={'demo_delay': '1'})",
}


@pytest.mark.parametrize("what", INTERRUPTED)
def test_an_interrupt_is_clean(kernel: Kernel, what: str) -> None:
    began = time.monotonic()
    out, ended = kernel.run(INTERRUPTED[what], interrupt=True)
    assert ended == "KeyboardInterrupt", out
    assert time.monotonic() - began < 20
    after, _ = kernel.run("import gc; gc.collect(); await asyncio.sleep(0.3); print('active', len(server.active))")
    told = out + after
    assert "active 0" in told or "lanes" in what  # a lane's response runs out unheard
    assert "never awaited" not in told
    assert "never retrieved" not in told
    assert "Task was destroyed" not in told


def test_the_interrupted_function_could_clean_up(kernel: Kernel) -> None:
    kernel.run(INTERRUPTED["an async function"], interrupt=True)
    assert kernel.run("print(seen[-1], _responses.ending)")[0] == "ended completed\n"
