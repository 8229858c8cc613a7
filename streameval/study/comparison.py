"""What two studies say of their rankings, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.notebook import Tabular
from streameval.types import Claim


@dataclass(frozen=True)
class Side:
    """One of the two rankings.

    Attributes:
        name: Folder of its results.
        method: That of its study, or "exact".
        ranking: What the ranking is: fingerprint, order, score …
        labels: Ranks with a label.
        curve: At its share of the joint confidence.
        judged: How its labels came to be: by which vote rule and preference, or from which column.
        counted: Metrics counted from all labels, where every item has one.
    """

    name: str
    method: str
    ranking: Mapping[str, Any]
    labels: int
    curve: Curve
    judged: str
    counted: pa.Table | None = None

    @property
    def descending(self) -> bool:
        """Whether large scores come first."""
        return not self.ranking.get("ascending", False)


@dataclass(frozen=True)
class Comparison(Tabular):
    """Two rankings side by side.

    Attributes:
        claim: What the bounds on all differences promise together.
        lists: "the same list", "two orders of the same items" or "two lists".
        curves: `rank` int64, then float64 `precision_a_lower`, `precision_a`, `precision_a_upper`, the same for b, and
            for `difference` (a − b); `higher` "a", "b" or null where the sign is not established.
        differences: `metric`, `argument`, `a`, `b` (estimates), `lower`, `estimate`, `upper` of a − b, `higher`
            likewise. At equal rank, at equal recall, of the whole lists, and `precision_at_score` at equal threshold
            where both have scores.
        agree: False where both are of the same items, but the bounds on how many of these are positive exclude each
            other: their labels disagree, or a band has failed, and nothing is established. Neither is it of one and the
            same list.
    """

    a: Side
    b: Side
    claim: Claim
    lists: str
    curves: pa.Table = field(repr=False)
    differences: pa.Table = field(repr=False)
    agree: bool = True

    @property
    def table(self) -> pa.Table:
        """The differences."""
        return self.differences

    @property
    def alike(self) -> bool:
        """Whether the labels of both were judged alike: otherwise "positive" does not mean the same on both sides."""
        return alike(self.a, self.b)

    @property
    def excluded(self) -> int:
        """Cutoffs at which the bounds of both sides exclude each other."""
        low, high = (self.curves.column(f"difference_{end}").to_numpy() for end in ("lower", "upper"))
        return int(np.sum((low > 0) | (high < 0)))


def alike(a: Side, b: Side) -> bool:
    """Whether both judge alike; of a study and a column of labels, that has to be assumed."""
    return a.judged == b.judged or (a.method == "exact") != (b.method == "exact")
