"""Options of a judge who answers for every item."""

from __future__ import annotations

from dataclasses import dataclass

from streameval.options import option


@dataclass(frozen=True)
class JudgeColumn:
    """The judge that answers in a column of the list."""

    judge: str | None = option(
        None,
        "Column that says of every item whether it is positive (0/1, yes/no, a probability). It may be wrong: the "
        'better, the narrower the bounds. "llm(0.05,0.95)" makes classes of probabilities (default: 0.5).',
    )
