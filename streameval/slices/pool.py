"""Slices of one plan: their shares of its confidence and labels, their plans, and the bounds of the whole from theirs.

A plan by slices holds a plan for each slice of the list, the items that share a value of some column, in the list's
order. Each is made for 1 − δ/S, where the list's bounds are to hold with probability 1 − δ and there are S slices; so
the bounds of all slices, whatever else they assume, hold together with probability ≥ 1 − δ (a union bound, whether or
not the draws depend on each other).

The whole. Let n_s(r) of the list's first r items be in slice s: these numbers are counted when the plan is made. Then
Y(r) = Σ Y_s(n_s(r)), so that the sums of the slices' bounds at n_s(r) bound Y at every r at once, with the same
probability. Between the ranks r at which they were counted, Y is a walk with steps 0 or 1 (`curve.envelope.close`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.curve import Curve
from streameval.curve.envelope import Points, close, lift
from streameval.errors import StudyError
from streameval.kernels.sorted_sets import unique
from streameval.methods import method_of
from streameval.types import STRENGTH, Claim, Labels, Plan, SliceRecord
from streameval.typing import Int64Array

_RATIO = 1.005  # of the list's cutoffs at which slices are counted


@dataclass(frozen=True)
class SlicePlan:
    """A slice of a plan.

    Attributes:
        plan: Of the slice as a list of its own: its ranks are those within the slice.
        rows (int64 array): Rows of its ranks in the table of the whole plan.
    """

    name: str
    plan: Plan
    rows: Int64Array

    def labels(self, whole: Labels) -> Labels:
        """Labels of the slice, from those of the whole plan."""
        kept = (whole.label[self.rows], whole.votes[self.rows], whole.positive_votes[self.rows])
        return Labels(self.plan.ranks, *kept, about=whole.about, why=whole.why, error_rate=whole.error_rate)


def slice_confidence(confidence: float, slices: int) -> float:
    """Confidence of each slice, so that all of them hold together with `confidence`.

    >>> round(slice_confidence(0.95, 10), 6)
    0.995
    """
    return 1 - (1 - confidence) / slices


def budgets(budget: int, n_items: Sequence[int]) -> list[int]:
    """Share labels out equally, except that no slice is given more than it has items.

    >>> budgets(100, [1_000, 500, 10])
    [45, 45, 10]
    """
    shares = [0] * len(n_items)
    for left, at in enumerate(sorted(range(len(n_items)), key=lambda at: n_items[at])):
        shares[at] = min(n_items[at], (budget - sum(shares)) // (len(n_items) - left))
    return shares


def seed_of(seed: int, name: str) -> int:
    """Seed of a slice, of 53 bits: one slice more or less leaves the draws of the others as they are."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:8], "little") >> 11


def list_cutoffs(n_items: int) -> Int64Array:
    """Ranks of the list at which slices are counted: 1 to 100, then a grid, powers of ten, and N."""
    steps = int(np.ceil(np.log(max(n_items, 2)) / np.log(_RATIO)))
    grid = np.floor(_RATIO ** np.arange(steps)).astype(np.int64)
    powers = 10 ** np.arange(0, 16, dtype=np.int64)
    cutoffs = unique(np.arange(1, 101), grid, powers, [n_items])
    return cutoffs[cutoffs <= n_items]


