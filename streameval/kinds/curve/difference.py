"""Two rankings by what their studies hold, with bounds on every difference at one joint confidence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.errors import StudyError
from streameval.kernels.sorted_sets import unique
from streameval.methods import create
from streameval.questions.printed import measure_of
from streameval.reporting.comparison import claim_sentence, difference_number, main_rows, sides, verdict
from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study
from streameval.study.comparison import Comparison, Side, alike, differences, subtract
from streameval.study.judging import curve_of
from streameval.study.result_files import Evaluation
from streameval.types import STRENGTH, TRUTH, Claim, Plan


def compared(a: Path, b: Path, confidence: float) -> Comparison:
    """Compare two curves.

    Each is computed anew at 1 − δ/2 (1 − δ where the other promises nothing by chance, or is exact), so that with
    probability ≥ 1 − δ the bounds of both hold, whatever one draw or list has to do with the other. Two orders of the
    same items, judged alike, have the same number of positives, on which the bounds of both are brought to bear.
    """
    read = [_read(path) for path in (a, b)]
    chances = sum(_by_chance(evaluation) for _, _, evaluation in read)
    share = 1 - (1 - confidence) / max(1, chances)
    left, right = (_side(*one, share) for one in read)
    lists, agree = _lists(left, right), True
    same = lists != "two lists" and alike(left, right)
    if same and "none" not in (left.curve.claim.coverage, right.curve.claim.coverage):
        shared = sharing_positives(left, right)
        agree, (left, right) = shared is not None, shared or (left, right)
    claim = _joint(left.curve.claim, right.curve.claim, confidence if chances else None)
    if same and left.judged != right.judged:
        (column,) = (side.judged for side in (left, right) if side.counted is not None)
        claim = replace(claim, assumes=f"{claim.assumes}; and the study's labels are those of {column}")
    table = differences(left, right)
    told = claim.coverage != "none" and agree and lists != "the same list"
    return Comparison(
        a=left,
        b=right,
        claim=claim,
        lists=lists,
        curves=_with_higher(_curves(left.curve, right.curve), "difference_", told),
        differences=_with_higher(table, "", told),
        agree=agree,
    )


def _read(path: str | os.PathLike[str]) -> tuple[str, Plan | None, Evaluation]:
    """Results, and their plan; results of `exact` have none."""
    folder = Study(Path(path))
    if not folder.exists and (folder.folder / "evaluation.json").exists():
        return os.fspath(path), None, folder.evaluation()
    plan, evaluation = folder.plan(), folder.evaluation()
    return os.fspath(path), plan, evaluation


def _lists(a: Side, b: Side) -> str:
    if a.ranking.get("fingerprint") != b.ranking.get("fingerprint"):
        return "two lists"
    same = all(a.ranking.get(key) == b.ranking.get(key) for key in ("score", "ascending"))
    return "the same list" if same else "two orders of the same items"


def _by_chance(evaluation: Evaluation) -> bool:
    return evaluation.curve.claim.confidence not in (None, 1.0) and evaluation.curve.claim.coverage != "exact"


def _side(name: str, plan: Plan | None, evaluation: Evaluation, share: float) -> Side:
    """Compute a side's curve anew at its share of the confidence."""
    labelled = int(evaluation.summary["account"]["labelled"])
    if plan is None:
        judged = f"column {evaluation.summary['parameters']['label']}"
        ranking = evaluation.summary["ranking"]
        return Side(name, "exact", ranking, labelled, evaluation.curve, judged, evaluation.metrics)
    parameters = dict(evaluation.summary["parameters"])
    curve = evaluation.curve
    if curve.misses_upper is not None:
        raise StudyError(f"{name}: another study bounds its misses, and would need a share of the confidence",
                         "evaluate both with --misses, or without")  # fmt: skip
    if _by_chance(evaluation):
        if create(plan.method, parameters).level is None:
            raise StudyError(f"{name}: method {plan.method} has no confidence to share")
        error = float(evaluation.summary.get("label_error", 0.0))
        curve = curve_of(replace(plan, parameters={**parameters, "confidence": share}), evaluation.labels, error)
        curve = replace(curve, misses=evaluation.curve.misses, score=evaluation.curve.score)
    # an estimate does not depend on the confidence, nor on what the other side says: it is that of evaluate
    curve = replace(curve, estimated=evaluation.curve.estimated, basis=evaluation.curve.basis)
    return Side(name, plan.method, plan.ranking, labelled, curve, _judged(evaluation.summary))


def _judged(summary: Mapping[str, Any]) -> str:
    rule, prefer = str(summary["vote"]), ", ".join(summary["prefer"])
    return f"{rule}, preferring {prefer}" if prefer else rule


