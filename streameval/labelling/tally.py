"""From votes to labels, and the account of every row and every planned rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.kernels.sorted_sets import isin
from streameval.labelling.answers import Agreement, agreement, whose
from streameval.labelling.fates import fold
from streameval.labelling.issues import issues_of, trouble_between_strangers, undecided_at, untimed_rows
from streameval.labelling.rules import VoteCounts, VoteRule
from streameval.labelling.unlabelled import count_unlabelled
from streameval.types import Labels, Plan
from streameval.typing import BoolArray

_FATES = ("again", "superseded", "outranked", "repeat", "control", "rejected", "blank", "unreadable", "unknown")


@dataclass(frozen=True)
class Tallied:
    """Labels and account that follow from the stored votes.

    Attributes:
        rows: Every stored row with its `fate` (see `streameval.labelling.fates`).
        issues: See `streameval.labelling.issues`.
        answered (bool array, shape (n_planned,)): Whether anybody answered or skipped the item of a planned rank.
    """

    labels: Labels
    rows: pa.Table
    issues: pa.Table
    agreement: Agreement
    answered: BoolArray


def tally(
    plan: Plan,
    stored: pa.Table,
    rule: VoteRule,
    prefer: Sequence[str] = (),
    extra: pa.Table | None = None,
) -> Tallied:
    """Count the votes of every planned rank, and let the rule decide.

    Args:
        stored, prefer, extra: As in `streameval.labelling.fates.fold`.

    Returns:
        Tallied: `labels.account` counts ranks: planned, labelled, positive, missing (planned ranks without a label),
            and of these open (nobody answered or skipped them), undecided (their answers tie or contradict each other)
            and skipped (all others); and rows: votes, doubled, contradictory, and every other fate of a row. Rows that
            name no annotator and agree on a rank are doubled as well, and contradictory where they do not agree, though
            each is a vote.
    """
    rows = fold(stored, rule, prefer, extra)
    counts = _counts(plan, rows, rule)
    label = rule.decide(counts)
    strangers = trouble_between_strangers(rows)
    silent = pc.is_in(
        rows.column("fate"), value_set=pa.array(["rejected", "blank", "unreadable", "unknown", "control"])
    )
    answered = isin(plan.ranks, rows.filter(pc.invert(silent)).column("rank").to_numpy())
    fates = {pair["values"]: pair["counts"] for pair in pc.value_counts(rows.column("fate")).to_pylist()}
    account = {
        "planned": int(label.size),
        "labelled": int(np.sum(label >= 0)),
        "missing": int(np.sum(label < 0)),
        "open": int(np.sum(~answered)),
        "positive": int(np.sum(label == 1)),
        "undecided": int(np.sum(undecided_at(Labels(plan.ranks, label, counts.votes, counts.positive), rows))),
        "votes": int(counts.votes.sum()),
        "doubled": fates.get("doubled", 0) + strangers.column("kind").to_pylist().count("doubled"),
        "contradictory": fates.get("contradictory", 0) + strangers.column("kind").to_pylist().count("contradictory"),
        "untimed": untimed_rows(rows).num_rows,
        **{fate: int(fates.get(fate, 0)) for fate in _FATES},
    }
    account["skipped"] = count_unlabelled(account)["skipped"]
    people = agreement(rows, extra)
    meaning = whose(rows, counts, label, plan.ranks, people, rule)
    labels = Labels(plan.ranks, label, counts.votes, counts.positive, account, *meaning)
    return Tallied(labels, rows, issues_of(labels, rows, strangers), people, answered)


def with_unlisted(account: Mapping[str, int], unlisted: Sequence[Mapping[str, int]], unplanned: int) -> dict[str, int]:
    """Add the rows that sources counted without listing them."""
    more = {kind: sum(counts.get(kind, 0) for counts in unlisted) for kind in ("unknown", "unreadable")}
    return {**{key: value + more.get(key, 0) for key, value in account.items()}, "unplanned": unplanned}


def _counts(plan: Plan, rows: pa.Table, rule: VoteRule) -> VoteCounts:
    counting = rows.filter(pc.equal(rows.column("fate"), "vote"))
    at = np.searchsorted(plan.ranks, counting.column("rank").to_numpy())
    value = counting.column("value").to_numpy().astype(np.float64)
    n = plan.ranks.size
    votes = np.bincount(at, minlength=n)
    positive = np.bincount(at[value >= rule.least], minlength=n)
    total = np.bincount(at, weights=value, minlength=n)
    return VoteCounts(votes.astype(np.int64), positive.astype(np.int64), total.astype(np.float64))
