"""Metrics with bounds, derived from a curve and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.types import Int64Array

SCHEMA = pa.schema(
    {
        "metric": pa.string(),
        "argument": pa.string(),
        "lower": pa.float64(),
        "estimate": pa.float64(),
        "upper": pa.float64(),
        "coverage": pa.string(),
    }
)


def cutoffs(n_items: int) -> Int64Array:
    """Return the powers of ten below N, and N.

    Examples
    --------
    >>> cutoffs(2_500)
    array([  10,  100, 1000, 2500])
    """
    powers = 10 ** np.arange(1, 19, dtype=np.int64)
    return np.append(powers[powers < n_items], n_items)


def metrics(curve: Curve, ranks: Int64Array | None = None) -> pa.Table:
    """Compute every metric at every cutoff.

    Parameters
    ----------
    curve : Curve
    ranks : int64 array, optional
        Cutoffs; by default `cutoffs(n_items)`.

    Returns
    -------
    pyarrow.Table
        `metric`, `argument` (the cutoff, as text), `lower`, `estimate`, `upper`, `coverage` (of the curve's claim).
        precision_at k: share of positives among the first k. yield_at k: their number.
    """
    chosen = cutoffs(curve.n_items) if ranks is None else ranks
    found = curve.at(chosen)
    return pa.concat_tables([_rows(found, f"{name}_at", name, curve) for name in ("precision", "yield")])


def _rows(found: pa.Table, metric: str, column: str, curve: Curve) -> pa.Table:
    ranks = found.column("rank")
    return pa.table(
        {
            "metric": [metric] * len(ranks),
            "argument": [str(rank) for rank in ranks.to_pylist()],
            "lower": found.column(f"{column}_lower"),
            "estimate": found.column(column),
            "upper": found.column(f"{column}_upper"),
            "coverage": [curve.claim.coverage] * len(ranks),
        },
        schema=SCHEMA,
    )
