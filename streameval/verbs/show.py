"""Show: where a study stands, or the bounds of measures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.curve import Basis
from streameval.curve.bounds import Bounds
from streameval.errors import InputError, StudyError, of_each
from streameval.kinds import Kind, kind_of
from streameval.notebook import Tabular
from streameval.questions import Asked, Question
from streameval.questions import measures as read_measures
from streameval.questions.printed import between, value_text
from streameval.reporting.next_step import gate_of
from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.text import Standing, not_evaluated
from streameval.slices.files import SliceResult, slice_of
from streameval.study import Study
from streameval.study.result_files import Evaluation
from streameval.study.standard_errors import precision_error
from streameval.types import Claim


@dataclass(frozen=True)
class Shown(Tabular):
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

    def __repr__(self) -> str:
        width = max(map(len, self.bounds), default=0)
        return "\n".join(f"{name.ljust(width)}   {between(name, self.bounds[name])}" for name in self.bounds)

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


def show(
    study: str | os.PathLike[str],
    *measures: Asked,
    slice: str | None = None,
    standard_error: bool = False,
) -> Shown | Standing:
    """Show where a study stands, or the bounds of measures.

    Args:
        measures: Each METRIC[@CUTOFF], or a list of these: `precision@10000`, `recall@precision:0.9`,
            `precision@score:0.7`, `rank@1%` (how many items these are), `score@1000`, `average_precision`. Of many
            rankings the means: `map`, `ndcg@10`.
        slice: Ask of one slice of a study planned with `by`; cutoffs are then those within it.
        standard_error: Tell the standard error of precision at cutoffs that are ranks: approximate, and for that rank
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
        standing = _standing(os.fspath(study), folder)
        return replace(standing, values=(*standing.values, *_asked_within(folder)))
    kind = kind_of(folder.folder)
    whole = kind.read(folder)
    result = whole if slice is None else _slice(whole, slice)
    found = of_each(asked, lambda one: kind.answer(result, one))
    bounds = {str(one): each for one, each in zip(asked, found, strict=True)}
    errors = _standard_errors(whole, slice, asked) if standard_error else {}
    basis = result.curve.basis if isinstance(result, Evaluation | SliceResult) else "labels"
    promise = f"{kind.promise(result)} {estimate_sentence(basis)}".rstrip()
    return Shown(bounds, kind.claim(result), promise, basis, errors)


def _slice(result: Any, name: str) -> SliceResult:
    if not isinstance(result, Evaluation):
        raise InputError("many rankings have no slices", "slices are planned with --by COL")
    return slice_of(result.slices, name)


def _asked_within(folder: Study) -> Iterator[str]:
    """Name the questions that were asked of a study, which stand in folders within."""
    from streameval.kinds.question.tree import asked_of

    for place, plan in asked_of(folder):
        asked = kind_of(place).subject(plan)
        yield f"{place.name}: {asked} `{shlex.join(['streameval', 'show', str(place)])}` says where it stands."


def _standing(study: str, folder: Study) -> Standing:
    name, kind = folder.folder.resolve().name, kind_of(folder.folder)
    plan = folder.plan() if folder.exists else None
    try:
        results = kind.read(folder)
        return _with_values(kind.standing(study, name, plan, results), kind, results)
    except StudyError as error:
        if plan is None:
            raise
        subject = f"{name}: {kind.subject(plan)}"
        if (folder.folder / "evaluation.json").exists():
            return not_evaluated(study, subject, folder, plan, f"{error.what}.")
        return not_evaluated(study, subject, folder, plan)


def _with_values(standing: Standing, kind: Kind, results: Any) -> Standing:
    """Add the main measures, what else can be asked for, and, where nothing is left to label, how to demand one."""
    bounds = {name: kind.answer(results, Question.of(name)) for name in kind.main_measures(results)}
    if not bounds:
        return standing
    shown = Shown(bounds, kind.claim(results), "", "labels")
    others = ", ".join(name for name in kind.measures(results) if name not in bounds)
    values = (*standing.values, *repr(shown).splitlines(), *[f"Other measures: {others}."] * bool(others))
    following = gate_of(standing.study, bounds)
    if standing.next or not following.command:
        return replace(standing, values=values)
    return replace(standing, values=values, next=following.command, leads_to=following.does)


def _standard_errors(result: Any, slice: str | None, asked: list[Question]) -> dict[str, float | None]:
    errors: dict[str, float | None] = {}
    for one in asked:
        if one.metric == "precision" and one.cutoff is not None and isinstance(result, Evaluation) and slice is None:
            rank = one.cutoff.rank_in(result.curve.n_items)
            errors |= {} if rank is None else {str(one): precision_error(result, rank)}
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
