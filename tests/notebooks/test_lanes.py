"""Notebook 04: every answer ends up settled in the output of its own cell."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.timeout(240)
NAME = "04_lanes_and_forks"


def test_each_answer_is_settled_in_its_own_cell(executed: Any) -> None:
    answers = {}
    for cell in executed(NAME).cells:
        if cell.source.startswith("%%responses"):
            [shown] = [output for output in cell.outputs if output.output_type == "display_data"]
            answers[cell.source.splitlines()[-1]] = shown.data["text/plain"]
    assert len(answers) == 4
    for prompt, text in answers.items():
        assert f"Demo turn {1 if 'List' in prompt or 'Draft' in prompt else 2}: {prompt}" in text
        assert "· completed ·" in text
