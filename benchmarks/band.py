"""Turn the labels of a log-uniform draw into its band."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.case import Case, Context
from benchmarks.data import labels


def _ours(context: Context) -> Callable[[], Any]:
    from streameval.methods import create
    from streameval.types import Labels

    method = create("loguniform", {})
    method.curve(plan := method.plan(10_000), Labels.of(plan, [0] * plan.table.num_rows))
    plan = method.plan(context.n_items)
    known = Labels.of(plan, labels(plan.ranks, context.n_items, context.seed))
    return lambda: method.curve(plan, known)


CASE = Case(
    title="The band of loguniform over {n}",
    runners={"streameval": _ours},
    datasets=lambda context: [],
)
