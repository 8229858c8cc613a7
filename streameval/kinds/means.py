"""Results of many rankings: their means, over every label or from labels of drawn rankings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streameval.kinds.results import StudyResult
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.questions.printed import between

_NAMED = 4  # measures


@dataclass(frozen=True, repr=False)
class RankingMeans(StudyResult):
    """Means over rankings."""

    def __repr__(self) -> str:
        names = self.measures()
        said = [f"{name} {between(name, self.bounds(Question.of(name)))}" for name in names[:_NAMED]]
        more = [f"and {len(names) - _NAMED} more"] * (len(names) > _NAMED)
        return f"<{type(self).__name__} {self.evaluation_id}: {', '.join([*said, *more])}>"

    def mean(self, metric: str, at: int | None = None) -> float | None:
        """Estimated mean of a metric over rankings, such as `mean("ndcg", 10)`; None where it is unknown."""
        estimate = self.bounds(Question(metric, () if at is None else (Cutoff("rank", at),))).estimate
        return None if math.isnan(estimate) else estimate
