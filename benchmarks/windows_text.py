"""Fetch PAULA's planned items with 1 kB of text each."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows import check, runners

_COLUMNS = ["id", "text"]


def _wide(context: Context) -> Dataset:
    return context.dataset("wide", max(1000, context.n_items // 50))


CASE = Case(
    title="PAULA's items of a fiftieth of {n} with a text of 1 kB each",
    runners=runners(_wide, _COLUMNS, ["pyarrow, row groups", "Polars, row groups"]),
    datasets=lambda context: [_wide(context)],
    check=partial(check, _wide, _COLUMNS),
)
