"""`streameval extrapolate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streameval.cli.options import Whole
from streameval.cli.output import Output, columns
from streameval.errors import InputError


def extrapolate(
    *,
    to: float,
    precision: float | None = None,
    recall: float | None = None,
    prevalence: float | None = None,
    population: Whole | None = None,
    study: Path | None = None,
    rank: Whole | None = None,
    output: Output = Output(),
) -> None:
    """Extrapolate precision at one recall to another (Dimm 2015), from one point or from a study with bounds.

    Example: streameval extrapolate --precision 0.6 --recall 0.8 --prevalence 0.03 --to 0.75 --population 100000
    Example: streameval extrapolate --study my-study --to 0.75

    Args:
        to: Target recall, in (0, 1).
        precision: Precision that was measured.
        recall: Recall that it was measured at.
        prevalence: Share of positives in the population.
        population: Items in the population: says how many documents to review for the target recall.
        study: Folder of an evaluated study, instead of a point.
        rank: Cutoff of the study to extrapolate from (default: the powers of ten).
    """
    if study is not None:
        if (precision, recall, prevalence) != (None, None, None):
            raise InputError("a study brings its own precision, recall and prevalence", "leave them out")
        return _from_study(study, to, rank, population, output)
    given = {"precision": precision, "recall": recall, "prevalence": prevalence}
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise InputError(f"{missing[0]} is not given", "give --precision, --recall and --prevalence, or --study")
    if rank is not None:
        raise InputError("rank is a cutoff of a study", "give it with --study")
    _from_point((precision or 0.0, recall or 0.0, prevalence or 0.0), to, population, output)


def _from_point(point: tuple[float, float, float], to: float, population: int | None, output: Output) -> None:
    from streameval.curve.extrapolation import documents, extrapolate

    found = extrapolate(*point, to)
    answer, shape = float(found.precision), float(found.shape)
    warnings = _warnings(bool(found.outside_model), bool(found.below_prevalence), bool(found.uncertain))
    result: dict[str, Any] = {
        "precision": answer,
        "to": to,
        "beta": shape if shape >= 0 else None,
        "outside_model": shape < 0,
        "below_prevalence": bool(found.below_prevalence),
        "warnings": warnings,
    }
    lines = [f"Precision at recall {to:g}: {answer:.4f}"]
    if population is not None and population < 1:
        raise InputError(f"a population of {population:,} items", "give a whole number, 1 or more")
    if population is not None:
        result["documents"] = float(documents(point[2], population, to, answer))
        lines.append(f"Documents to review for it: {result['documents']:,.0f} of {population:,}")
    output.say(result, [*lines, *warnings])


def _warnings(outside: bool, below: bool, uncertain: bool) -> list[str]:
    said = []
    if outside:
        said.append("Outside the paper's model: no real beta gives a precision so close to prevalence.")
    if below:
        said.append("The answer is below prevalence, which no ranking better than chance has.")
    if uncertain:
        said.append("Recall or precision exceeds 0.99: that says little about other recalls.")
    return said


def _from_study(study: Path, to: float, rank: int | None, population: int | None, output: Output) -> None:
    from streameval.reporting.sentences import band_meaning
    from streameval.verbs.extrapolate import extrapolate_study

    table, curve = extrapolate_study(study, to=to, ranks=None if rank is None else [rank], population=population)
    rows = table.to_pylist()
    names = ("extrapolated_lower", "extrapolated", "extrapolated_upper")
    result: dict[str, Any] = {"study": str(study), "to": to, "claim": curve.claim.as_dict(), "curve": rows}
    if rank is not None:
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
