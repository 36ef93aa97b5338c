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
    "07_a_real_server": [
        ("answer_1 = 'item_id'", ["answer_1 = 'output_index'", "answer_1 = pd.DataFrame({'a': [1, 2]})"]),
        ("answer_2 = 'response.function_call_arguments.done'", ["answer_2 = []"]),
        ("answer_3 = 5", ["answer_3 = 1000"]),
    ],
    "08_at_scale": [
        ("answer_1 = 2", ["answer_1 = 8", "answer_1 = pd.Series([2, 2])"]),
        ("answer_2 = in_memory.groupby('model')['characters'].max().idxmax()", ["answer_2 = 'demo-text'"]),
        (
            "answer_3 = (on_dask['gap_p99'] - in_memory['gap_p99']).abs().max() / pd.Timedelta(microseconds=1)",
            ["answer_3 = -1"],
        ),
    ],
    "03_reasoning_images_tools": [
        (
            "def answer_1(width: float, height: float) -> float:\n    'The area of a rectangle.'\n    return width * height",
            ["answer_1 = lambda width, height: width * height", "answer_1 = 12"],
        ),
        (
            "used = thoughts.response.usage\n"
            "answer_2 = used.output_tokens_details.reasoning_tokens / used.output_tokens",
            ["answer_2 = 0.5", "answer_2 = 'most'"],
        ),
        ("answer_3 = [item['type'] for item in library.response.output]", ["answer_3 = ['message']", "answer_3 = 6"]),
    ],
}
