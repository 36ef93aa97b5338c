"""Calls, objects and many prompts in a real kernel: whose loop an async function has, what an interrupt leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

SET_UP = """
%load_ext nbresponses
import asyncio, gc, json, sys, time
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

made = []

def twice() -> str:
    "Goes on, and says so the second time."
    made.append(1)
    if len(made) == 2:
        print("READY")
    return "x"

async def at_rest(seconds=5):
    until = time.monotonic() + seconds
    while server.active and time.monotonic() < until:
        await asyncio.sleep(0.02)
    print(len(server.active))

async def clean_up():
    for id_ in list(server.active):
        try:
            client.cancel(id_)  # what goes on in the background; the rest runs out
        except Exception:
            pass
    gc.collect()
    await at_rest(20)

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

    def run(self, code: str, *, interrupt: str = "") -> tuple[str, str]:
        """(everything printed or shown as text, how it ended); with `interrupt` interrupted once it shows that text."""
        request, texts = self.client.execute(code), []
        while True:
            message = self.client.get_iopub_msg(timeout=50)
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            texts.append(content.get("text") or content.get("data", {}).get("text/plain") or "")
            if interrupt and interrupt in texts[-1]:
                time.sleep(0.3)  # so that it waits by then
                self.manager.interrupt_kernel()
                interrupt = ""
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


@dataclass(frozen=True)
class Stopped:
    """A cell, what it shows when it is to be interrupted, and what is true afterwards. `left`: still generated then."""

    code: str
    at: str = "READY"
    true: tuple[str, ...] = ()
    told: str = ""
    left: int = 0


LAST = "sys.last_value.partial"
KEPT = "_responses.ending == 'interrupted' and _responses.response.output_text != ''"
ONE_ROUND = "_responses.ending == 'completed' and run.ending == 'interrupted' and len(run.pending) == 1"
GOES_ON = "goes on on the server. Take it up again: %responses --resume resp_"
BEGIN = (
    "with client.stream('Go.', model='demo-slow', background=True) as begun:\n"
    "    next(begun)\n"
    "id_ = begun.id\n"
)  # fmt: skip
FIVE = '-p \'metadata={"demo_rounds": "5", "demo_delay": "0.3"}\''
STOPPED = {
    "a cell": Stopped("%%responses -m demo-slow\nGo.", "This demo", (KEPT,)),
    "an async function": Stopped(
        "%%responses -m demo-tools --tools forever -o run\nGo.", true=(ONE_ROUND, "seen[-1] == 'ended'")
    ),
    "a function": Stopped("%%responses -m demo-tools --tools blocking -o run\nGo.", true=(ONE_ROUND,)),
    "the next round": Stopped(
        f"%%responses -m demo-rounds --tools twice -o run {FIVE}\nGo.",
        true=(
            "run.ending == 'interrupted' and len(run.calls) == 2 and len(run.rounds) in (2, 3)",
            "_responses.id in (None, run.response.id) and _responses.ending == 'interrupted'",
        ),
    ),
    "a run": Stopped(
        "client.run('Go.', model='demo-slow', tools=[later], on_stream=go)",
        true=(f"{LAST}.response.ending == 'interrupted' and {LAST}.response.id is not None",),
    ),
    "an object": Stopped(
        "%%responses -m demo-slow --format list[int]\nGo.",
        '{"',
        (KEPT, "_responses.response.parsed_so_far is None or isinstance(_responses.response.parsed_so_far, list)"),
    ),
    "a background response": Stopped(
        "%%responses -m demo-slow --background\nGo.",
        "This demo",
        (KEPT, "client.retrieve(_responses.id).status == 'in_progress'"),
        GOES_ON,
        left=1,
    ),
    "a background response, cancelled": Stopped(
        "%%responses -m demo-slow --background --cancel-on-interrupt\nGo.",
        "This demo",
        (KEPT, "client.retrieve(_responses.id).status == 'cancelled'"),
        "is cancelled on the server",
    ),
    "a response taken up": Stopped(
        BEGIN + "get_ipython().run_line_magic('responses', f'--resume {id_}')",
        "This demo",
        (KEPT, "_responses.id == id_", "client.retrieve(id_).status == 'in_progress'"),
        GOES_ON,
        left=1,
    ),
    "a response taken up, cancelled": Stopped(
        BEGIN + "get_ipython().run_line_magic('responses', f'--resume {id_} --cancel-on-interrupt')",
        "This demo",
        (KEPT, "client.retrieve(id_).status == 'cancelled'"),
        "is cancelled on the server",
    ),
    "a lane": Stopped("%%responses -m demo-slow --lane a\nGo.", "This demo", (KEPT,), left=1),
    "a function on a lane": Stopped(
        "%%responses -m demo-tools --lane b --tools forever -o run\nGo.", true=(ONE_ROUND,)
    ),
    "many prompts": Stopped(
        "print('READY')\nclient.map(['a', 'b', 'c'], model='demo-slow', progress=False, concurrency=2)",
        true=(f"[*{LAST}.error] == ['interrupted', 'interrupted', 'not sent']",),
    ),
    "many prompts over lanes": Stopped(
        "print('READY')\n"
        "client.map(['a', 'b'], model='demo-echo', lanes=True, progress=False, metadata={'demo_delay': '1'})",
        true=(f"[*{LAST}.ending] == ['interrupted', 'interrupted']",),
    ),
}


@pytest.mark.parametrize("what", STOPPED)
def test_an_interrupt_leaves_what_came_and_nothing_that_runs(kernel: Kernel, what: str) -> None:
    case = STOPPED[what]
    began = time.monotonic()
    out, ended = kernel.run(case.code, interrupt=case.at)
    assert ended == "KeyboardInterrupt", out
    assert time.monotonic() - began < 20
    assert case.told in out
    if case.left:
        assert kernel.run("print(len(server.active))")[0] == f"{case.left}\n"
    elif "lanes" not in what:  # a lane's response runs out unheard
        assert kernel.run("await at_rest()")[0] == "0\n"
    for true in case.true:
        assert kernel.run(f"print({true})")[0] == "True\n", true
    told = out + kernel.run("await clean_up()")[0]
    assert told.endswith("0\n")
    for warning in ("never awaited", "never retrieved", "Task was destroyed", "ResourceWarning"):
        assert warning not in told
