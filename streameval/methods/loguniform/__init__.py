"""Log-uniform sampling with a simultaneous band: no assumption but the draw.

Labels are drawn at random with density about c/r, so that every e-fold of ranks gets as many, and the relative error is
the same at every scale. Within strata they are drawn without replacement; the head is thereby labelled nearly whole.
The band and the proof of its coverage are in `streameval.kernels.band`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.errors import InputError
from streameval.methods import Look, Sampled, check_items
from streameval.methods.checks.monotonicity import assumptions, warnings
from streameval.options import option
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array


@dataclass(frozen=True)
class LogUniform(Sampled):
    """Our own method: a band that holds at all ranks at once, whatever the list.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the band at every rank at once,
    for any 0/1 list and any N, also where labels are missing for any reason. `alpha` is a forecast of the half-width,
    for lists whose precision stays above `min_precision`; the half-width that the labels reach is reported with the
    curve. A half-width is (hi − lo)/(hi + lo). With several `looks`, 1 to 64, the first plan is made for a share of
    1 − `confidence`, and `enlarged` keeps to a grid of densities fixed by it, so that what was seen may decide when to
    stop: `confidence` is that of all looks together.
    """

    name: ClassVar[str] = "loguniform"
    summary: ClassVar[str] = "random ranks of density c/r, and a band that holds for every list"

    looks: int = option(1, "How often the plan may be evaluated and enlarged.")

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        if not 1 <= self.looks <= 64:
            raise InputError(f"looks is {self.looks}, outside 1..64", "one is enough unless labels decide about more")

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label.

        Returns:
            Plan: Columns of its own: `stratum_last` int64, the rank that ends the stratum. With several looks also
                `look` int32, the first look whose plan holds the rank, and `batch` int32, the plan by which it came in.
        """
        from streameval.kernels.draw import draw_strata

        return self.drawn(n_items, seed, draw_strata(*self.strata(n_items), np.uint64(seed % 2**64)))

    def strata(self, n_items: int) -> tuple[Int64Array, Int64Array]:
        """Last rank of each stratum, and ranks to draw of it."""
        from streameval.methods.loguniform.design import allocation, stratum_ends

        density = self._density(check_items(n_items))
        ends = stratum_ends(n_items, density)
        return ends, allocation(ends, density, density)

    def drawn(self, n_items: int, seed: int, rank: Int64Array) -> Plan:
        """Make a plan of the ranks that were drawn from `strata`."""
        ends, _ = self.strata(n_items)
        table = _table(ends, rank)
        notes: dict[str, Any] = {"density": self._density(n_items), "strata": int(ends.size)}
        parameters = dict(self.__dict__)
        if self.looks == 1:
            del parameters["looks"]  # as in plans made before there were looks
        else:
            ones = pa.array(np.ones(table.num_rows, dtype=np.int32))
            table = table.append_column("look", ones).append_column("batch", ones)
            notes["look"] = 1
        return Plan(self.name, parameters, n_items, seed, table, notes=notes)

    def weights(self, plan: Plan) -> FloatArray:
        """Inverse of the share of its stratum that the plan holds, whatever look it has grown to."""
        last = plan.table.column("stratum_last").to_numpy()
        ends, n = np.unique(last, return_counts=True)
        return np.repeat(np.diff(ends, prepend=0) / n, n)

    def forecasts(self, plan: Plan) -> list[Look]:
        """Give every look of `plan`, with labels and forecast half-width."""
        return [self._look(plan.n_items, float(plan.notes["density"]), look) for look in range(1, self.looks + 1)]

    def enlarged(self, plan: Plan, look: int) -> Plan:
        """Grow a plan to a later look: strata and seed stay, and so does every rank."""
        from streameval.kernels.draw import draw_strata
        from streameval.methods.loguniform.design import allocation, look_density, stratum_ends

        first = float(plan.notes["density"])
        ends, seed = stratum_ends(plan.n_items, first), np.uint64(plan.seed % 2**64)
        rank = draw_strata(ends, allocation(ends, first, look_density(first, look)), seed)
        table = _table(ends, rank)
        old = np.isin(rank, plan.ranks)
        came, batch = np.full(rank.size, look, np.int32), np.full(rank.size, 1, np.int32)
        for index in range(look - 1, plan.look, -1):  # a look that was passed over still has its band
            n = allocation(ends, first, look_density(first, index))
            came[np.isin(rank, draw_strata(ends, n, seed))] = index
        came[old] = plan.table.column("look").to_numpy()
        batch[old] = plan.table.column("batch").to_numpy()
        batch[~old] = batch[old].max() + 1
        table = table.append_column("look", pa.array(came)).append_column("batch", pa.array(batch))
        return replace(plan, table=table).with_notes(look=look)

    def _look(self, n_items: int, first: float, look: int) -> Look:
        from streameval.methods.loguniform.design import forecast, look_density, look_share

        delta = look_share(1 - self.confidence, look, self.looks)
        width, labels = forecast(n_items, look_density(first, look), delta, self.min_precision, first)
        return Look(look, labels, 0.0 if labels == n_items else width)

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels, and forecast the half-width that the median list of precision `min_precision` reaches.

        With several looks `looks` has one entry each: `look`, `labels` in all, `half_width`.
        """
        density = self._density(check_items(n_items))
        looks = [self._look(n_items, density, look) for look in range(1, self.looks + 1)]
        labels = looks[0].labels
        reached = self.alpha if self.budget is None else looks[0].half_width
        whole = labels == n_items
        return {
            **({"looks": [asdict(look) for look in looks]} if self.looks > 1 else {}),
            "method": self.name,
            "labels": labels,
            "accuracy": 0.0 if whole else reached,
            "forecast": not whole,
            "claim": "exact" if whole else "simultaneous",
            "density": density,
        }

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the band, at every rank.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw. A missing label counts
        negative below and positive above.
        """
        points = self._points(plan, labels)
        envelope = close(plan.n_items, points, labels.rank, labels.label)
        claim = self.claim_of(plan, labels)
        head = _labelled_head(plan)
        contradictions = assumptions(labels, head)
        curve = Curve(
            n_items=plan.n_items,
            envelope=envelope,
            grid=np.unique(np.concatenate([np.arange(1, head + 1), plan.table.column("stratum_last").to_numpy()])),
            claim=claim,
            diagnostics={"consistent": envelope.consistent, "labelled_head": head, "assumptions": contradictions},
        )
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, labels.about))

    def _density(self, n_items: int) -> float:
        from streameval.methods.loguniform.design import largest_c, look_share, smallest_c

        if self.budget is not None:
            return largest_c(n_items, self.budget)
        delta = look_share(1 - self.confidence, 1, self.looks)
        return smallest_c(n_items, self.alpha, delta, self.min_precision)[0]

    def _points(self, plan: Plan, labels: Labels) -> Points:
        """Intersect the bands of all looks so far, each from the ranks of its own plan and for its share of δ."""
        from streameval.kernels.band import band
        from streameval.methods.loguniform.design import FIRST_REACH, LATER_REACH, look_share, mixture

        if plan.table.num_rows == plan.n_items:
            return Points.none()
        came = plan.table.column("look").to_numpy() if self.looks > 1 else np.ones(plan.table.num_rows)
        points: Points | None = None
        for look in range(1, plan.look + 1):
            ends, n, k_low, k_high = _counts(plan, labels, came <= look)
            delta = look_share(1 - self.confidence, look, self.looks)
            mu = mixture(ends, n, self.min_precision, FIRST_REACH if look == 1 else LATER_REACH)
            low, high = band(ends, n, k_low, k_high, mu, delta)
            if points is not None:
                low, high = np.maximum(low, points.lower), np.minimum(high, points.upper)
            points = Points(ends, low.astype(np.float64), high.astype(np.float64))
        return points if points is not None else Points.none()

    def _findings(self, curve: Curve, about: str) -> tuple[str, ...]:
        if curve.claim.coverage == "none":
            return (
                "The ranking was made by a model that has seen labels reused here: where it put those items depends on "
                "their labels, so the draw is none of chance and the bounds promise nothing.",
            )
        if not curve.envelope.consistent:
            return self.contradicted("The band contradicts itself")
        return (
            f"With probability {self.confidence:g}, {about} lies inside the bounds at every rank at once"
            + (f" and at all {self.looks} looks" if self.looks > 1 else "")
            + ", whatever the list.",
            *warnings(curve.diagnostics["assumptions"]),
        )


def _table(ends: Int64Array, rank: Int64Array) -> pa.Table:
    """`rank`, `stratum`, `stratum_last`."""
    stratum = np.searchsorted(ends, rank).astype(np.int32)
    return pa.table({"rank": rank, "stratum": stratum, "stratum_last": ends[stratum]})


def _counts(plan: Plan, labels: Labels, drawn: BoolArray) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Per stratum: last rank, labels drawn, positives with missing labels as 0 and as 1."""
    last = plan.table.column("stratum_last").to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], last[1:] != last[:-1]]))
    counted = (drawn, drawn & (labels.label == 1), drawn & (labels.label != 0))
    n, k_low, k_high = (np.add.reduceat(values.astype(np.int64), starts) for values in counted)
    return last[starts].astype(np.int64), n, k_low, k_high


def _labelled_head(plan: Plan) -> int:
    """Last rank up to which every rank is planned."""
    gaps = np.flatnonzero(plan.ranks != np.arange(1, plan.ranks.size + 1))
    return int(gaps[0]) if gaps.size else plan.ranks.size


METHOD = LogUniform
