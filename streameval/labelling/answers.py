"""How far annotators agree, and whose answers a claim is about: the truth, or what the annotators would say.

Krippendorff's alpha (2004, ch. 11) compares the disagreement observed within items with that expected if all values
were dealt out at random: α = 1 − D_o/D_e, with the squared difference of values as distance ("interval"). For votes of
0 and 1 every disagreement weighs the same, so that this is the nominal alpha as well.

Bounds are about the labels that items have, or would have been given. These are called the truth only where nobody
disputes them. The rule: a claim is about "what the annotators would say" where

- the labels that count come from more than one source (`streameval.labelling.sources` says which files are one), or
- any two answers to one item differ, of one rank among `--prefer` or of sources that both gave labels, whether or not
  the rule counts both, or
- a repeated task got another answer, or a control item a wrong one.

The rate of wrong labels that this suggests for `--label-error` is the largest of: the rate e at which independent votes
of error e differ as often as these do, 2e(1 − e); the share of wrong answers of a less preferred source, where a more
preferred one decided and is taken to be right, among positives or among negatives, whichever is larger
(`--label-error` bounds both); the share of control items that were answered wrongly. Of several sources one may be
always right, so that another errs wherever they differ: the rate is then the share that differs. The clause says which
of the two it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.rules import VoteCounts, VoteRule
from streameval.labelling.sources import Source, sources_of
from streameval.text import short
from streameval.types import TRUTH
from streameval.typing import FloatArray, Int8Array, Int64Array

_SPOKEN = ("vote", "outranked")
ANNOTATORS = "what the annotators would say"
_MOST = 5  # sources that are named
Rate = Callable[[int, int], float]
"""Share of wrong labels, from how many of so many answers differ."""
_ALIKE = "all err alike"
_ONE_ERRS = "one source errs and the others never do"


@dataclass(frozen=True)
class Agreement:
    """Agreement among annotators, from their votes.

    Attributes:
        items: Items with at least two votes: only these tell anything.
        percent: Share of the pairs of votes on one item that are equal; NaN without such items.
        alpha: Krippendorff's alpha; NaN where no two values differ.
        annotators (mapping of str to mapping): By name ("" is nobody): `votes`, `skips`, `pairs` with others, `percent`
            of these that are equal, `repeats` and `repeats_equal`, `controls` and `controls_right`.
    """

    items: int
    percent: float
    alpha: float
    annotators: Mapping[str, Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready values; what is not a number becomes null."""
        return {
            "items": self.items,
            "percent": _finite(self.percent),
            "alpha": _finite(self.alpha),
            "annotators": {
                name: {key: _finite(value) for key, value in figures.items()}
                for name, figures in self.annotators.items()
            },
        }


def agreement(rows: pa.Table, extra: pa.Table | None = None) -> Agreement:
    """Compare the votes of different annotators on the same items.

    Args:
        rows: With `fate`, as `streameval.labelling.fates` gives them.
        extra: `se_task`, `kind`, `expected` of tasks beyond one per item.
    """
    spoken = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(_SPOKEN)))
    rank, value = spoken.column("rank").to_numpy(), spoken.column("value").to_numpy().astype(np.float64)
    _, item = np.unique(rank, return_inverse=True)
    size = np.bincount(item)
    equal = _equal_pairs(item, value)
    pairs = (size * (size - 1)).sum()
    percent = float(equal.sum() / pairs) if pairs else math.nan
    annotators = _by_annotator(rows, spoken, size[item] - 1, equal)
    _add_tasks(annotators, rows, extra)
    return Agreement(int((size > 1).sum()), percent, krippendorff_alpha(item, value), annotators)


