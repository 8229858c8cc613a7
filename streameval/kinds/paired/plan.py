"""Of two rankings of the same items, draw from what the top of one holds and that of the other does not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.copies import kind_of, paths_of
from streameval.copies.write import record_of
from streameval.engines import engine_of
from streameval.errors import InputError
from streameval.judges.options import column_alone
from streameval.kernels.sorted_sets import isin, unique
from streameval.kinds.planning import Drawn, PlanRequest, fresh_seed, refuse_unjoinable
from streameval.labelling.votes import Votes
from streameval.options import listed
from streameval.order.item_keys import types_of_both
from streameval.order.scan import key_hashes
from streameval.paired.rates import item_probability, largest_rates, probabilities
from streameval.paired_draws.pair import COUNTS, DrawnPair, Pair, PairedDraw, ScoreCutoffs, are_below
from streameval.paired_draws.tops import draws_of
from streameval.progress import Progress
from streameval.questions.comparing import Comparing, powers_of_ten
from streameval.questions.cutoffs import Cutoff
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import doubt_of
from streameval.rows import Rows
from streameval.rows.options import RankingOptions, order_typed
from streameval.rows.two_tables import TwoTables
from streameval.scans.checkpoints import Scans, forget
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from streameval.study.list_copy import materialize
from streameval.study.planned_ranking import items_at
from streameval.types import Plan
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt64Array

METHOD = "changed_items"  # as plan.json calls the draw


def draw_changed(ranking: object, comparing: Comparing, request: PlanRequest) -> Drawn:
    """Find what changed between two rankings, and draw from it.

    Returns:
        Drawn: The ranks of its plan are stored rows, from 1; those of the other list come after those of the one.

    Raises:
        InputError: No key, or one that does not tell items apart; two lists that have no item in common.
    """
    folder, progress = request.study, request.progress
    pair = pair_for(folder, ranking, comparing, request.options, progress)
    for ranking_read in (pair.b, pair.a):
        refuse_unjoinable(ranking_read, pair.key)
    reused = ReusedLabels.read(request.known_labels, pair, folder, request.given_seed)
    scans = Scans(folder.scans, engine_of(comparing.engine))
    try:
        plan = drawn_plan(pair, comparing, request.drawing_seed, reused, scans, progress)
        if reused.taken_off is not None and request.seed is not None and plan.plan_id not in request.before:
            other = fresh_seed()  # other labels: they may be of that seed
            plan = drawn_plan(pair, comparing, other, reused, scans, progress)
        plan = with_copy_of_a(plan, folder)
    except InputError:  # what is wrong stays wrong: nothing goes on from here
        forget(folder.scans)
        with suppress(OSError):
            folder.folder.rmdir()  # where nothing else is in it
        raise
    stored = Ranking(_rows(pair), as_stored(pair.b.options))
    return Drawn(plan, stored, reused.votes(stored, plan), folder.scans)


def drawn_plan(
    pair: Pair, comparing: Comparing, seed: int, reused: ReusedLabels, scans: Scans | None, progress: Progress
) -> Plan:  # fmt: skip
    """Make the plan of a comparison."""
    cutoffs, sizes, at = _cut(pair, _cutoffs_asked(pair, comparing))
    variance = comparing.min_precision * (1 - comparing.min_precision)
    how: dict[str, Any] = {"within": comparing.half_width, "confidence": comparing.certainty, "variance": variance,
                           "looks": comparing.look}  # fmt: skip
    draw = PairedDraw(at, largest_rates(sizes, **how), seed, reused.hashes(seed))
    drawn = _draw(pair, draw, scans, progress)
    had = isin(drawn.table.column("u").to_numpy(), draw.known)
    gains, losses = _without(drawn, had)
    rates = probabilities(gains, losses, sizes, **how)
    table = plan_table(pair, drawn, rates, had)
    if reused.taken_off is None:
        table = table.drop_columns("known")
    rows = _rows(pair)
    parameters = {"within": comparing.within, "confidence": comparing.confidence, "look": comparing.look,
                  "min_precision": comparing.min_precision}  # fmt: skip
    notes = {
        "cutoffs": [str(cutoff) for cutoff in cutoffs],
        **{name: getattr(drawn, name).tolist() for name in COUNTS}, "probability": rates.tolist(),
        "draw_by": list(pair.key), "scores": [pair.a.options.score, pair.b.options.score],
        "order": pair.b.description(), "against": pair.a.description(),
        **({} if pair.judge is None else {"predictions": {"column": pair.judge}}),
        **(reused.known.notes if reused.taken_off is None else {}),
        **({"conditions": conditions} if (conditions := comparing.conditions(cutoffs)) else {}),
    }  # fmt: skip
    stored = Ranking(rows, as_stored(pair.b.options))
    apart = {} if pair.one_table else {"against": pair.a.location()["source"]}
    location = {**stored.location(), "source": pair.b.location()["source"], **apart, **doubt_of(pair.b)}
    return Plan(METHOD, parameters, rows.n_rows, seed, table, stored.description(), notes, location, kind="paired")


def _cutoffs_asked(pair: Pair, comparing: Comparing) -> Sequence[Cutoff]:
    if comparing.cutoffs is not None:
        return comparing.cutoffs
    return powers_of_ten(min(pair.a.n_items, pair.b.n_items))


def _rows(pair: Pair) -> Rows:
    """All rows in their stored order; where there are two lists, those of B first."""
    if pair.one_table:
        return pair.b.rows
    return TwoTables(pair.b.rows, pair.a.rows, types_of_both(pair.key, pair.b.rows.schema, pair.a.rows.schema))


def _draw(pair: Pair, draw: PairedDraw, scans: Scans | None, progress: Progress) -> DrawnPair:
    if pair.one_table:
        from streameval.paired_draws.one_table import draw_one_table

        return draw_one_table(pair, draw, scans, progress)
    from streameval.paired_draws.two_tables import draw_two_tables

    return draw_two_tables(pair, draw, scans, progress)


def _cut(pair: Pair, cutoffs: Sequence[Cutoff]) -> tuple[tuple[Cutoff, ...], Int64Array, Int64Array | ScoreCutoffs]:
    """Cutoffs from the smallest top to the largest, the size of each, and what a draw takes.

    Of a score, the size is that of the larger top: how many items have it is counted.
    """
    kinds = {"score" if cutoff.kind == "score" else "rank" for cutoff in cutoffs}
    if len(kinds) > 1:
        raise InputError("--for names ranks and scores", "plan each kind into a study of its own")
    if kinds == {"rank"}:
        longest = max(pair.a.n_items, pair.b.n_items)
        ranks = {_rank(cutoff, longest): cutoff for cutoff in cutoffs}
        sizes = np.array(sorted(ranks), np.int64)
        return tuple(ranks[rank] for rank in sizes.tolist()), sizes, sizes
    tops = {cutoff: max(items_at(ranking.order, cutoff.value) for ranking in (pair.a, pair.b)) for cutoff in cutoffs}
    if empty := [cutoff.value for cutoff, size in tops.items() if not size]:
        raise InputError(f"no item of either ranking has score {empty[0]} or a better one", "ask at others")
    counted = sorted(cutoffs, key=lambda cutoff: tops[cutoff])
    scores = [cutoff.value for cutoff in counted]
    return tuple(counted), np.array([tops[cutoff] for cutoff in counted], np.int64), ScoreCutoffs(scores, scores)


def _rank(cutoff: Cutoff, n_items: int) -> int:
    rank = cutoff.rank_in(n_items)
    if rank is None:
        raise InputError(f"--for is at {cutoff}", "rankings are compared at ranks and scores: 1000, 1%, score:0.7")
    return rank


def _without(drawn: DrawnPair, was_known: BoolArray) -> tuple[Int64Array, Int64Array]:
    """Gains and losses at each cutoff without items that are known."""
    first_a, first_b = (drawn.table.column(name).to_numpy()[was_known] for name in ("first_a", "first_b"))
    gained, lost = (_counts_at_cutoffs(*sides, drawn.gains.size) for sides in ((first_b, first_a), (first_a, first_b)))
    return drawn.gains - gained, drawn.losses - lost


def _counts_at_cutoffs(first: Int64Array, last: Int64Array, m: int) -> Int64Array:
    """Tell how many items each of m cutoffs holds, of which those from `first` to before `last` hold an item."""
    some = first < last
    steps = np.bincount(first[some], minlength=m + 1) - np.bincount(last[some], minlength=m + 1)
    held: Int64Array = np.cumsum(steps)[:m]
    return held


def plan_table(pair: Pair, drawn: DrawnPair, rates: FloatArray, was_known: BoolArray) -> pa.Table:
    """Items to label.

    Args:
        rates: Of the cutoffs.
        was_known: Which items are known.

    Returns:
        `rank` and `stratum`, as every plan has them; `first_a`, `first_b`, `u` and, with a judge, `predicted` of the
        draw; `probability` with which the item is drawn, 1 of those known before; `turn`, from 0, in which items are
        to be labelled: by u over that probability, so that what is labelled first is a draw by smaller probabilities;
        `was_known`.
    """
    first_a, first_b, u = (drawn.table.column(name).to_numpy() for name in ("first_a", "first_b", "u"))
    probability = np.where(was_known, 1.0, item_probability(first_a, first_b, rates))
    kept = np.flatnonzero(are_below(u, probability))
    names = [name for name in ("first_a", "first_b", "u", "predicted") if name in drawn.table.column_names]
    turn = np.empty(kept.size, np.int64)
    turn[np.lexsort((u[kept], u[kept] / probability[kept]))] = np.arange(kept.size)
    rank = _stored_row(pair, drawn.table)[kept]
    table = pa.table({
        "rank": rank, "stratum": np.minimum(first_a, first_b)[kept].astype(np.int32),
        **{name: drawn.table.column(name).take(pa.array(kept)) for name in names},
        "probability": probability[kept], "turn": turn, "known": was_known[kept],
    })  # fmt: skip
    return table.take(pa.array(np.argsort(rank)))


def _stored_row(pair: Pair, table: pa.Table) -> Int64Array:
    """Stored row of each item, from 1; rows of A come after those of B, and stand for items that B's top has not."""
    there = table.column("position_b").is_valid().to_numpy()
    b, a = (table.column(name).fill_null(0).to_numpy() for name in ("position_b", "position_a"))
    rows: Int64Array = np.where(there, b, a + (0 if pair.one_table else pair.b.n_items)) + 1
    return rows


