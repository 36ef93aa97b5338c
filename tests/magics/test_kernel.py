"""`%%responses` in a real kernel: what is published, how an interrupt and a failure end a cell, what a file keeps."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from nbresponses import Capture

CASES = Path(__file__).parents[1] / "data" / "cases"


@dataclass
class Cell:
    """What one request published, in order, and how it was answered."""

    published: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [message["content"] for message in self.published if message["msg_type"] in kinds]

    @property
    def printed(self) -> str:
        return "".join(content["text"] for content in self.of("stream"))

    @property
    def shown(self) -> list[dict[str, Any]]:
        return self.of("display_data", "update_display_data")

    @property
    def ids(self) -> set[str]:
        return {content["transient"]["display_id"] for content in self.shown}


class Kernel:
    def __init__(self, manager: Any, client: Any) -> None:
        self.manager = manager
        self.client = client

    def run(self, code: str) -> Cell:
        return self.finish(self.client.execute(code))

    def finish(self, request: str, until: str | None = None) -> Cell:
        """Collect until the request is answered and idle, or until something shown holds the text `until`."""
        cell = Cell()
        while True:
            message = self.client.get_iopub_msg(timeout=50)
            if message["parent_header"].get("msg_id") != request:
                continue
            cell.published.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
            if until is not None and any(until in content["data"]["text/plain"] for content in cell.shown):
                return cell
        while cell.reply.get("parent_header", {}).get("msg_id") != request:
            cell.reply = self.client.get_shell_msg(timeout=50)
        return cell

    def value(self, expression: str) -> Any:
        cell = self.run(f"import json; print(json.dumps({expression}))")
        return json.loads(cell.printed)


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
    assert kernel.run("%load_ext nbresponses").reply["content"]["status"] == "ok"
    yield kernel
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_one_output_that_is_updated_and_settles(kernel: Kernel) -> None:
    began = time.monotonic()
    cell = kernel.run("%%responses\nHello")
    took = time.monotonic() - began
    assert cell.reply["content"]["status"] == "ok"
    assert cell.printed.startswith(
        "Embedded demo server, no real model (no OPENAI_API_KEY and no base URL): http://127"
    )
    assert cell.published[2]["msg_type"] == "stream", "the first output"
    assert len(cell.of("display_data")) == 1
    assert len(cell.ids) == 1
    assert not cell.of("clear_output", "comm_open", "comm_msg", "error")
    assert 3 <= len(cell.shown) <= took / 0.1 + 2
    texts = [content["data"]["text/plain"] for content in cell.shown]
    assert any("streaming" in text and "A demo answer" in text for text in texts[:-1]), "seen before the end"
    last = cell.shown[-1]
    assert set(last["data"]) == {"text/html", "text/markdown", "text/plain"}
    assert "· completed ·" in last["data"]["text/plain"]
    facts = last["metadata"]["nbresponses"]
    assert (facts["model"], facts["status"], facts["ending"]) == ("demo-text", "completed", "completed")
    assert facts["response_id"] == kernel.value("_responses.id")
    assert facts["usage"]["output_tokens"] > 0


def test_display_ids_are_not_shared(kernel: Kernel) -> None:
    cells = [kernel.run("%%responses -m demo-echo\nHi") for _ in range(3)]
    assert len(set.union(*(cell.ids for cell in cells))) == 3


def test_shown_again_in_another_cell(kernel: Kernel) -> None:
    last = kernel.run("%%responses answer << -m demo-image\nHi").shown[-1]
    again = kernel.run("from nbresponses import show\nshow(answer)\nshow(answer.response)")
    first, second = again.of("display_data")
    assert first["data"] == last["data"]
    assert first["metadata"] == last["metadata"]
    assert "data:image/png;base64," in second["data"]["text/html"]
    value = kernel.run("answer").of("execute_result")[0]
    assert value["data"] == last["data"]


def test_an_interrupt_ends_the_stream_at_once(kernel: Kernel) -> None:
    request = kernel.client.execute("%%responses -m demo-slow\nHello there, you out there")
    before = kernel.finish(request, until="takes its time")
    asked = time.monotonic()
    kernel.manager.interrupt_kernel()
    after = kernel.finish(request)
    assert time.monotonic() - asked < 5, "the whole answer takes longer"
    assert after.reply["content"]["status"] == "error"
    error = after.of("error")[0]
    assert error["ename"] == "KeyboardInterrupt"
    assert error["traceback"] == ["interrupted: what came is in _responses"]
    assert after.ids == before.ids
    settled = after.shown[-1]["data"]
    assert "This demo takes its time" in settled["text/markdown"]
    assert "Interrupted: the stream was stopped here." in settled["text/plain"]
    assert "· interrupted ·" in settled["text/plain"]
    assert kernel.value("[_responses.ending, _responses.response.output_text[:4]]") == ["interrupted", "This"]
    magics = "get_ipython().magics_manager.registry['ResponsesMagics']"
    kernel.run(f"import time\nserver = {magics}.session._demo")
    kernel.run("until = time.monotonic() + 5\nwhile server.active and time.monotonic() < until: time.sleep(0.05)")
    assert kernel.value("server.active") == [], "the server still generates"
    assert kernel.run("%%responses -m demo-echo\nAgain").reply["content"]["status"] == "ok"


def test_an_interrupt_before_the_first_byte(kernel: Kernel) -> None:
    fault = '-p \'metadata={"demo_fault": "first_byte:30"}\''
    request = kernel.client.execute(f"%%responses {fault}\nHello")
    kernel.finish(request, until="waiting")
    asked = time.monotonic()
    kernel.manager.interrupt_kernel()
    cell = kernel.finish(request)
    assert time.monotonic() - asked < 5
    assert cell.of("error")[0]["ename"] == "KeyboardInterrupt"
    assert kernel.value("_responses.ending") == "interrupted"


def test_a_failure_stops_run_all(kernel: Kernel) -> None:
    first = kernel.client.execute("%%responses -m demo-failed\nHi")
    second = kernel.client.execute("reached = True")
    failed = kernel.finish(first)
    assert failed.reply["content"]["ename"] == "ResponseFailed"
    block = failed.of("error")[0]["traceback"]
    assert [line.split(":")[0] for line in block] == ["ResponseFailed", "request id", "kept", "remedy"]
    assert "[Failed · server_error]" in failed.shown[-1]["data"]["text/plain"]
    assert kernel.finish(second).reply["content"]["status"] == "aborted"
    assert kernel.value("'reached' in globals()") is False


def test_a_failure_before_the_first_event_shows_the_block_only(kernel: Kernel) -> None:
    cell = kernel.run("%%responses -m demo-nope\nHi")
    assert cell.of("error")[0]["ename"] == "Rejected"
    assert cell.shown == [] or "· failed ·" in cell.shown[-1]["data"]["text/plain"]


def test_mistakes_are_one_line(kernel: Kernel) -> None:
    for cell in ("%%responses --modle x\nHi", "%%responses -s 'x\nHi", "%responses modles"):
        ran = kernel.run(cell)
        assert ran.reply["content"]["status"] == "error"
        assert ran.printed.startswith("UsageError: ")
        assert ran.printed.count("\n") == 1
        assert not ran.of("error")


def test_completion_over_the_wire(kernel: Kernel) -> None:
    code = "%%responses -m demo-ec"
    request = kernel.client.complete(code, len(code))
    reply = kernel.client.get_shell_msg(timeout=50)
    assert reply["parent_header"]["msg_id"] == request
    assert reply["content"]["matches"] == ["demo-echo"]
    assert reply["content"]["cursor_start"] == code.index("demo-ec")


def captured(case: str, folder: Path) -> str:
    """A capture file with the events of a case."""
    from datetime import UTC, datetime

    from nbresponses import decode_event

    data = json.loads((CASES / f"{case}.json").read_text())
    capture = Capture(datetime.now(UTC))
    capture.received([decode_event(json.dumps(event)) for event in data["input"]["events"]], 0.0)
    capture.save(folder / f"{case}.jsonl")
    return str(folder / f"{case}.jsonl")


@pytest.mark.parametrize("case", ["B132", "B145", "B185", "B187", "B189", "B191", "B201"])
def test_hostile_answers_are_only_shown(kernel: Kernel, tmp_path: Path, case: str) -> None:
    cell = kernel.run(f"%responses --replay {captured(case, tmp_path)} --speed max")
    assert cell.reply["content"]["status"] == "ok"
    expected = json.loads((CASES / f"{case}.json").read_text())["expect"]
    assert kernel.value("_responses.response.output_text") == expected["output_text"]
    for content in cell.shown:
        html, plain = content["data"]["text/html"], content["data"]["text/plain"]
        assert "\x1b" not in html + plain
        assert not re.search(r"<(script|img src onerror|b>out)", html)
        assert "evil.test" not in "".join(re.findall(r'src="([^"]*)"', html))
    shown = cell.shown[-1]["data"]["text/plain"].split("\n\n")[0]
    renders = expected["renders"]
    assert shown == renders.get("text_shown", renders.get("plain_text", expected["output_text"]))


def test_a_file_keeps_static_outputs_only(tmp_path: Path) -> None:
    cells = ["%load_ext nbresponses", "%%responses -m demo-image\nHi", "%%time\n%%responses -m demo-echo\nHi"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    (tmp_path / "pyproject.toml").write_text("")
    runner = NotebookClient(notebook, timeout=50, resources={"metadata": {"path": str(tmp_path)}})
    done = runner.execute(env={**_environment(), "IPYTHONDIR": str(tmp_path)})
    nbformat.validate(done)
    assert "widgets" not in done.metadata
    for cell in done.cells[1:]:
        shown = [output for output in cell.outputs if output.output_type == "display_data"]
        assert len(shown) == 1
        assert set(shown[0].data) == {"text/html", "text/markdown", "text/plain"}
    assert "demo-echo · completed" in done.cells[2].outputs[1].data["text/plain"]
    assert "Wall time" in done.cells[2].outputs[-1].text


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
