"""32 lanes at 200 deltas a second each on the lane board of a real JupyterLab. Printed too: `pytest -s`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_32_lanes_stay_live(browser: Browser) -> None:
    from benchmarks.board import BOARD, HEAD, measure

    shown = measure(browser, BOARD)
    print(f"\n{HEAD}\n{shown}")
    assert shown.dropped == 0
    assert shown.published / shown.seconds < 100, "about 17 a second expected"
    assert len(shown.lags) == 32 * 200 * 8, "every delta came"
    assert shown.late(99) < 1500, "under 250 ms expected on a machine that does nothing else"
