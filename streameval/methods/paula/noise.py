"""Bounds from PAULA's own labels that label noise does not break: independent labels, never rising probability.

The bracket takes windows of labels for probabilities, which is why it holds at so few ranks of real lists. Here the
labels are independent, with probabilities that never rise from rank g_ℓ − Δ + 1 on, and the noise of windows and of
what lies between them is paid for (`streameval.kernels.window_band` has the proof). It fails where labels depend on one
another (duplicates, batches) or where the probability rises; both are tested from the labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve.envelope import Points
from streameval.methods.checks.dependence import dependence_test
from streameval.methods.checks.monotonicity import p_text, rise_text
from streameval.methods.paula.layout import Layout
from streameval.types import Labels, Promise
from streameval.typing import BoolArray, FloatArray, Int64Array

ASSUMES_INDEPENDENT = (
    "labels are independent of one another, and the probability of a positive never rises beyond the first window"
)
_MEMORY = 8  # windows that predict the next one
_RATIO = 1.5  # of neighbouring λ
_STEPS = 8  # of plain Python, for each run and λ


def noise_points(layout: Layout, labels: Labels, delta: float) -> Points:
    """Bound Y at every grid point, and at N, all at once with probability ≥ 1 − delta under the model.

    Args:
        layout: With at least one window beyond the head, or a list that ends after it.

    Returns:
        Points: Whole numbers. A missing label counts 0 below and 1 above.
    """
    first, last = layout.first[1:], layout.last
    ends = np.cumsum(layout.last - layout.first + 1)  # labels up to each grid point
    unseen = np.append(first - last[:-1] - 1, layout.n_items - last[-1])  # the last run has no window after it
    rates = _rates(unseen, layout)
    mixture = (layout.window, rates, delta / 2)
    positive = _sums(labels.label == 1, labels.label != 0)
    negative = _sums(labels.label == 0, labels.label != 1)
    above = _runs_above(unseen, positive, (ends - layout.window, ends), mixture)
    below = _runs_above(unseen[:-1], negative, (ends[:-1], ends[1:]), mixture)
    ranks = np.append(last, layout.n_items)
    known_low, known_high = positive[:, np.append(ends, ends[-1])]
    least = np.concatenate([[0.0], np.cumsum(unseen[:-1]) - below])
    slack = 1e-6 + 1e-12 * ranks  # outward, against rounding
    lower = known_low + np.ceil(np.append(least, least[-1]) - slack)
    upper = known_high + np.floor(np.concatenate([[0.0], above]) + slack)
    keep = np.append(np.diff(ranks) > 0, True)
    return Points(ranks[keep], lower[keep], upper[keep])


def _sums(low: BoolArray, high: BoolArray) -> Int64Array:
    """Running counts from 0, shape (2, labels + 1): missing labels as 0 and as 1."""
    return np.concatenate([np.zeros((2, 1), np.int64), np.cumsum([low, high], axis=1, dtype=np.int64)], axis=1)


def _runs_above(
    unseen: Int64Array, sums: Int64Array, labels: tuple[Int64Array, Int64Array], mixture: tuple[int, FloatArray, float]
) -> FloatArray:
    """Upper bounds of what the runs hold of what `sums` counts.

    `labels` are how many may predict each window that bounds a run, and how many there are up to its end.
    """
    from streameval.kernels.jit import small
    from streameval.kernels.window_band import upper_bounds

    seen, ends = labels
    width, rates, delta = mixture
    start = np.maximum(0, seen - _MEMORY * width)
    last_window = sums[1, ends] - sums[1, np.maximum(0, ends - width)]
    # else numpy has it column by column, but not where there is one
    prediction = np.ascontiguousarray((sums[:, seen] - sums[:, start] + 0.5) / (seen - start + 1.0))
    with small(_STEPS * unseen.size * rates.size):
        return upper_bounds(unseen, last_window, prediction, width, rates, delta)


def _rates(unseen: Int64Array, layout: Layout) -> FloatArray:
    """λ for every scale of the list, from the plan alone."""
    sd = np.sqrt(np.cumsum(unseen * (1 + unseen / layout.window)))
    if sd[-1] == 0:
        return np.ones(1)
    relative = sd / np.append(layout.last[1:], layout.n_items)
    first = int(np.argmax(relative >= 0.5 * relative.max()))
    low, high = 4.0 / sd[-1], 16.0 / sd[first]
    return np.geomspace(low, high, max(1, round(math.log(high / low) / math.log(_RATIO))) + 1)


def with_noise(table: pa.Table, points: Points) -> pa.Table:
    """Add `independent_lower`, `independent_upper`, the bounds on precision, to a table of the head and grid points."""
    at = np.searchsorted(table.column("rank").to_numpy(), points.rank)
    inside = at < table.num_rows  # not N, where the tail is open
    bounds = {"lower": np.maximum(points.lower, 0.0), "upper": np.minimum(points.upper, points.rank)}
    for side, bound in bounds.items():
        column = np.full(table.num_rows, np.nan)
        column[at[inside]] = (bound / points.rank)[inside]
        table = table.append_column(f"independent_{side}", pa.array(column, mask=np.isnan(column)))
    return table


def noise_diagnostics(layout: Layout, labels: Labels, assumed: dict[str, Any]) -> dict[str, Any]:
    """Say whether the labels contradict the model: by rising beyond noise, or by depending on their neighbours."""
    ends = np.cumsum(layout.last - layout.first + 1)
    whole = layout.last - layout.first + 1 == layout.window
    windows = labels.label[(ends[whole] - layout.window)[:, None] + np.arange(layout.window)]
    dependence = dependence_test(windows)
    rise = assumed["A.2"]
    return {
        "dependence": dependence.as_dict(),
        "contradicts_independence": dependence.beyond_noise,
        "contradicts_never_rising": bool(rise["beyond_noise"]),
    }


def speak_against(diagnostics: dict[str, Any], consistent: bool) -> bool:
    """Tell whether `noise_diagnostics`, or bounds that cross, speak against the model."""
    return bool(diagnostics["contradicts_never_rising"] or diagnostics["contradicts_independence"] or not consistent)


def noise_findings(
    confidence: float, consistent: bool, diagnostics: dict[str, Any], rise: dict[str, Any], about: str
) -> tuple[str, ...]:
    """Say what the labels say about the model, in sentences; the most important first."""
    if diagnostics["contradicts_never_rising"]:
        return (
            "The assumption fails, so bounds for labels whose probability never rises say nothing about this list: "
            f"{rise_text(rise)} ({p_text(rise['p_value'])}).",
        )
    if diagnostics["contradicts_independence"]:
        test = diagnostics["dependence"]
        return (
            "The assumption fails, so bounds for independent labels say nothing about this list: labels depend on "
            f"their neighbours ({test['near']:,} of {test['pairs']:,} adjacent pairs differ, but {test['far']:,} of as "
            f"many half a window apart; {p_text(test['p_value'])}).",
        )
    if not consistent:
        return ("The bounds contradict themselves: the labels are not independent, or their probability rises.",)
    return (
        Promise(
            confidence,
            f"{about} lies inside the bounds at every rank at once, if labels are independent and the probability of a "
            "positive never rises; nothing in the labels contradicts that.",
        ),
    )
