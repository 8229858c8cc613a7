"""Column of a judge's classes: that of every item of a list, read once, counted block by block of the draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.judges.classes import with_judge
from streameval.judges.values import Judge
from streameval.kernels.sorted_sets import isin, unique
from streameval.methods import DrawsIndependently, method_of
from streameval.methods.stages import refuse_stages
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.slices.column import Slices
from streameval.slices.locate_slices import locate_slices
from streameval.stores.temporary import mapped_bytes, temporary_folder
from streameval.types import Plan
from streameval.typing import Int8Array, Int64Array, UInt8Array


def count_classes(ranking: Ranking, plan: Plan, judge: Judge, progress: Progress = silent) -> Plan:
    """Count a judge's classes in every block of a plan, and look up those of the planned ranks.

    By score, classes are slices of the list: how many of each are among the first r items is counted at the end of
    every block, and before and after every planned rank, which says in which class it is.

    Raises:
        InputError: No such column, values that are no judge's, a method that can use none, or scores that are missing.
    """
    method = method_of(plan)
    if not isinstance(method, DrawsIndependently):
        raise InputError(f"method {plan.method} has no use for a judge", "plan with --method=loguniform")
    refuse_stages(method, "a judge", ("later",))
    _refuse_unknown_column(ranking, judge)
    ends, ranks = method.reserve(plan)
    if ranking.order is None:
        return with_judge(plan, judge, ends, *_as_stored(ranking, judge, ends, ranks, progress))
    cutoffs = unique(ends, ranks, np.maximum(ranks - 1, 1))
    with temporary_folder("streameval-work") as folder:
        classes = _read(ranking, judge, folder, progress)
        nothing = [np.empty(0, np.int64)] * judge.classes
        inside = locate_slices(ranking, classes, nothing, cutoffs, progress).inside
    inside = np.concatenate([np.zeros((1, judge.classes), np.int64), inside])
    at = np.searchsorted(cutoffs, ends) + 1
    counts = np.diff(inside[at], axis=0, prepend=0)
    here = np.searchsorted(cutoffs, ranks) + 1
    before = np.searchsorted(cutoffs, ranks - 1, side="right")
    drawn = np.argmax(inside[here] - inside[before], axis=1).astype(np.uint8)
    return with_judge(plan, judge, ends, counts, (ranks, drawn))


@dataclass(frozen=True)
class ClassOrder:
    """Classes counted in ranges of ranks, and the first of their items in a random order.

    Attributes:
        items (int64 array, shape (ranges, classes)): How many.
        of_ranks (int8 array): Class of each rank that was asked about.
        first: `rank` int64, `judge_class` int8, `place` int64: the place in the order, from 1, among the items of its
            range and class.
    """

    items: Int64Array
    of_ranks: Int8Array
    first: pa.Table


def class_order(
    ranking: Ranking, judge: Judge, ends: Int64Array, known_ranks: Int64Array, how: tuple[int, int],
    progress: Progress = silent,
) -> ClassOrder:  # fmt: skip
    """Put items of each range and class in a random order, as many as there is room for, the known ones left out.

    Args:
        ends: Last rank of each range; N is the last.
        known_ranks: Ranks in ascending order.
        how: How many items in all, about, and the seed.
    """
    _refuse_unknown_column(ranking, judge)
    most, seed = how
    cutoffs = unique(ends, known_ranks, np.maximum(known_ranks - 1, 1))
    nothing = [np.empty(0, np.int64)] * judge.classes
    with temporary_folder("streameval-work") as folder:
        classes = _read(ranking, judge, folder, progress)
        inside = np.vstack([nothing_inside(judge), locate_slices(ranking, classes, nothing, cutoffs, progress).inside])
        of_known = np.diff(inside, axis=0)[np.searchsorted(cutoffs, known_ranks)].argmax(axis=1).astype(np.int8)
        upto = np.vstack([nothing_inside(judge), inside[np.searchsorted(cutoffs, ends) + 1]])
        items = np.diff(upto, axis=0)
        room, rng = shared_out(items.ravel(), most).reshape(items.shape), np.random.default_rng([seed, 0])
        chosen = [[rng.choice(int(n), int(k), replace=False) + 1 for n, k in zip(*column, strict=True)]
                  for column in zip(items.T, room.T, strict=True)]  # fmt: skip
        wanted = [np.concatenate([places + start for places, start in zip(each, upto[:-1, c], strict=True)])
                  for c, each in enumerate(chosen)]  # fmt: skip
        ranks = locate_slices(ranking, classes, [np.sort(places) for places in wanted], ends, progress).rank
    table = pa.table({
        "rank": np.concatenate([at[np.argsort(np.argsort(places))] for at, places in zip(ranks, wanted, strict=True)]),
        "judge_class": np.repeat(np.arange(judge.classes, dtype=np.int8), [places.size for places in wanted]),
        "place": np.concatenate([np.arange(1, places.size + 1) for each in chosen for places in each]),
    })  # fmt: skip
    return ClassOrder(items, of_known, table.filter(pa.array(~isin(table["rank"].to_numpy(), known_ranks))))


def nothing_inside(judge: Judge) -> Int64Array:
    """Items of each class before the first rank."""
    return np.zeros((1, judge.classes), np.int64)


def shared_out(items: Int64Array, most: int) -> Int64Array:
    """Tell how many of each: all of the smaller groups, and of the others equally many."""
    room, left = np.zeros(items.size, np.int64), most
    for done, at in enumerate(np.argsort(items, kind="stable")):
        room[at] = min(int(items[at]), left // (items.size - done))
        left -= int(room[at])
    return room


def _refuse_unknown_column(ranking: Ranking, judge: Judge) -> None:
    if judge.column not in ranking.rows.all_names():
        raise InputError(f"the ranking has no column '{judge.column}'", ranking.rows.hint_for(judge.column))


def _as_stored(
    ranking: Ranking, judge: Judge, ends: Int64Array, ranks: Int64Array, progress: Progress
) -> tuple[Int64Array, tuple[Int64Array, UInt8Array]]:
    """Items of each class in each block, and ranks with their classes: counted as they are decoded."""
    units = ranking.rows.units(judge.column)
    counts, classes = np.zeros((ends.size, judge.classes), np.int64), np.zeros(ranks.size, np.uint8)

    def count(unit: Unit) -> tuple[slice, Int64Array, UInt8Array]:
        answers = judge.said(unit.read([judge.column]).column(0), unit.place)
        first, last = unit.first_position, unit.first_position + unit.rows
        some = slice(np.searchsorted(ends, first, "right"), np.searchsorted(ends, last) + 1)
        edges = np.concatenate([[0], np.minimum(ends[some], last) - first])
        wanted = ranks[np.searchsorted(ranks, first, "right") : np.searchsorted(ranks, last, "right")]
        return some, judge.counted(answers, edges), judge.codes_of(answers[wanted - 1 - first])

    at = 0
    for _, (some, unit_counts, drawn) in each_unit(count, units, ranking.threads, progress):
        counts[some] += unit_counts
        classes[at : at + drawn.size] = drawn
        at += drawn.size
    ranking.rows.check_unchanged()
    return counts, (ranks, classes)


def _read(ranking: Ranking, judge: Judge, folder: Path, progress: Progress) -> Slices:
    """Class of every item, as it is stored."""
    units = ranking.rows.units(judge.column)
    codes = mapped_bytes(folder / "judge", sum(unit.rows for unit in units))
    counts = np.zeros(judge.classes, np.int64)

    def classes_of(unit: Unit) -> UInt8Array:
        return judge.codes(unit.read([judge.column]).column(0), unit.place)

    for unit, classes in each_unit(classes_of, units, ranking.threads, progress):
        codes[unit.first_position : unit.first_position + unit.rows] = classes
        counts += np.bincount(classes, minlength=judge.classes)
    ranking.rows.check_unchanged()
    return Slices(judge.names, counts, codes)
