"""Show: where a study stands, or the bounds of measures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streameval.curve import Basis
from streameval.curve.bounds import Bounds
from streameval.errors import InputError, of_each
from streameval.kinds import kind_of, results_of, standing_of, studies_within
from streameval.kinds.results import BoundedMeasures
from streameval.notebook import Tabular
from streameval.options import takes
from streameval.printed import Printed
from streameval.questions import Asked
from streameval.questions import measures as read_measures
from streameval.questions.printed import value_text
from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.standing import Standing
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study
from streameval.types import Claim

if TYPE_CHECKING:
    from streameval.kinds.curve.calibration import Calibration

_CALIBRATION, _ENDS = "calibration", ("low", "high")


@dataclass(frozen=True, repr=False)
class Shown(ShowsItself, Tabular):
    """Bounds of measures.

    Attributes:
        bounds: Of each measure, in the order asked. Values are float; those of `score@…` have the scores' type.
        claim: What the bounds promise.
        promise: The same in a sentence or two, with what estimates are made of where labels are missing.
        estimates: What estimates are made of (`streameval.curve.Curve`); of many rankings "labels".
        intervals: `low` and `high` of each measure, approximately 95 %, in what a sample was drawn from; None where
            there is none. Empty where the list is no sample.
    """

    bounds: dict[str, Bounds]
    claim: Claim
    promise: str
    estimates: Basis
    intervals: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """The bounds, and what they promise."""
        head = ["", *Bounds._fields, *(_ENDS if self.intervals else ())]
        rows = [[name, *self.cells(name), *self._ends_of(name)] for name in self.bounds]
        return [Columns(head, rows), self.promise]

    def _ends_of(self, measure: str) -> list[str]:
        return ["-" if end is None else value_text(measure, end) for end in self.intervals.get(measure, ())]

    def cells(self, measure: str) -> list[str]:
        """Lower bound, estimate and upper bound of a measure as text."""
        return [value_text(measure, value) for value in self.bounds[measure]]

    def rows(self) -> list[dict[str, Any]]:
        """`measure`, `lower`, `estimate`, `upper`, of a sample `low` and `high`, JSON-ready; None where unknown."""
        return [
            {
                "measure": name,
                **dict(zip(Bounds._fields, map(_plain, bounds), strict=True)),
                **dict(zip(_ENDS, self.intervals.get(name, ()), strict=False)),
            }
            for name, bounds in self.bounds.items()
        ]

    @property
    def table(self) -> pa.Table:
        """`measure`, and `lower`, `estimate`, `upper` float64, of a sample also `low` and `high`.

        Scores that are no numbers are null.
        """
        sides = zip(Bounds._fields, zip(*self.bounds.values(), strict=True), strict=True)
        numbers = {
            side: [value if isinstance(value, int | float) else None for value in values] for side, values in sides
        }
        columns = {side: pa.array(values, pa.float64(), from_pandas=True) for side, values in numbers.items()}
        for at, side in enumerate(_ENDS if self.intervals else ()):
            columns[side] = pa.array([self.intervals[name][at] for name in self.bounds], pa.float64())
        return pa.table({"measure": list(self.bounds), **columns})


@takes()
def show(
    study: str | os.PathLike[str],
    *measures: Asked,
    slice: str | None = None,
) -> Shown | Standing | Calibration:
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
            `calibration` alone shows the share of positives by score, of exact results by a score in [0, 1].
        slice: Ask of one slice of a study planned with --by; cutoffs are then those within it.

    Returns:
        Standing: Without measures. It is printed as where the study stands, and what to run next.
        Shown: With measures.
        Calibration: With "calibration".

    Raises:
        InputError: A measure that cannot be read (says where), or that the results do not have.
        StudyError: No study there; of measures, no results.
    """
    if measures == (_CALIBRATION,):
        if slice is not None:
            raise InputError("calibration is of the whole list", "leave out --slice")
        return results_of(Study(Path(study))).calibration()
    questions, folder = [question for several in measures for question in read_measures(several)], Study(Path(study))
    if not questions:
        if slice is not None:
            raise InputError("no measure was asked for", "name some, such as precision@1000")
        standing = standing_of(study)
        return replace(standing, values=(*standing.values, *_asked_within(folder)))
    whole = results_of(folder)
    result: BoundedMeasures = whole if slice is None else whole.slice(slice)
    shown = of_each(questions, result.bounds)
    bounds = {str(question): each for question, each in zip(questions, shown, strict=True)}
    promise = f"{result.promise()} {estimate_sentence(result.estimates)}".rstrip()
    intervals = whole.intervals(questions) if slice is None else {}
    return Shown(bounds, result.claim, promise, result.estimates, intervals)


def printed(result: Shown | Standing | Calibration, study: Path, **_: Any) -> Printed:
    """Print where the study stands; or bounds, and what they promise."""
    if isinstance(result, Standing):
        return Printed(result.as_dict(), result.paragraphs)
    if not isinstance(result, Shown):
        return Printed({"study": str(study), **result.facts()}, result.paragraphs)
    facts = {"study": str(study), "measures": result.rows(), "claim": result.claim.as_dict(),
             "estimates": result.estimates}  # fmt: skip
    return Printed(facts, result.paragraphs)


def _asked_within(folder: Study) -> Iterator[str]:
    """Name the questions that were asked of a study, which stand in folders within."""
    for place, plan in studies_within(folder):
        subject = kind_of(place).planned.subject(plan)
        yield f"{place.name}: {subject} `{shlex.join(['streameval', 'show', str(place)])}` says where it stands."


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, int | float) else str(value)
