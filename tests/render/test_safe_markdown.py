"""Markdown written anew: the same structure and text, in forms that all parsers read alike; code never changes."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from nbresponses.render.safe_markdown import code_block, fence_for, safe_markdown
from tests.render.checks import read_markdown

PNG = "data:image/png;base64,iVBORw0KGgoAAAAN"

UNCHANGED = [
    "plain text, with signs: 3 > 2, a-b, (c), 50%, \"d\", 'e'; f/g.",
    "two\nlines",
    "one\n\ntwo",
    "# Heading",
    "- a\n- b\n  - c\n    - d\n- e",
    "1. a\n2. b\n   - c",
    "3. a\n4. b",
    "- a\n\n- b",
    "> quoted\n> text\n>\n> more",
    "```python\nx = '<b>$1 $2 \\(x\\)'\n```",
    "````\n```\nfence in a fence\n```\n````",
    "**bold** and _italic_ and ~~gone~~ and `code <b>`",
    "a **b _c_ d** e",
    "wor**ds in**side",
    "snake_case_name",
    "[link](https://a.b/c?d=e&f=g)",
    "<https://a.b/c_d>",
    "a\\\nb",
    "***",
    "| a | b |\n| --- | :-: |\n| c | d |",
    "so $x^2$ is",
    f"![picture]({PNG})",
    "- a\n\n  ```sh\n  b\n  ```",
]


@pytest.mark.parametrize("text", UNCHANGED)
def test_ordinary_markdown_stays_as_it_is(text: str) -> None:
    assert safe_markdown(text) == text


STRUCTURES = [
    "Setext\n===\n\ntext *a **b** c* __d__\n***\n",
    "* a\n* b\n\n+ c\n\n1) d\n2) e\n\n1. f",
    "- a\n\n      indented code\n\n  second\n- > quote in list\n  > goes on\n\n      code",
    "    indented <code>\n\ntext",
    "~~~js\nx\n~~~\n\n> ~~~\n> y\n> ~~~",
    "> - a\n>   - b\n>\n>     c\n> 1. d",
    "| a |\n|--:|\n| `b` **c** |\n\ntext | no table",
    "a  \nb\\\nc\nd",
    "-\n- a\n-\n\n  b",
    "- # heading in list\n- ---\n- ```\n  x\n  ```\n",
    "***a** b* *c **d***  **e***f*",
    "1. a\n\n   b\n2. c\n   1. d\n      > e\n",
    "line\n- list after text\n\n\n\ntext",
    "[a *b*](https://c.d) ![e](https://f.g)",
    "10. ten\n11. eleven\n    - sub\n    - sub",
]


@pytest.mark.parametrize("text", STRUCTURES)
def test_the_structure_stays(text: str) -> None:
    def kinds(source: str) -> list[str]:
        md = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        tokens = [part for token in md.parse(source) for part in [token, *(token.children or [])]]
        named = ["fence" if token.type == "code_block" else token.type for token in tokens]
        named = [{"image": "link_open"}.get(name, name) for name in named]
        return [name for name in named if name not in {"text", "inline", "link_close"} and "paragraph" not in name]

    assert kinds(safe_markdown(text)) == kinds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <b> & &lt; &amp;lt;", "a &lt;b> & &lt; &amp;lt;"),
        ("![a](https://e.test/p?d=S)", "[image: a — https\\://e.test/p?d=S](https://e.test/p?d=S)"),
        ("[a](javascript:x)", "\\[a](javascript:x)"),
        ("[a](/relative)", "\\[a](/relative)"),
        ("[a]\n\n[a]: https://b.c 'title'", "[a](https://b.c)"),
        ("It costs $5, later $7.", "It costs <span>&#36;</span>5, later <span>&#36;</span>7."),
        ("It costs $5.", "It costs \\$5."),
        ("\\(x\\)\\(y\\)", "$x$<span></span>$y$"),
        ("**a **b** c**", "**a <strong>b</strong> c**"),
        ("[a \\[b\\] !](https://c.d)", "[a &#91;b&#93; \\!](https://c.d)"),
        ("`$x`", "<code>&#36;x</code>"),
        ("\\\\(x\\\\)", "<span>&#92;</span>(x<span>&#92;</span>)"),
        ("\\# no heading\n\\- no list\n1\\. no list", "\\# no heading\n\\- no list\n1\\. no list"),
        ("1.5 is a number", "1.5 is a number"),
        ("<https://a.b/$c>", "[https\\://a.b/\\$c](https://a.b/%24c)"),
        ("see https://a.b/c_(d).", "see <https://a.b/c_(d)>."),
        ("> ```\n> $x\n> ```", "> <pre><code>&#36;x</code></pre>"),
        ("```mermaid\nx\n```", "```text\nx\n```"),
        ("a\x1b[31mb\u202ec", "ab⟨U+202E⟩c"),
        ("a \\\n# b", "a <span>&#92;</span>\n\n# b"),
    ],
)
def test_what_could_act_is_written_as_text(text: str, expected: str) -> None:
    assert safe_markdown(text) == expected


def test_remote_images_only_when_asked_for() -> None:
    text = "![a](https://b.c/d.png) ![e](javascript:x) ![f](file:///g)"
    assert safe_markdown(text, remote=True).startswith("![a](https://b.c/d.png)")
    assert "javascript" in read_markdown(safe_markdown(text, remote=True), remote=True)


@pytest.mark.parametrize("cut", range(1, 60))
def test_code_in_an_open_fence_is_never_changed(cut: int) -> None:
    code = "sed 's/\\(a\\)/$1/' <b> ![x](y) &lt; *a* $5"[:cut]
    assert safe_markdown(f"Run:\n```sh\n{code}").split("\n")[2:4] == ["```sh", code]
    assert safe_markdown(f"Run:\n```sh\n{code}\n```\nOK").split("\n")[2:4] == ["```sh", code]
    assert safe_markdown(f"- ```sh\n  {code}").split("\n")[:2] == ["- ```sh", f"  {code}"]


def test_blank_lines_and_blanks_in_code_stay() -> None:
    code = "a  \n\n\n   b\t\n \nc"
    assert safe_markdown(f"```\n{code}\n```") == f"```\n{code}\n```"
    quoted = f"```\n{code}\n```".replace("\n", "\n> ")
    assert MarkdownIt().parse(safe_markdown(f"> {quoted}"))[1].content == f"{code}\n"


def test_fences_are_longer_than_what_they_hold() -> None:
    assert fence_for([]) == fence_for(["`` x ``"]) == "```"
    assert fence_for(["```", "a ````` b"]) == "``````"
    assert fence_for(["`" * 1000]) == "```"
    assert code_block("`" * 1000, "py", "```")[0].startswith("<pre><code>&#96;&#96;")


def test_two_lists_in_a_row_stay_two() -> None:
    assert safe_markdown("- a\n\n* b\n\n- c") == "- a\n\n* b\n\n- c"
    assert safe_markdown("1. a\n\n1) b") == "1. a\n\n1) b"


def test_text_that_nests_too_deeply_is_shown_as_it_is() -> None:
    text = ">" * 500 + " deep"
    assert safe_markdown(text) == f"```text\n{text}\n```"
    assert safe_markdown("[" * 30_000).startswith("```text\n[[")


def test_text_that_only_defines_links_is_shown() -> None:
    assert "https://b.c" in read_markdown(safe_markdown("[a]: https://b.c"))


def test_sixty_emphases_in_each_other() -> None:
    text = "**a " * 60 + "b**" * 60
    written = safe_markdown(text)
    assert written.count("<strong>") < 20
    assert read_markdown(written) == "a" * 60 + "b" * 60