def pair_for(folder: Study, ranking: object, comparing: Comparing, options: RankingOptions, progress: Progress) -> Pair:
    """Open two rankings for a study, which keeps what is no Parquet; one that holds both scores is read once."""
    against = comparing.against
    if kind_of(ranking) is not None and kind_of(against) is None:
        open_ranking(against, as_stored(options))  # before the other one is copied
    with _both_need(options.key):
        b = materialize(folder, ranking, options, progress)
    if paths_of(against) and paths_of(against) == paths_of(ranking):
        return open_pair(b, replace(comparing, against=b), options)
    ordered = _order_options(options, comparing.against_score or options.typed_score)
    with _both_need(options.key):
        a = materialize(folder, against, ordered, progress, folder.against_copy)
    return open_pair(b, replace(comparing, against=a), options)


@contextmanager
def _both_need(key: Sequence[str]) -> Iterator[None]:
    """Let the error of a list without a key column say that the other one is joined by it."""
    try:
        yield
    except InputError as error:
        if not any(error.what.endswith(f"there is no column '{name}'") for name in key):
            raise
        raise InputError(error.what, f"both lists need it; {error.hint}") from error


def with_copy_of_a(plan: Plan, folder: Study) -> Plan:
    """Let a plan remember what A was read from, where that is a copy in the study."""
    if plan.location.get("against") != [os.path.abspath(folder.against_copy)]:
        return plan
    return replace(plan, location={**plan.location, "against_copied": record_of(folder.against_copy)})


