"""The built module draws what the kernel sends: text as it grows, cards, pictures, the status line. No Jupyter here."""

from __future__ import annotations

import random
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from module_page import ORIGIN, ModulePage

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

ANSWER = """\
## Heading

A paragraph with *emphasis*, `code`, [a link](https://example.com/a?b=1&c=2 "title") and money: $5 and $6.
It goes on in a second line with **strong
words** over a line end.

- one
- two
  - inner

  with a paragraph

1. first
2. second

> a quotation
> of two lines

| a | b |
|:--|--:|
| 1 | 2 |
| `x` | ~~y~~ |

Setext
======

```python
def f(x):
    return x  # *no emphasis*

```

    indented code

[ref]: https://example.com/ref
Text with [ref] and \\(a_1 * b_1 * c\\) and $$x_1$$.

---

Last line"""


def message(key: str = "0", order: int = 0) -> list[Any]:
    return ["item", key, {"kind": "message", "order": order}]


def png(size: int, grey: int) -> bytes:
    rows = b"".join(b"\0" + bytes([grey]) * size for _ in range(size))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("allowed", [False, True])
def test_pictures_of_other_hosts_are_links_unless_they_are_allowed(browser: Browser, allowed: bool) -> None:
    address, context = "https://pictures.test/a.png", browser.new_context()
    module = ModulePage(context, allow_remote_images=allowed)
    module.send(message(), ["add", "0", "text", f"![words]({address})"])
    module.send(["item", "0", {"done": True}])
    assert module.page.locator(f"img[src='{address}']").count() == allowed
    assert module.page.locator(f"a[href='{address}']").count() == (not allowed)
    assert set(module.foreign(ORIGIN)) == ({address} if allowed else set())
    context.close()


def test_text_is_drawn_while_it_grows(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "Hello **wor"])
    assert "Hello **wor" in module.text(".nbr-md")
    module.send(["add", "0", "text", "ld**, again"])
    assert module.page.inner_text(".nbr-md strong") == "world"
    assert module.errors == []


@pytest.mark.parametrize("seed", range(3))
def test_pieces_give_what_the_whole_gives(module: ModulePage, seed: int) -> None:
    module.send(message(), ["add", "0", "text", ANSWER])
    module.send(["item", "0", {"done": True}])
    whole = module.html(".nbr-md")
    dice = random.Random(seed)
    module.send(message("1", 1))
    at = 0
    while at < len(ANSWER):
        size = dice.choice((1, 2, 5, 13, 40))
        module.send(["add", "1", "text", ANSWER[at : at + size]])
        at += size
    module.send(["item", "1", {"done": True}])
    assert module.html(".nbr-message:nth-child(2) .nbr-md") == whole
    assert "<h1>Setext</h1>" in whole
    assert "<var>\\(a_1 * b_1 * c\\)</var>" in whole


def test_closed_blocks_are_never_drawn_again(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "First paragraph.\n\nSecond "])
    module.page.evaluate("document.querySelector('.nbr-md > p').dataset.mine = 'kept'")
    for piece in ("one ", "grows.\n\n", "Third."):
        module.send(["add", "0", "text", piece])
    assert module.page.eval_on_selector(".nbr-md > p", "node => node.dataset.mine") == "kept"
    assert module.text(".nbr-md").split("\n\n") == ["First paragraph.", "Second one grows.", "Third."]


def test_open_code_grows_in_its_text_node(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "```python\nx = 1\n"])
    module.page.evaluate("document.querySelector('.nbr-code code').dataset.mine = 'kept'")
    module.send(["add", "0", "text", "y = 2\n"])
    assert module.page.eval_on_selector(".nbr-code code", "node => node.dataset.mine") == "kept"
    assert module.text(".nbr-code code") == "x = 1\ny = 2\n"
    assert module.text(".nbr-code-head span") == "python"


def test_a_replaced_text_is_drawn_anew(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "One.\n\nTwo."])
    module.send(["set", "0", "text", "Other."])
    assert module.text(".nbr-md") == "Other."


