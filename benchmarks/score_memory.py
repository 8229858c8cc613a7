"""Peak memory of fetching by score, from lists of three lengths."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows_by_score import check, ours


def _shorter(by: int, context: Context) -> Dataset:
    return context.dataset("shuffled", max(1, context.n_items // 2 // by))


def _all(context: Context) -> list[Dataset]:
    return [_shorter(by, context) for by in (100, 10, 1)]


CASE = Case(
    title="Peak memory (--memory 0.4) of PAULA's items by score, of half of {n} and less",
    runners={
        "a hundredth of it": ours(partial(_shorter, 100)),
        "a tenth of it": ours(partial(_shorter, 10)),
        "all of it": ours(partial(_shorter, 1)),
    },
    datasets=_all,
    check=partial(check, _all),
)
