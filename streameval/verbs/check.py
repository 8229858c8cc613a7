"""Check: does an evaluated study prove that a list is good enough?"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from streameval.curve import Curve
from streameval.curve.at_cutoff import METRICS
from streameval.curve.extremes import Extremes
from streameval.curve.targets import (
    interpolated_precision,
    rank_at_precision,
    rank_at_recall,
    recall_at_precision,
    target,
)
from streameval.errors import InputError, did_you_mean
from streameval.study import Study
from streameval.study.result_files import Evaluation

Outcome = Literal["pass", "fail", "inconclusive"]
_CHECK = re.compile(
    r"\s*([a-z0-9_]+)\s*(?:@\s*([prs]?)\s*([-+0-9._e]+))?\s*(>=|<=|>|<)\s*([-+0-9.e%]+)\s*", re.IGNORECASE
)
_FORM = "METRIC[@CUTOFF] >= NUMBER: precision@10000 >= .9, recall@p.95 >= .5, f1@s.7 >= .6, average_precision > .8"
_AT_TARGET: dict[tuple[str, str], Callable[[Extremes, Fraction], tuple[float, float]]] = {
    ("recall", "p"): recall_at_precision,
    ("precision", "r"): interpolated_precision,
    ("rank", "p"): rank_at_precision,
    ("rank", "r"): rank_at_recall,
}
_HEADLINES = ("", "positives")


@dataclass(frozen=True)
class Checked:
    """What one check came to.

    Attributes:
        check: As typed.
        lower, upper: Bounds on the metric; NaN where it is undefined.
        outcome: "pass" where all that the bounds allow meets it, "fail" where nothing does; else "inconclusive", and so
            it is wherever the bounds promise nothing.
        labels: About how many labels in all would decide it (a forecast); None where that cannot be said, or nothing
            needs deciding.
    """

    check: str
    lower: float
    upper: float
    outcome: Outcome
    labels: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        bounds = {
            name: None if math.isnan(value) else value for name, value in (("lower", self.lower), ("upper", self.upper))
        }
        return {"check": self.check, **bounds, "outcome": self.outcome, "labels": self.labels}


def check(study: str | os.PathLike[str], checks: Sequence[str]) -> list[Checked]:
    """Hold an evaluated study against conditions; all outcomes hold together, as its bounds do.

    Args:
        checks: Each METRIC[@CUTOFF] OP NUMBER, with OP one of >=, >, <=, <. The cutoff is a rank (`precision@10000`), a
            score (`@s.7`), or for recall and rank a precision (`recall@p.95`), for precision and rank a recall
            (`precision@r.5`). Metrics of the whole list have none (`average_precision`).

    Raises:
        InputError: A condition that cannot be read (says where), or asks for what there is none of.
        StudyError: No results.
    """
    if not checks:
        raise InputError("nothing is checked", _FORM)
    evaluation = Study(Path(study)).evaluation()
    labelled = int(evaluation.summary.get("account", {}).get("labelled", 0))
    return [_checked(one, evaluation, labelled) for one in checks]


def _checked(text: str, evaluation: Evaluation, labelled: int) -> Checked:
    metric, kind, cutoff, operator, wanted = _parsed(text)
    lower, upper = _bounds(text, evaluation, (metric, kind, cutoff))
    outcome = _outcome(lower, upper, operator, wanted) if evaluation.curve.proves else "inconclusive"
    needed = _labels_needed(lower, upper, wanted, labelled) if outcome == "inconclusive" else None
    return Checked(text, lower, upper, outcome, needed if evaluation.curve.proves else None)


def _parsed(text: str) -> tuple[str, str, str, str, float]:
    found = _CHECK.fullmatch(text)
    if found is None:
        begun = _CHECK.match(text) or re.match(
            r"\s*[a-z0-9_]*(\s*@\s*[prs]?[-+0-9._e]+)?\s*((>=|<=|>|<)\s*)?", text, re.IGNORECASE
        )
        at = begun.end() if begun is not None else 0
        rest = text[at : at + 20]
        where = f"at '{rest}'" if rest.strip() else "at its end"
        raise InputError(f"check '{text}' cannot be read {where} (character {at + 1})", f"write {_FORM}")
    metric, kind, cutoff, operator, number = found.groups()
    try:
        wanted = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise InputError(f"check '{text}': '{number}' is no number", f"write {_FORM}") from None
    return metric.lower(), (kind or "").lower(), cutoff or "", operator, wanted


def _bounds(text: str, evaluation: Evaluation, asked: tuple[str, str, str]) -> tuple[float, float]:
    metric, kind, cutoff = asked
    curve = evaluation.curve
    if not cutoff:
        return _of_the_list(text, evaluation, metric)
    if kind in ("p", "r"):
        question = _AT_TARGET.get((metric, kind))
        if question is None:
            raise InputError(
                f"check '{text}': there is no {metric} at a {'precision' if kind == 'p' else 'recall'}", _FORM
            )
        share = target(cutoff, "precision" if kind == "p" else "recall")
        return question(Extremes.of(curve.envelope, curve.misses), share) if curve.proves else (np.nan, np.nan)
    if metric not in METRICS and metric != "yield":
        raise InputError(
            f"check '{text}': there is no metric '{metric}' of a cutoff", did_you_mean(metric, [*METRICS, "yield"])
        )
    first, last = curve.rank_at_score(cutoff) if kind == "s" else _rank(text, cutoff, curve)
    return curve.between(first, last)[metric]


def _rank(text: str, cutoff: str, curve: Curve) -> tuple[int, int]:
    try:
        rank = int(cutoff)
    except ValueError:
        rank = int(float(cutoff)) if re.fullmatch(r"\d+(\.\d*)?e\d+", cutoff, re.IGNORECASE) else 0
    if not 1 <= rank <= curve.n_items:
        raise InputError(
            f"check '{text}': '{cutoff}' is no rank in 1..{curve.n_items:,}", "a score is @s.7, a precision @p.9"
        )
    return rank, rank


def _of_the_list(text: str, evaluation: Evaluation, metric: str) -> tuple[float, float]:
    rows = [row for row in evaluation.metrics.to_pylist() if row["argument"] in _HEADLINES]
    known = {row["metric"]: row for row in reversed(rows)}
    if metric not in known:
        if metric in METRICS:
            raise InputError(f"check '{text}': {metric} has no cutoff", f"{metric}@10000 is of the first 10,000 items")
        if not evaluation.curve.proves:
            return np.nan, np.nan
        raise InputError(
            f"check '{text}': there is no metric '{metric}' of the list", did_you_mean(metric, list(known))
        )
    lower, upper = known[metric]["lower"], known[metric]["upper"]
    return (np.nan if lower is None else lower), (np.nan if upper is None else upper)


def _outcome(lower: float, upper: float, operator: str, wanted: float) -> Outcome:
    meets = {
        ">=": lambda x: x >= wanted,
        ">": lambda x: x > wanted,
        "<=": lambda x: x <= wanted,
        "<": lambda x: x < wanted,
    }
    if math.isnan(lower) or math.isnan(upper):
        return "inconclusive"
    low, high = meets[operator](lower), meets[operator](upper)
    if low and high:
        return "pass"
    return "inconclusive" if low or high else "fail"


def _labels_needed(lower: float, upper: float, wanted: float, labelled: int) -> int | None:
    """Labels at which bounds as wide as the distance from the estimate to the number wanted are forecast."""
    estimate = 2 * lower * upper / (lower + upper) if lower + upper > 0 else 0.0
    distance = abs(estimate - wanted)
    if not labelled or not math.isfinite(upper - lower) or distance < 0.02 * (upper - lower):
        return None
    needed = labelled * ((upper - lower) / 2 / distance) ** 2
    digits = 10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1)
    return int(max(labelled + 1, math.ceil(needed / digits) * digits))