def test_a_gap_asks_for_a_snapshot_and_shows_no_hole(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "one "])
    module.send(["add", "0", "text", "three "], skip=1)
    assert module.text(".nbr-md") == "one"
    assert {"op": "snapshot"} in module.sent()
    item = {"key": "0", "facts": {"kind": "message", "order": 0}, "texts": [["text", "one two three "]], "notes": []}
    item |= {"images": [], "audio": None}
    module.raw({"snapshot": {"n": 3, "state": {}, "items": [item]}})
    assert module.text(".nbr-md") == "one two three"
    module.send(["add", "0", "text", "four"])
    assert module.text(".nbr-md") == "one two three four"


def test_a_view_that_comes_late_shows_everything(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "early"])
    module.page.evaluate("() => { window.hide(); window.hide = window.show() }")
    assert module.text(".nbr-md") == "early"


def test_items_stand_in_the_order_of_the_output(module: ModulePage) -> None:
    module.send(message("5", 5), ["add", "5", "text", "later"])
    module.send(["item", "2", {"kind": "card", "order": 2, "title": "get_weather"}])
    assert module.text(".nbr-items").index("get_weather") < module.text(".nbr-items").index("later")


def test_reasoning_is_folded_and_shows_its_last_line(module: ModulePage) -> None:
    module.send(["item", "0", {"kind": "reasoning", "order": 0}], ["add", "0", "summary:0", "**Plan**\n\nFirst step"])
    assert not module.page.eval_on_selector(".nbr-think", "node => node.open")
    assert module.text(".nbr-last") == "First step"
    module.page.click(".nbr-think summary")
    module.page.wait_for_selector(".nbr-think-body strong")
    assert module.page.inner_text(".nbr-think-body strong") == "Plan"
    module.send(["item", "0", {"done": True, "seconds": 3.2}])
    assert module.text(".nbr-think summary").split() == ["Reasoning", "3.2", "s"]


def test_a_tool_call_streams_its_arguments(module: ModulePage) -> None:
    facts = {"kind": "card", "order": 0, "title": "get_weather", "label": "function call", "status": "in progress"}
    module.send(["item", "0", facts], ["add", "0", "arguments", '{"city": '])
    assert module.text(".nbr-card pre") == '{"city": '
    module.send(["set", "0", "arguments", '{\n  "city": "Oslo"\n}'], ["set", "0", "result", "12 °C"])
    module.send(["item", "0", {"done": True, "status": "completed"}])
    assert [node.strip() for node in module.page.locator(".nbr-card pre").all_inner_texts()] == [
        '{\n  "city": "Oslo"\n}',
        "12 °C",
    ]
    assert module.page.locator(".nbr-card .nbr-copy").count() == 2


def test_an_output_stands_below_its_command(module: ModulePage) -> None:
    module.send(["item", "0", {"kind": "card", "order": 0, "title": "shell"}])
    for name, text in (("command:0", "ls"), ("command:1", "pwd"), ("output:0", "a.py"), ("output:1", "/home")):
        module.send(["set", "0", f"shell_{name}", text])
    assert module.page.locator(".nbr-card pre").all_inner_texts() == ["ls", "a.py", "pwd", "/home"]


def test_an_image_sharpens_in_place(module: ModulePage) -> None:
    module.send(["item", "0", {"kind": "image", "order": 0}])
    module.page.evaluate("document.querySelector('.nbr-image img').dataset.mine = 'kept'")
    for index, size in enumerate((8, 16, 32)):
        facts = {"mime": "image/png", "words": f"preview {index + 1}"}
        module.send(["image", "0", 0, facts, 0], buffers=(png(size, 90),))
        module.page.wait_for_function(f"document.querySelector('.nbr-image img').naturalWidth === {size}")
        assert module.text("figcaption") == f"preview {index + 1}"
    assert "nbr-busy" in str(module.page.get_attribute(".nbr-image", "class"))
    module.send(["item", "0", {"done": True}])
    assert "nbr-busy" not in str(module.page.get_attribute(".nbr-image", "class"))
    assert module.page.eval_on_selector(".nbr-image img", "node => node.dataset.mine") == "kept"


