"""Results of a study of drawn rankings, as its files hold them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from streameval.kinds.means import RankingMeans


@dataclass(frozen=True, repr=False)
class RankingsSample(RankingMeans):
    """What labels of the first items of some rankings say of all.

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
