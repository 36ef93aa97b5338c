"""The hostile corpus through all three writers: nothing acts, nothing loads, nothing is lost."""

from __future__ import annotations

import pytest

from nbresponses.render import StatusLine, blocks, bundle, to_html, to_markdown, to_text
from nbresponses.render.safe_markdown import safe_markdown
from nbresponses.render.text_html import markdown_html
from tests.render.checks import paired_dollars, read_html, read_markdown
from tests.render.hostile import TEXTS, WORDS, response

each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
FORBIDDEN = set(range(0x20)) - {0x0A, 0x09} | set(range(0x7F, 0xA0)) | set(range(0xD800, 0xE000))
REORDERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


@each_text
def test_an_answer_shows_the_same_text_in_html_and_markdown(text: str) -> None:
    in_html = read_html(markdown_html(text))
    in_markdown = read_markdown(safe_markdown(text))
    if not paired_dollars(markdown_html(text)):  # a formula's blanks and delimiters differ between the two
        assert in_html == in_markdown
    assert in_html


@each_text
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_answer_that_is_still_being_written_is_as_safe(text: str, cut: int) -> None:
    part = text[: len(text) * cut // 4]
    read_html(markdown_html(part))
    read_markdown(safe_markdown(part))


@each_text
def test_what_was_made_safe_stays_safe_when_made_safe_again(text: str) -> None:
    read_markdown(safe_markdown(safe_markdown(text)))


PAIRS = [(text, WORDS[place % len(WORDS)]) for place, text in enumerate(TEXTS.values())]
PAIRS += [(TEXTS["handlers"], word) for word in WORDS]


@pytest.mark.parametrize(("text", "word"), PAIRS, ids=range(len(PAIRS)))
def test_every_field_of_a_response_is_escaped(text: str, word: str) -> None:
    status = StatusLine(model=word, state=word, response_id=word, notes=(word,))
    shown = bundle(response(text, word), status)
    read_html(shown["text/html"])
    read_markdown(shown["text/markdown"])
    assert not (FORBIDDEN | REORDERING) & set(map(ord, shown["text/plain"]))
    for ending in ("incomplete", word):
        notice = bundle({**response("", word), "status": ending, "output": []})
        read_html(notice["text/html"])
        read_markdown(notice["text/markdown"])


@each_text
def test_each_way_in_alone(text: str) -> None:
    """One field at a time, so that no other field's escaping hides it."""
    found = blocks(response(text, "word"))
    for block in found:
        read_html(to_html([block]))
        read_markdown(to_markdown([block]))
        assert not (FORBIDDEN | REORDERING) & set(map(ord, to_text([block])))


def test_the_words_of_a_response_are_all_there() -> None:
    word = "<b onclick=x>f</b>"
    shown = bundle(response("the answer", word))
    places = response("", "").__len__() + len(response("", "")["output"])
    assert shown["text/html"].count("&lt;b onclick=x&gt;f&lt;/b&gt;") > places
    assert shown["text/plain"].count(word) > places
    assert "<b onclick" not in shown["text/html"]


def test_scripts_are_seen_as_they_were_written() -> None:
    assert "<script>window.__hostile_script_ran=1</script>" in read_html(markdown_html(TEXTS["script"]))
    assert "<script>window.__hostile_script_ran=1</script>" in read_markdown(safe_markdown(TEXTS["script"]))


def test_addresses_of_images_are_seen() -> None:
    for shown in (
        read_html(markdown_html(TEXTS["remote images"])),
        read_markdown(safe_markdown(TEXTS["remote images"])),
    ):
        assert "https://evil.test/p?d=SECRET" in shown
        assert "//evil.test/p" in shown


@pytest.mark.parametrize("name", ["money", "literal mathematics"])
def test_text_with_the_signs_of_mathematics_stays_text(name: str) -> None:
    assert paired_dollars(markdown_html(TEXTS[name])) == []
    assert read_markdown(safe_markdown(TEXTS[name])) == read_html(markdown_html(TEXTS[name]))


@pytest.mark.parametrize(
    "name", ["commands in mathematics", "definitions in mathematics", "huge mathematics", "literal mathematics"]
)
def test_mathematics_that_reaches_out_is_shown_as_its_source(name: str) -> None:
    assert paired_dollars(markdown_html(TEXTS[name])) == []
