"""Check: does an evaluated study prove that a list is good enough?"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.at_cutoff import METRICS
from streameval.curve.bounds import Bounds
from streameval.curve.extremes import Extremes
from streameval.curve.plug_in import PlugIn
from streameval.curve.targets import (
    interpolated_precision,
    rank_at_precision,
    rank_at_recall,
    recall_at_precision,
    target,
)
from streameval.errors import InputError, did_you_mean
from streameval.notebook import Tabular
from streameval.study import Study
from streameval.study.provenance import more_labels, way_out
from streameval.study.result_files import Evaluation
from streameval.types import Claim

Outcome = Literal["pass", "fail", "inconclusive"]
_PARTS = (
    ("a metric", r"\s*([a-z][a-z0-9_.]*)"),
    ("@ and a cutoff, or >=, >, <=, <", r"\s*(?:@\s*([prs]?)\s*([-+0-9._e]+))?\s*(>=|<=|>|<)"),
    ("a number", r"\s*([-+]?[0-9.][-+0-9.e]*%?)\s*$"),
)
_FORM = "METRIC[@CUTOFF] >= NUMBER: precision@10000 >= .9, recall@p.95 >= .5, f1@s.7 >= .6, average_precision > .8"
_Question = tuple[Callable[[Extremes, Fraction], tuple[float, float]], Callable[[PlugIn, Fraction], float]]
_AT_TARGET: dict[tuple[str, str], _Question] = {
    ("recall", "p"): (recall_at_precision, PlugIn.recall_at_precision),
    ("precision", "r"): (interpolated_precision, PlugIn.interpolated_precision),
    ("rank", "p"): (rank_at_precision, PlugIn.rank_at_precision),
    ("rank", "r"): (rank_at_recall, PlugIn.rank_at_recall),
}
_OF_THE_LIST = ("average_precision", "pr_area", "roc_auc", "max_f0.5", "max_f1", "max_f2", "breakeven", "r_precision",
                "reciprocal_rank", "eleven_point_precision")  # fmt: skip
_HEADLINES = ("", "positives", "step")
_COUNTS = ("yield", "rank")
_STANDARD_ERROR = 1 / 3.7  # of an estimate, in half-widths of bounds at all ranks


@dataclass(frozen=True)
class Checked:
    """What one check came to.

    Attributes:
        check: As typed.
        lower, upper: Bounds on the metric; NaN where it is undefined.
        outcome: "pass" where all that the bounds allow meets it, "fail" where nothing does; else "inconclusive", and so
            it is wherever the bounds promise nothing, or perhaps no item has the score of the cutoff.
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


@dataclass(frozen=True)
class Checks(Tabular):
    """What a gate says.

    Attributes:
        checked: Every check, in the order given.
        claim: What the bounds promise, and so the outcomes.
        why: Why nothing can be told: these bounds promise nothing, or are not about what was asked for; else empty.
        next: The command that may decide what is inconclusive, and what it does; empty where there is none.
    """

    checked: tuple[Checked, ...]
    claim: Claim
    why: str
    next: str = ""

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checked)

    @property
    def outcome(self) -> Outcome:
        """The worst of all: one check that fails makes a gate fail, and else an inconclusive one decides.

        Where nothing can be told, it is inconclusive.
        """
        if self.why:
            return "inconclusive"
        outcomes: dict[Outcome, None] = {one.outcome: None for one in self.checked}
        worst: tuple[Outcome, ...] = ("fail", "inconclusive")
        return next((one for one in worst if one in outcomes), "pass")

    @property
    def table(self) -> pa.Table:
        """`check`, `lower`, `upper`, `outcome`, `labels`."""
        kinds = [("check", pa.string()), ("lower", pa.float64()), ("upper", pa.float64()), ("outcome", pa.string()),
                 ("labels", pa.int64())]  # fmt: skip
        return pa.Table.from_pylist([one.as_dict() for one in self.checked], schema=pa.schema(kinds))


def check(
    study: str | os.PathLike[str], checks: str | Sequence[str] = (), *, about: Literal["truth"] | None = None
) -> Checks:
    """Hold an evaluated study against conditions; all outcomes hold together, as its bounds do.

    Args:
        checks: Each METRIC[@CUTOFF] OP NUMBER, with OP one of >=, >, <=, <. The cutoff is a rank (`precision@10000`), a
            score (`@s.7`), or for recall and rank a precision (`recall@p.95`), for precision and rank a recall
            (`precision@r.5`). Metrics of the whole list have none (`average_precision`).
        about: "truth" demands a claim about the truth; without conditions, that alone. Of a claim about what the
            annotators would say, every outcome is then "inconclusive".

    Raises:
        InputError: A condition that cannot be read (says where), or asks for what there is none of; nothing is asked.
        StudyError: No results.
    """
    if about not in (None, "truth"):
        raise InputError(f"about is '{about}'", "about='truth' demands a claim about the truth")
    if not checks and about is None:
        raise InputError("nothing is checked", _FORM)
    folder = Study(Path(study))
    evaluation = folder.evaluation()
    why = _why_not(evaluation.curve, about)
    found = tuple(_checked(one, evaluation, why) for one in ([checks] if isinstance(checks, str) else checks))
    return Checks(found, evaluation.curve.claim, why, _next(folder, evaluation, found, why))


def _why_not(curve: Curve, about: str | None) -> str:
    """Why nothing can be told of conditions; empty where it can."""
    if not curve.proves:
        return next(iter(curve.findings), "The bounds contradict each other.")
    return curve.claim.caution if about is not None else ""


