"""Code blocks of a text, calls of a response, and conversations as Markdown."""

from __future__ import annotations

import pytest

from nbresponses.core.conversation import CodeBlock, code_blocks_in, to_markdown
from nbresponses.core.response import Response


def test_code_blocks() -> None:
    text = "Do:\n```python title=x\nprint(1)\n```\nand\n~~~\n```\nno\n```\n~~~\n"
    text += "````md\n```py\n1\n```\n````\n```js\nlet a"
    assert code_blocks_in(text) == [
        CodeBlock("python", "print(1)"),
        CodeBlock("", "```\nno\n```"),
        CodeBlock("md", "```py\n1\n```"),
        CodeBlock("js", "let a"),
    ]
    assert code_blocks_in("none `here` and ```inline``` neither") == []
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    assert len(Response({"output": [message]}).code_blocks) == 4


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1. Do:\n\n   ```py\n   if x:\n       y\n\n   ```\n", ["if x:\n    y\n"]),
        ("10. Do:\n\n    ```py\n    x\n  y\n    ```\n", ["x\ny"]),
        ("- a\n  - b\n\n    ~~~\n    x\n    ~~~\n    ```\n    y", ["x", "y"]),
        ("Literally:\n\n    ```\n    x\n    ```", []),
        ("- a\n\nLiterally:\n\n    ```\n    x\n    ```", []),
        ("```\r\na = '\u2028\x0c'\r\nb\r\n```\r\n", ["a = '\u2028\x0c'\nb"]),
    ],
)
def test_the_code_is_what_stands_between_the_fences(text: str, code: list[str]) -> None:
    assert [block.code for block in code_blocks_in(text)] == code


def test_calls_with_parsed_arguments() -> None:
    calls = Response(
        {
            "output": [
                {"type": "function_call", "name": "f", "call_id": "1", "arguments": '{"a": 1}', "status": "completed"},
                {"type": "function_call", "name": "g", "call_id": "2", "arguments": '{"a', "status": "incomplete"},
            ]
        }
    ).tool_calls
    assert [(call.name, call.arguments) for call in calls] == [("f", {"a": 1})]


def test_a_conversation_as_markdown() -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "data:"}]},
        {"type": "reasoning", "summary": [{"text": "One\nTwo"}]},
        {"type": "function_call", "name": "f", "arguments": '{"a": "```"}'},
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "web_search_call", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
    ]
    text = to_markdown(items)
    assert text.startswith("### User\n\nHi\n\n### User\n\n*(input_image)*\n\n> One\n> Two\n\n**Call** `f`\n\n````\n")
    assert text.endswith("*web_search_call* completed\n\n### Assistant\n\nHello")
