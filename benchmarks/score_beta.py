"""Fetch PAULA's planned items of a scattered list by score: float64 scores that crowd at the top."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows_by_score import check, ours, read_column


def _beta(context: Context) -> Dataset:
    return context.dataset("beta", max(1, context.n_items // 2))


def _all(context: Context) -> list[Dataset]:
    return [_beta(context)]


CASE = Case(
    title="PAULA's items of half of {n}, scattered, by float64 scores of Beta(8, 1)",
    runners={
        "streameval, counting scans": ours(_beta),
        "read the score column once": read_column(_beta),
        "read the id column once": read_column(_beta, "id"),
    },
    datasets=_all,
    check=partial(check, _all),
)
