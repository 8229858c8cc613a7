"""Metrics: what follows from a curve, or from a list whose every item has a label, under the field's names.

`bounded` derives them from bounds on the yield, `estimated` from the estimated yield, `exact` from sums over labels of
every item (`tied`: the mean over all orders of tied items); all make rows of one table. `intervals` has what a list
that is a sample leaves open, `sampled_rows` its rows, `paired_samples` the difference of two, and `means` what rankings
leave open. `arrays` has the functions of scikit-learn by the kernels of `exact`, and `lingpipe` the class of LingPipe,
whose scored `cases` come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.types import Coverage
from streameval.typing import Int64Array

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
# metric, argument, lower, estimate, upper; NaN where a metric is undefined
Row = tuple[str, str, float, float, float]

RECALLS = tuple(Fraction(text) for text in ("0.5", "0.8", "0.9", "0.95", "0.99"))
PRECISIONS = tuple(Fraction(text) for text in ("0.5", "0.8", "0.9", "0.95", "0.99"))
FALSE_POSITIVE_RATES = tuple(Fraction(text) for text in ("0.001", "0.01", "0.05", "0.1", "0.2"))
ELEVEN = tuple(Fraction(i, 10) for i in range(11))
PERSISTENCES = (0.5, 0.8, 0.95)  # of rank-biased precision
BETAS = (0.5, 1.0, 2.0)
ROUNDING = 1e-12
"""Relative difference that the order of a sum can make: values so close may be the same."""


def cutoffs(n_items: int) -> Int64Array:
    """Return the powers of ten below N, and N.

    >>> cutoffs(2_500)
    array([  10,  100, 1000, 2500])
    """
    powers = 10 ** np.arange(1, 19, dtype=np.int64)
    return np.append(powers[powers < n_items], n_items)


def text(target: Fraction) -> str:
    """Write a recall or precision as a decimal.

    >>> text(Fraction(9, 10)), text(Fraction(1))
    ('0.9', '1')
    """
    return f"{float(target):g}"


def table(rows: Iterable[Row], coverage: Coverage) -> pa.Table:
    """Make `metrics.parquet` of rows; a NaN becomes null, as the metric is undefined."""
    ordered = [_in_order(row) for row in rows]
    values = [[None if np.isnan(row[i]) else row[i] for row in ordered] for i in (2, 3, 4)]
    names = [[row[i] for row in ordered] for i in (0, 1)]
    return pa.table([*names, *values, [coverage] * len(ordered)], schema=SCHEMA)


def _in_order(row: Row) -> Row:
    """Swap ends that were summed in different ways where rounding alone has crossed them."""
    metric, argument, lower, estimate, upper = row
    if not 0 < lower - upper <= ROUNDING * max(abs(lower), abs(upper), 1.0):
        return row
    return metric, argument, upper, min(max(estimate, upper), lower), lower


def headlines(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """One row a metric, by (metric, argument), of those of a table: what people are shown.

    Of an exact evaluation the estimate is the value that a metric is known by; beside it are tied items in the worst
    order (`lower`) and in the best (`upper`). Where they count as one step it may lie outside. The rows that say only
    what ties do are left out.
    """
    by_name = {(str(row["metric"]), str(row["argument"])): dict(row) for row in rows}
    headline = {name: row for name, row in by_name.items() if not f"{name[0]} {name[1]}".endswith(_TIES)
             and not name[0].endswith(_TIES)}  # fmt: skip
    for (metric, argument), row in headline.items():
        whole = by_name.get((metric, f"{'found ' * (argument == 'found')}tie_order"))
        if whole is not None and argument in ("positives", "found", ""):
            row |= {"lower": whole["lower"], "upper": whole["upper"]}
        if (inside := by_name.get((f"{metric}_tie_order", argument))) is not None:
            row["estimate"] = inside["estimate"]
    return headline


_TIES = ("tie_order", "_at_grouped")
