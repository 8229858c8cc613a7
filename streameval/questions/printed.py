"""Printing of measures and their values, wherever people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from streameval.questions.cutoffs import Cutoff

OURS = {
    **dict.fromkeys(("base_rate", "prevalence", "positive_rate"), "precision@100%"),
    **dict.fromkeys(("ppv", "positive_predictive_value"), "precision"),
    **dict.fromkeys(("sensitivity", "tpr", "true_positive_rate", "hit_rate"), "recall"),
    **dict.fromkeys(("tnr", "true_negative_rate", "selectivity"), "specificity"),
    **dict.fromkeys(("fpr", "false_alarm_rate", "fallout"), "false_positive_rate"),
    **dict.fromkeys(("auc", "auroc", "roc"), "roc_auc"),
    **dict.fromkeys(("gmap", "geometric_map"), "gm_map"),
    **dict.fromkeys(("pauc", "partial_auc"), "roc_auc@fpr:0.1"),
    **dict.fromkeys(("ap", "aveprec", "auprc", "pr_auc", "average_precision_score"), "average_precision"),
    **dict.fromkeys(("f", "f_score", "f1_score", "dice"), "f1"),
    **dict.fromkeys(("hits", "tp", "true_positives", "found"), "yield"),
    **dict.fromkeys(("matthews", "phi", "matthews_corrcoef"), "mcc"),
}  # other names of the field, and what we call it
SHORT = {"map": "average_precision", "mrr": "reciprocal_rank"}  # of means over many rankings
_LONG = {name: short for short, name in SHORT.items()}
_COUNTS = ("yield", "positives", "rank", "gain")
_DIGITS = 4
UNKNOWN = "–"


def measure_of(metric: str, argument: str) -> str:
    """Say how people ask for a row of metrics.parquet.

    >>> measure_of("mean_average_precision", ""), measure_of("mean_ndcg_at", "10"), measure_of("yield_at", "1000000")
    ('map', 'ndcg@10', 'yield@1,000,000')
    >>> measure_of("recall_at_precision", "0.9"), measure_of("average_precision", "positives")
    ('recall@precision:0.9', 'average_precision')
    """
    name = metric.removeprefix("mean_")
    base, at, cutoff = name.partition("_at")
    base = _LONG.get(base, base) if name != metric else base
    if at and not cutoff:
        return f"{base}@{Cutoff('rank', int(argument))}"
    if at and cutoff in ("_precision", "_recall", "_score", "_fpr"):
        return f"{base}@{cutoff[1:]}:{argument}"
    if argument in ("", "positives", "step"):  # what is meant where nothing else is said
        return f"{base}{at}{cutoff}"
    return f"{base}{at}{cutoff} {'of found positives' if argument == 'found' else argument}"


def p_text(value: float | None) -> str:
    """Write a p-value; a dash where there is none."""
    return "-" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def value_text(measure: str, value: Any, apart_from: float | None = None) -> str:
    """A bound or estimate of a measure, as text.

    Args:
        value: A number, a score of any type, or None; NaN where nothing is known.
        apart_from: What it is compared with: as many digits are printed as tell the two apart.

    >>> value_text("recall@10", 0.25), value_text("rank@1%", 1200.0), value_text("map", 0.29998, apart_from=0.3)
    ('0.2500', '1,200', '0.29998')
    """
    if value is None or value != value:
        return UNKNOWN
    if not isinstance(value, int | float):
        return str(value)
    wanted = value if apart_from is None else apart_from
    tries = (_round(measure, value, digits) for digits in range(_DIGITS, 18))
    apart = (text for text in tries if _side(float(text.replace(",", "")), wanted) == _side(value, wanted))
    return _round(measure, value, _DIGITS) if wanted == value else next(apart, repr(value))


def bounds_text(measure: str, bounds: Sequence[Any]) -> str:
    """Lower bound, estimate and upper bound as text; one number where they are one.

    >>> bounds_text("map", (0.25, 0.3, 0.5)), bounds_text("map", (0.25, 0.25, 0.25))
    ('0.2500 … 0.3000 … 0.5000', '0.2500')
    """
    lower, estimate, upper = (value_text(measure, value) for value in bounds)
    return estimate if bounds[0] == bounds[2] else f"{lower} … {estimate} … {upper}"


def bounds_lines(bounds: Mapping[str, Sequence[Any]]) -> list[str]:
    """Write each measure and its bounds on a line.

    >>> bounds_lines({"map": (0.25, 0.3, 0.5), "ndcg@10": (0.25, 0.25, 0.25)})
    ['map       0.2500 … 0.3000 … 0.5000', 'ndcg@10   0.2500']
    """
    width = max(map(len, bounds), default=0)
    return [f"{name.ljust(width)}   {bounds_text(name, bounds[name])}" for name in bounds]


def _round(measure: str, value: float, digits: int) -> str:
    if measure.partition("@")[0] in _COUNTS or isinstance(value, int):
        text = f"{value:,.{digits - 3}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if measure.startswith("score@") or (value and abs(value) < 0.001) or math.isinf(value):
        return f"{value:.{digits + 2}g}"
    return f"{value:.{digits}f}"


def _side(value: float, wanted: float) -> int:
    return (value > wanted) - (value < wanted)


def without_interval(shown: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Say why some of what is shown has no interval, a line for each reason."""
    of_reason: dict[str, dict[str, None]] = {}
    every = set()
    for name, row in shown:
        every.add(name)
        if row.get("no_interval"):
            of_reason.setdefault(row["no_interval"], {})[name] = None
    lines = [f"{_none_of(list(names), every)}: {reason}." for reason, names in of_reason.items()]
    return ["", *lines] if lines else []


def _none_of(names: Sequence[str], every: Set[str]) -> str:
    return "No metric has an interval" if len(names) == len(every) > 1 else f"No interval of {', '.join(names)}"


def open_ends(shown: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Say what an end of an interval means that is an end of the scale, where some of what is shown has one."""
    is_open = any(row.get("low") in (-1.0, 0.0) or row.get("high") == 1.0 for _, row in shown)
    return ["An end at 0 or 1: there are too few draws to bound it on that side."] if is_open else []
