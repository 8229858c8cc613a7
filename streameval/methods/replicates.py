"""Replicates of a method on a list whose truth is known: does its band hold, how wide is it, what does it cost?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.judges.classes import judged_in_order
from streameval.judges.values import Judge
from streameval.methods import DrawsIndependently, Method
from streameval.methods.stages import LooksAtFirst
from streameval.notebook import Tabular
from streameval.types import Labels
from streameval.typing import FloatArray, Int8Array, Int64Array, UInt8Array


@dataclass(frozen=True)
class Replicates:
    """Results of replicates that differ in their seed alone.

    Attributes:
        labels: Planned labels; their mean over replicates, where the draw decides their number.
        held: Replicates whose bounds held the truth at every rank.
        inside: Share of cutoffs beyond the labelled head where the truth was inside, averaged over replicates:
            inside what the method itself claims (`Method.claimed`), else the bounds. NaN where the head is the list.
        half_widths (float64 array, shape (replicates,)): Largest half-width over all ranks, relative to precision.
        first: That of the first replicate.
    """

    n_items: int
    labels: int
    held: int
    inside: float
    half_widths: FloatArray
    first: Curve = field(repr=False)

    @property
    def count(self) -> int:
        """Replicates run: one where the method draws nothing."""
        return int(self.half_widths.size)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "labels": self.labels,
            "replicates": self.count,
            "held": self.held,
            "coverage": self.held / self.count,
            "claim": self.first.claim.coverage,
            "confidence": self.first.claim.confidence,
            "inside": self.inside,
            "half_width": float(np.median(self.half_widths)),
        }


@dataclass(frozen=True)
class Simulation(Tabular):
    """Methods side by side on one list.

    Attributes:
        rows: One per method and variant: `method`, then `Replicates.as_dict()`, or `refused` where a method cannot keep
            the parameters.
        replicates (mapping of str to Replicates): By name and variant.
        precision (float64 array, shape (n_items,)): The true p(r).
    """

    rows: list[dict[str, Any]]
    replicates: Mapping[str, Replicates] = field(repr=False)
    precision: FloatArray = field(repr=False)

    @property
    def table(self) -> pa.Table:
        """The rows as a table."""
        return pa.Table.from_pylist(self.rows)


def replicate(
    method: Method, truth: Int8Array, count: int, seed: int = 0, answers: tuple[Judge, UInt8Array] | None = None
) -> Replicates:
    """Plan, label from the truth, and check the bounds, `count` times.

    Args:
        method: If its claim is not one of chance, one replicate says it all.
        truth (int8 array, shape (n_items,)): 0 or 1, best rank first.
        seed: Replicate i is drawn with seed + i.
        answers: A judge, and the class of every item (uint8 array, like `truth`).
    """
    total = np.concatenate([[0], np.cumsum(truth, dtype=np.int64)])
    held, inside, widths, labels = 0, [], [], []
    first: Curve | None = None
    for i in range(count):
        plan = method.plan(truth.size, seed + i)
        if answers is not None and isinstance(method, DrawsIndependently):
            plan = judged_in_order(plan, answers[0], method.rates(truth.size)[0], answers[1])
        if isinstance(method, LooksAtFirst) and method.adaptive:
            plan = method.continued(plan, Labels.of(plan, truth[plan.ranks - 1]))
        curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
        held += _holds(curve, total)
        inside.append(_share_inside(curve, total, plan.ranks, method.claimed))
        widths.append(curve.half_width().alpha)
        labels.append(plan.table.num_rows)
        first = first or curve
        if curve.claim.coverage != "simultaneous":
            break
    if first is None:
        raise ValueError("no replicate was asked for")
    return Replicates(truth.size, round(np.mean(labels)), held, float(np.mean(inside)), np.array(widths), first)


def _holds(curve: Curve, total: Int64Array) -> bool:
    """Tell whether the truth is inside at every rank: between breakpoints the bounds follow from those at them."""
    envelope = curve.envelope
    truth = total[envelope.rank]
    return bool(np.all(envelope.lower <= truth + 1e-9) and np.all(truth <= envelope.upper + 1e-9))


def _share_inside(curve: Curve, total: Int64Array, planned: Int64Array, claimed: str) -> float:
    """Share of cutoffs beyond the labelled head where the truth is inside; `claimed` as in `Method`."""
    gaps = np.flatnonzero(planned != np.arange(1, planned.size + 1))
    head = int(gaps[0]) if gaps.size else planned.size
    prefix = claimed if curve.claim.confidence is None else ""
    table, names = (curve.columns, prefix) if prefix and curve.columns is not None else (curve.table, "precision")
    rank = table.column("rank").to_numpy()
    beyond = rank > head
    if not np.any(beyond):
        return float("nan")
    low, high = (table.column(f"{names}_{side}").to_numpy()[beyond] for side in ("lower", "upper"))
    precision = total[rank[beyond]] / rank[beyond]
    return float(np.mean((low <= precision + 1e-12) & (precision <= high + 1e-12)))
