"""Rows of metrics of a labelled list that is a sample: each with its interval, and sums by bin for comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from streameval.counting.calibration import COLUMNS as LOSSES
from streameval.counting.influence import Clusters, Influence
from streameval.curve.at_cutoff import METRICS, Cutoffs
from streameval.metrics import Row, table
from streameval.metrics.exact import Counted
from streameval.metrics.incomplete_beta import clopper_pearson
from streameval.metrics.intervals import AT_CUTOFF, CONFIDENCE, Derived, SampledList, SampleInterval, interval, refusal
from streameval.typing import AnyArray

COLUMNS = {"standard_error": pa.float64(), "low": pa.float64(), "high": pa.float64(), "no_interval": pa.string()}
"""Columns of `metrics` where the list is a sample; `no_interval` says why there is none."""
HASHES = ("item_hashes", "label_hashes")
"""Columns of bins: sums of hashes of items, and of positive ones, by which others are told apart."""
BINS_IN_USE = "bins"
OF_NONE = "none is known for this metric"
_OF_MISSES = "misses are counted without saying whose they are"
_TIED = "tied items leave it open at this cutoff"
_BEST = "the best of all cutoffs of a sample is too high on average: ask for F at a cutoff"
_REASONS = {"max_f0.5": _BEST, "max_f1": _BEST, "max_f2": _BEST}
_ONE_LESS = {"e_measure": "f1", "false_positive_rate": "specificity"}
# successes and trials of what is a share of independent rows, above a cutoff that no sample has moved
_SHARES: Mapping[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "precision": lambda tp, q, p, n: (tp, q),
    "recall": lambda tp, q, p, n: (tp, p),
    "accuracy": lambda tp, q, p, n: (2 * tp + n - q - p, n),
    "specificity": lambda tp, q, p, n: (n - p - q + tp, n - p),
}
WithDerived = tuple[SampleInterval, Derived | None]


def with_intervals(
    rows: pa.Table, counted: Counted, influence: Influence, clusters: Clusters
) -> tuple[pa.Table, pa.Table]:
    """Put standard errors and intervals beside the metrics of a list that is a sample.

    Returns:
        pyarrow.Table: With rows of metrics at the scores that were asked for, and with `COLUMNS`; `low` and `high` are
            null where `no_interval` says why; `bins` says how many have a draw that the metric turns on.
        pyarrow.Table: A row for each bin: `items`, `positives`, `HASHES`, and under `column_of` each metric that two
            samples of the same draws can be compared by, what the bin adds to it.
    """
    sampled = SampledList(counted, influence)
    names = zip(rows.column("metric").to_pylist(), rows.column("argument").to_pylist(), strict=True)
    found = [_of_row(sampled, *name) for name in names]
    at_scores = [one for number in range(len(clusters.at)) for one in metrics_at_score(sampled, clusters, number)]
    rows = pa.concat_tables([rows, table([row for row, _ in at_scores], "exact")])
    found += [of for _, of in at_scores]
    intervals = [interval.as_dict() for interval, _ in found]
    for name, kind in COLUMNS.items():
        rows = rows.append_column(name, pa.array([interval[name] for interval in intervals], kind))
    sketch: dict[str, AnyArray] = {"items": influence.items, "positives": influence.positives,
                                   **dict(zip(HASHES, influence.hashes.T, strict=True))}  # fmt: skip
    bins = []
    for row, (_, derived) in zip(rows.select(["metric", "argument"]).to_pylist(), found, strict=True):
        whole = derived is not None and refusal(derived) is None
        bins.append(derived.bins if derived is not None and whole else None)
        if derived is not None and whole:
            sketch[column_of(**row)] = derived.influence
    return rows.append_column(BINS_IN_USE, pa.array(bins, pa.int64())), pa.table(sketch)


def column_of(metric: str, argument: str) -> str:
    """Name what bins add to a metric.

    >>> column_of("precision_at", "100"), column_of("roc_auc", "")
    ('precision_at 100', 'roc_auc')
    """
    return f"{metric} {argument}".rstrip()


def metrics_at_score(sampled: SampledList, clusters: Clusters, number: int) -> Iterator[tuple[Row, WithDerived]]:
    """Give the metrics of all items of a score or a better one, each with its interval."""
    counts, misses = sampled.counts_at_score(number), sampled.counted.misses
    tp, q, p, n = (np.array([float(count)]) for count in counts)
    with np.errstate(invalid="ignore"):  # there may be no item of such a score
        values = {name: float(one.value(Cutoffs(q, tp, p, float(n[0]), float(misses)))[0])
                  for name, one in METRICS.items()}  # fmt: skip
    for name, value in {**values, "yield": float(counts[0]), "rank": float(counts[1])}.items():
        plain = _ONE_LESS.get(name, name)
        row = f"{name}_at_score", clusters.at[number], value, value, value
        if plain not in AT_CUTOFF or misses:
            yield row, (SampleInterval(reason=_OF_MISSES if plain in AT_CUTOFF else OF_NONE), None)
            continue
        derived = sampled.at_score(plain, number)
        is_share = plain in _SHARES and not clusters.columns
        found = _of_share(*_SHARES[plain](*counts)) if is_share else interval(derived)
        yield row, (found, derived) if name == plain else _one_less(found, derived)


def _of_share(found: int, of: int) -> SampleInterval:
    """Give the interval of Clopper and Pearson, which holds of independent rows whatever the share."""
    if not of:
        return SampleInterval(reason="it is undefined")
    share = found / of
    return SampleInterval(math.sqrt(share * (1.0 - share) / of), *clopper_pearson(found, of, CONFIDENCE))


def _one_less(found: SampleInterval, derived: Derived) -> WithDerived:
    return replace(found, low=1.0 - found.high, high=1.0 - found.low), replace(derived, influence=-derived.influence)


def _of_row(sampled: SampledList, metric: str, argument: str) -> WithDerived:
    """Give the interval of one row of the metrics, and what it was derived from."""
    plain = metric.removesuffix("_at")
    name = _ONE_LESS.get(plain, plain)
    cutoff = int(argument) if metric.endswith("_at") else None
    whole: dict[tuple[str, str], Callable[[], Derived]] = {
        ("average_precision", "positives"): sampled.average_precision,
        ("roc_auc", ""): sampled.roc_auc,
        ("r_precision", ""): sampled.r_precision,
        **{(loss, ""): partial(sampled.mean_loss, loss) for loss in LOSSES},
    }
    known = (metric, argument) in whole or (cutoff is not None and name in AT_CUTOFF)
    if not known or (sampled.counted.misses and metric not in LOSSES):
        return SampleInterval(reason=_OF_MISSES if known else _REASONS.get(metric, OF_NONE)), None
    if metric == "r_precision":
        cutoff = sampled.counted.totals.positives
    if cutoff and sampled.is_tied(cutoff):
        return SampleInterval(reason=_TIED), None
    derived = whole[metric, argument]() if (metric, argument) in whole else sampled.at_cutoff(name, int(argument))
    found = interval(derived)
    return (found, derived) if name == plain else _one_less(found, derived)
