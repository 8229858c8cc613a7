"""Show: where a study stands, or the bounds of measures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.curve import Basis
from streameval.curve.bounds import Bounds
from streameval.errors import InputError, of_each
from streameval.kinds import kind_of, results_of, standing_of, studies_within
from streameval.kinds.results import BoundedMeasures, StudyResult
from streameval.notebook import Tabular
from streameval.options import takes
from streameval.printed import Printed
from streameval.questions import Asked, Question
from streameval.questions import measures as read_measures
from streameval.questions.printed import value_text
from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.standing import Standing
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study
from streameval.types import Claim


@dataclass(frozen=True, repr=False)
class Shown(ShowsItself, Tabular):
    """Bounds of measures.

    Attributes:
        bounds: Of each measure, in the order asked. Values are float; those of `score@…` have the scores' type.
        claim: What the bounds promise.
        promise: The same in a sentence or two, with what estimates are made of where labels are missing.
        estimates: What estimates are made of (`streameval.curve.Curve`); of many rankings "labels".
        standard_errors: Of precision, by measure, where they were asked for; None where it cannot be told.
    """

    bounds: dict[str, Bounds]
    claim: Claim
    promise: str
    estimates: Basis
    standard_errors: dict[str, float | None] = field(default_factory=dict)

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """The bounds, what they promise, and standard errors where they were asked for."""
        rows = [[name, *self.cells(name)] for name in self.bounds]
        errors = starmap(_standard_error, self.standard_errors.items())
        return [Columns(["", *Bounds._fields], rows), self.promise, *errors]

    def cells(self, measure: str) -> list[str]:
        """Lower bound, estimate and upper bound of a measure as text."""
        return [value_text(measure, value) for value in self.bounds[measure]]

    def rows(self) -> list[dict[str, Any]]:
        """`measure`, `lower`, `estimate`, `upper`, JSON-ready; None where unknown."""
        return [
            {"measure": name, **dict(zip(Bounds._fields, map(_plain, bounds), strict=True))}
            for name, bounds in self.bounds.items()
        ]

    @property
    def table(self) -> pa.Table:
        """`measure`, and `lower`, `estimate`, `upper` float64; scores that are no numbers are null."""
        sides = zip(Bounds._fields, zip(*self.bounds.values(), strict=True), strict=True)
        numbers = {side: [one if isinstance(one, int | float) else None for one in values] for side, values in sides}
        columns = {side: pa.array(values, pa.float64(), from_pandas=True) for side, values in numbers.items()}
        return pa.table({"measure": list(self.bounds), **columns})


@takes()
def show(
    study: str | os.PathLike[str],
    *measures: Asked,
    slice: str | None = None,
    standard_error: bool = False,
) -> Shown | Standing:
    """Say where a study stands, or bounds, as of precision@10000.

    Example: streameval show my-study
    Example: streameval show my-study precision@10000 recall@precision:0.9 precision@score:0.7
    Example: streameval show my-results map ndcg@10

    Args:
        study: Folder of a study, or of exact results, of one ranking or of many.
        measures: METRIC[@CUTOFF]. The cutoff is a number of items (10000), a share of the list (1%), a score
            (score:0.7: all items of that score or better), a precision (recall@precision:0.9, rank@precision:0.9: at
            the deepest rank that has it) or a recall (precision@recall:0.5, rank@recall:0.5). Metrics are precision,
            recall, f1, f2 and others of a cutoff, yield (positives), rank, score; of the whole list positives,
            average_precision, roc_auc, max_f1 and others. Of many rankings the means are asked for: map, ndcg@10. In
            Python also lists of these.
        slice: Ask of one slice of a study planned with --by; cutoffs are then those within it.
        standard_error: Tell the standard error of precision after a number of items: approximate, and for that number
            alone.

    Returns:
        Standing: Without measures. It is printed as where the study stands, and what to run next.
        Shown: With measures.

    Raises:
        InputError: A measure that cannot be read (says where), or that the results do not have.
        StudyError: No study there; of measures, no results.
    """
    asked, folder = [one for several in measures for one in read_measures(several)], Study(Path(study))
    if not asked:
        if slice is not None or standard_error:
            raise InputError("no measure was asked for", "name some, such as precision@1000")
        standing = standing_of(study)
        return replace(standing, values=(*standing.values, *_asked_within(folder)))
    whole = results_of(folder)
    result: BoundedMeasures = whole if slice is None else whole.slice(slice)
    found = of_each(asked, result.bounds)
    bounds = {str(one): each for one, each in zip(asked, found, strict=True)}
    errors = _standard_errors(None if slice is not None else whole, asked) if standard_error else {}
    promise = f"{result.promise()} {estimate_sentence(result.estimates)}".rstrip()
    return Shown(bounds, result.claim, promise, result.estimates, errors)


def printed(result: Shown | Standing, study: Path, **_: Any) -> Printed:
    """Print where the study stands; or bounds, and what they promise."""
    if isinstance(result, Standing):
        return Printed(result.as_dict(), result.paragraphs)
    facts = {"study": str(study), "measures": result.rows(), "claim": result.claim.as_dict(),
             "estimates": result.estimates}  # fmt: skip
    if result.standard_errors:
        facts["standard_error"] = result.standard_errors
    return Printed(facts, result.paragraphs)


def _standard_error(measure: str, error: float | None) -> str:
    if error is None:
        return f"Standard error of {measure}: unknown, as too few labels of a random draw say something of it."
    alone = "approximate, and for this rank alone; the bounds hold for all ranks at once"
    return f"Standard error of {measure}: {error:.4g} ({alone})."


def _asked_within(folder: Study) -> Iterator[str]:
    """Name the questions that were asked of a study, which stand in folders within."""
    for place, plan in studies_within(folder):
        asked = kind_of(place).planned.subject(plan)
        yield f"{place.name}: {asked} `{shlex.join(['streameval', 'show', str(place)])}` says where it stands."


def _standard_errors(result: StudyResult | None, asked: list[Question]) -> dict[str, float | None]:
    errors = {} if result is None else result.standard_errors(asked)
    if not errors:
        raise InputError(
            "standard errors are those of precision after a number of items, and of no slice",
            "ask for precision@1000, say, or leave out --standard-error",
        )
    return errors


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, int | float) else str(value)
