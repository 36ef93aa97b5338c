"""Fair timing: contenders take turns in one process, CPU time, the least of several rounds counts."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def alternate(contenders: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Seconds of CPU per call of each contender."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            gc.collect()
            gc.freeze()
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
            gc.unfreeze()
    return best
