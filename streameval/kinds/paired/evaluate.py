"""Results of a comparison of two rankings, from labels of changed items, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from streameval.kinds.paired.says import names_of
from streameval.labelling.tally import Tallied
from streameval.paired.bet import BetLimits, BetPlan, limits_of_walk
from streameval.paired.looks import bet_error, count_error, intersect
from streameval.paired.samples import CutoffSample, LabelledItems, samples
from streameval.paired_draws.pair import are_below
from streameval.questions.comparing import Looks
from streameval.questions.cutoffs import Cutoff
from streameval.types import Claim, Coverage, Plan
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array, UInt64Array

ASSUMED = "nothing of the lists: only that the planned items, drawn at random, are the ones that were labelled"
DIFFERENCES = pa.schema(
    {
        "cutoff": pa.string(),
        "items_a": pa.int64(),
        "items_b": pa.int64(),
        "gains": pa.int64(),
        "losses": pa.int64(),
        "gains_drawn": pa.int64(),
        "gains_positive": pa.int64(),
        "gains_missing": pa.int64(),
        "losses_drawn": pa.int64(),
        "losses_positive": pa.int64(),
        "losses_missing": pa.int64(),
        "lower": pa.int64(),
        "estimate": pa.float64(),
        "upper": pa.int64(),
        "better": pa.string(),  # "b", "a", "neither" (the bounds lie within what was asked for) or "open"
        "decided_after": pa.int64(),  # labels of this cutoff, in their order, until the sign was certain
    }
)


def estimate_differences(plan: Plan, tallied: Tallied) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
    """Bound the difference at every cutoff; tables, what they claim, and what the summary says besides."""
    labels, confidence = tallied.labels, float(plan.parameters["confidence"])
    rows = difference_rows(plan, labels.label)
    exact = all(_is_certain(row, rate) for row, rate in zip(rows, plan.notes["probability"], strict=True))
    claim = Claim("simultaneous", 1.0 if exact else confidence, _assumption(plan), labels.about, labels.why)
    if plan.labels_seen_by_model and not exact:
        claim = replace(claim, coverage="none", confidence=None)
        rows = [{**row, "better": "open", "decided_after": None} for row in rows]
    differences = pa.Table.from_pylist(rows, DIFFERENCES)
    tables = {"metrics": metrics_of(rows, claim.coverage), "differences": differences, "labels": labels.table,
              "issues": tallied.issues}  # fmt: skip
    judge = plan.notes.get("predictions", {}).get("column")
    conditions = {name: plan.notes[name] for name in ("conditions",) if name in plan.notes}
    return tables, claim, {"names": names_of(plan), "judge": judge, **conditions}


def difference_rows(plan: Plan, label: Int8Array) -> list[dict[str, Any]]:
    """Rows of the table of differences, with the confidence of the plan.

    Args:
        label (int8 array, shape of the plan's ranks): 1, 0, or -1 where there is none.
    """
    return [row_of(outcome) for outcome in at_cutoffs(plan, label)]


def _is_certain(row: Mapping[str, Any], rate: float) -> bool:
    """Tell whether no bound at a cutoff is one of chance: nothing was drawn, or everything, which has its label."""
    return rate == 0 or (rate == 1 and row["lower"] == row["upper"])


def _assumption(plan: Plan) -> str:
    if "labels_seen_by_model" not in plan.notes:
        return ASSUMED
    return f"{ASSUMED}, and that this comparison was fixed without the labels that it reuses"


def row_of(outcome: AtCutoff) -> dict[str, Any]:
    """One row of the table of differences."""
    counts = {f"{side}_{name}": getattr(outcome, name)[i] for i, side in enumerate(("gains", "losses"))
              for name in ("drawn", "positive", "missing")}  # fmt: skip
    return {
        "cutoff": str(outcome.cutoff), "items_a": outcome.size_a, "items_b": outcome.size_b, "gains": outcome.gains,
        "losses": outcome.losses, **counts, **outcome.bounds._asdict(), "better": outcome.better,
    }  # fmt: skip


def metrics_of(rows: Sequence[Mapping[str, Any]], coverage: Coverage) -> pa.Table:
    """The differences under the names by which they are asked for."""
    kinds = [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
             ("upper", pa.float64()), ("coverage", pa.string())]  # fmt: skip
    metrics = [{**metric, "coverage": coverage} for row in rows for metric in _metrics(row)]
    return pa.Table.from_pylist(metrics, pa.schema(kinds))


def _metrics(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cutoff = Cutoff.parse(row["cutoff"])
    of_kind = "_score" if cutoff.kind == "score" else ""
    argument = str(cutoff.value) if cutoff.kind == "score" else str(row["items_b"])
    sides = ("lower", "estimate", "upper")
    yield {"metric": f"gain_at{of_kind}", "argument": argument, **{side: row[side] for side in sides}}
    if row["items_a"] == row["items_b"] and row["items_a"]:
        shares = {side: None if row[side] is None else row[side] / row["items_a"] for side in sides}
        yield {"metric": f"precision_gain_at{of_kind}", "argument": argument, **shares}


def by_cutoff(plan: Plan, labelled: BoolArray) -> pa.Table:
    """Planned and labelled items, by the first cutoff at which one of the tops holds them."""
    first, cutoffs = plan.table.column("stratum").to_numpy(), plan.notes["cutoffs"]
    counts = [np.bincount(ranks, minlength=len(cutoffs)) for ranks in (first, first[labelled])]
    return pa.table({"cutoff": cutoffs, "planned": counts[0], "labelled": counts[1]})


class DifferenceBounds(NamedTuple):
    """Bounds on how many more positives B has than A.

    The estimate is None where labels say nothing of some items; `decided_after` where no look before the end decided.
    """

    lower: int
    estimate: float | None
    upper: int
    decided_after: int | None


@dataclass(frozen=True)
class AtCutoff:
    """Counts and bounds of a comparison at one cutoff.

    Attributes:
        size_a, size_b: Items in the tops.
        gains, losses: Items that only the top of B holds, and only that of A.
        drawn, positive, missing (pairs): Of gains and of losses: items to label, those with the label 1, and those
            without one.
        within: Half-width that was asked for, in items.
    """

    cutoff: Cutoff
    size_a: int
    size_b: int
    gains: int
    losses: int
    drawn: tuple[int, int]
    positive: tuple[int, int]
    missing: tuple[int, int]
    within: float
    bounds: DifferenceBounds

    @property
    def better(self) -> str:
        """Tell which ranking is better; "neither" where the difference lies within what was asked for."""
        lower, upper = self.bounds.lower, self.bounds.upper
        if lower > 0 or upper < 0:
            return "b" if lower > 0 else "a"
        return "neither" if -self.within <= lower and upper <= self.within else "open"


@dataclass(frozen=True)
class LabelledDraw:
    """The items of a plan with their labels, and what was fixed before any of these.

    Attributes:
        label (int8 array, shape of the plan's ranks): 1, 0, or -1 where there is none.
    """

    plan: Plan
    label: Int8Array

    def column(self, name: str) -> Int64Array:
        """A column of the plan."""
        values: Int64Array = self.plan.table.column(name).to_numpy()
        return values

    @cached_property
    def u(self) -> UInt64Array:
        """The hash of each item."""
        return self.column("u").astype(np.uint64)

    @cached_property
    def gain(self) -> BoolArray:
        """Tell which items B has before A."""
        gain: BoolArray = self.column("first_b") < self.column("first_a")
        return gain

    @cached_property
    def predicted(self) -> Int8Array:
        """Give what the judge says; without one everything is taken for negative."""
        named = "predicted" in self.plan.table.column_names
        return self.column("predicted").astype(np.int8) if named else np.zeros(self.u.size, np.int8)

    @cached_property
    def rates(self) -> FloatArray:
        """Probability with which an item is drawn, for each cutoff."""
        return np.array(self.plan.notes["probability"], np.float64)

    @cached_property
    def certain(self) -> BoolArray:
        """Tell which items are labelled whatever their hash is."""
        certain: BoolArray = self.column("probability") >= 1
        return certain

    @cached_property
    def sizes(self) -> Int64Array:
        """Gains and losses in all, and those of them that the judge takes for positive: shape (m, 2, 2)."""
        notes = self.plan.notes
        every, positive = (
            np.array([notes[f"{side}{of}"] for side in ("gains", "losses")], np.int64).T for of in ("", "_predicted")
        )
        return np.stack([every - positive, positive], axis=2)

    @cached_property
    def wrong(self) -> Int8Array:
        """Tell whether the judge is wrong, and -1 where there is no label; without a judge, the labels."""
        wrong: Int8Array = np.where(self.label < 0, -1, self.label != self.predicted).astype(np.int8)
        return wrong

    @cached_property
    def adds(self) -> BoolArray:
        """Of which items it adds to the difference that the judge is wrong."""
        adds: BoolArray = self.gain == (self.predicted == 0)
        return adds

    def samples(self) -> list[CutoffSample]:
        """Samples of items on which the judge is wrong: of those that add to the difference, and that take from it."""
        first = self.column("first_a").astype(np.int64), self.column("first_b").astype(np.int64)
        items = LabelledItems(*first, self.u, self.wrong, self.certain, self.adds)
        adds, takes = self.sizes[:, 0, 0] + self.sizes[:, 1, 1], self.sizes[:, 0, 1] + self.sizes[:, 1, 0]
        return samples(items, self.rates, adds, takes)

    @cached_property
    def own_rate(self) -> FloatArray:
        """Probability with which each item is drawn: the largest of its cutoffs."""
        rate: FloatArray = self.column("probability").astype(np.float64)
        return rate

    @cached_property
    def reached(self) -> float:
        """Tell how far labelling came: u over its own rate of the first item to which nobody came; 1 at the end.

        Items are labelled in this order, so that those before are a draw by their rates times this.
        """
        turn = np.ldexp(self.u.astype(np.float64), -64) / self.own_rate
        last = turn[~self.certain & (self.label >= 0)].max(initial=0.0)
        return float(turn[~self.certain & (self.label < 0) & (turn > last)].min(initial=1.0))

    def shares(self, j: int, of_cutoff: BoolArray) -> tuple[float | None, float | None]:
        """Estimated shares of what adds to the difference, and of what takes from it; certain items are apart.

        Before the end, items that another cutoff has at a higher rate came first: each stands for as many as its
        probability of being among those that were reached says.
        """
        drawn = of_cutoff & ~self.certain & are_below(self.u, np.full(self.u.size, self.rates[j])) & (self.wrong >= 0)
        seen = np.minimum(self.rates[j], self.reached * self.own_rate)
        stands_for = np.divide(self.rates[j], seen, out=np.ones_like(seen), where=drawn)
        first, second = (np.average(self.wrong[some], weights=stands_for[some]) if some.any() else None
                         for some in (drawn & self.adds, drawn & ~self.adds))  # fmt: skip
        return first, second

    def is_in_cutoff(self, j: int) -> BoolArray:
        """Tell which items gain or lose at cutoff j."""
        first_a, first_b = self.column("first_a"), self.column("first_b")
        changed: BoolArray = (np.minimum(first_a, first_b) <= j) & (np.maximum(first_a, first_b) > j)
        return changed

    @cached_property
    def known(self) -> BoolArray:
        """Tell which items had a label before the seed was drawn."""
        named = "known" in self.plan.table.column_names
        flags: BoolArray = self.plan.table.column("known").to_numpy() if named else np.zeros(self.u.size, np.bool_)
        return flags

    def walk(self, j: int, of_cutoff: BoolArray, error: float) -> BetLimits:
        """Bounds at any time from the items of cutoff j, in the order of their hashes; known ones are apart."""
        drawn = np.flatnonzero(of_cutoff & ~self.known & are_below(self.u, np.full(self.u.size, self.rates[j])))
        drawn = drawn[np.argsort(self.u[drawn], kind="stable")]
        right = float(self.plan.parameters["min_precision"])
        judged = "predictions" in self.plan.notes
        expected = np.array([1 - right, right] * 2) if judged else np.full(4, right)
        losses = np.array([False, False, True, True])
        classes, apart = 2 * (~self.gain) + self.predicted, of_cutoff & self.known
        sizes = self.sizes[j].ravel() - np.bincount(classes[apart], minlength=4)
        bet = BetPlan(sizes, losses, error, drawn.size, expected=expected, known=self._known_difference(apart))
        return limits_of_walk(bet, classes[drawn], self.label[drawn])

    def _known_difference(self, apart: BoolArray) -> tuple[int, int]:
        """The least and the most that known items add to the difference; a label of theirs may have been taken back."""
        label, gain = self.label[apart], self.gain[apart]
        least = np.where(gain, label == 1, -(label != 0).astype(np.int64))
        most = np.where(gain, label != 0, -(label == 1).astype(np.int64))
        return int(least.sum()), int(most.sum())

    def counts_at(self, j: int, of_cutoff: BoolArray) -> Iterator[tuple[int, int]]:
        """Of gains and losses: items that are looked at for cutoff j, positive ones, and those without a label."""
        seen = of_cutoff & (self.certain | are_below(self.u, np.full(self.u.size, self.rates[j])))
        for some in (seen, seen & (self.label == 1), seen & (self.label < 0)):
            yield int((some & self.gain).sum()), int((some & ~self.gain).sum())


def at_cutoffs(plan: Plan, label: Int8Array) -> Iterator[AtCutoff]:
    """Look at every cutoff of a plan.

    Args:
        label (int8 array, shape of the plan's ranks): 1, 0, or -1 where there is none.
    """
    notes, items = plan.notes, LabelledDraw(plan, label)
    for j, (text, sample) in enumerate(zip(notes["cutoffs"], items.samples(), strict=True)):
        of_cutoff, cutoff, size = items.is_in_cutoff(j), Cutoff.parse(text), max(notes["size_a"][j], notes["size_b"][j])
        wanted = float(plan.parameters["within"]) * (int(cutoff.value) if cutoff.kind == "rank" else size)
        sides = int(notes["gains"][j]), int(notes["losses"][j])
        tops = int(notes["size_a"][j]), int(notes["size_b"][j])
        bounds = _bounds(items, j, of_cutoff, sample)
        drawn, positive, missing = items.counts_at(j, of_cutoff)
        yield AtCutoff(cutoff, *tops, *sides, drawn, positive, missing, wanted, bounds)


def _bounds(items: LabelledDraw, j: int, of_cutoff: BoolArray, sample: CutoffSample) -> DifferenceBounds:
    """Bounds at cutoff j, of one look, of looks at any time, or of both."""
    cutoffs, confidence = items.rates.size, float(items.plan.parameters["confidence"])
    looks = cast(Looks, items.plan.parameters["look"])
    (gains, losses), ahead = items.sizes[j].sum(axis=1).tolist(), int(items.sizes[j, 0, 1] - items.sizes[j, 1, 1])
    both, decided = (np.array([-losses]), np.array([gains])), None
    if error := bet_error(confidence, cutoffs, looks):
        bet = items.walk(j, of_cutoff, error)
        both, decided = (bet.lower, bet.upper), bet.decided_at if bet.sign else None
    if error := count_error(confidence, cutoffs, looks):
        low, high = sample.limits(error)
        bet_alone = both
        both = intersect((np.array([max(-losses, ahead + low)]), np.array([min(gains, ahead + high)])), both)
        if both[0] < bet_alone[0] or both[1] > bet_alone[1]:  # the looks exclude one another: that at the end counts
            decided = None
    estimated = sample.estimate(*items.shares(j, of_cutoff))
    estimate = None if estimated is None else ahead + estimated
    return DifferenceBounds(int(both[0][0]), estimate, int(both[1][0]), decided)
