"""Labels that exist before two rankings are compared, and what they are worth.

Where the program draws the seed, after it has read which items have labels, these are taken off: what they add to the
difference is counted exactly, and the draw is from the rest. That holds whatever the labels are of, and whoever has
seen them. Where the seed is given, the items may have been drawn by it: then a label counts only for an item that is
drawn again, as if it had been asked for now; and the comparison has to have been fixed without these labels.

Proof.  Given the labelled items and their labels, the hashes of the other items are as random as before. ∎
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.labelling.labelled_keys import labelled_keys
from streameval.labelling.options import ReuseOptions
from streameval.labelling.votes import Votes
from streameval.order.scan import key_hashes
from streameval.paired_draws.pair import Pair
from streameval.paired_draws.tops import draws_of
from streameval.rankings.ranking import Ranking
from streameval.study import Study
from streameval.study.reuse import Reuse, reused_votes
from streameval.types import Plan
from streameval.typing import UInt64Array


@dataclass(frozen=True)
class ReusedLabels:
    """Labels for a comparison.

    Attributes:
        key: Columns that tell items apart.
        taken_off: Keys of the items that have one; None where labels only count for items that are drawn.
    """

    reuse: Reuse
    key: tuple[str, ...]
    taken_off: pa.Table | None

    @staticmethod
    def of(labels: ReuseOptions, pair: Pair, folder: Study, seed: int | None) -> ReusedLabels:
        """Read which items have labels, before a seed is drawn; `seed` is the one that was given."""
        reuse = Reuse(labels.on or pair.key, labels.reuse, labels.label, labels.labels_unseen_by_model)
        if reuse.reuse is None:
            return ReusedLabels(reuse, pair.key, None)
        if reuse.key != pair.key:
            raise InputError(f"labels are joined by --key {','.join(pair.key)}", "leave --on out")
        if seed is None or _was_drawn_here(folder, seed):
            source = reuse.labels(pair.key)
            return ReusedLabels(reuse, pair.key, labelled_keys(source, reuse.columns(pair.key), pair.some_keys()))
        reuse.refuse_unsaid()
        return ReusedLabels(reuse, pair.key, None)

    def hashes(self, seed: int) -> UInt64Array:
        """Hashes that draw, of the items that are taken off (uint64 array, rising)."""
        if self.taken_off is None:
            return np.empty(0, np.uint64)
        return unique(draws_of(key_hashes(self.taken_off), seed))

    @property
    def notes(self) -> dict[str, bool]:
        """What a plan remembers of labels that are not taken off."""
        if self.reuse.reuse is None or self.taken_off is not None:
            return {}
        return {"labels_seen_by_model": self.reuse.labels_unseen_by_model == "no"}

    def votes(self, ranking: Ranking, plan: Plan) -> Votes | None:
        """The labels, as votes on planned items; `ranking` is the rows that these are ranks of."""
        if self.reuse.reuse is None or not plan.table.num_rows:
            return None
        if self.taken_off is not None and not plan.table.column("known").to_numpy().any():
            return None
        return reused_votes(ranking, plan, self.reuse, self.key)


def _was_drawn_here(folder: Study, seed: int) -> bool:
    """Whether the plan that a study holds has this seed, and had the program draw it after labels were read."""
    return folder.exists and (plan := folder.plan()).seed == seed and "known" in plan.table.column_names
