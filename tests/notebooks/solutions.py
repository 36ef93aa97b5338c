"""What solves the exercises of the notebooks: for each, in order, a right answer and wrong ones, as code."""

from __future__ import annotations

SOLUTIONS: dict[str, list[tuple[str, list[str]]]] = {}
