"""Bounds on the difference of one cutoff by exact tails, from one look at its planned sample.

Given how many gains and how many losses were drawn, they are two independent samples without replacement, so that both
limits come from hypergeometric probabilities (`kernels.paired_count`): no inequality, and no assumption but the draw.
The sample is that of the plan. A label that is missing counts as whatever is worst for each limit, so a look before all
labels are there is free: the interval of the complete sample lies inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from streameval.errors import InputError
from streameval.kernels.paired_count import CountedSide, most_difference


@dataclass(frozen=True)
class ChangedSample:
    """The sample of the gains of a cutoff, or of its losses.

    With a judge: of gains judged negative and losses judged positive, or of the others; *positive* are then those of
    which the judge is wrong.

    Attributes:
        size: Items it was drawn from.
        drawn: Items in it: all of this cutoff's plan, whether or not they have a label.
        positive: Labelled positive.
        missing: Without a label.
    """

    size: int
    drawn: int
    positive: int
    missing: int = 0

    def __post_init__(self) -> None:
        if min(self.positive, self.missing) < 0 or not self.positive + self.missing <= self.drawn <= self.size:
            raise InputError(
                f"{self.positive} positive and {self.missing} missing of {self.drawn} drawn, of {self.size} items",
                "none is negative; no more are drawn than there are items, or labelled than are drawn",
            )

    def counted(self) -> CountedSide:
        """As kernels take it."""
        return self.size, self.drawn, self.positive, self.positive + self.missing


def limits(gains: ChangedSample, losses: ChangedSample, error: float) -> tuple[int, int]:
    """Bounds on the positives among all gains less those among all losses.

    Args:
        gains, losses: Their samples. A side of which nothing is drawn may hold any number of positives.
        error: Probability, in (0, 1), with which each bound may miss the truth.

    Returns:
        lower, upper.
    """
    if not 0 < error < 1:
        raise InputError(f"an error of {error}", "it is a probability, above 0 and below 1")
    pseudo = max(1.0, NormalDist().inv_cdf(1 - error) ** 2 / 2)
    lower = -most_difference(losses.counted(), gains.counted(), error, pseudo)
    return int(lower), int(most_difference(gains.counted(), losses.counted(), error, pseudo))
