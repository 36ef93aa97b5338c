"""Money is text, formulas are formulas: in the tokens, in the HTML and in the Markdown."""

from __future__ import annotations

import pytest

from nbresponses.render.maths import is_formula, portable
from nbresponses.render.parsing import parse
from nbresponses.render.safe_markdown import safe_markdown
from nbresponses.render.text_html import markdown_html
from tests.render.checks import paired_dollars, read_html, take_out_mathematics

ALIGNED = "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"


def formulas(source: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for token in parse(source) or []:
        for part in [token, *(token.children or [])]:
            if part.type.startswith("math_"):
                found.append((part.type.removeprefix("math_"), part.content.strip()))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5, later $7 per month.",
        "$5 and $6",
        "$5-$6, $5/$6, $5\u2013$6",
        "US$5 to US$10",
        "A$ and B$, 5$ and 6$",
        "$HOME:$PATH and $1",
        "It was $5 (he paid 6$).",
        "between $10 million and $20 million$",
        "\\$x\\$ and \\$5$",
        "$ x $",
        "$x $ and $ y$",
        "$x$5",
        "a$x$",
        "$$ to $$$",
        "$$",
        "$",
        "$$$$",
        "`$x$` and ``\\(y\\)``",
        "    $x$\n    \\(y\\)",
        "```\n$x$\n\\(y\\)\n$$z$$\n```",
        "```\n$x$ and the fence is open",
        "\\[sic\\] and \\[1\\]",
        "\\(open",
        "$open",
        "$x\n\ny$",
        "$$\nx\n\ny\n$$",
        "\\\\(x\\\\)",
        "text \\begin{align} x \\end{align}",
        "\\begin{verse}\nx\n\\end{verse}",
        "$a`b$",
        "${x$",
        "$x}$ {",
        "[$x](https://a.b/$y)",
    ],
)
def test_this_is_text(text: str) -> None:
    assert formulas(text) == []
    assert paired_dollars(markdown_html(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $x^2$.", [("inline", "x^2")]),
        ("$x$, $y$ and ($z$)", [("inline", "x"), ("inline", "y"), ("inline", "z")]),
        ("$5x + 3$ and $5$", [("inline", "5x + 3"), ("inline", "5")]),
        ("$\\text{costs } \\$5$", [("inline", "\\text{costs } \\$5")]),
        ("$a_1 * b_2 * c$", [("inline", "a_1 * b_2 * c")]),
        ("**$x$** | _$y$_", [("inline", "x"), ("inline", "y")]),
        ("\\(a < b\\)", [("inline", "a < b")]),
        ("so \\[ y = 1 \\] ends", [("display", "y = 1")]),
        ("so $$ y = 1 $$ ends", [("display", "y = 1")]),
        ("$$x$$", [("display", "x")]),
        ("$$\na\n= b\n- c\n# d\n$$", [("display", "a\n= b\n- c\n# d")]),
        ("text\n\\[\na\n= b\n\\]\ntext", [("display", "a\n= b")]),
        ("- item\n\n  $$\n  a\n  $$\n", [("display", "a")]),
        ("> \\[\n> - a\n> \\]", [("display", "- a")]),
        ("| a |\n|---|\n| $x$ |", [("inline", "x")]),
        ("# $x$", [("inline", "x")]),
        ("[$x$](https://a.b)", [("inline", "x")]),
        (ALIGNED, [("display", ALIGNED)]),
        ("$x$ costs $5", [("inline", "x")]),
    ],
)
def test_this_is_a_formula(text: str, expected: list[tuple[str, str]]) -> None:
    assert formulas(text) == expected
    assert len(paired_dollars(markdown_html(text))) == len(expected)


def test_money_beside_a_formula_stays_money() -> None:
    text = "It costs $5; $x^2$ is a formula, \\$6 and $7 are not."
    assert formulas(text) == [("inline", "x^2")]
    assert paired_dollars(markdown_html(text)) == ["$x^2$"]
    assert take_out_mathematics(safe_markdown(text))[1] == ["$x^2$"]


def test_a_formula_is_seen_as_it_was_written() -> None:
    assert "\\(a<b\\)" in read_html(markdown_html("so \\(a < b\\)"))
    assert "$$a&b$$" in read_html(markdown_html("$$\na & b\n$$"))


@pytest.mark.parametrize("markup", ["$x^2$", "\\(x^2\\)"])
def test_markdown_has_one_form_that_every_viewer_knows(markup: str) -> None:
    assert safe_markdown(f"so {markup}.") == "so $x^2$."


def test_displays_in_markdown_stand_on_one_line() -> None:
    assert safe_markdown("\\[\na % note\n= b\n\\]") == "$$a = b$$"


def test_bars_in_a_table_are_no_borders() -> None:
    written = safe_markdown("| a | b |\n|---|---|\n| $\\|x\\|$ | y |")
    assert written.splitlines()[2] == "| $\\vert{}x\\vert{}$ | y |"


@pytest.mark.parametrize(
    "content",
    [
        "\\href{javascript:x}{y}",
        "\\style{a}{b}",
        "\\class{a}{b}",
        "\\require{html}",
        "\\def\\a{b}",
        "\\newcommand{\\a}{b}",
        "\\let\\a\\b",
        "\\label{a}",
        "\\bbox[red]{x}",
        "\\unicode{x}",
        "\\htmlData{a}{b}",
        "\\rule{999em}{1em}",
        "\\kern 5000 px",
        "a`b",
        "a\n\nb",
        "{a",
        "a}",
        "",
        "  ",
        "a\\",
        "a$b",
        "x" * 5000,
    ],
)
def test_what_may_not_go_to_a_renderer(content: str) -> None:
    assert not is_formula(content)


@pytest.mark.parametrize(
    "content", ["\\frac{a}{b}", "\\{a", "\\hrefx", "\\classic", "\\rule{1em}{2em}", "a \\% b", "\\$5"]
)
def test_what_may_go_to_a_renderer(content: str) -> None:
    assert is_formula(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a<b", "a< b"),
        ("a <b> c", "a < b> c"),
        ("1<2", "1<2"),
        ("n![a](b)", "n! [a] (b)"),
        ("a\\\\{b}", "a\\\\ {b}"),
        ("a\\\\\\{b", "a\\\\\\{b"),
        ("  a\n  b  ", "a b"),
        ("50\\% % half", "50\\%"),
    ],
)
def test_a_portable_formula_holds_no_markup(content: str, expected: str) -> None:
    assert portable(content) == expected
    assert portable(portable(content)) == portable(content)