def _next(study: Study, evaluation: Evaluation, checked: Sequence[Checked], why: str) -> str:
    """What to do about the checks that are inconclusive; of a claim that is not about the truth, `why` says it."""
    if "account" not in evaluation.summary or all(one.outcome != "inconclusive" for one in checked):
        return ""
    summary, folder = evaluation.summary, str(study.folder)
    if why:
        return "" if evaluation.curve.proves else way_out(study.plan(), summary, folder)
    labels = max((one.labels or 0 for one in checked), default=0)
    missing = summary["account"]["planned"] - summary["account"]["labelled"]
    return more_labels(study.plan(), summary, folder, labels) if labels or missing else ""


def _checked(text: str, evaluation: Evaluation, why: str) -> Checked:
    metric, kind, cutoff, operator, wanted = _parsed(text)
    bounds = _bounds(text, evaluation, (metric, kind, cutoff))
    unsure = bool(why) or (kind == "s" and not evaluation.curve.rank_at_score(cutoff)[0])
    outcome = "inconclusive" if unsure else _outcome(bounds.lower, bounds.upper, operator, wanted)
    account = evaluation.summary.get("account", {})
    needed = None
    if outcome == "inconclusive" and not unsure and not account.get("missing", 0):
        needed = _labels_needed(bounds, wanted, int(account.get("labelled", 0)), evaluation.curve.n_items)
    return Checked(text, bounds.lower, bounds.upper, outcome, needed)


def _parsed(text: str) -> tuple[str, str, str, str, float]:
    at = 0
    groups: list[str | None] = []
    for what, pattern in _PARTS:
        found = re.compile(pattern, re.IGNORECASE).match(text, at)
        if found is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            rest = f"at '{text[at : at + 20]}'" if text[at:] else "at its end"
            raise InputError(f"check '{text}' cannot be read {rest} (character {at + 1}): {what} is missing", _FORM)
        groups += found.groups()
        at = found.end()
    metric, kind, cutoff, operator, number = (one or "" for one in groups)
    return metric.lower(), kind.lower(), cutoff, operator, _wanted(text, metric.lower(), number)


def _wanted(text: str, metric: str, number: str) -> float:
    """The number that a metric is held against; of shares one in 0..1, or a percentage."""
    try:
        wanted = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise InputError(f"check '{text}': '{number}' is not a number", _FORM) from None
    least = -1.0 if metric == "mcc" else 0.0
    if metric not in _COUNTS and not least <= wanted <= 1:
        raise InputError(f"check '{text}': {metric} lies in {least:g}..1, and {number} does not", "60% and .6 are one")
    if not math.isfinite(wanted):
        raise InputError(f"check '{text}': '{number}' is not a number", _FORM)
    return wanted


def _bounds(text: str, evaluation: Evaluation, asked: tuple[str, str, str]) -> Bounds:
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
        return curve.at_target(*question, share)
    if metric not in METRICS and metric != "yield":
        raise InputError(
            f"check '{text}': there is no metric '{metric}' of a cutoff", did_you_mean(metric, [*METRICS, "yield"])
        )
    first, last = curve.rank_at_score(cutoff) if kind == "s" else _rank(text, cutoff, curve)
    if not last:
        raise InputError(
            f"check '{text}': no item has score {cutoff} or a better one", "`streameval at` says which scores there are"
        )
    return curve.between(first, last)[metric]


def _rank(text: str, cutoff: str, curve: Curve) -> tuple[int, int]:
    try:
        rank = Decimal(cutoff.replace("_", ""))
    except InvalidOperation:
        rank = Decimal(0)
    if rank != rank.to_integral_value() or not 1 <= rank <= curve.n_items:
        raise InputError(
            f"check '{text}': '{cutoff}' is not a rank in 1..{curve.n_items:,}", "a score is @s.7, a precision @p.9"
        )
    return int(rank), int(rank)


def _of_the_list(text: str, evaluation: Evaluation, metric: str) -> Bounds:
    if metric not in _OF_THE_LIST:
        if metric in (*METRICS, "yield", "rank"):
            raise InputError(f"check '{text}': {metric} has no cutoff", f"{metric}@10000 is of the first 10,000 items")
        raise InputError(
            f"check '{text}': there is no metric '{metric}' of the list", did_you_mean(metric, list(_OF_THE_LIST))
        )
    rows = [row for row in evaluation.metrics.to_pylist() if row["metric"] == metric and row["argument"] in _HEADLINES]
    if not rows:  # bounds that promise nothing have none of the whole list
        return Bounds(*[np.nan] * 3)
    sides = (rows[0][side] for side in ("lower", "estimate", "upper"))
    return Bounds(*(np.nan if value is None else value for value in sides))


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


def _labels_needed(bounds: Bounds, wanted: float, labelled: int, n_items: int) -> int | None:
    """Labels that are forecast to decide, in five of six draws.

    The half-width is then the distance from the estimate to the number wanted, less the standard error of an estimate.
    """
    lower, estimate, upper = bounds
    distance = abs(estimate - wanted)  # NaN without an estimate, as all that is compared with it
    if not labelled or not math.isfinite(upper - lower) or not distance >= 0.02 * (upper - lower):
        return None
    needed = labelled * ((upper - lower) / 2 * (1 + _STANDARD_ERROR) / distance) ** 2
    digits = 10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1)
    rounded = int(math.ceil(needed / digits) * digits)
    return rounded if labelled < rounded < n_items else None
