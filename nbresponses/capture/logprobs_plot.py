"""The text of an answer with a strip of colour under it: how certain each token was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nbresponses.capture.plot_style import COLOURS, GREY, Record, drawable, new_axes, nothing, opened, plain, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_logprobs"]

_FONT = "DejaVu Sans Mono"
_WIDTH_OF_LETTER = 0.602  # of the font's size
_PART = ("source", "response_id", "lane", "output_index", "content_index")
"""What the tokens of one text have in common."""
_STRIP = 0.24  # of a line's height


class _Cell(NamedTuple):
    """A piece of a token that stands on one line."""

    token: int
    line: int
    column: int
    text: str


def plot_logprobs(record: Record, ax: Axes | None = None, *, columns: int = 80, lines: int = 24) -> Axes:
    """The text, and under each token its probability as a colour: from blue (certain) over amber to red.

    Lines are broken at `columns` characters and cut after so many `lines`. A token without a probability has no colour.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.patches import Rectangle

    frame = opened(record).logprobs()
    keys = [name for name in _PART if name in frame]
    frame["part"] = frame.groupby(keys, observed=True, dropna=False, sort=False).ngroup()
    frame = frame.sort_values("part", kind="stable", ignore_index=True)
    cells = _laid_out(frame["token"].tolist(), frame["part"].tolist(), columns, lines)
    count = max((cell.line for cell in cells), default=0) + 1
    ax = new_axes(ax, 9, 1.5 + 0.36 * count)
    shades = ScalarMappable(Normalize(0, 1), LinearSegmentedColormap.from_list("", [COLOURS[i] for i in (4, 6, 0)]))
    bar = ax.figure.colorbar(shades, ax=ax, fraction=0.03, pad=0.02)
    bar.set_label("probability of the token (0 to 1)", color=GREY)
    bar.ax.tick_params(colors=GREY)
    bar.outline.set_visible(False)
    ax.set_xlim(0, columns)
    ax.set_ylim(count, 0)
    styled(ax, title="How certain each token was", x="column (characters)", y="line", grid="")
    ax.set_yticks([number + 0.5 for number in range(count)], [str(number + 1) for number in range(count)])
    if not cells:
        nothing(ax, "no log probabilities; ask for them with include=")
    size = _font_size(ax, columns)
    chances = frame["probability"].to_numpy(float, na_value=-1.0)
    for token, line, column, text in cells:
        if chances[token] >= 0:
            place = (column, line + 0.96 - _STRIP)
            ax.add_patch(Rectangle(place, max(len(text), 0.4), _STRIP, facecolor=shades.to_rgba(chances[token])))
        style: dict[str, Any] = {"family": _FONT, "fontsize": size, "color": GREY, "va": "baseline"}
        indent = len(text) - len(text.lstrip())
        plain([ax.text(column + indent, line + 0.62, drawable(text.strip(), columns, monospace=True), **style)])
    return ax


def _laid_out(tokens: list[str], parts: list[int], columns: int, lines: int) -> list[_Cell]:
    """The tokens in lines of `columns` characters. A line end is shown and begins a new line, as another part does."""
    cells: list[_Cell] = []
    line = column = 0
    for number, token in enumerate(tokens):
        if number and parts[number] != parts[number - 1] and column:
            line, column = line + 1, 0
        for piece in _pieces(token):
            rest = piece
            while True:
                if column >= columns or (column + len(rest) > columns and len(rest) <= columns):
                    line, column = line + 1, 0
                if line >= lines:
                    return cells
                part, rest = rest[: columns - column], rest[columns - column :]
                cells.append(_Cell(number, line, column, part))
                column += len(part)
                if not rest:
                    break
            if piece.endswith("↵"):
                line, column = line + 1, 0
    return cells


def _pieces(token: str) -> list[str]:
    return [piece for piece in token.replace("\r\n", "\n").replace("\n", "↵\0").split("\0") if piece]


def _font_size(ax: Axes, columns: int) -> float:
    """The size at which `columns` letters fill the width of the Axes."""
    figure = ax.get_figure(root=True)
    if figure is None:
        return 9.0
    figure.draw_without_rendering()  # so that the layout is known
    pixels = ax.get_window_extent().width
    return float(pixels / columns / _WIDTH_OF_LETTER * 72 / figure.dpi)