def join_plans(
    slice_plans: Sequence[Plan], names: Sequence[str], rank: Sequence[Int64Array], parameters: Mapping[str, Any]
) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Put plans of slices into one table, in the list's order; with it, the facts to keep of each slice.

    Args:
        slice_plans: One for each slice.
        rank (sequence of int64 arrays): Rank in the list of every planned rank of the slice.
        parameters: As they were asked for: only what differs is kept for a slice.

    Returns:
        table: `rank`, `stratum` (within the slice), the method's own columns, `slice`, `slice_rank`.
        slices: Name, size, seed, parameters that differ, notes.
    """
    tables, notes = [], []
    for part, name, ranks in zip(slice_plans, names, rank, strict=True):
        columns = part.table.drop_columns(["rank"])
        table = pa.table({"rank": ranks, **{key: columns.column(key) for key in columns.column_names}})
        table = table.append_column("slice", pa.array([name] * ranks.size, pa.string()))
        tables.append(table.append_column("slice_rank", pa.array(part.ranks)))
        differ = {key: value for key, value in part.parameters.items() if value != parameters.get(key)}
        notes.append(asdict(SliceRecord(name, part.n_items, part.seed, differ, dict(part.notes))))
    whole = pa.concat_tables(tables, promote_options="default")
    return whole.take(pc.sort_indices(whole, sort_keys=[("rank", "ascending")])).combine_chunks(), notes


def slice_plans(plan: Plan) -> list[SlicePlan]:
    """Slices of a plan, the largest first, each with its share of the confidence."""
    slices, method = plan.slices, method_of(plan)
    placed = _rows(plan.table.column("slice"), [entry.name for entry in slices])
    names = [name for name in plan.table.column_names if name not in ("rank", "slice", "slice_rank")]
    parts = []
    for entry, rows in zip(slices, placed, strict=True):
        slice_rows = plan.table.take(pa.array(rows))
        table = pa.table({"rank": slice_rows.column("slice_rank"), **{key: slice_rows.column(key) for key in names}})
        parameters = {**plan.parameters, **entry.parameters}
        if method.confidence is not None:
            parameters["confidence"] = slice_confidence(method.confidence, len(slices))
        part = Plan(plan.method, parameters, entry.n_items, entry.seed, table, plan.ranking, entry.notes)
        parts.append(SlicePlan(entry.name, part, rows))
    return parts


def _rows(column: pa.ChunkedArray, names: Sequence[str]) -> list[Int64Array]:
    """Rows of each name, ascending: one pass, however many names there are."""
    codes = pc.index_in(column, value_set=pa.array(names, pa.string())).to_numpy()
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    return np.split(np.argsort(codes, kind="stable"), ends)


def marks_table(
    names: Sequence[str], within: Sequence[Int64Array], rank: Sequence[Int64Array], kinds: Sequence[str]
) -> pa.Table:
    """Facts "the first `rank` items of the list hold `slice_rank` of the slice", by rank and slice.

    Args:
        names: A slice may be named more than once.
        within, rank (sequences of int64 arrays): For each name, ranks within the slice and in the list.
        kinds (sequence of {"item", "cutoff"}): For each name: whether the item at `rank` is the very one at
            `slice_rank`, or any.

    Returns:
        pyarrow.Table: `slice`, `slice_rank`, `rank`, `is_item`.
    """
    sizes = [some.size for some in rank]
    table = pa.table(
        {
            "slice": pa.array(np.repeat(np.array(names, dtype=object), sizes), pa.string()),
            "slice_rank": np.concatenate([np.empty(0, np.int64), *within]),
            "rank": np.concatenate([np.empty(0, np.int64), *rank]),
            "is_item": np.repeat(np.array([kind == "item" for kind in kinds], np.bool_), sizes),
        }
    )  # fmt: skip
    return table.sort_by([("rank", "ascending"), ("slice", "ascending"), ("slice_rank", "ascending")]).combine_chunks()


def slice_scores(marks: pa.Table, names: Sequence[str], scores: pa.Table) -> list[pa.Table]:
    """Scores at ranks of slices, from those of the list.

    Args:
        marks: See `marks_table`.
        names: Of the slices.
        scores: `rank`, `score` of the list.

    Returns:
        list of pyarrow.Table: For each name `rank` (within the slice) and `score`.
    """
    items = marks.filter(marks.column("is_item"))
    at = pc.index_in(items.column("rank"), value_set=scores.column("rank").combine_chunks())
    scored = items.filter(pc.is_valid(at))
    table = pa.table({"rank": scored.column("slice_rank"), "score": scores.column("score").take(at.drop_null())})
    return [table.take(pa.array(rows)) for rows in _rows(scored.column("slice"), names)]


def pool_bounds(plan: Plan, curves: Mapping[str, Curve], labels: Labels, label_error: float) -> Curve:
    """Bounds on the whole list from those of its slices.

    Args:
        labels: Of the whole plan, which is by slices; `curves` are those of all slices, by name.
        label_error: Where it is not 0, a label is not the truth of its item, and only the slices' bounds are used.
    """
    cutoffs, inside = counts_of_slices(plan, list(curves))
    bounds = [curve.envelope.at(inside[:, at]) for at, curve in enumerate(curves.values())]
    lower, upper = (np.sum([ends[side] for ends in bounds], axis=0) for side in (0, 1))
    points = Points(cutoffs, lower, upper)
    if label_error == 0:
        envelope = close(plan.n_items, points, labels.rank, labels.label)
    else:
        envelope = lift(plan.n_items, points)
    diagnostics = {
        "consistent": envelope.consistent,
        "slices": {name: dict(curve.diagnostics) for name, curve in curves.items()},
    }
    claim = _claim(curves, method_of(plan).confidence)
    return Curve(plan.n_items, envelope, cutoffs, claim, diagnostics, findings=_findings(curves))


def counts_of_slices(plan: Plan, names: Sequence[str]) -> tuple[Int64Array, Int64Array]:
    """Ranks of the list at which every slice was counted, and the counts, shape (ranks, slices)."""
    if plan.marks is None:
        raise StudyError("a plan by slices has lost its slice_counts.parquet", "restore it")
    marks = plan.marks.filter(pc.invert(plan.marks.column("is_item")))
    within = marks.column("slice_rank").to_numpy()
    inside = [within[rows] for rows in _rows(marks.column("slice"), names)]
    return unique(marks.column("rank").to_numpy()), np.stack(inside, axis=1)


def _claim(curves: Mapping[str, Curve], confidence: float | None) -> Claim:
    """The claim that holds for all slices together: the weakest among them, under all of their assumptions."""
    claims = [curve.claim for curve in curves.values()]
    coverage = min((claim.coverage for claim in claims), key=STRENGTH.index)
    if coverage == "exact":
        return claims[0]
    weakest = next(claim for claim in claims if claim.coverage == coverage)
    chance = any(claim.confidence is not None and claim.coverage != "exact" for claim in claims)
    assumes = list(dict.fromkeys(claim.assumes for claim in claims if claim.coverage != "exact"))
    assumption = assumes[0] if len(assumes) == 1 else "of each slice what its own bounds assume"
    if not chance:
        return replace(weakest, assumes=assumption)
    level = confidence if confidence is not None else 1 - sum(1 - (c.confidence or 1.0) for c in claims)
    return replace(weakest, confidence=level, assumes=assumption)


def _findings(curves: Mapping[str, Curve]) -> tuple[str, ...]:
    """Why slices promise nothing, where they do not."""
    lost = {name: curve for name, curve in curves.items() if not curve.proves}
    if not lost:
        return ()
    name, curve = next(iter(lost.items()))
    why = f" ({name}: {curve.findings[0]})" if curve.findings else ""
    return (f"{len(lost)} of {len(curves)} slices promise nothing, so the whole does not{why}",)
