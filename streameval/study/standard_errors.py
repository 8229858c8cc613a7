"""Standard errors of a study's estimates, from the labels that its files hold."""

from __future__ import annotations

import numpy as np

from streameval.curve.pooling import PooledLabels, odds_of
from streameval.curve.standard_error import standard_error
from streameval.study.result_files import Evaluation


def precision_error(evaluation: Evaluation, rank: int) -> float | None:
    """Standard error of the estimated precision of the first `rank` items, approximate.

    None where fewer than 10 positive or 10 negative labels of a random draw say something of these items; where there
    is no estimate; and with a judge, or slices, for which it was not measured.
    """
    labels, drawn = evaluation.labels, evaluation.label_table.column("draw_weight").to_numpy(zero_copy_only=False)
    unmeasured = "judge" in evaluation.curve.diagnostics or evaluation.slices
    if unmeasured or evaluation.curve.plug_in is None or not labels.known.any() or np.isnan(drawn).any():
        return None
    pool = PooledLabels.of(labels.rank, labels.label, odds_of(drawn, labels.known))
    error = standard_error(pool, labels.rank[labels.known], rank) / rank if pool.rank.size else np.nan
    return None if np.isnan(error) else float(error)
