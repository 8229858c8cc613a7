"""Two rankings of the same items are opened, and orders that cannot be compared are refused."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from streameval.copies import kind_of, paths_of
from streameval.copies.write import record_of
from streameval.errors import InputError
from streameval.paired_draws.pair import Pair
from streameval.progress import Progress
from streameval.questions.comparing import Comparing
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.list_copy import materialize
from streameval.types import Plan


def pair_for(folder: Study, ranking: Any, comparing: Comparing, options: RankingOptions, progress: Progress) -> Pair:
    """Open two rankings for a study, which keeps what is no Parquet; one that holds both scores is read once."""
    against = comparing.against
    if kind_of(ranking) is not None and kind_of(against) is None:
        open_ranking(against, as_stored(options))  # before the other one is copied
    with _both_need(options.key):
        b = materialize(folder, ranking, options, progress)
    if paths_of(against) and paths_of(against) == paths_of(ranking):
        return open_pair(b, replace(comparing, against=b), options)
    asked = _ordered(options, comparing.against_score or options.score)
    with _both_need(options.key):
        a = materialize(folder, against, asked, progress, folder.against_copy)
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


def open_pair(ranking: Any, comparing: Comparing, options: RankingOptions) -> Pair:
    """Open two rankings: the one that is planned is B, the other one A."""
    if not options.key:
        raise InputError("two rankings are compared item by item, and nothing names the items",
                         "name the column that does with --key COL")  # fmt: skip
    b = open_ranking(ranking, _ordered(options, options.score))
    pair = Pair(open_ranking(comparing.against, _ordered(options, comparing.against_score)), b, options.key,
                comparing.judge)  # fmt: skip
    if not pair.one_table and comparing.against_score is None and options.score is not None:
        pair = replace(pair, a=open_ranking(comparing.against, _ordered(options, options.score)))
    if pair.one_table and pair.a.options.score == b.options.score:
        raise InputError("a ranking would be compared with itself",
                         "name another score with --against-score COL, or another list with --against")  # fmt: skip
    return pair


def _ordered(options: RankingOptions, score: str | None) -> RankingOptions:
    """Options of one of the two orders: those of scores go with a score."""
    if score is None:
        return as_stored(options)
    return replace(options, score=score)


def as_stored(options: RankingOptions) -> RankingOptions:
    """Options of a list in its stored order."""
    return replace(options, score=None, ascending=False, key=(), nan="refuse")
