"""Whose answers a claim is about: the truth, or what the annotators would say.

Bounds are about the labels that items have, or would have been given. These are called the truth only where nobody
disputes them. The rule: a claim is about "what the annotators would say" where

- the labels that count come from more than one source (what a column `source` says, else the file's name), or
- any two answers to one item differ, of one rank among `--prefer` or of sources that both gave labels, or
- a repeated task got another answer, or a control item a wrong one.

The rate of wrong labels that this suggests for `--label-error` is the largest of: the rate e at which independent votes
of error e differ as often as these do, 2e(1 − e); the share of wrong answers of a less preferred source, where a more
preferred one decided and is taken to be right, among positives or among negatives, whichever is larger
(`--label-error` bounds both); the share of control items that were answered wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.agreement import Agreement
from streameval.labelling.rules import Counts
from streameval.text import short
from streameval.types import TRUTH
from streameval.typing import Int8Array, Int64Array

ANNOTATORS = "what the annotators would say"
_MOST = 5  # sources that are named


@dataclass(frozen=True)
class Dispute:
    """Answers that differ, of those that could.

    Attributes
    ----------
    what : str
        What they are, after "of".
    rate : float
        Share of wrong labels that it suggests.
    among : str
        Of which labels that is the share, where not of all.
    """

    differ: int
    of: int
    what: str
    rate: float
    among: str = ""


def whose(rows: pa.Table, counts: Counts, label: Int8Array, rank: Int64Array, people: Agreement,
          least: float) -> tuple[str, str]:  # fmt: skip
    """Say what the labels are answers to, and why.

    Parameters
    ----------
    rows : pyarrow.Table
        With `fate`, as `streameval.labelling.fates` gives them.
    label, rank : arrays, shape (n_planned,)
    least : float
        Least value of a positive vote.

    Returns
    -------
    about, why : str
        `TRUTH` and nothing, or `ANNOTATORS` and a clause: who gave how many labels, and the `--label-error` suggested.
    """
    sources = _sources(rows, rank[label >= 0])
    disputes = [_between_votes(rows, counts), *_repeats(people)]
    disputes += [_outranked(rows, name, label, rank, least) for name, _ in sources]
    disputed = [one for one in disputes if one.differ]
    if len(sources) < 2 and not disputed:
        return TRUTH, ""
    given = ", ".join(f"{count:,} from {short(name)}" for name, count in sources[:_MOST])
    more = f" and others from {len(sources) - _MOST:,} more sources" if len(sources) > _MOST else ""
    return ANNOTATORS, f"labels are {given}{more}; {_said(disputed, disputes)}"


def _said(disputed: Sequence[Dispute], disputes: Sequence[Dispute]) -> str:
    told = ", ".join(f"{one.differ:,} of {one.of:,} {one.what} differ" for one in disputed)
    if not disputed:
        twice = sum(one.of for one in disputes)
        return f"no two of their answers differ, among {twice:,} that could" if twice else (
            "no item was answered twice, so nothing says how often they err"
        )  # fmt: skip
    worst = max(disputed, key=lambda one: one.rate)
    if worst.rate >= 0.4995:
        return f"{told}: no --label-error below 0.5 allows for that"
    return f"{told}, which suggests{worst.among} --label-error {math.ceil(worst.rate * 1000 - 1e-9) / 1000:g}"


def _sources(rows: pa.Table, labelled: Int64Array) -> list[tuple[str, int]]:
    """Sources of the labels that count, each with how many it has a vote on, the most first."""
    voted = rows.filter(pc.and_(pc.equal(rows.column("fate"), "vote"), pc.is_in(rows.column("rank"),
                        value_set=pa.array(labelled))))  # fmt: skip
    found = voted.group_by("origin").aggregate([("rank", "count_distinct")])
    pairs = zip(found.column("origin").to_pylist(), found.column("rank_count_distinct").to_pylist(), strict=True)
    return sorted(pairs, key=lambda one: (-one[1], one[0]))


def _between_votes(rows: pa.Table, counts: Counts) -> Dispute:
    """Pairs of votes on one item; two sources that contradict each other leave no vote, and are a pair."""
    votes, positive = counts.votes, counts.positive
    torn = rows.filter(pc.equal(rows.column("fate"), "contradictory")).column("rank")
    differ = int(np.sum(positive * (votes - positive))) + len(torn.unique())
    of = int(np.sum(votes * (votes - 1) // 2)) + len(torn.unique())
    return Dispute(differ, of, "pairs of answers to one item", _rate(differ, of))


def _repeats(people: Agreement) -> list[Dispute]:
    """Answers to repeated tasks and to control items."""
    total = {key: sum(one.get(key, 0) for one in people.annotators.values())
             for key in ("repeats", "repeats_equal", "controls", "controls_right")}  # fmt: skip
    changed, wrong = total["repeats"] - total["repeats_equal"], total["controls"] - total["controls_right"]
    return [
        Dispute(changed, total["repeats"], "second answers to a task", _rate(changed, total["repeats"])),
        Dispute(wrong, total["controls"], "answers to control items", wrong / max(1, total["controls"])),
    ]


def _outranked(rows: pa.Table, name: str, label: Int8Array, rank: Int64Array, least: float) -> Dispute:
    """Answers of a source, where a more preferred one decided."""
    own = rows.filter(pc.and_(pc.equal(rows.column("fate"), "outranked"), pc.equal(rows.column("origin"), name)))
    decided = label[np.searchsorted(rank, own.column("rank").to_numpy())]
    said = own.column("value").to_numpy().astype(np.float64) >= least
    wrong = {value: said[decided == value] != bool(value) for value in (0, 1)}
    rates = {value: float(one.mean()) if one.size else 0.0 for value, one in wrong.items()}
    among = ", by those that are negative," if rates[0] > rates[1] else ", by those that are positive,"
    differ, of = (int(sum(one)) for one in zip(*((a.sum(), a.size) for a in wrong.values()), strict=True))
    return Dispute(differ, of, f"answers of {short(name)} and a preferred source", max(rates.values()), among)


def _rate(differ: int, of: int) -> float:
    """e with 2e(1 − e) = differ/of; a half where they differ more often than by chance."""
    return (1 - math.sqrt(max(0.0, 1 - 2 * differ / of))) / 2 if of else 0.0
