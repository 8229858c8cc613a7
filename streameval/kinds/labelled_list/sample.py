"""A labelled list that is a sample: what was drawn, read from options and found in the list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from streameval.counting.influence import SEED, Clusters
from streameval.errors import InputError
from streameval.kernels.influence import BINS
from streameval.kinds.exact import ROWS
from streameval.metrics.intervals import CONFIDENCE, claim_at
from streameval.options import listed
from streameval.order.count_at_score import as_score
from streameval.order.item_keys import check_key
from streameval.questions.cutoffs import Cutoff
from streameval.rankings.ranking import Ranking


def read_clusters(sample_of: object, at: object, score: str | None) -> Clusters:
    """Read what was drawn; an `InputError` where scores are wanted that nothing has."""
    if at is not None and (sample_of is None or score is None):
        raise InputError("metrics at a score are those of a sample that is ranked by one",
                         "say with --score COL by which, and with --sample-of what was drawn")  # fmt: skip
    cutoffs = [Cutoff.parse(text) for text in listed(at or ())]
    if strange := [cutoff for cutoff in cutoffs if cutoff.kind != "score"]:
        raise InputError(f"--at is '{strange[0]}', and a sample has metrics at every rank",
                         "name scores: --at score:0.5")  # fmt: skip
    if not (columns := listed(sample_of or ())):
        raise InputError("--sample-of names no column", f"say what was drawn, or {ROWS}, if each row was")
    return Clusters(columns, tuple(str(cutoff.value) for cutoff in cutoffs))


def clusters_in(ranking: Ranking, drawn: Clusters) -> Clusters:
    """Find the columns and scores of what was drawn in a list.

    Raises:
        InputError: A column is not there, or cannot tell draws apart; a score that scores cannot be.
    """
    names = ranking.rows.all_names()
    clusters = replace(drawn, key=ranking.options.key, scores=tuple(_key_of(ranking, place) for place in drawn.at))
    if drawn.columns == (ROWS,) and ROWS not in names:
        return replace(clusters, columns=())
    for name in drawn.columns:
        if name not in names:
            raise InputError(f"the ranking has no column '{name}' to say what was drawn",
                             f"{ranking.rows.hint_for(name)}; or --sample-of {ROWS}, if each row was")  # fmt: skip
        check_key(ranking.rows.schema.field(name).type, name, ranking.rows.name)
    return clusters


def _key_of(ranking: Ranking, score: str) -> int:
    order = ranking.order
    if order is None:
        raise InputError("the list has no scores")
    value = as_score(score, order.kind, order.options.ascending)
    return int(order.order.keys(pa.array([value], order.kind)).key[0])


def described(clusters: Clusters) -> dict[str, Any]:
    """Describe what was drawn and what intervals claim, JSON-ready."""
    return {"of": list(clusters.columns) or ROWS, "confidence": CONFIDENCE, "claim": f"{claim_at()}: {clusters.each}",
            "bins": BINS, "seed": f"{SEED:x}"}  # fmt: skip