def sharing_positives(a: Side, b: Side) -> tuple[Side, Side] | None:
    """Narrow each side's bounds on the positives of the list by the other's; None where they do not meet."""
    bounds = [side.curve.envelope.at([side.curve.n_items]) for side in (a, b)]
    low, high = max(float(one[0][0]) for one in bounds), min(float(one[1][0]) for one in bounds)
    if low > high:
        return None
    shared = []
    for side in (a, b):
        e = side.curve.envelope
        lower, upper = np.append(e.lower[:-1], low), np.append(e.upper[:-1], high)
        envelope = lift(side.curve.n_items, Points(e.rank, lower, upper))
        shared.append(replace(side, curve=replace(side.curve, envelope=envelope)))
    return shared[0], shared[1]


def _joint(a: Claim, b: Claim, confidence: float | None) -> Claim:
    """What holds of both together: the weaker of the two, under the assumptions of both."""
    coverage = min(a.coverage, b.coverage, key=STRENGTH.index)
    assumes = a.assumes if a.assumes == b.assumes else f"of the first: {a.assumed}; of the second: {b.assumed}"
    disputed = [(name, one) for name, one in (("first", a), ("second", b)) if one.caution]
    about = disputed[0][1].about if disputed else TRUTH
    why = "; ".join(f"of the {name}, {one.why}" for name, one in disputed)
    return Claim(coverage, 1.0 if coverage == "exact" else confidence, assumes, about, why)


def _curves(a: Curve, b: Curve) -> pa.Table:
    """Precision of both at every rank that either curve shows, as far as both reach."""
    ranks = unique(a.grid, b.grid)
    ranks = ranks[ranks <= min(a.n_items, b.n_items)]
    left, right = a.at(ranks), b.at(ranks)
    columns: dict[str, Any] = {"rank": ranks}
    for name, table in (("a", left), ("b", right)):
        columns |= {f"precision_{name}{end}": table.column(f"precision{end}") for end in ("_lower", "", "_upper")}
    low, estimate, high = (
        subtract(left.column(f"precision{one}").to_numpy(), right.column(f"precision{other}").to_numpy())
        for one, other in (("_lower", "_upper"), ("", ""), ("_upper", "_lower"))
    )
    return pa.table({**columns, "difference_lower": low, "difference": estimate, "difference_upper": high})


def _with_higher(table: pa.Table, prefix: str, told: bool) -> pa.Table:
    """Add which side is higher, where both bounds of the difference agree and promise something."""
    low = table.column(f"{prefix}lower").to_numpy(zero_copy_only=False)
    high = table.column(f"{prefix}upper").to_numpy(zero_copy_only=False)
    higher = np.where(low > 0, "a", np.where(high < 0, "b", ""))
    open_ = (higher == "") | (not told)
    return table.append_column("higher", pa.array(higher.tolist(), pa.string(), mask=open_))


def difference_says(found: Comparison) -> tuple[dict[str, Any], list[Paragraph]]:
    """Say which side is higher, and the difference of the main metrics."""
    rows = found.differences.to_pylist()
    result = {
        "a": _described(found.a),
        "b": _described(found.b),
        "lists": found.lists,
        "claim": found.claim.as_dict(),
        "verdict": verdict(found),
        "differences": rows,
    }
    cells = [
        [measure_of(row["metric"], row["argument"]),
         *(difference_number(row[key], "-") for key in ("a", "b", "lower", "upper")), row["higher"] or "-"]
        for row in main_rows(rows)
    ]  # fmt: skip
    table = Columns(["", "a", "b", "a - b at least", "at most", "higher"], cells)
    basis = dict.fromkeys(estimate_sentence(side.curve.basis) for side in (found.a, found.b))
    return result, [*sides(found), "", verdict(found), "", table, "", claim_sentence(found),
                    *filter(None, [*basis, _by_what_changed(found)])]  # fmt: skip


def _by_what_changed(found: Comparison) -> str:
    """What the same would take if only what changed had been labelled; of the last cutoff that is not a whole list."""
    from streameval.kinds.paired.cost import as_close_sentence

    shortest = min(found.a.curve.n_items, found.b.curve.n_items)  # the whole of a list does not change with its order
    rows = [
        row for row in found.differences.to_pylist()
        if row["metric"] == "precision_at" and row["lower"] is not None and int(row["argument"]) < shortest
    ]  # fmt: skip
    if found.lists == "the same list" or found.claim.coverage == "exact" or not rows:
        return ""
    deepest = max(rows, key=lambda row: int(row["argument"]))
    half_width = (deepest["upper"] - deepest["lower"]) / 2
    if not 0 < half_width < 1:
        return ""
    return as_close_sentence(int(deepest["argument"]), half_width, found.a.labels + found.b.labels)


def _described(side: Side) -> dict[str, Any]:
    return {"study": side.name, "method": side.method, "n_items": side.curve.n_items, "labels": side.labels,
            "judged": side.judged, "estimates": side.curve.basis, "claim": side.curve.claim.as_dict()}  # fmt: skip