def krippendorff_alpha(item: Int64Array, value: FloatArray) -> float:
    """Krippendorff's alpha for interval data.

    Args:
        item (int64 array, shape (n,)): Which item a vote is on, numbered from 0.
        value: float64 array, shape (n,).

    Returns:
        float: NaN where no item has two votes, or all pairable values are equal.
    """
    if not item.size:
        return math.nan
    size = np.bincount(item)
    pairable = size[item] > 1
    item, value = item[pairable], value[pairable]
    n = item.size
    if not n:
        return math.nan
    value = value - value.mean()  # differences stay, sums of squares lose nothing
    total, square = np.bincount(item, weights=value), np.bincount(item, weights=value * value)
    size = np.bincount(item)
    there = size > 1
    observed = float(np.sum(2 * (size * square - total * total)[there] / (size[there] - 1))) / n
    expected = float(2 * (n * np.sum(value * value) - np.sum(value) ** 2)) / (n * (n - 1))
    return 1 - observed / expected if expected > 0 else math.nan


def _equal_pairs(item: Int64Array, value: FloatArray) -> Int64Array:
    """For each vote, how many others on its item say the same."""
    if not item.size:
        return np.zeros(0, dtype=np.int64)
    pairs = np.stack([item.astype(np.float64), value])
    _, kind, count = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    return np.asarray(count[np.ravel(kind)] - 1, dtype=np.int64)


def _by_annotator(rows: pa.Table, spoken: pa.Table, others: Int64Array, equal: Int64Array) -> dict[str, dict[str, Any]]:
    names = pc.fill_null(spoken.column("annotator"), "").combine_chunks().dictionary_encode()
    who = names.indices.to_numpy()
    annotators = names.dictionary.to_pylist()
    votes = np.bincount(who, minlength=len(annotators))
    pairs = np.bincount(who, weights=others, minlength=len(annotators)).astype(np.int64)
    same = np.bincount(who, weights=equal, minlength=len(annotators)).astype(np.int64)
    people = {
        name: {
            "votes": int(votes[i]),
            "skips": 0,
            "pairs": int(pairs[i]),
            "percent": float(same[i] / pairs[i]) if pairs[i] else math.nan,
        }
        for i, name in enumerate(annotators)
    }
    skipped = rows.filter(pc.equal(rows.column("fate"), "skipped")).column("annotator").to_pylist()
    for name in skipped:
        people.setdefault(name or "", _nothing())["skips"] += 1
    return dict(sorted(people.items()))


def _nothing() -> dict[str, Any]:
    return {"votes": 0, "skips": 0, "pairs": 0, "percent": math.nan}


def _add_tasks(annotators: dict[str, dict[str, Any]], rows: pa.Table, extra: pa.Table | None) -> None:
    """Count repeated tasks that got the same answer, and control items that got the right one."""
    if extra is None:
        return
    answers = rows.filter(pc.and_(pc.is_in(rows.column("fate"), value_set=pa.array(["vote", "outranked"])),
                                  pc.is_valid(rows.column("rank"))))  # fmt: skip
    first = {
        (voter, rank): value
        for voter, rank, value in zip(*(answers.column(n).to_pylist() for n in ("voter", "rank", "value")), strict=True)
    }
    expected = dict(zip(extra.column("se_task").to_pylist(), extra.column("expected").to_pylist(), strict=True))
    extra_tasks = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(["repeat", "control"])))
    for row in extra_tasks.filter(pc.equal(extra_tasks.column("state"), "answer")).to_pylist():
        name = row["annotator"] or ""
        if row["fate"] == "control":
            right = expected.get(row["task"])
        elif (row["voter"], row["rank"]) in first:
            right = first[row["voter"], row["rank"]]
        else:
            continue
        counts = annotators.setdefault(name, _nothing())
        key = "controls" if row["fate"] == "control" else "repeats"
        mark = "controls_right" if row["fate"] == "control" else "repeats_equal"
        counts[key] = counts.get(key, 0) + 1
        counts[mark] = counts.get(mark, 0) + int(row["value"] == right)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Dispute:
    """Answers that differ, of those that could.

    Attributes:
        what: What they are, after "of".
        rate: Share of wrong labels that it suggests.
        among: Of which items that is the share, where not of all.
        where: Who errs, if answers differ so often and `rate` is right; empty where one side is known to be.
    """

    differ: int
    of: int
    what: str
    rate: float
    among: str = ""
    where: str = ""