def test_the_end_is_acknowledged_and_stop_goes(module: ModulePage) -> None:
    module.send(["state", {"model": "demo", "elapsed": 1.0}])
    assert module.page.is_visible(".nbr-stop")
    module.send(["state", {"state": "completed", "ended": True, "elapsed": 2.5, "rest": ["40 tokens"]}], last=True)
    assert not module.page.is_visible(".nbr-stop")
    assert module.text(".nbr-status") == "Done\ndemo · 2.5 s · 40 tokens"
    assert module.sent() == [{"op": "seen"}]


def test_stop_without_an_answer_names_the_toolbar(module: ModulePage) -> None:
    module.send(["state", {"model": "demo"}])
    module.page.click(".nbr-stop")
    assert module.sent() == [{"op": "stop"}]
    module.page.wait_for_function("document.querySelector('.nbr-words').innerText.includes('toolbar')")


def test_an_error_is_text(module: ModulePage) -> None:
    module.send(
        ["item", "-1", {"kind": "alert", "order": 9, "title": "<b>server_error</b>", "bad": True}],
        ["set", "-1", "text", "<img src=x>"],
    )
    assert module.text(".nbr-alert") == "<b>server_error</b>\n<img src=x>"
    assert module.page.get_attribute(".nbr-alert", "role") == "alert"


def test_a_growing_answer_does_not_scroll_the_page(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "\n\n".join(f"Paragraph {n}" for n in range(80))])
    module.page.evaluate("window.scrollTo(0, 200)")
    for _ in range(5):
        module.send(["add", "0", "text", "\n\nmore and more"])
    assert module.page.evaluate("window.scrollY") == 200


def test_screen_readers_hear_whole_blocks(module: ModulePage) -> None:
    module.send(message(), ["add", "0", "text", "First block.\n\nSecond"])
    for piece in (" grows", " and grows"):
        module.send(["add", "0", "text", piece])
    module.page.wait_for_function("document.querySelector('.nbr-spoken').textContent === 'First block.'")
    assert module.page.get_attribute(".nbr-spoken", "aria-live") == "polite"


def test_all_kinds_side_by_side(module: ModulePage, shots: Path) -> None:
    """To be looked at: tests/output/module_light.png and module_dark.png."""
    card = {"kind": "card", "done": True, "status": "completed"}
    module.send(
        ["state", {"model": "demo-text", "state": "streaming", "elapsed": 3.0, "rest": ["first token 0.41 s"]}],
        ["item", "0", {"kind": "reasoning", "order": 0, "elapsed": 4}],
        ["add", "0", "summary:0", "**Looking at the question**\n\nThe user wants to see all kinds of blocks at once"],
        ["item", "1", card | {"order": 1, "title": "get_weather", "label": "function call", "status": "in progress"}],
        ["add", "1", "arguments", '{\n  "city": "Oslo"'],
        ["item", "2", card | {"order": 2, "title": "find_book", "label": "MCP call · on demo-library", "bad": True}],
        ["set", "2", "arguments", '{"title": ""}'],
        ["set", "2", "error", "The title is empty."],
        ["item", "3", card | {"order": 3, "title": "web search"}],
        ["set", "3", "query", "how streams are read"],
        ["notes", "3", [{"words": "How streams are read", "url": "https://example.com/streams"}]],
        ["item", "4", {"kind": "refusal", "order": 4, "done": True}],
        ["set", "4", "text", "I cannot help with that."],
        ["item", "5", {"kind": "audio", "order": 5}],
        ["set", "5", "transcript", "What is said, as it is said"],
        ["item", "6", {"kind": "message", "order": 6}],
        ["set", "6", "text", ANSWER],
        ["notes", "6", [{"words": "A source", "url": "https://example.com/"}]],
        ["item", "7", {"kind": "alert", "order": 7, "bad": True, "title": "Failed · server_error"}],
        ["set", "7", "text", "The server failed on purpose."],
    )
    assert module.page.locator(".nbr-items > *").count() == 8
    module.page.set_viewport_size({"width": 820, "height": 1500})
    module.page.screenshot(path=shots / "module_light.png")
    module.page.emulate_media(color_scheme="dark")
    module.page.add_style_tag(content=":root { color-scheme: dark; background: #111 }")
    module.page.screenshot(path=shots / "module_dark.png")
    assert module.errors == []
