"""Markdown as HTML: what is written for each construct, and what is not."""

from __future__ import annotations

import re

import pytest

from nbresponses.render.text_html import link_html, markdown_html, pre_html
from tests.render.checks import read_html

PNG = "data:image/png;base64,iVBORw0KGgoAAAAN"


HEAD = "<thead><tr><th>a</th></tr></thead>"


def bare(source: str) -> str:
    """Without styles and the attributes that all links have."""
    out = re.sub(r' (?:style|target|rel|title)="[^"]*"', "", markdown_html(source))
    return re.sub(r"(?<=>) (?=<)", "", " ".join(out.split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", "<p>a b</p>"),
        ("# a", "<h1>a</h1>"),
        ("*a* **b** ~~c~~", "<p><em>a</em><strong>b</strong><del>c</del></p>"),
        ("a\\\nb", "<p>a<br> b</p>"),
        ("- a\n- b", "<ul><li>a </li><li>b </li></ul>"),
        ("3. a", '<ol start="3"><li>a </li></ol>'),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        ("---", "<hr>"),
        ("`<b>`", "<p><code>&lt;b&gt;</code></p>"),
        ("```py\n<b>$1\n```", "<pre>&lt;b&gt;$1</pre>"),
        ("|a|\n|-|\n|b|", f"<div><table>{HEAD}<tbody><tr><td>b</td></tr></tbody></table></div>"),
        ("[a](https://b.c?d&e)", '<p><a href="https://b.c?d&amp;e">a</a></p>'),
        ("https://b.c.", '<p><a href="https://b.c">https://b.c</a>.</p>'),
        ("[a](javascript:b)", "<p>[a](javascript:b)</p>"),
        ("[a](data:text/html,b)", "<p>[a](data:text/html,b)</p>"),
        ("![a](https://b.c)", '<p><a href="https://b.c">image: a — https://b.c</a></p>'),
        ("![](https://b.c)", '<p><a href="https://b.c">image: https://b.c</a></p>'),
        ("[![a](https://b.c)](https://d.e)", '<p><a href="https://d.e">image: a — https://b.c</a></p>'),
        (f"![a]({PNG})", f'<p><img src="{PNG}" alt="a"></p>'),
        ("$5 and $6", "<p><span>$</span>5 and <span>$</span>6</p>"),
        ("$x<y$", "<p><span>$x&lt;y$</span></p>"),
        ("\\\\(", "<p><span>\\</span>(</p>"),
        ("C:\\dir", "<p>C:\\dir</p>"),
        ("\\ref{a} \\eqref{b}", "<p><span>\\</span>ref{a} <span>\\</span>eqref{b}</p>"),
    ],
)  # fmt: skip
def test_constructs(text: str, expected: str) -> None:
    assert bare(text) == expected
    read_html(markdown_html(text))


def test_remote_images_only_when_asked_for() -> None:
    text = "![a](https://b.c/d.png) ![e](mailto:f@g.h) ![h](file:///i)"
    assert markdown_html(text, remote=True).count("<img") == 1
    assert 'src="https://b.c/d.png"' in markdown_html(text, remote=True)
    assert "<img" not in markdown_html(text)


def test_links_take_nothing_along() -> None:
    written = link_html("https://a.b/'\"", "x")
    assert written == "x"
    written = link_html("https://a.b/?c=d&e='f'", "$ <x>")
    assert 'href="https://a.b/?c=d&amp;e=&#x27;f&#x27;"' in written
    assert 'target="_blank" rel="noopener noreferrer nofollow"' in written
    assert written.endswith("><span>$</span> &lt;x&gt;</a>")


def test_text_as_it_is_keeps_its_lines() -> None:
    assert read_html(pre_html("\n a <b>\n\n")) == "a<b>"
    assert ">\n\n a &lt;b&gt;\n\n</pre>" in pre_html("\n a <b>\n\n")


def test_emphasis_is_closed_where_it_stops_counting() -> None:
    text = "**a " * 60 + "b**" * 60
    assert read_html(markdown_html(text)) == "a" * 60 + "b" * 60
    assert markdown_html(text).count("<strong>") == markdown_html(text).count("</strong>") == 20
