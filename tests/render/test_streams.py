"""Every captured stream: its response, and that response half-way, is shown in all three forms."""

from __future__ import annotations

from pathlib import Path

from nbresponses.core.accumulator import Accumulator
from nbresponses.core.decode import EventDecoder
from nbresponses.render import StatusLine, blocks, bundle, clean
from nbresponses.render.blocks import Text, Unknown
from tests.render.checks import read_html, read_markdown

UNKNOWN = {"tool_search_output", "additional_tools"}


def test_a_captured_stream(stream_file: Path) -> None:
    decoder = EventDecoder()
    events = decoder.feed(stream_file.read_bytes()) + decoder.finish()
    accumulator = Accumulator()
    for number, event in enumerate(events):
        accumulator.apply(event)
        if number == len(events) // 2:
            half = bundle(accumulator.response)
            read_html(half["text/html"])
            read_markdown(half["text/markdown"])
    accumulator.finish()
    response = accumulator.response
    shown = bundle(response, StatusLine(model=response.model or "", state=accumulator.ending or ""))
    read_html(shown["text/html"])
    read_markdown(shown["text/markdown"])
    found = blocks(response)
    assert all(block.done for block in found)
    assert len({block.key for block in found}) == len(found)
    assert [block for block in found if isinstance(block, Unknown)] == []
    assert "".join(block.text for block in found if isinstance(block, Text)) == clean(response.output_text)
    for block in found:
        if isinstance(block, Text):
            assert block.text in shown["text/plain"]
