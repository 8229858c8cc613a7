"""Results of many rankings: their means, over every label or from labels of drawn rankings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streameval.kinds.results import StudyResult
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff


@dataclass(frozen=True, repr=False)
class RankingMeans(StudyResult):
    """Means over rankings."""

    def mean(self, metric: str, at: int | None = None) -> float | None:
        """Estimated mean of a metric over rankings, such as `mean("ndcg", 10)`; None where it is unknown."""
        estimate = self.bounds(Question(metric, () if at is None else (Cutoff("rank", at),))).estimate
        return None if math.isnan(estimate) else estimate
