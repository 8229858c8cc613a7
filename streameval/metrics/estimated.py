"""Every metric of the estimated curve, under the names of `streameval.metrics.bounded.metrics`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streameval.curve.at_cutoff import METRICS
from streameval.curve.first_k import DEEPEST_DCG
from streameval.curve.plug_in import PlugIn
from streameval.metrics import BETAS, ELEVEN, PRECISIONS, RECALLS, text
from streameval.typing import FloatArray, Int64Array

Name = tuple[str, str]


def estimates(plug_in: PlugIn, ranks: Int64Array) -> dict[Name, float]:
    """Estimate every metric.

    Args:
        ranks: Cutoffs.

    Returns:
        dict: By metric and argument; NaN where it is undefined, or unknown.
    """
    metrics: dict[Name, float] = {}
    for name in ("precision", "yield", *(metric for metric in METRICS if metric != "precision")):
        metrics.update(_at_cutoffs(f"{name}_at", ranks, plug_in.at(name, ranks)))
    metrics.update(_of_the_list(plug_in))
    for name, values in plug_in.average_precision_at(ranks).items():
        metrics.update(_at_cutoffs(f"average_precision_at{'' if name == 'positives' else f'_{name}'}", ranks, values))
    shallow = ranks[ranks <= DEEPEST_DCG]
    metrics.update(_at_cutoffs("dcg_at", shallow, plug_in.dcg_at(shallow)) if shallow.size else ())
    metrics.update(_at_targets(plug_in))
    return metrics


def _at_cutoffs(name: str, ranks: Int64Array, values: FloatArray) -> Iterator[tuple[Name, float]]:
    for rank, value in zip(ranks.tolist(), values.tolist(), strict=True):
        yield (name, str(rank)), value


def _of_the_list(plug_in: PlugIn) -> dict[Name, float]:
    whole = plug_in.average_precision(plug_in.misses)
    metrics = {
        ("average_precision", "positives"): whole,
        ("average_precision", "found"): plug_in.average_precision(0.0),
        ("pr_area", "step"): whole,
        ("pr_area", "interpolated"): plug_in.interpolated_area(),
        ("roc_auc", ""): plug_in.roc_auc(),
    }
    best = {beta: plug_in.max_f(beta) for beta in BETAS}
    metrics |= {(f"max_f{beta:g}", ""): value for beta, (value, _) in best.items()}
    return metrics | {
        ("max_f1_rank", ""): best[1.0][1],
        ("breakeven", ""): plug_in.breakeven(),
        ("r_precision", ""): plug_in.r_precision(),
        ("reciprocal_rank", ""): plug_in.reciprocal_rank(),
    }


def _at_targets(plug_in: PlugIn) -> dict[Name, float]:
    metrics = {("rank_at_recall", text(recall)): plug_in.rank_at_recall(recall) for recall in RECALLS}
    eleven = [plug_in.interpolated_precision(recall) for recall in ELEVEN]
    metrics |= {("precision_at_recall", text(recall)): value for recall, value in zip(ELEVEN, eleven, strict=True)}
    metrics[("eleven_point_precision", "")] = float(np.mean(eleven))
    for precision in PRECISIONS:
        metrics[("rank_at_precision", text(precision))] = plug_in.rank_at_precision(precision)
        metrics[("recall_at_precision", text(precision))] = plug_in.recall_at_precision(precision)
    return metrics
