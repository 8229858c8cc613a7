"""Fetch PAULA's planned items of a scattered list by score: half of the list has one score."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows_by_score import check, ours, read_column


def _tied(context: Context) -> Dataset:
    return context.dataset("tied", max(1, context.n_items // 2))


def _shuffled(context: Context) -> Dataset:
    return context.dataset("shuffled", max(1, context.n_items // 2))


def _all(context: Context) -> list[Dataset]:
    return [_tied(context), _shuffled(context)]


CASE = Case(
    title="PAULA's items of half of {n}, scattered, by score; half of the list has one score",
    runners={
        "streameval, counting scans": ours(_tied),
        "streameval, without the tie": ours(_shuffled),
        "read the score column once": read_column(_tied),
        "read the id column once": read_column(_tied, "id"),
    },
    datasets=_all,
    check=partial(check, _all),
)
