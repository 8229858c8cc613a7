"""The same items of files without a page index, a tenth as many."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows import check, runners

_COLUMNS = ["id", "score", "label"]


def _unindexed(context: Context) -> Dataset:
    return context.dataset(n_items=max(1000, context.n_items // 10), index="none")


CASE = Case(
    title="PAULA's items of a tenth of {n} in files without a page index",
    runners=runners(_unindexed, _COLUMNS, ["pyarrow, row groups", "Polars, row groups"]),
    datasets=lambda context: [_unindexed(context)],
    check=partial(check, _unindexed, _COLUMNS),
)
