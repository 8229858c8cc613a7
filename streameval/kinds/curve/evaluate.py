"""Labels of a plan, turned into its curve and all that follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.curve import Basis, Curve
from streameval.curve.label_error import check_label_error
from streameval.errors import InputError, check_misses
from streameval.judges.classes import awaits_judge
from streameval.kernels.sorted_sets import unique
from streameval.kinds.curve.missed import Rest, refuse_overlap, rest_of, sharing, with_rest
from streameval.kinds.first_rule import first_rule, summary_before
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.rules import vote_rule
from streameval.labelling.tally import Tallied
from streameval.methods import method_of
from streameval.metrics.bounded import metrics
from streameval.slices.files import slice_tables
from streameval.slices.plan import refuse_misses, slice_results
from streameval.study import Study
from streameval.study.formats import marked
from streameval.study.judging import as_read, curve_of, half_width_of, slice_curves, whole_curve
from streameval.study.results import Evaluation, evaluation_id
from streameval.study.take_in import take_in
from streameval.study.tasks import task_numbers
from streameval.study.weights import draw_weights
from streameval.types import Plan
from streameval.typing import BoolArray, Int64Array

_LEVEL = 0.05
_DECIDED = 0.95


def evaluated(folder: Study, labels: Sequence[Any], asked: Sequence[Any]) -> tuple[Plan, Evaluation]:
    """Store labels, and compute every result; nothing but labels is written.

    Args:
        asked: `LabelColumns`, `Judging`, `Misses`.
    """
    columns, judging, missed = asked
    misses = check_misses(missed.misses)
    check_label_error(judging.label_error)
    vote_rule(judging.vote)
    if misses and missed.misses_from is not None:
        raise InputError("--misses were given as a number and as a study", "give one of them")
    plan = folder.plan()
    rest = None if missed.misses_from is None else rest_of(Path(missed.misses_from), plan)
    if rest is not None:
        refuse_overlap(folder, plan, rest)
    refuse_misses(plan, misses or int(rest is not None))
    return plan, _evaluated(folder, plan, labels, rest or misses, (columns, judging))


def _evaluated(
    folder: Study, plan: Plan, sources: Sequence[Any], missed: Rest | int, how: tuple[LabelColumns, Judging]
) -> Evaluation:
    """Store the labels, and compute."""
    if awaits_judge(plan):
        raise InputError(f"{folder.folder}: its judge has to answer before anybody labels",
                         f"streameval judge {folder.folder} FILE")  # fmt: skip
    columns, judging = how
    rest, misses = (None, missed) if isinstance(missed, int) else (missed, 0)
    read_as = sharing(as_read(plan, judging), rest)
    taken = take_in(folder, plan, sources, columns, judging)
    tallied, thresholds = taken.tallied, folder.thresholds(plan)
    curve, parts = _curves(plan, read_as, tallied, judging.label_error)
    curve = curve.with_misses(misses) if rest is None else with_rest(curve, plan, rest)
    slices = slice_results(plan, tallied.labels, parts, thresholds)
    if thresholds is not None:
        curve = curve.with_score(thresholds)
    curve = curve.settled
    summary = {**_summary(as_read(plan, judging), tallied, curve, judging), "study": plan.plan_id}
    summary |= {} if rest is None else rest.facts(curve)
    facts = {"by": plan.by, "slices": [one.facts() for one in slices]} if slices else {}
    facts["votes"] = taken.state
    summary |= {"agreement": tallied.agreement.as_dict(), "sources": taken.given, **taken.doubts, **taken.told, **facts}
    summary["label_tables"] = taken.history
    summary["first_rule"] = first_rule(summary_before(folder, plan)) or first_rule(summary)
    table = with_weights(tallied.labels.table, plan, curve)
    identity = summary["evaluation_id"]
    tables = {**slice_tables(slices), "labels": table, "issues": tallied.issues, "envelope": curve.envelope_table,
              "curve": curve.table, "metrics": metrics(curve)}  # fmt: skip
    return Evaluation(identity, summary, tables, curve=curve, slices=slices, new=taken.new)


def _curves(plan: Plan, read_as: Plan, tallied: Tallied, error: float) -> tuple[Curve, dict[str, Curve]]:
    """Curve of the whole list, and those of its slices, estimated as far as the labels at hand allow."""
    basis = basis_of(plan, tallied)
    parts = slice_curves(read_as, tallied.labels, error)
    curve = whole_curve(read_as, tallied.labels, error, parts).on(basis)
    return curve, {name: one.on(basis).settled for name, one in parts.items()}


def _summary(plan: Plan, tallied: Tallied, curve: Curve, judging: Judging) -> dict[str, Any]:
    missed = curve.misses if curve.misses_upper is None else curve.misses_text
    return {
        **marked("curve"),
        "evaluation_id": evaluation_id(plan, tallied.labels, missed, judging.label_error),
        "version": __version__,
        "n_items": plan.n_items,
        "misses": curve.misses,
        "method": plan.method,
        "parameters": dict(plan.parameters),
        "vote": str(vote_rule(judging.vote)),
        "prefer": list(judging.prefer),
        "label_error": judging.label_error,
        "assume": judging.assume,
        "claim": curve.claim.as_dict(),
        "estimates": curve.basis,
        "findings": list(curve.findings),
        "diagnostics": dict(curve.diagnostics),
        "half_width": half_width_of(plan, curve, int(tallied.labels.account["missing"]), judging.label_error),
        "account": dict(tallied.labels.account),
    }


def width_by_now(plan: Plan, tallied: Tallied, judging: Judging) -> dict[str, Any]:
    """Half-width that the labels so far give, and what its bounds promise."""
    read = as_read(plan, judging)
    curve = curve_of(read, tallied.labels, judging.label_error)
    width = half_width_of(read, curve, int(tallied.labels.account["missing"]), judging.label_error)
    return {**width, "coverage": curve.claim.coverage}


def basis_of(plan: Plan, tallied: Tallied) -> Basis:
    """Say what estimates may be made of while planned labels are missing.

    Of the labels at hand, where these are a random part of the tasks. Tasks are numbered in a shuffle, so whoever does
    them in order and stops has answered a random part of the planned ranks, whatever the items are. That is said where
    every answered task comes before every unanswered one, or where the two kinds lie alike along the list (Kolmogorov
    and Smirnov's test of two samples does not tell them apart at 5 %). Otherwise there is no estimate, though bounds
    hold whatever is missing.

    An item that was skipped, or whose votes leave it open, was answered: it is unknown in the bounds, and where more
    than a twentieth of the planned items are such, there is no estimate either.
    """
    labels, answered = tallied.labels, tallied.answered
    if answered.all():
        return "labels" if labels.known.mean() >= _DECIDED else "none"
    both = unique(labels.label[labels.known]).size == 2  # one kind alone is no random part
    shuffled = method_of(plan).planned  # of labels that were drawn elsewhere, nobody shuffled the tasks
    return "labels at hand" if both and shuffled and _random_part(task_numbers(plan), answered) else "none"


def _random_part(number: Int64Array, answered: BoolArray) -> bool:
    if number[answered].max() < number[~answered].min():
        return True
    share = np.abs(np.cumsum(answered) / answered.sum() - np.cumsum(~answered) / (~answered).sum())
    size = math.sqrt(answered.sum() * float((~answered).sum()) / answered.size)
    reach = (size + 0.12 + 0.11 / size) * float(share.max())
    tail = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * reach) ** 2) for k in range(1, 101))
    return reach < 0.2 or tail >= _LEVEL


def with_weights(labels: pa.Table, plan: Plan, curve: Curve) -> pa.Table:
    """Put `weight` and `draw_weight` (float64, null where unknown) beside the labels of a plan.

    `draw_weight` is that of `draw_weights`. `weight` is for how many items the label of a rank stands in the estimated
    curve (`streameval.curve.pooling`), 0 without a label: it sums to N, and its sum over the positive labels is the
    estimate of the positives, unless that was cut to its bounds.

    Where what labels said decided whether a plan grew, averages lean a little towards what stopped it; bounds pay for
    that, averages do not.

    Args:
        curve: As it was made of these labels.
    """
    estimated = None if curve.estimated is None else curve.estimated.weight
    weights = pa.nulls(labels.num_rows, pa.float64()) if estimated is None else pa.array(estimated)
    drawn = pa.array(draw_weights(plan), from_pandas=True)
    return labels.append_column("weight", weights).append_column("draw_weight", drawn)
