"""What solves the exercises of the notebooks: for each exercise, in order, a right answer and wrong ones, as code."""

from __future__ import annotations

from inspect import cleandoc as code

SOLUTIONS: dict[str, list[tuple[str, list[str]]]] = {
    "01_first_response": [
        (
            "%%responses answer_1 << -m demo-echo\nAnybody there?",
            ["%%responses answer_1 << -m demo-text\nAnybody there?", "answer_1 = 'Anybody there?'"],
        ),
        (
            "answer_2 = thoughts.capture.events()['type'].value_counts()['response.output_text.delta']",
            ["answer_2 = len(thoughts.capture.events())", "answer_2 = 'some'"],
        ),
        ("answer_3 = 'server_error'", ["answer_3 = 'failed'", "answer_3 = None"]),
    ],
    "02_anatomy_of_a_stream": [
        (r'answer_1 = raw.count(b"\n\n")', [r'answer_1 = raw.count(b"\n")', "answer_1 = 'many'"]),
        (
            code("""
            def answer_2(events):
                return "".join(event.delta for event in events if event.type == "response.output_text.delta")
            """),
            ["def answer_2(events):\n    return ''.join(event.delta for event in events)", "answer_2 = 3"],
        ),
        (
            code("""
            again = Accumulator()
            for event in whole[:-4]:
                again.apply(event)
            again.finish()
            answer_3 = sum(item["status"] == "completed" for item in again.response.output), again.ending
            """),
            ["answer_3 = (1, 'cut_off')", "answer_3 = 0"],
        ),
    ],
    "03_reasoning_images_tools": [
        (
            code("""
            def answer_1(width: float, height: float) -> float:
                '''The area of a rectangle.'''
                return width * height
            """),
            ["answer_1 = lambda width, height: width * height", "answer_1 = 12"],
        ),
        (
            code("""
            used = thoughts.response.usage
            answer_2 = used.output_tokens_details.reasoning_tokens / used.output_tokens
            """),
            ["answer_2 = 0.5", "answer_2 = 'most'"],
        ),
        ("answer_3 = [item['type'] for item in library.response.output]", ["answer_3 = ['message']", "answer_3 = 6"]),
    ],
    "04_lanes_and_forks": [
        ("answer_1 = 3", ["answer_1 = 6", "answer_1 = 'three'"]),
        (
            code("""
            with client.lanes(model="demo-echo", store=False) as lanes:
                lanes["planner"].create("Plan.")
                forks = [lanes["planner"].fork(name) for name in ("bold", "careful")]
                for fork in forks:
                    fork.create("Go on.")
                answer_2 = lanes.lineage()
            """),
            [
                code("""
                with client.lanes(model="demo-echo", store=False) as lanes:
                    for name in ("planner", "bold", "careful"):
                        lanes[name].create("Plan.")
                    answer_2 = lanes.lineage()
                """),
                "answer_2 = 2",
            ],
        ),
        ("answer_3 = 'first'", ["answer_3 = 'second'", "answer_3 = 1"]),
    ],
    "05_when_things_break": [
        ("answer_1 = 'cut_at:7'", ["answer_1 = 'cut_at:8'", "answer_1 = 'no_fault'", "answer_1 = 7"]),
        ("answer_2 = {429, 503}", ["answer_2 = {400, 503}", "answer_2 = 429"]),
        (
            "answer_3 = list(client.stream(response_id=lost.id, starting_after=9))",
            ["answer_3 = list(client.stream(response_id=lost.id, starting_after=7))", "answer_3 = []", "answer_3 = 9"],
        ),
    ],
    "07_a_real_server": [
        ("answer_1 = 'item_id'", ["answer_1 = 'output_index'", "answer_1 = 1"]),
        (
            "answer_2 = 'response.function_call_arguments.done'",
            ["answer_2 = 'response.output_item.done'", "answer_2 = 1"],
        ),
        ("answer_3 = 5", ["answer_3 = 4", "answer_3 = 'five'"]),
    ],
    "08_at_scale": [
        (
            'answer_1 = len(nbresponses.scan(dataset, model="demo-text", date="2026-03-02").stored("events"))',
            ['answer_1 = len(nbresponses.scan(dataset).stored("events"))', "answer_1 = 'some'"],
        ),
        (
            code("""
            frames = {model: nbresponses.scan(dataset, model=model).events() for model in models}
            sizes = {model: frame[frame["type"] == "response.completed"]["bytes"] for model, frame in frames.items()}
            answer_2 = max(sizes, key=lambda model: sizes[model].sum().compute())
            """),
            ["answer_2 = 'demo-nope'", "answer_2 = 3"],
        ),
        (
            "answer_3 = (on_dask['gap_p99'] - in_memory['gap_p99']).abs().max() / pd.Timedelta(microseconds=1)",
            ["answer_3 = -1", "answer_3 = 'little'"],
        ),
    ],
    "06_streams_as_data": [
        (
            "answer_1 = captures.deltas()['delta'].str.len().sum()",
            ["answer_1 = len(captures.deltas())", "answer_1 = ''"],
        ),
        (
            code("""
            longest = responses.sort_values("longest_gap")["source"].iloc[-1]
            answer_2 = list(captures.sources).index(longest)
            """),
            ["answer_2 = len(captures)", "answer_2 = captures[0]"],
        ),
        ("answer_3 = found.text['a'].iloc[0]", ["answer_3 = found.texts[0]", "answer_3 = found"]),
    ],
}