def whose(rows: pa.Table, counts: VoteCounts, label: Int8Array, rank: Int64Array, people: Agreement,
          rule: VoteRule) -> tuple[str, str, float]:  # fmt: skip
    """Say what the labels are answers to, and why.

    Args:
        rows: With `fate`, as `streameval.labelling.fates` gives them.
        label, rank: arrays, shape (n_planned,).
        people
        rule

    Returns:
        about, why: `TRUTH` and nothing, or `ANNOTATORS` and a clause: who gave how many labels, and how many answers
            differ.
        rate: Share of wrong labels that this suggests, rounded up to three decimals; 0 where it suggests none.
    """
    sources = sources_of(rows, rank[label >= 0])
    error, where = (_rate, _ALIKE) if len(sources) < 2 else (_rate_of_two, _ONE_ERRS)
    between = [replace(dispute, where=where) for dispute in (_between_votes(counts, error), _given_again(rows, error))]
    disputes = [*between, *_repeats(people)]
    disputes += [_overruled_answers(rows, rule.least)] if rule.name == "latest" else []
    disputes += [_outranked_answers(rows, source, label, rank, rule.least) for source in sources]
    disputed = [dispute for dispute in disputes if dispute.differ]
    if len(sources) < 2 and not disputed:
        return TRUTH, "", 0.0
    worst = max(disputed, key=lambda dispute: dispute.rate, default=None)
    rate = math.ceil((worst.rate if worst else 0.0) * 1000 - 1e-9) / 1000
    clause = _disputes_text(disputed, disputes) + (
        f", as often as where {worst.where}" if worst and worst.where else ""
    )
    return ANNOTATORS, f"{_parties(sources, people)}; {clause}{'' if disputed else _way_out(sources)}", rate


def _parties(sources: Sequence[Source], people: Agreement) -> str:
    """Who gave how many labels: sources, or of one source the annotators that it names."""
    named = [(name, person["votes"]) for name, person in people.annotators.items() if person["votes"]]
    what, givers = "labels", [(source.name, source.labels) for source in sources]
    if len(sources) < 2 and named and all(name for name, _ in named):
        ordered = [(short(name), count) for name, count in sorted(named, key=lambda giver: -giver[1])]
        what, givers = (
            ("answers", ordered) if len(named) > 1 else (what, [(ordered[0][0], source.labels) for source in sources])
        )
    if not givers:
        return "there are no labels"
    listed_givers = ", ".join(f"{count:,} from {name}" for name, count in givers[:_MOST])
    more = f" and others from {len(givers) - _MOST:,} more" if len(givers) > _MOST else ""
    return f"{what} are {listed_givers}{more}"


def _way_out(sources: Sequence[Source]) -> str:
    """Say what makes one source of files that nothing tells apart but their names."""
    unsaid = [source for source in sources if not source.declared]
    if len(unsaid) < 2:
        return ""
    both = sum(len(source.origins) for source in unsaid) == 2
    return (f" (if {'both' if both else 'all of these'} files are from the same person or team, say so: the same word "
            f"in a column `source` of {'both' if both else 'each'})")  # fmt: skip


def suggestion(rate: float, assumed: float) -> str:
    """Say, after why labels are disputed, which `--label-error` that suggests; nothing where one as large is given."""
    if rate <= assumed:
        return ""
    if rate >= 0.4995:
        return ": no --label-error below 0.5 allows for that"
    more = f", above the {assumed:g} given" if assumed else ""
    return f", which suggests --label-error {rate:g}{more}"


def _disputes_text(disputed: Sequence[Dispute], disputes: Sequence[Dispute]) -> str:
    sentence = ", ".join(
        f"{dispute.differ:,} of {dispute.of:,} {dispute.what} differ{dispute.among}" for dispute in disputed
    )
    if not disputed:
        twice = sum(dispute.of for dispute in disputes)
        return f"no two of their answers differ, among {twice:,} that could" if twice else (
            "no item was answered twice, so nothing says how often they err"
        )  # fmt: skip
    return sentence


