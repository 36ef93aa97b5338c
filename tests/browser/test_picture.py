"""The README's picture: a cell of JupyterLab whose answer streams. `make picture` keeps it as docs/pictures/live.png.

The demo server answers with a text of its own here, and nothing comes after most of it, so there is time to look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from nbresponses import Client, DemoServer
from nbresponses.demo import scenarios
from nbresponses.demo.acts import Message, Scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROMPT = "How does a stream of server-sent events look, and how do I read it?"
ANSWER = """\
## Server-sent events

The server keeps one HTTP answer open and writes **events** into it as they happen: a few lines each, then an empty one.

| line | what it says | for example |
|:-----|:-------------|:------------|
| `event:` | what kind of event it is | `response.output_text.delta` |
| `data:` | the event itself, as JSON | `{"delta": "Hel", "sequence_number": 4}` |
| empty | the event is complete | |

In Python an event is an object, and it comes while the answer is still being written:

```python
with client.stream(prompt, model="gpt-5.6") as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            print(event.delta, end="")
```

Nothing is lost on the way: `stream.capture.events()` has one row for each event, with the time it came, so you can \
ask afterwards where the answer"""
PARTS = (".nbr-think", ".nbr h2", ".nbr table", ".nbr pre code", ".nbr-status", ".nbr-stop")
LIMIT = 200_000
"""Of the picture, in bytes."""

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    """Stops sending at the end of the text, and leaves the stream open."""
    answering = Scenario(scenarios.DEFAULT, "", (Message(ANSWER),))
    monkeypatch.setattr(scenarios, "SCENARIOS", MappingProxyType({answering.model: answering}))
    with DemoServer(delay=0) as server:
        with Client(base_url=server.base_url) as client:
            whole = client.stream(PROMPT, model=answering.model, reasoning={"effort": "low", "summary": "auto"})
            pieces = [at for at, event in enumerate(whole, 1) if event.type == "response.output_text.delta"]
        server.fault = f"delay:0.02,stall_at:{pieces[-1]}"
        yield server


def test_the_picture_shows_what_a_cell_does(browser: Browser, server: DemoServer, shots: Path) -> None:
    from lab import LabPage, LabServer

    kept = Path(os.environ.get("NBRESPONSES_PICTURE") or shots / "live.png").resolve()
    environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "any"}
    cells = ("%load_ext nbresponses", f"%%responses -m demo-text --reasoning low\n{PROMPT}")
    with LabServer(environment=environment) as jupyter, LabPage(jupyter, browser, "s.ipynb", cells, scale=1.5) as lab:
        page = lab.page
        page.set_viewport_size({"width": 960, "height": 1000})
        page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        lab.run(0)
        lab.start(1)
        page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
        lab.wait_text(1, "where the answer")
        shown = {part: page.is_visible(part) for part in PARTS}
        page.screenshot(path=kept, clip=page.locator(".jp-CodeCell").nth(1).bounding_box())
        assert lab.running(1)
        lab.interrupt()
        lab.wait(1)
    assert shown == dict.fromkeys(PARTS, True)
    assert kept.stat().st_size <= LIMIT
