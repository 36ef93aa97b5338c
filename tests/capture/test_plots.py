"""Each plot as a picture, and what a picture doesn't tell: units, contrast, texts that stay texts.

The pictures in `pictures/` are what each plot is to look like. Compared are coarse versions of them, so that another
release of matplotlib is no failure. After a change that is meant: NBRESPONSES_PICTURES=write, and look at them.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from nbresponses import Captures
from nbresponses.capture import plots
from nbresponses.capture.plot_style import COLOURS, GREY, drawable
from nbresponses.errors import MissingExtra

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
OUTPUT = HERE.parent / "output"
COARSE = 6  # pixels that become one
TOLERANCE = 1.5  # mean difference of coarse pixels, of 255
NAMES = [name for name in plots.__all__ if name.startswith("plot_")]


@pytest.fixture(scope="module")
def lively():
    spec = importlib.util.spec_from_file_location("lively", HERE / "lively.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lively()


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def rendered(ax) -> Image.Image:
    file = io.BytesIO()
    ax.figure.savefig(file, dpi=60, format="png")
    return Image.open(file).convert("RGBA")


def on(picture: Image.Image, background: str) -> np.ndarray:
    below = Image.new("RGBA", picture.size, background)
    below.alpha_composite(picture)
    return np.asarray(below.convert("RGB"), float)


def coarse(pixels: np.ndarray) -> np.ndarray:
    height, width = (size // COARSE * COARSE for size in pixels.shape[:2])
    blocks = pixels[:height, :width].reshape(height // COARSE, COARSE, width // COARSE, COARSE, 3)
    return blocks.mean(axis=(1, 3))


@pytest.mark.parametrize("name", NAMES)
def test_each_plot_looks_as_it_should(name: str, lively) -> None:
    picture = rendered(getattr(plots, name)(lively))
    reference = PICTURES / f"{name}.png"
    if os.environ.get("NBRESPONSES_PICTURES") == "write":
        picture.save(reference)
    OUTPUT.mkdir(exist_ok=True)
    picture.save(OUTPUT / reference.name)
    expected = Image.open(reference).convert("RGBA")
    assert picture.size == expected.size
    for background in ("#ffffff", "#111111"):
        difference = np.abs(coarse(on(picture, background)) - coarse(on(expected, background))).mean()
        assert difference < TOLERANCE, f"{name} on {background}: {difference:.2f}; see {OUTPUT / reference.name}"


def test_another_picture_is_noticed(lively) -> None:
    """The tolerance lets no missing data pass."""
    for name in NAMES:
        part = lively.select(response_id="resp_000001")
        picture, expected = rendered(getattr(plots, name)(part)), Image.open(PICTURES / f"{name}.png").convert("RGBA")
        same_size = picture.resize(expected.size)
        difference = np.abs(coarse(on(same_size, "#ffffff")) - coarse(on(expected, "#ffffff"))).mean()
        assert difference > TOLERANCE, (name, difference)


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_within_the_figure_and_nothing_is_on_a_background(name: str, lively) -> None:
    ax = getattr(plots, name)(lively)
    figure = ax.figure
    figure.draw_without_rendering()
    for each in figure.axes:
        labels = [each.title, each.xaxis.label, each.yaxis.label, *each.texts]
        labels += [*each.get_xticklabels(), *each.get_yticklabels()]
        for text in labels:
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
            assert inside or not text.get_text() or not text.get_visible() or not _drawn(each, text), text
    corners = np.asarray(rendered(ax))[[0, 0, -1, -1], [0, -1, 0, -1], 3]
    assert not corners.any()


def _drawn(ax, text) -> bool:
    """Tick labels beyond the limits exist and are not drawn."""
    x, y = ax.transData.inverted().transform(text.get_window_extent().get_points().mean(axis=0))
    (x0, x1), (y0, y1) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    return x0 <= x <= x1 or y0 <= y <= y1


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("plot_timeline", "(s)", "lane"),
        ("plot_tokens", "(s)", "(count)"),
        ("plot_gaps", "(ms)", "(count)"),
        ("plot_first_text", "(s)", "model"),
        ("plot_logprobs", "(characters)", "line"),
        ("plot_lineage", "(s)", "lane"),
    ],
)
def test_units_are_on_the_axes(name: str, x: str, y: str, lively, tape) -> None:
    for record in (lively, tape.capture):
        ax = getattr(plots, name)(record)
        assert x in ax.get_xlabel()
        assert y in ax.get_ylabel()
        assert ax.get_title(loc="left")
    assert any("(0 to 1)" in each.get_ylabel() for each in plots.plot_gaps(lively).figure.axes)
    assert any("(0 to 1)" in each.get_ylabel() for each in plots.plot_logprobs(lively).figure.axes)


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_drawn_on(name: str, lively) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert getattr(plots, name)(lively, ax=right) is right
    assert not left.has_data()
    assert right.figure is figure


@pytest.mark.parametrize("name", NAMES)
def test_files_streams_and_many_captures(name: str, lively, tmp_path) -> None:
    lively.save(tmp_path / "a.jsonl")
    plot = getattr(plots, name)
    plot(tmp_path / "a.jsonl")
    plot(Captures([lively, lively], ["one", "two"]))
    plot(type("Stream", (), {"capture": lively})())


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [GREY, *COLOURS])
@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_every_colour_stands_out_on_light_and_on_dark_pages(colour: str, background: str) -> None:
    lighter, darker = sorted([luminance(colour), luminance(background)], reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_all_text_is_grey_or_of_a_plotted_colour(name: str, lively) -> None:
    for each in getattr(plots, name)(lively).figure.axes:
        for text in (each.xaxis.label, each.yaxis.label, *each.texts, *each.get_xticklabels(), *each.get_yticklabels()):
            assert not text.get_text() or mpl.colors.to_hex(text.get_color()) in {GREY, *COLOURS}, text


def test_what_others_wrote_is_drawn_as_text(new_tape) -> None:
    odd = "$\\frac{$ 語\x1b[31m\n😀"
    tape = new_tape()
    tape.sent(0, odd, model=odd).created(1, odd, odd, model=odd)
    scores = [{"token": odd, "logprob": -1.0}, {"token": "$x$", "logprob": None}, {"token": "", "logprob": -2.0}]
    tape.text(2, odd, odd, logprobs=scores).text(3, odd, odd).ended(4, odd, odd)
    for name in NAMES:
        rendered(getattr(plots, name)(tape.capture))
    assert drawable(odd).startswith("$\\frac{$ □")
    assert "\x1b" not in drawable(odd)
    texts = [text.get_text() for text in plots.plot_logprobs(tape.capture).texts]
    assert "$x$" in texts


def test_lines_of_a_lineage_are_dashed_where_they_leave_a_lane(lively) -> None:
    frame = lively.lineage()
    arrows = plots.plot_lineage(lively).patches
    assert [arrow.get_linestyle() for arrow in arrows] == ["--" if fork else "-" for fork in frame["fork"][1:]]
    assert len({arrow.get_linestyle() for arrow in arrows}) == 2


def test_a_text_is_broken_at_the_columns_and_cut_after_the_lines(tape) -> None:
    tape.created(1)
    for word in ["one ", "two\n", "three ", "fourfivesix ", "seven"]:
        tape.text(2, word, logprobs=[{"token": word, "logprob": -0.1}])
    texts = [text.get_text() for text in plots.plot_logprobs(tape.capture, columns=10, lines=3).texts]
    assert texts == ["one", "two↵", "three", "four", "fivesix"]


def test_without_matplotlib_the_extra_is_named(monkeypatch, lively) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"nbresponses\[plot\]"):
        plots.plot_gaps(lively)


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_of_nothing_says_so(name: str, tape) -> None:
    tape.noted(1, "opened")
    ax = getattr(plots, name)(tape.capture)
    assert any(text.get_text().startswith("no ") for text in ax.texts)
    tape.created(1, model="m").text(2, "a", logprobs=[{"token": "a", "logprob": -1}]).text(3, "b").ended(4)
    assert not any(text.get_text().startswith("no ") for text in getattr(plots, name)(tape.capture).texts)


def test_lines_are_named_by_what_tells_them_apart(new_tape) -> None:
    one, two = (new_tape().created(1, "resp_111111", model="m").text(2, "a") for _ in range(2))
    two.ended(3, "resp_111111").created(4, "resp_222222", lane="b").text(5, "b", "b")
    names = lambda record: [text.get_text() for text in plots.plot_tokens(record).get_legend().get_texts()]  # noqa: E731
    assert names(two.capture) == ["111111", "b 222222"]
    assert names(Captures([one.capture, two.capture], ["runs/one.jsonl", "two.jsonl.gz"])) == [
        "one",
        "two 111111",
        "two b 222222",
    ]
    many = plots.plot_tokens(Captures([one.capture] * 9, [f"{number}" for number in range(9)])).get_legend()
    assert many.get_title().get_text() == "9 responses, of which:"
    assert len(many.get_texts()) == 8


def test_texts_of_a_response_without_an_id_are_drawn(tape) -> None:
    [line] = plots.plot_tokens(tape.text(1, "a").text(2, "b").capture).lines
    assert line.get_label() == "(no id)"
    assert len(line.get_xdata()) == 2


def test_what_cannot_be_drawn_is_named(tape) -> None:
    with pytest.raises(TypeError, match="can be drawn, not DataFrame"):
        plots.plot_gaps(tape.capture.events())
