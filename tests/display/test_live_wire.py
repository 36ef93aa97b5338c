"""What a streaming answer costs on the wire, counted on a kernel's IOPub: bounds that only a gross fault breaks."""

from __future__ import annotations

import pytest

from benchmarks.live_view import FOLLOW, measure

pytestmark = pytest.mark.filterwarnings("default")


def test_an_answer_of_20_kb_in_5000_deltas() -> None:
    cost = measure(FOLLOW.format(widget=True))
    assert cost.size <= 300_000, f"about 290 kB expected: {cost}"
    assert cost.messages / cost.seconds <= 20, f"about 12 a second expected: {cost}"