def _between_votes(counts: VoteCounts, rate: Rate) -> Dispute:
    """Pairs of votes on one item."""
    votes, positive = counts.votes, counts.positive
    differ, of = int(np.sum(positive * (votes - positive))), int(np.sum(votes * (votes - 1) // 2))
    return Dispute(differ, of, "pairs of answers to one item", rate(differ, of))


def _given_again(rows: pa.Table, rate: Rate) -> Dispute:
    """Items that one annotator, or two tables that name nobody, answered again, and those that have no vote so."""
    torn = rows.filter(pc.equal(rows.column("fate"), "contradictory")).column("rank").unique()
    same = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(["again", "doubled"]))).column("rank").unique()
    differ, of = len(torn), len(pa.chunked_array([torn, same]).unique())
    return Dispute(differ, of, "answers given again", rate(differ, of))


def _overruled_answers(rows: pa.Table, least: float) -> Dispute:
    """Answers that another one's later answer to the same item replaced."""
    early, last = (rows.filter(pc.and_(pc.equal(rows.column("fate"), fate), pc.is_valid(rows.column("value"))))
                   .select(["rank", "voter", "value"]) for fate in ("superseded", "vote"))  # fmt: skip
    both = early.join(last, "rank", join_type="inner", right_suffix="_last")
    both = both.filter(pc.invert(pc.fill_null(pc.equal(both.column("voter"), both.column("voter_last")), False)))
    earlier, later = (pc.greater_equal(both.column(name), least) for name in ("value", "value_last"))
    differ = pc.sum(pc.xor(earlier, later)).as_py() or 0
    return Dispute(differ, both.num_rows, "answers that others replaced", _rate(differ, both.num_rows), where=_ALIKE)


def _repeats(people: Agreement) -> list[Dispute]:
    """Answers to repeated tasks and to control items."""
    total = {key: sum(figures.get(key, 0) for figures in people.annotators.values())
             for key in ("repeats", "repeats_equal", "controls", "controls_right")}  # fmt: skip
    changed, wrong = total["repeats"] - total["repeats_equal"], total["controls"] - total["controls_right"]
    return [
        Dispute(changed, total["repeats"], "second answers to a task", _rate(changed, total["repeats"]), where=_ALIKE),
        Dispute(wrong, total["controls"], "answers to control items", wrong / max(1, total["controls"])),
    ]


def _outranked_answers(rows: pa.Table, source: Source, label: Int8Array, rank: Int64Array, least: float) -> Dispute:
    """Answers of a source, where a more preferred one decided."""
    of_it = pc.is_in(rows.column("origin"), value_set=pa.array(source.origins))
    answers = rows.filter(pc.and_(pc.equal(rows.column("fate"), "outranked"), of_it))
    decided = label[np.searchsorted(rank, answers.column("rank").to_numpy())]
    positive = answers.column("value").to_numpy().astype(np.float64) >= least
    wrong = {value: positive[decided == value] != bool(value) for value in (0, 1)}
    rates = {value: float(differs.mean()) if differs.size else 0.0 for value, differs in wrong.items()}
    among = " (most often on negatives)" if rates[0] > rates[1] else " (most often on positives)"
    differ, of = (int(sum(counts)) for counts in zip(*((a.sum(), a.size) for a in wrong.values()), strict=True))
    return Dispute(differ, of, f"answers of {source.name} and a preferred source", max(rates.values()), among)


def _rate_of_two(differ: int, of: int) -> float:
    """The most that one of two sources can err: one may be always right, and the other wrong wherever they differ."""
    return min(0.5, differ / of) if of else 0.0


def _rate(differ: int, of: int) -> float:
    """Of annotators who err alike: e with 2e(1 − e) = differ/of; a half where they differ more often than by chance."""
    return (1 - math.sqrt(max(0.0, 1 - 2 * differ / of))) / 2 if of else 0.0
