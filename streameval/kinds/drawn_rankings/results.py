"""Results of a study of drawn rankings, as its files hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from streameval.kinds.drawn_rankings.says import text
from streameval.kinds.means import RankingMeans
from streameval.reporting.text import Text
from streameval.types import Plan


@dataclass(frozen=True, repr=False)
class RankingsSample(RankingMeans):
    """Bounds on means over all rankings, from labels of the first items of some.

    Attributes:
        metrics: Means over all rankings: `metric`, `argument`, `lower`, `estimate` (null while labels are missing),
            `upper`, `coverage`, `rankings` (how many the mean is over), and `normal_lower`, `normal_upper`: the normal
            interval of that mean alone, which promises nothing where nearly all rankings are alike. Of a judge,
            `width_without_judge`: how far apart the bounds would be.
        rankings: Those that were drawn, in the order of the draw: the columns that name it, `items`, `labelled`, and
            each metric between `…_lower` and `…_upper`, which differ where labels are missing.
        label_table: `rank` (stored row, from 1), `label`, `votes`, `positive_votes`.
        issues: See `streameval.labelling.issues`.
        summary: What evaluation.json and `--json` say.
    """

    comments: ClassVar = {
        "metrics": "Bounds on means over all rankings (ndcg@10 is mean_ndcg_at with argument 10); the "
        "normal interval beside them promises nothing.",
        "rankings": "One row per ranking that was drawn; lower and upper are apart where labels are missing.",
        "labels": "One row per planned item; rank is its stored row, from 1; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what the bounds claim, the means, and what to know of them."""
        return text(self)

    @property
    def rankings(self) -> pa.Table:
        """The rankings that were drawn."""
        return self.tables["rankings"]

    @property
    def label_table(self) -> pa.Table:
        """Labels of the planned items."""
        return self.tables["labels"]

    @property
    def issues(self) -> pa.Table:
        """Rows that are not as they should be."""
        return self.tables["issues"]
