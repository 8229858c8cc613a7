"""What results of many rankings say of a question: their means, over every label or from labels of drawn rankings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, did_you_mean
from streameval.kinds.results import StudyResult
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.questions.printed import SHORT, measure_of
from streameval.study.results import Result


@dataclass(frozen=True, repr=False)
class RankingMeans(StudyResult):
    """Means over rankings."""

    def mean(self, metric: str, at: int | None = None) -> float | None:
        """Estimated mean of a metric over rankings, such as `mean("ndcg", 10)`; None where it is unknown."""
        estimate = answer(self, Question(metric, () if at is None else (Cutoff("rank", at),))).estimate
        return None if math.isnan(estimate) else estimate


def measures(result: Result) -> tuple[str, ...]:
    """All measures that the results have, as they are asked for: `map`, `ndcg@10`."""
    return tuple(dict.fromkeys(measure_of(row["metric"], row["argument"]) for row in result.metrics.to_pylist()))


def answer(result: Result, question: Question) -> Bounds:
    """Bounds on a mean over all rankings, and its estimate; NaN where it is undefined, or labels are missing.

    A metric's name is that of metrics.parquet, with `mean_` or without; mean average precision is `map` too, its
    geometric mean `gm_map`, and mean reciprocal rank `mrr`. Rankings without a positive count as they were evaluated.

    Raises:
        InputError: There is no such mean.
    """
    cutoff = question.cutoff
    at_recall = cutoff is not None and (question.metric.removeprefix("mean_"), cutoff.kind) == ("precision", "recall")
    if cutoff is not None and cutoff.kind != "rank" and not at_recall:
        raise InputError(f"{question.measure}: rankings are cut after a number of items", "ndcg@10, say")
    metric = question.metric.removeprefix("mean_").removesuffix("_at")
    name = SHORT.get(metric, metric)
    of_all = name if name == "gm_map" else f"mean_{name}"
    wanted = (of_all, "")
    if cutoff is not None:
        wanted = f"mean_{name}_at{'_recall' * at_recall}", str(cutoff).removeprefix("recall:").replace(",", "")
    for row in result.metrics.to_pylist():
        if (row["metric"], row["argument"]) == wanted:  # the first are under the rule that was asked for
            return Bounds.of_row(row)
    raise InputError(f"there is no mean of '{question.measure}'", did_you_mean(measure_of(*wanted), measures(result)))
