"""Any text, however far it is written, and any JSON in place of a response: shown safely, never an exception."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbresponses.core.response import Response
from nbresponses.render import Preview, StatusLine, block_text, blocks, bundle, clean, item_blocks, metadata
from nbresponses.render.safe_markdown import safe_markdown
from nbresponses.render.text_html import markdown_html
from nbresponses.render.tool_items import TOOL_ITEMS
from nbresponses.render.untrusted import pretty_json, safe_url
from tests.render.checks import paired_dollars, read_html, read_markdown, squeezed

SIGNS = r"""
` `` ``` ~~~ * ** _ __ ~~ ~ [ ] ( ) ![ ](
\ \\ \* \< \` \$ \( \) \[ \] $ $$ $x$ $5 { } 5 a word # | |-| < > & ! + - = : " '
<b> </b> <img/src=x> <!-- --> <script> </script> <!x <?x <![CDATA[ ]]> <details> </details>
&lt; &#60; &#106; &#36; &#92; &#10; &#32; &#8238; &#27; @@0@@ \begin{align} \end{align} é 中 “
](https://x.y/z) ](javascript:alert(1)) ![i](https://evil.test/p) ![s](data:image/svg+xml;base64,PHN2Zz4=)
[d](data:text/html,x) https://a.b/c https://e.f/(g) <https://h.i> www.j.k a@b.c [r] [r][r]
"""
PIECES = SIGNS.split()
PIECES += ["\u202e", "\x1b[31m", "\ud800", "\u2003", "\xa0", "```py\n", "~~~\n", "\t"]
BREAKS = ["\n", "\n\n", "\n    ", "\n- ", "\n1. ", "\n> ", "> ", "    ", " ", "\n# ", "\n---\n", "\n===\n", "\n$$\n"]
BREAKS += ["\n[r]: https://r.s\n", "\n|a|b|\n|-|-|\n|"]
texts = st.lists(st.sampled_from(PIECES + BREAKS), max_size=20).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
WORDS = """
id name namespace server_label arguments input output outputs result results status error action actions commands
command query queries sources url pattern type content summary text refusal annotations phase code logs call_id
operation diff path tools description revised_prompt image_url stdout stderr outcome exit_code score filename message
"""
NAMES = WORDS.split()
objects = st.dictionaries(
    st.sampled_from(NAMES), json_values | st.dictionaries(st.sampled_from(NAMES), json_values, max_size=4), max_size=6
)
kinds = st.sampled_from([*TOOL_ITEMS, "message", "reasoning", "compaction", "unheard_of"])
items = st.builds(lambda kind, data: {**data, "type": kind}, kinds, objects) | objects | json_values
responses = st.fixed_dictionaries(
    {},
    optional={
        "output": st.lists(items, max_size=4) | json_values,
        "status": json_values,
        "error": json_values,
        "incomplete_details": json_values,
        "model": json_values,
        "usage": json_values,
    },
)


@settings(max_examples=400)
@given(texts)
@example("a![b](https://evil.test)")
@example("\\![a](https://evil.test)")
@example("a ` b \\` <img src=x>`")
def test_any_text_is_shown_safely_and_whole(text: str) -> None:
    in_html, in_markdown = markdown_html(text), safe_markdown(text)
    shown, shown_as_markdown = read_html(in_html), read_markdown(in_markdown)
    if not paired_dollars(in_html):
        assert shown == shown_as_markdown


@settings(max_examples=200)
@given(st.text(alphabet="ab <\"',.:?/\n", max_size=60))
def test_text_without_markup_is_all_there(text: str) -> None:
    assert read_html(markdown_html(text)) == read_markdown(safe_markdown(text)) == squeezed(text)


@settings(max_examples=200)
@given(st.text(max_size=80))
def test_cleaned_text_is_clean_and_cleaning_it_again_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")
    assert not any(ord(character) < 32 and character not in "\n\t" for character in once)


@settings(max_examples=200)
@given(st.text(max_size=40) | texts)
@example("0\u20000")
def test_a_safe_address_is_http_or_mail_and_one_word(text: str) -> None:
    for address in (text, "https://" + text, "javascript:" + text, "mailto:" + text):
        found = safe_url(address)
        assert found is None or (
            found.lower().startswith(("http://", "https://", "mailto:")) and found.split() == [found]
        )


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text('ab\u00e9\\"\n{[,:'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("ab{"), inner),
    )
)
def test_indented_json_means_the_same(value: Any) -> None:
    source = json.dumps(value)
    assert json.dumps(json.loads(pretty_json(source))) == source


@settings(max_examples=500)
@given(responses, st.sampled_from([None, "completed", "failed", "cut_off", "interrupted", "cancelled", "incomplete"]))
def test_no_response_is_too_malformed_to_be_shown(data: dict[str, Any], ending: str | None) -> None:
    for response in (data, Response(data, ending=ending, partial_images=["x", "iVBORw0KGgo="])):
        shown = bundle(response, StatusLine(model="m"), seconds={0: 1.0}, results={"a": "b"})
        read_html(shown["text/html"])
        read_markdown(shown["text/markdown"])
        shown["text/plain"].encode("utf-8")
        found = blocks(response)
        assert len({block.key for block in found}) == len(found)
    metadata(Response(data, ending=ending))


@settings(max_examples=300)
@given(objects, kinds, st.booleans())
def test_no_item_is_too_malformed_to_be_shown(data: dict[str, Any], kind: str, live: bool) -> None:
    for block in item_blocks({**data, "type": kind}, 3, live=live, answer=data, preview=Preview(1, str(data))):
        assert block.key.output_index == 3
        block_text(block).encode("utf-8")


@given(st.recursive(st.just([]), lambda inner: st.lists(inner, min_size=1, max_size=1), max_leaves=3))
def test_nesting_too_deep_for_python_is_shown_in_words(inner: Any) -> None:
    deep: Any = inner
    for _ in range(100_000):
        deep = [deep]
    shown = bundle({"output": [{"type": "function_call", "name": deep, "arguments": deep}, {"type": "x", "y": deep}]})
    assert "nested too deeply" in shown["text/plain"]