def open_pair(ranking: object, comparing: Comparing, options: RankingOptions) -> Pair:
    """Open two rankings: the one that is planned is B, the other one A."""
    if not options.key:
        raise InputError("two rankings are compared item by item, and nothing names the items",
                         "name the column that does with --key COL")  # fmt: skip
    b = open_ranking(ranking, _order_options(options, options.typed_score))
    pair = Pair(open_ranking(comparing.against, _order_options(options, comparing.against_score)), b, options.key,
                None if comparing.judge is None else column_alone(comparing.judge))  # fmt: skip
    if not pair.one_table and comparing.against_score is None and options.score is not None:
        pair = replace(pair, a=open_ranking(comparing.against, _order_options(options, options.typed_score)))
    orders = [(side.options.score, side.options.ascending) for side in (pair.a, b)]
    if pair.one_table and orders[0] == orders[1]:
        raise InputError("a ranking would be compared with itself",
                         "name another score with --against-score COL, or another list with --against")  # fmt: skip
    return pair


def _order_options(options: RankingOptions, score: str | None) -> RankingOptions:
    """Options of one of the two orders, by a score as it is typed: those of scores go with a score."""
    if score is None:
        return as_stored(options)
    return replace(options, **order_typed(score))


def as_stored(options: RankingOptions) -> RankingOptions:
    """Options of a list in its stored order."""
    return replace(options, score=None, ascending=False, key=(), nan="refuse")


