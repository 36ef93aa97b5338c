"""What solves the exercises of the notebooks: for each exercise, in order, a right answer and wrong ones, as code."""

from __future__ import annotations

from inspect import cleandoc as code

SOLUTIONS: dict[str, list[tuple[str, list[str]]]] = {
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
    "05_when_things_break": [
        ("answer_1 = 'cut_at:7'", ["answer_1 = 'cut_at:8'", "answer_1 = 'no_fault'", "answer_1 = 7"]),
        ("answer_2 = {429, 503}", ["answer_2 = {400, 503}", "answer_2 = 429"]),
        (
            "answer_3 = list(client.stream(response_id=lost.id, starting_after=9))",
            ["answer_3 = list(client.stream(response_id=lost.id, starting_after=7))", "answer_3 = []", "answer_3 = 9"],
        ),
    ],
}
