"""What results of many rankings say of a question: their means, over every label or from labels of drawn rankings."""

from __future__ import annotations

from typing import Any

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, did_you_mean
from streameval.questions import Question
from streameval.study.results import Result

SHORT = {"map": "average_precision", "mrr": "reciprocal_rank"}
_LONG = {name: short for short, name in SHORT.items()}


def measures(result: Result) -> tuple[str, ...]:
    """All measures that the results have, as they are asked for: `map`, `ndcg@10`."""
    return tuple(dict.fromkeys(_asked(row) for row in result.metrics.to_pylist()))


def answer(result: Result, question: Question) -> Bounds:
    """Bounds on a mean over all rankings, and its estimate; NaN where it is undefined, or labels are missing.

    A metric's name is that of metrics.parquet, with `mean_` or without; mean average precision is `map` too, and mean
    reciprocal rank `mrr`. Rankings without a positive count as they were evaluated.

    Raises:
        InputError: There is no such mean.
    """
    cutoff = question.cutoff
    if cutoff is not None and cutoff.kind != "rank":
        raise InputError(f"{question.measure}: rankings are cut after a number of items", "ndcg@10, say")
    metric = question.metric.removeprefix("mean_").removesuffix("_at")
    name = SHORT.get(metric, metric)
    wanted = (f"mean_{name}", "") if cutoff is None else (f"mean_{name}_at", str(cutoff.value))
    for row in result.metrics.to_pylist():
        if (row["metric"], row["argument"]) == wanted:  # the first are under the rule that was asked for
            return Bounds.of_row(row)
    asked = f"{_LONG.get(name, name)}{'' if cutoff is None else f'@{cutoff}'}"
    raise InputError(f"there is no mean of '{question.measure}'", did_you_mean(asked, measures(result)))


def _asked(row: dict[str, Any]) -> str:
    name = row["metric"].removeprefix("mean_").removesuffix("_at")
    return f"{_LONG.get(name, name)}{'@' * bool(row['argument'])}{row['argument']}"