@dataclass(frozen=True)
class ReusedLabels:
    """Labels that exist before two rankings are compared, and what they are worth.

    Where the program draws the seed, after it has read which items have labels, these are taken off: what they add to
    the difference is counted exactly, and the draw is from the rest. That holds whatever the labels are of, and whoever
    has seen them. Where the seed is given, the items may have been drawn by it: then a label counts only for an item
    that is drawn again, as if it had been asked for now; and the comparison has to have been fixed without these
    labels.

    Proof.  Given the labelled items and their labels, the hashes of the other items are as random as before. ∎

    Attributes:
        known: By the key of the pair.
        taken_off: Keys of the items that have one; None where labels only count for items that are drawn.
    """

    known: KnownLabels
    taken_off: pa.Table | None

    @staticmethod
    def read(known_labels: KnownLabels, pair: Pair, folder: Study, seed: int | None) -> ReusedLabels:
        """Read which items have labels, before a seed is drawn; `seed` is the one that was given."""
        if known_labels.source is None:
            return ReusedLabels(known_labels, None)
        if known_labels.columns.on is not None and listed(known_labels.columns.on) != pair.key:
            raise InputError(f"labels are joined by --key {','.join(pair.key)}", "leave --on out")
        fixed = seed is not None and not _was_drawn_here(folder, seed)
        if fixed:
            known_labels.refuse_unsaid()
        by_key = known_labels.known_by(pair.key)
        return ReusedLabels(by_key, None if fixed else by_key.keys(pair.some_keys()))

    def hashes(self, seed: int) -> UInt64Array:
        """Hashes that draw, of the items that are taken off (uint64 array, rising)."""
        if self.taken_off is None:
            return np.empty(0, np.uint64)
        return unique(draws_of(key_hashes(self.taken_off), seed))

    def votes(self, ranking: Ranking, plan: Plan) -> Votes | None:
        """The labels, as votes on planned items; `ranking` is the rows that these are ranks of."""
        if not plan.table.num_rows:
            return None
        if self.taken_off is not None and not plan.table.column("known").to_numpy().any():
            return None
        return self.known.taken_over(plan, ranking)


def _was_drawn_here(folder: Study, seed: int) -> bool:
    """Tell whether the plan that a study holds has this seed, and had the program draw it after labels were read."""
    return folder.exists and (plan := folder.plan()).seed == seed and "known" in plan.table.column_names
