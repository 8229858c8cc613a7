"""Extrapolate: the precision at another recall, from that at one point, or of a study at its cutoffs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from streameval.curve import Curve
from streameval.curve.extrapolation import Counts, Extrapolation, documents, interval
from streameval.curve.extrapolation import extrapolate as from_point
from streameval.errors import InputError, StudyError
from streameval.kinds import answering
from streameval.metrics import cutoffs
from streameval.options import listed, takes
from streameval.printed import Printed
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff, number
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study

_FORM = "STUDY precision@recall:0.75, or precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.75"


@overload
def extrapolate(
    precision: ArrayLike, recall: ArrayLike, prevalence: ArrayLike, target: ArrayLike, *, items: int | None = None
) -> Extrapolation: ...
@overload
def extrapolate(
    *given: str | os.PathLike[str], at: int | str | Sequence[int | str] | None = None, items: int | None = None
) -> Extrapolation | tuple[pa.Table, Curve]: ...
@takes()
def extrapolate(
    *given: Any,
    at: int | str | Sequence[int | str] | None = None,
    items: int | None = None,
    precision: ArrayLike | None = None,
    recall: ArrayLike | None = None,
    prevalence: ArrayLike | None = None,
    target: ArrayLike | None = None,
) -> Extrapolation | tuple[pa.Table, Curve]:
    """Extrapolate (Dimm 2015).

    Precision at one recall is extrapolated to another, from one point or from a study with bounds.

    Example: streameval extrapolate precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.75 --items 100000
    Example: streameval extrapolate my-study precision@recall:0.75

    Args:
        given: Folder of an evaluated study; or what was measured: precision@recall:0.8=0.6 and prevalence=0.03, the
            share of positives among all items. Last, what is wanted: precision@recall:0.75. In Python these words, or
            four numbers or arrays: `precision`, `recall`, `prevalence`, `target`, which go by name too.
        at: Cutoffs of the study to extrapolate from, separated by commas (default: the powers of ten).
        items: Items that the list was taken from: says how many documents to review for the recall that is wanted. In
            Python `documents` of what is returned.
        precision (array-like): In Python: P, in (ρ, 1]. At 1, β is infinite and precision 1 everywhere.
        recall, prevalence, target (array-like, broadcast together): In Python: R, ρ and R_T, each in (0, 1).

    Returns:
        Extrapolation: From a point, by eq. 11 and 12.
        tuple: From a study, what `extrapolate_study` gives.

    Raises:
        InputError: A value outside its range; precision not above prevalence, or recall 1, which every reference curve
            has; words that say no measure. Of a study as in `extrapolate_study`.
        StudyError: No results, or bounds that contradict themselves.

    >>> float(extrapolate(0.6, 0.8, 0.03, 0.75).precision.round(4))
    0.6744
    """
    point = {"precision": precision, "recall": recall, "prevalence": prevalence, "target": target}
    named: dict[str, Any] = {name: value for name, value in point.items() if value is not None}
    if named or (given and not any(isinstance(one, str | os.PathLike) for one in given)):
        if at is not None:
            raise InputError("--at names cutoffs of a study", _FORM)
        numbers = dict(zip(point, given, strict=False)) | named
        if not len(given) + len(named) == len(numbers) == len(point):
            raise InputError(f"a point is {', '.join(point)}", "give each of the four once")
        return from_point(**numbers, items=items)
    basis, to = _basis_and_recall(given)
    if _is_study(basis):
        return extrapolate_study(basis[0], to=to, at=at, items=items)
    if at is not None:
        raise InputError("--at names cutoffs of a study", "give its folder in place of a point, or leave out --at")
    return from_point(*_point(basis), to, items=items)


def _basis_and_recall(given: Sequence[Any]) -> tuple[Sequence[Any], float]:
    """From what to extrapolate, and to which recall."""
    if len(given) < 2:
        raise InputError("extrapolate needs a start and a target", _FORM)
    wanted = Question.of(given[-1])
    to = _recall_of(wanted)
    if to is None or wanted != wanted.measure:
        raise InputError(f"{given[-1]}: what is wanted is a precision at a recall", _FORM)
    return given[:-1], to


def _is_study(basis: Sequence[Any]) -> bool:
    return len(basis) == 1 and (Path(basis[0]).exists() or "=" not in str(basis[0]))


def _recall_of(measure: Question) -> float | None:
    """The recall at which a precision is asked for; None of any other measure."""
    cutoff = measure.cutoff
    if measure.metric != "precision" or cutoff is None or cutoff.kind != "recall":
        return None
    return float(cutoff.value)


def _point(measurements: Sequence[str]) -> tuple[float, float, float]:
    """Precision, the recall that it was measured at, and prevalence."""
    values: dict[str, float] = {}
    for text in measurements:
        name, _, value = text.rpartition("=")
        measure, measured = Question.of(name or text), number(value)
        recall = _recall_of(measure)
        if measured is None or measure != measure.measure or (recall is None and measure != Question("prevalence")):
            raise InputError(f"{text}: not a study, nor what was measured", _FORM)
        values |= {measure.metric: float(measured)} | ({} if recall is None else {"recall": recall})
    for name in ("precision", "prevalence"):
        if name not in values:
            raise InputError(f"{name} is not given", _FORM)
    return values["precision"], values["recall"], values["prevalence"]


@takes()
def extrapolate_study(
    study: str | os.PathLike[str],
    *,
    to: float,
    at: int | str | Sequence[int | str] | None = None,
    items: int | None = None,
) -> tuple[pa.Table, Curve]:
    """Extrapolate from every cutoff of an evaluated study to one target recall, with bounds.

    Args:
        to: R_T in (0, 1).
        at: Cutoffs to extrapolate from, as 10000 or 1%; by default the powers of ten below N.
        items: Items that the ranking was drawn from; by default its items and the misses that `evaluate` was told
            of, or all items of the study that bounds them.

    Returns:
        table: `rank` int64; `recall`, `precision` estimated there; `extrapolated_lower`, `extrapolated`,
            `extrapolated_upper` and `documents_lower`, `documents`, `documents_upper` float64: precision at recall
            `to`, and how many documents to review for it. Bounds hold as the curve's claim does, for all cutoffs at
            once. An estimate is null where no reference curve passes. `outside_model` bool: the paper has no curve
            there.

    Raises:
        InputError: A target outside (0, 1), a cutoff that is no rank in 1..N, too few items.
        StudyError: No results, or bounds that contradict themselves.
    """
    answering(study, "extrapolate")
    evaluation = Study(Path(study)).evaluation()
    curve, rest = evaluation.curve, evaluation.summary.get("misses_from")
    least = curve.n_items + (curve.misses if rest is None else int(rest["n_items"]))
    everything = least if items is None else items
    if everything < least:
        other = f"{curve.misses:,} misses" if rest is None else f"{rest['n_items']:,} that it never returned"
        raise InputError(f"{everything:,} items cannot hold the {curve.n_items:,} of the list and {other}")
    if not curve.envelope.consistent:
        raise StudyError(f"{study}: its bounds contradict themselves", "see the findings of `streameval evaluate`")
    chosen = cutoffs(curve.n_items)[:-1].tolist() if at is None else _ranks(at, curve.n_items)
    rows = [_row(curve, int(rank), to, everything) for rank in chosen]
    return pa.Table.from_pylist(rows, schema=_SCHEMA), curve


def _ranks(at: int | str | Sequence[int | str], n_items: int) -> list[int]:
    """Ranks of cutoffs, an `InputError` where one is none."""
    ranks = [(cutoff, Cutoff.parse(cutoff).rank_in(n_items)) for cutoff in listed(at)]
    if wrong := [cutoff for cutoff, rank in ranks if rank is None]:
        raise InputError(f"{wrong[0]} is no number of items", "extrapolate from numbers of items, such as 1000 or 1%")
    return [rank for _, rank in ranks if rank is not None]


_FLOATS = ("recall", "precision", "extrapolated_lower", "extrapolated", "extrapolated_upper",
           "documents_lower", "documents", "documents_upper")  # fmt: skip
_SCHEMA = pa.schema([("rank", pa.int64()), *((name, pa.float64()) for name in _FLOATS), ("outside_model", pa.bool_())])


def _row(curve: Curve, rank: int, to: float, population: int) -> dict[str, float | bool | None]:
    bounded = curve.at([rank, curve.n_items])
    low, estimates, high = (bounded.column(name).to_pylist() for name in ("yield_lower", "yield", "yield_upper"))
    few, many = curve.misses, curve.misses if curve.misses_upper is None else curve.misses_upper
    positives = np.nan if curve.plug_in is None else curve.plug_in.positives
    bounds = interval(Counts(rank, (low[0], high[0]), (low[1] + few, high[1] + many), population), to)
    row: dict[str, float | bool | None] = {
        "rank": rank,
        "recall": estimates[0] / positives if positives > 0 else None,
        "precision": None if estimates[0] is None else estimates[0] / rank,
        "extrapolated_lower": bounds.precision[0],
        "extrapolated": None,
        "extrapolated_upper": bounds.precision[1],
        "documents_lower": bounds.documents[0],
        "documents": None,
        "documents_upper": bounds.documents[1],
        "outside_model": None,
    }
    if np.isnan(positives):
        return row  # the labels give no estimate
    prevalence = positives / population
    if 0 < estimates[0] < positives and estimates[0] / rank > prevalence:
        answer = from_point(estimates[0] / rank, estimates[0] / positives, prevalence, to)
        row["extrapolated"] = float(answer.precision)
        row["documents"] = float(documents(prevalence, population, to, answer.precision))
        row["outside_model"] = bool(answer.outside_model)
    return row


def printed(
    found: Extrapolation | tuple[pa.Table, Curve], given: Sequence[str], at: str | None, items: int | None, **_: Any
) -> Printed:
    """Print the precision at the other recall, and what to know of it."""
    basis, to = _basis_and_recall(given)
    if isinstance(found, Extrapolation):
        return _of_point(found, to, items)
    table, curve = found
    rows = table.to_pylist()
    names = ("extrapolated_lower", "extrapolated", "extrapolated_upper")
    facts: dict[str, Any] = {"study": str(Path(basis[0])), "to": to, "claim": curve.claim.as_dict(), "curve": rows}
    if at is not None and len(rows) == 1:
        facts |= {name.replace("extrapolated", "precision"): rows[0][name] for name in names}
    counts = ("documents_lower", "documents", "documents_upper")
    head = ["from the first", "lower", "estimate", "upper", "documents", "at least", "at most"]
    shown = [
        [f"{row['rank']:,}", *(_number(row[name], ".4f") for name in names),
         *(_number(row[name], ",.0f") for name in (counts[1], counts[0], counts[2]))]
        for row in rows
    ]  # fmt: skip
    lines: list[Paragraph] = [
        Columns(head, shown),
        "",
        f"Precision at recall {to:g} by the reference curve through each cutoff, and documents to review for it.",
        f"Bounds are of the curve through the true counts. {curve.claim.promise}",
    ]
    if any(row["outside_model"] for row in rows):
        lines.append(_OUTSIDE)
    return Printed(facts, lines)


_OUTSIDE = "Outside the paper's model: no real beta gives a precision so close to prevalence."


def _of_point(estimate: Extrapolation, to: float, items: int | None) -> Printed:
    answer, shape = float(estimate.precision), float(estimate.shape)
    warnings = _warnings(estimate)
    facts: dict[str, Any] = {
        "precision": answer,
        "to": to,
        "beta": shape if shape >= 0 else None,
        "outside_model": shape < 0,
        "below_prevalence": bool(estimate.below_prevalence),
        "warnings": warnings,
    }
    lines = [f"Precision at recall {to:g}: {answer:.4f}"]
    if estimate.documents is not None:
        facts["documents"] = float(estimate.documents)
        lines.append(f"Documents to review for it: {facts['documents']:,.0f} of {items:,}")
    return Printed(facts, [*lines, *warnings])


def _warnings(estimate: Extrapolation) -> list[str]:
    warnings = []
    if estimate.outside_model:
        warnings.append(_OUTSIDE)
    if estimate.below_prevalence:
        warnings.append("The answer is below prevalence, which no ranking better than chance has.")
    if estimate.uncertain:
        warnings.append("Recall or precision exceeds 0.99: that says little about other recalls.")
    return warnings


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
