"""The facts below an answer on one line: model, state, times, tokens. Times come in; nothing is measured here."""

from __future__ import annotations

from dataclasses import dataclass

from nbresponses.render.untrusted import one_line

__all__ = ["StatusLine", "duration"]


def duration(seconds: float) -> str:
    """A time as people write it: 0.41 s, 12.3 s, 2 min 05 s."""
    if seconds < 1:
        return f"{max(seconds, 0):.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLine:
    """What is known about a response besides its content; None or "" leaves a fact out.

    `state`: a word for how it stands ("streaming", "completed", "interrupted" …). `elapsed`, `first_token`: seconds
    since the request was sent. `tokens_per_second`: of output. `notes`: whole phrases (resumed, retried, the demo
    server).
    """

    model: str = ""
    state: str = ""
    elapsed: float | None = None
    first_token: float | None = None
    output_tokens: int | None = None
    tokens_per_second: float | None = None
    response_id: str = ""
    notes: tuple[str, ...] = ()

    def facts(self) -> list[str]:
        """The facts in their order, as short cleaned phrases."""
        facts = [self.model, self.state.replace("_", " ")]
        if self.elapsed is not None:
            facts.append(duration(self.elapsed))
        if self.first_token is not None:
            facts.append(f"first token {duration(self.first_token)}")
        if self.output_tokens is not None:
            facts.append(f"{self.output_tokens:,} tokens")
        if self.tokens_per_second is not None:
            facts.append(f"{self.tokens_per_second:.{0 if self.tokens_per_second >= 10 else 1}f} tokens/s")
        facts += [self.response_id, *self.notes]
        return [one_line(fact) for fact in facts if fact]

    def text(self) -> str:
        return " · ".join(self.facts())
