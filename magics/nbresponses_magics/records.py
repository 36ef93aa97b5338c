"""What the notebook has asked and got: `%responses code`, `history`, `usage`. Asks no server, runs no code."""

from __future__ import annotations

from keyword import iskeyword
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import UsageError

from nbresponses.capture.prices import cost_of, price_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbresponses.core.response import Response
    from nbresponses_magics.session import Session

__all__ = ["RECORD_COMMANDS", "Turn", "conversation", "usage_table"]

_COLUMNS = ("model", "responses", "input", "cached", "output", "reasoning", "total")


class Turn(NamedTuple):
    """One request, as it was sent, and what came of it."""

    request: dict[str, Any]
    response: Response


def conversation(turns: list[Turn]) -> list[dict[str, Any]]:
    """The items of the latest turn's conversation, oldest first, back to where it began or this notebook did."""
    from nbresponses.core.inputs import as_items

    by_id = {turn.response.id: turn for turn in turns if turn.response.id}
    chain: list[Turn] = []
    turn: Turn | None = turns[-1] if turns else None
    while turn is not None and turn not in chain:
        chain.append(turn)
        turn = by_id.get(turn.request.get("previous_response_id") or "")
    items: list[dict[str, Any]] = []
    for turn in reversed(chain):
        given = turn.request.get("input")
        items += [*(as_items(given) if given else []), *turn.response.to_input()]
    return items


def usage_table(turns: list[Turn], prices: Mapping[str, Mapping[str, float]]) -> str:
    """Tokens by model, summed; money where the user's price table (per million tokens) has the model."""
    sums: dict[str, list[int]] = {}
    uncounted = 0
    for turn in turns:
        usage = turn.response.usage
        if usage is None:
            uncounted += 1
            continue
        cached = (usage.get("input_tokens_details") or {}).get("cached_tokens") or 0
        reasoning = (usage.get("output_tokens_details") or {}).get("reasoning_tokens") or 0
        read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
        row = sums.setdefault(turn.response.model or "(unnamed)", [0] * 6)
        for place, value in enumerate(
            (1, read, cached, written, reasoning, usage.get("total_tokens") or read + written)
        ):
            row[place] += value
    rows = [_COLUMNS, *((model, *map(str, row)) for model, row in sorted(sums.items()))]
    if len(sums) > 1:
        rows.append(("all", *(str(sum(column)) for column in zip(*sums.values(), strict=True))))
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    if uncounted:
        lines.append(f"{uncounted} responses came without token counts.")
    return "\n".join([*lines, *_money(sums, prices)])


def _money(sums: Mapping[str, list[int]], prices: Mapping[str, Mapping[str, float]]) -> list[str]:
    if not prices:
        return []
    names = {model: price_name(model, prices) for model in sorted(sums)}
    total = 0.0
    for model, name in names.items():
        _, read, cached, written, *_ = sums[model]
        total += cost_of(prices[name], read=read, cached=cached, written=written) if name is not None else 0.0
    lines = [f"cost: {total:.4f} (by Responses.prices, per million tokens)"]
    if others := [f"{model} by {name!r}" for model, name in names.items() if name not in {None, model}]:
        lines.append(f"priced by the name that theirs begins with: {', '.join(others)}")
    if missing := [model for model, name in names.items() if name is None]:
        lines.append(f"without a price: {', '.join(missing)}")
    return lines


def _usage(session: Session, _shell: Any, words: list[str]) -> str:
    if words:
        raise UsageError("%responses usage takes nothing more")
    return usage_table(session.turns, session.prices()) if session.turns else "Nothing was asked yet."


def _history(session: Session, shell: Any, words: list[str]) -> str:
    from nbresponses.core.conversation import to_markdown
    from nbresponses.render import clean

    items = conversation(session.turns)
    if len(words) > 1 or (words and (not words[0].isidentifier() or iskeyword(words[0]))):
        raise UsageError("%responses history takes the name of a variable for the items, or nothing")
    if words:
        shell.user_ns[words[0]] = items
        return f"{len(items)} items are in {words[0]}"
    return clean(to_markdown(items)) if items else "Nothing was asked yet."


def _code(_session: Session, shell: Any, words: list[str]) -> str:
    stream = shell.user_ns.get("_responses")
    blocks = stream.response.code_blocks if stream is not None else []
    if not blocks:
        raise UsageError("%responses code: the last answer has no code block")
    wanted = words[0] if words else "1"
    if len(words) > 1 or not wanted.isdigit() or not 1 <= int(wanted) <= len(blocks):
        raise UsageError(f"%responses code: which block? 1 to {len(blocks)}")
    shell.set_next_input(blocks[int(wanted) - 1].code, replace=False)
    return f"Block {wanted} of {len(blocks)} is in the next cell; nothing has been run."


RECORD_COMMANDS: dict[str, Callable[[Session, Any, list[str]], str]] = {
    "code": _code,
    "history": _history,
    "usage": _usage,
}
