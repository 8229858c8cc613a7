"""A judge says of every item of a list, or of a sample, whether it is positive, and may be wrong anywhere.

Only the width of bounds depends on it. Its values are put into classes by thresholds that the plan fixes; every class
is predicted by itself (`streameval.kernels.martingale`), so that a judge who is always wrong is as good as one who is
always right, and a worthless one costs nothing. Classes are fixed before there are labels: thresholds that were chosen
by labels, or a judge that was made with them, would break the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.judges.values import Judge
from streameval.kernels.sorted_sets import unique
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt8Array


def judge_of(plan: Plan) -> Judge | None:
    """The judge of a plan; None where it has none, or none that has answered."""
    return None if plan.judge_counts is None else asked_judge(plan)


def asked_judge(plan: Plan) -> Judge | None:
    """The judge of a plan, whether or not it has answered; None where there is none."""
    note: Mapping[str, Any] | None = plan.notes.get("judge")
    return None if note is None else Judge(note["column"], tuple(note["thresholds"]))


def awaits_judge(plan: Plan) -> bool:
    """Tell whether a judge was given a sample to answer for, and has not yet: nobody may label before it has."""
    return plan.judge_sample is not None and plan.judge_counts is None


def assign_judge(plan: Plan, judge: Judge) -> Plan:
    """Give a plan the judge that will answer for its sample: its classes are fixed from here on."""
    return plan.with_notes(judge={**judge.note(), "sample": True, "answered": False})


def with_answers(plan: Plan, ends: Int64Array, codes: UInt8Array, answers: FloatArray | None = None) -> Plan:
    """Give a plan what the judge said of its sample; from here on `plan_id` covers it.

    Args:
        ends (int64 array, shape (blocks,)): Last rank of each block.
        codes (uint8 array): Class of each rank of the sample.
        answers (float64 array): What the judge said itself; NaN where it has no answer.
    """
    judge = asked_judge(plan)
    if judge is None or plan.judge_sample is None:
        raise ValueError("no judge was asked")
    rank = plan.judge_sample.column("rank").to_numpy()
    flat = np.searchsorted(ends, rank) * judge.classes + codes
    counts = np.bincount(flat, minlength=ends.size * judge.classes).reshape(-1, judge.classes)
    judged = with_judge(plan, judge, ends, counts, (rank, codes))
    if answers is None or judged.judge_sample is None:
        return judged
    words = pa.array(answers, from_pandas=True)
    return replace(judged, judge_sample=judged.judge_sample.append_column("judge", words))


def with_judge(
    plan: Plan, judge: Judge, ends: Int64Array, counts: Int64Array, answers: tuple[Int64Array, UInt8Array]
) -> Plan:
    """Give a plan its judge: from here on `plan_id` covers what the judge said.

    Args:
        ends (int64 array, shape (blocks,)): Last rank of each block.
        counts (int64 array, shape (blocks, classes)): Items of each block in each class, of those that it judged.
        answers: Ranks in ascending order, the planned ones among them, and the class of each; where they are more than
            the planned ones, the plan keeps them.
    """
    classes = np.arange(judge.classes, dtype=np.int8)
    table = pa.table(
        {
            "stratum_last": np.repeat(ends, judge.classes),
            "judge_class": np.tile(classes, ends.size),
            "items": counts.reshape(-1),
        }
    )
    rank, codes = answers
    sample = pa.table({"rank": rank, "judge_class": codes.astype(np.int8)})
    note = judge.note()
    if plan.judge_sample is not None:
        note |= {"sample": True}
    elif rank.size > plan.ranks.size:
        note |= {"reserve": True}
    judged = with_classes(replace(plan, judge_sample=sample, judge_counts=table).with_notes(judge=note))
    return judged if len(note) > 2 else replace(judged, judge_sample=None)


def with_classes(plan: Plan) -> Plan:
    """Look up the class of each planned rank among those that the plan keeps; unchanged where it keeps none."""
    sample = plan.judge_sample
    if sample is None or "judge_class" not in sample.column_names:
        return plan
    at = np.searchsorted(sample.column("rank").to_numpy(), plan.ranks)
    return replace(plan, table=plan.table.append_column("judge_class", sample.column("judge_class").take(pa.array(at))))


def judged_in_order(plan: Plan, judge: Judge, ends: Int64Array, codes: UInt8Array) -> Plan:
    """Give a plan its judge, where the class of every item is at hand, best rank first."""
    if plan.judge_sample is not None:
        return with_answers(assign_judge(plan, judge), ends, codes[plan.judge_sample.column("rank").to_numpy() - 1])
    every = np.arange(1, codes.size + 1)
    flat = np.searchsorted(ends, every) * judge.classes + codes
    counts = np.bincount(flat, minlength=ends.size * judge.classes).reshape(-1, judge.classes)
    return with_judge(plan, judge, ends, counts, (every, codes))


def without_judge(plan: Plan) -> Plan:
    """Give the same draw, as if nobody had judged."""
    notes = {key: value for key, value in plan.notes.items() if key != "judge"}
    return replace(plan, table=plan.table.drop_columns(["judge_class"]), judge_counts=None, notes=notes)


def counts_of(plan: Plan) -> dict[str, int]:
    """Items of the list in each class, by its name."""
    judge = judge_of(plan)
    if judge is None or plan.judge_counts is None:
        return {}
    items = plan.judge_counts.column("items").to_numpy().reshape(-1, judge.classes).sum(axis=0)
    return dict(zip(judge.names, items.tolist(), strict=True))


def classes_sentence(plan: Plan) -> str:
    """Say how many items of the list are in each class."""
    classes = ", ".join(f"{name}: {items:,}" for name, items in counts_of(plan).items() if items)
    return f"Items by what the judge says: {classes}. People should not see its answers."


def agreement(plan: Plan, labels: Labels, weight: FloatArray) -> dict[str, Any]:
    """Say how often a judge and people say the same, of items that have a label and an answer.

    An answer counts as positive where the middle of its class is at least .5: with a threshold at .5, where it is at
    least .5 itself.

    Args:
        weight (float64 array, shape (n_planned,)): Inverse of the probability with which each rank was drawn.

    Returns:
        dict: `column`, `thresholds`; `labels`, `share` (of these labels) and `share_of_list` (of all items with an
            answer, from labels weighted by `weight`: Hájek's estimate), both null without labels; `first_tenth`: how
            many of the labels are in the first tenth of the list; `by_rank`: labels and shares by powers of ten
            (`first`, `last` rank); `classes`: `name`, `items`, `labels`, `positive` of each.
    """
    judge = judge_of(plan)
    if judge is None:
        return {}
    judge_class = plan.table.column("judge_class").to_numpy()
    both = labels.known & (judge_class < judge.classes - 1)
    same = (judge.prior[judge_class] >= 0.5) == (labels.label == 1)
    fold = np.floor(np.log10(plan.ranks)).astype(np.int64)
    by_rank = []
    for decade in unique(fold):
        here = both & (fold == decade)
        last = min(10 ** int(decade + 1) - 1, plan.n_items)
        by_rank.append({"first": 10 ** int(decade), "last": last, **_share(same[here], weight[here])})
    classes = [
        {
            "name": name,
            "items": items,
            "labels": int(np.sum(labels.known & (judge_class == g))),
            "positive": int(np.sum((labels.label == 1) & (judge_class == g))),
        }
        for g, (name, items) in enumerate(counts_of(plan).items())
    ]
    near_top = int(np.sum(plan.ranks[both] <= plan.n_items / 10))
    return {
        **judge.note(),
        **_share(same[both], weight[both]),
        "first_tenth": near_top,
        "by_rank": by_rank,
        "classes": classes,
    }


def _share(same: BoolArray, weight: FloatArray) -> dict[str, Any]:
    if not same.size:
        return {"labels": 0, "share": None, "share_of_list": None}
    of_list = float(np.sum(weight[same]) / np.sum(weight))
    return {"labels": int(same.size), "share": float(same.mean()), "share_of_list": of_list}
