"""`streameval extrapolate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.cli.options import Whole
from streameval.cli.output import Output
from streameval.cli.picture import columns
from streameval.errors import InputError
from streameval.questions import Question
from streameval.questions.cutoffs import number

_FORM = "STUDY precision@recall:0.75, or precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.75"


def extrapolate(
    *given: str,
    at: str | None = None,
    items: Whole | None = None,
    output: Output = Output(),
) -> None:
    """Extrapolate precision at one recall to another (Dimm 2015), from one point or from a study with bounds.

    Example: streameval extrapolate precision@recall:0.8=0.6 prevalence=0.03 precision@recall:0.75 --items 100000
    Example: streameval extrapolate my-study precision@recall:0.75

    Args:
        given: Folder of an evaluated study; or what was measured: precision@recall:0.8=0.6 and prevalence=0.03, the
            share of positives among all items. Last, what is wanted: precision@recall:0.75.
        at: Cutoffs of the study to extrapolate from, separated by commas (default: the powers of ten).
        items: Items that the list was taken from: says how many documents to review for the recall that is wanted.
    """
    if len(given) < 2:
        raise InputError("it is not said from what to extrapolate, and to what", _FORM)
    wanted, basis = Question.of(given[-1]), given[:-1]
    to = _recall_of(wanted)
    if to is None or wanted.demand is not None:
        raise InputError(f"{given[-1]}: what is wanted is a precision at a recall", _FORM)
    if len(basis) == 1 and (Path(basis[0]).exists() or "=" not in basis[0]):
        return _from_study(Path(basis[0]), to, at, items, output)
    if at is not None:
        raise InputError("--at names cutoffs of a study", "give its folder in place of a point, or leave out --at")
    _from_point(_point(basis), to, items, output)


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
        if measured is None or measure.demand is not None or (recall is None and measure != Question("prevalence")):
            raise InputError(f"{text}: not a study, nor what was measured", _FORM)
        values |= {measure.metric: float(measured)} | ({} if recall is None else {"recall": recall})
    for name in ("precision", "prevalence"):
        if name not in values:
            raise InputError(f"{name} is not given", _FORM)
    return values["precision"], values["recall"], values["prevalence"]


def _from_point(point: tuple[float, float, float], to: float, items: int | None, output: Output) -> None:
    from streameval.curve.extrapolation import documents, extrapolate

    estimate = extrapolate(*point, to)
    answer, shape = float(estimate.precision), float(estimate.shape)
    warnings = _warnings(bool(estimate.outside_model), bool(estimate.below_prevalence), bool(estimate.uncertain))
    result: dict[str, Any] = {
        "precision": answer,
        "to": to,
        "beta": shape if shape >= 0 else None,
        "outside_model": shape < 0,
        "below_prevalence": bool(estimate.below_prevalence),
        "warnings": warnings,
    }
    lines = [f"Precision at recall {to:g}: {answer:.4f}"]
    if items is not None and items < 1:
        raise InputError(f"--items is {items:,}", "give a whole number, 1 or more")
    if items is not None:
        result["documents"] = float(documents(point[2], items, to, answer))
        lines.append(f"Documents to review for it: {result['documents']:,.0f} of {items:,}")
    output.say(result, [*lines, *warnings])


def _warnings(outside: bool, below: bool, uncertain: bool) -> list[str]:
    warnings = []
    if outside:
        warnings.append("Outside the paper's model: no real beta gives a precision so close to prevalence.")
    if below:
        warnings.append("The answer is below prevalence, which no ranking better than chance has.")
    if uncertain:
        warnings.append("Recall or precision exceeds 0.99: that says little about other recalls.")
    return warnings


def _from_study(study: Path, to: float, at: str | None, items: int | None, output: Output) -> None:
    from streameval.reporting.sentences import band_meaning
    from streameval.verbs.extrapolate import extrapolate_study

    table, curve = extrapolate_study(study, to=to, at=at, items=items)
    rows = table.to_pylist()
    names = ("extrapolated_lower", "extrapolated", "extrapolated_upper")
    result: dict[str, Any] = {"study": str(study), "to": to, "claim": curve.claim.as_dict(), "curve": rows}
    if at is not None and len(rows) == 1:
        result |= {name.replace("extrapolated", "precision"): rows[0][name] for name in names}
    counts = ("documents_lower", "documents", "documents_upper")
    head = ["from the first", "lower", "estimate", "upper", "documents", "at least", "at most"]
    shown = [
        [f"{row['rank']:,}", *(_number(row[name], ".4f") for name in names),
         *(_number(row[name], ",.0f") for name in (counts[1], counts[0], counts[2]))]
        for row in rows
    ]  # fmt: skip
    lines = [
        *columns(head, shown),
        "",
        f"Precision at recall {to:g} by the reference curve through each cutoff, and documents to review for it.",
        f"Bounds are for the curve through the true counts; {band_meaning(curve.claim)}.",
    ]
    if any(row["outside_model"] for row in rows):
        lines.append(_warnings(True, False, False)[0])
    output.say(result, lines)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
