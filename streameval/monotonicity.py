"""Does precision rise where a method assumes it does not, and by more than label noise?

Hypothesis tested: labels are independent, and the probability of a positive does not increase with rank. Then for
two adjacent runs of labels some number c lies between their probabilities, the first run's count is stochastically
at least Binomial(n, c), the second's at most. Fisher's one-sided p-value falls as the second count grows and as the
first shrinks (Barnard convexity), so it is stochastically at least what it is under Binomial with one common c, where
it is valid. Its minimum over all pairs, times their number (Bonferroni), is therefore a valid p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.types import Int64Array

SIGNIFICANCE = 0.01


@dataclass(frozen=True)
class RiseTest:
    """The strongest rise between adjacent runs of labels.

    Attributes
    ----------
    p_value : float
        Of the strongest rise, times the number of pairs tested; at most 1.
    tests : int
        Pairs tested.
    first_rank, middle_rank, last_rank : int
        The runs compared are the labelled ranks first..middle and those after middle..last; 0 where no pair was
        tested.
    before, after : float
        Share of positives in the two runs.
    """

    p_value: float
    tests: int
    first_rank: int
    middle_rank: int
    last_rank: int
    before: float
    after: float

    @property
    def beyond_noise(self) -> bool:
        """True where chance would show such a rise in fewer than one list in a hundred."""
        return self.p_value < SIGNIFICANCE

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        shares = {
            key: None if value != value else value for key, value in (("before", self.before), ("after", self.after))
        }
        return {**self.__dict__, **shares, "beyond_noise": self.beyond_noise}


def rise_test(rank: Int64Array, label: npt.NDArray[np.int8], block: int) -> RiseTest:
    """Test the labels in hand for a rise of precision beyond label noise.

    Parameters
    ----------
    rank : int64 array, shape (n,), strictly increasing
    label : int8 array, shape (n,)
        1, 0, or -1 for unknown (left out).
    block : int
        Labels per block; runs of 1, 2, 4 … blocks are compared with the run after them.

    Examples
    --------
    >>> falls = np.repeat([1, 0], 200).astype(np.int8)
    >>> rise_test(np.arange(1, 401), falls, block=50).p_value
    1.0
    >>> rise_test(np.arange(1, 401), falls[::-1], block=50).beyond_noise
    True
    """
    from streameval.kernels.fisher import scan_rises

    known = label >= 0
    rank, label = rank[known], label[known]
    if rank.size < 2 * block:
        return RiseTest(1.0, 0, 0, 0, 0, float("nan"), float("nan"))
    starts = np.arange(0, rank.size - block + 1, block)
    edges = np.append(starts, rank.size)
    positive = np.add.reduceat(label.astype(np.int64), starts)
    p_values, pairs = scan_rises(positive, np.diff(edges))
    best = int(np.argmin(p_values))
    first, run = (int(value) for value in pairs[best])
    a, b, c = edges[first], edges[first + run], edges[first + 2 * run]
    return RiseTest(
        p_value=float(min(1.0, p_values[best] * p_values.size)),
        tests=int(p_values.size),
        first_rank=int(rank[a]),
        middle_rank=int(rank[b - 1]),
        last_rank=int(rank[c - 1]),
        before=float(label[a:b].mean()),
        after=float(label[b:c].mean()),
    )
