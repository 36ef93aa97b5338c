"""What solves the exercises of the notebooks: for each, in order, a right answer and wrong ones, as code."""

from __future__ import annotations

SOLUTIONS: dict[str, list[tuple[str, list[str]]]] = {
    "02_anatomy_of_a_stream": [
        (r'answer_1 = raw.count(b"\n\n")', [r'answer_1 = raw.count(b"\n")', "answer_1 = 'many'"]),
        (
            "def answer_2(events):\n"
            "    return ''.join(event.delta for event in events if event.type == 'response.output_text.delta')",
            ["def answer_2(events):\n    return ''.join(event.delta for event in events)", "answer_2 = 3"],
        ),
        (
            "again = Accumulator()\n"
            "for event in whole[:-4]:\n"
            "    again.apply(event)\n"
            "again.finish()\n"
            "answer_3 = sum(item['status'] == 'completed' for item in again.response.output), again.ending",
            ["answer_3 = (1, 'cut_off')", "answer_3 = 0"],
        ),
    ],
}
