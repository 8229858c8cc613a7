"""Growth: what a study of yesterday's list is worth for today's, before anybody labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.options import listed
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.result_files import NO_LABELS
from streameval.types import Plan
from streameval.typing import AnyArray, Int64Array


@dataclass(frozen=True)
class Growth:
    """What two studies have in common.

    Attributes:
        summary: `items_before`, `items_after`; `planned` items of the later study, `known` of them from the earlier
            one, `labelled` there, `to_label`; `moved`: `same_rank`, `up`, `down`, `median_shift`, `largest_shift` of
            the known; `cutoffs`: where ranks of the earlier list stand in the later one, by score; `valid`: what stays
            true.
        items: Known items: `rank` and `rank_before` int64, `label` int8 (null where there is none).
    """

    summary: dict[str, Any]
    items: pa.Table


def growth(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    on: str | Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    existing: atomic.Existing = "kept",
) -> Growth:
    """Compare a study with a later one of the same list grown, both selected.

    A label belongs to an item, whatever its rank; ranks are chosen without a look at labels; so a label that an item
    got before is as good as one that is asked for now.

    Args:
        before, after: Studies.
        on: Columns that tell items apart (default: the later plan's key).
        out: Parquet file for `rank`, `label` of the items labelled before, to give to `evaluate`.
        existing ({"kept", "replaced"}): What becomes of a file that stands there and differs.

    Raises:
        StudyError: One has not been selected.
        InputError: A column is not in both, or does not tell items apart.
    """
    studies = [Study(Path(before)), Study(Path(after))]
    plans = [study.plan() for study in studies]
    key = list(listed(on or plans[1].ranking.get("key", ())))
    if not key:
        raise InputError("no column is known that tells items apart", "name one that both studies have: --on COL")
    old, new = (_items(study, plan, key) for study, plan in zip(studies, plans, strict=True))
    if old.select(key).schema.types != new.select(key).schema.types:
        raise InputError(f"column '{key[0]}' is of different types in the two studies")
    labels = _labels(studies[0])
    known = new.join(old.rename_columns(["rank_before", *key]), key, join_type="inner")
    known = known.join(labels, "rank_before", "rank", join_type="left outer").sort_by("rank")
    items = known.select(["rank", "rank_before", "label"])
    if out is not None:
        labelled = items.filter(pc.is_valid(items.column("label"))).select(["rank", "label"])
        facts = {"from": plans[0].plan_id, "for": plans[1].plan_id}
        atomic.write_out({Path(out): atomic.parquet(labelled, facts)}, existing)
    return Growth(_summary(studies, plans, items), items)


def _items(study: Study, plan: Plan, key: list[str]) -> pa.Table:
    selection = study.selection(plan)
    if selection is None:
        raise StudyError(f"{study.folder}: nothing is selected yet", f"run `streameval select {study.folder}`")
    for name in key:
        if name not in selection.column_names:
            raise InputError(f"{study.folder}: its items have no column '{name}'",
                             did_you_mean(name, selection.column_names))  # fmt: skip
    items = selection.select(["rank", *key])
    distinct = items.group_by(key).aggregate([([], "count_all")]).num_rows
    if distinct < items.num_rows:
        raise InputError(
            f"{study.folder}: '{', '.join(key)}' does not tell items apart: {items.num_rows:,} have {distinct:,} of it",
            "name columns that do: --on COL,COL",
        )
    return items


def _labels(study: Study) -> pa.Table:
    """Labels as they were evaluated last; none before."""
    if not (study.folder / "evaluation.json").exists():
        return NO_LABELS
    return study.evaluation().label_table.select(["rank", "label"])


def _summary(studies: list[Study], plans: list[Plan], items: pa.Table) -> dict[str, Any]:
    planned, labelled = plans[1].table.num_rows, items.num_rows - items.column("label").null_count
    shift = items.column("rank").to_numpy() - items.column("rank_before").to_numpy()
    fingerprint = plans[0].ranking.get("snapshot", plans[0].ranking.get("fingerprint"))
    return {
        "items_before": plans[0].n_items,
        "items_after": plans[1].n_items,
        "planned": planned,
        "known": items.num_rows,
        "labelled": labelled,
        "to_label": planned - labelled,
        "moved": {
            "same_rank": int(np.sum(shift == 0)),
            "up": int(np.sum(shift < 0)),
            "down": int(np.sum(shift > 0)),
            "median_shift": float(np.median(np.abs(shift))) if shift.size else 0.0,
            "largest_shift": int(np.max(np.abs(shift), initial=0)),
        },
        "cutoffs": _cutoffs(studies, plans),
        "valid": f"What {studies[0].folder} claims is about the list it was made for ({fingerprint}), and says nothing "
        "about what was added since.",
    }


def _cutoffs(studies: list[Study], plans: list[Plan]) -> list[dict[str, Any]]:
    """Between which ranks of the later list the scores at about powers of ten of the earlier one stand."""
    if plans[0].ranking.get("score") is None or plans[0].ranking.get("score") != plans[1].ranking.get("score"):
        return []
    tables = [study.thresholds(plan) for study, plan in zip(studies, plans, strict=True)]
    if tables[0] is None or tables[1] is None:
        return []
    sign = 1 if plans[1].ranking.get("ascending") else -1
    (old_ranks, old_scores), (ranks, scores) = (_numbers(table, sign) for table in tables if table is not None)
    if not old_ranks.size:
        return []
    tens = [10**k for k in range(len(str(plans[0].n_items)))] + [plans[0].n_items]
    at = np.unique(np.searchsorted(old_ranks, tens, side="right") - 1)
    places = []
    for rank, score in zip(old_ranks[at].tolist(), old_scores[at].tolist(), strict=True):
        low, high = np.searchsorted(scores, score, side="left"), np.searchsorted(scores, score, side="right")
        first = int(ranks[low - 1]) + 1 if low else 1
        last = int(ranks[high]) - 1 if high < ranks.size else plans[1].n_items
        shown = float(score) if isinstance(score, Decimal) else score
        places.append({"rank": rank, "score": sign * shown, "first_rank": first, "last_rank": max(first, last)})
    return places


def _numbers(table: pa.Table, sign: int) -> tuple[Int64Array, AnyArray]:
    """Ranks and scores, ascending, without those that are no numbers; integers and decimals as exactly as they are."""
    kind = table.column("score").type
    known = table.filter(pc.is_valid(table.column("score")))
    ranks, scores = known.column("rank").to_numpy(), known.column("score")
    if pa.types.is_floating(kind):
        return ranks, sign * scores.cast(pa.float64()).to_numpy()
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return ranks, sign * np.array(scores.to_pylist(), dtype=object)
    return np.empty(0, np.int64), np.empty(0)
