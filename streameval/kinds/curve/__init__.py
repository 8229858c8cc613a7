"""One ranking, some of whose ranks are labelled: a curve with bounds at every rank, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.judges.options import JudgeColumn
from streameval.kinds import CostRows, Kind, import_later
from streameval.labelling.options import Judging, LabelColumns, Misses, ReuseOptions
from streameval.methods.options import MethodOptions
from streameval.options import make_own

if TYPE_CHECKING:
    from streameval.kinds.curve.results import CurveResult
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.rankings.ranking import Ranking
    from streameval.study import Study


class OneRanking(Kind):
    """Bounds on the yield of one ranking."""

    name = "curve"
    about = "a study of a curve"
    answers = (*Kind.answers, "compare", "cut", "extrapolate", "grow", "judge", "monitor")
    asked_by: ClassVar = {"plan": "", "cost": ""}
    options: ClassVar = {"evaluate": (LabelColumns, Judging, Misses)}
    no_rehearsal = ""
    result = import_later("streameval.kinds.curve.results:CurveResult")
    planned = import_later("streameval.kinds.curve.planned:PLANNED")
    tasks = import_later("streameval.kinds.curve.tasks:TASKS")
    compared = import_later("streameval.kinds.curve.comparison_page")
    watched = import_later("streameval.kinds.curve.history_page")

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb; a plan takes those of methods too, and may have a judge."""
        if verb != "plan" or verb not in self.asked_by:
            return super().accepts(verb)
        kinds = (MethodOptions, JudgeColumn, ReuseOptions)
        return {"method", "by", *(field.name for kind in kinds for field in fields(kind))}

    def parse_options(self, verb: str, raw_options: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb; those of a plan are made with the method that has them."""
        if verb != "plan":
            return super().parse_options(verb, raw_options)
        self._refuse_others(verb, raw_options)
        parameters = dict(raw_options)
        return [parameters, make_own(ReuseOptions, parameters)]

    def draw(self, ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
        """Choose the ranks to label."""
        from streameval.kinds.curve.plan import draw_ranks

        return draw_ranks(ranking, options, request)

    def costs(self, n_items: int, ranking: Ranking | None, raw_options: Mapping[str, Any]) -> CostRows:
        """Say what each method costs, and what half-widths and claims are."""
        from streameval.kinds.curve.cost import NOTES, costs

        self._refuse_others("plan", raw_options)
        return CostRows(costs(n_items, raw_options), NOTES)

    def evaluate(self, folder: Study, labels: Sequence[Any], raw_options: Mapping[str, Any]) -> CurveResult:
        """Turn labels into the curve, and write every result."""
        from streameval.kinds.curve.evaluate import evaluate_curve
        from streameval.kinds.curve.results import CurveResult

        plan, evaluation = evaluate_curve(folder, labels, self.parse_options("evaluate", raw_options))
        result = CurveResult.from_evaluation(evaluation)
        result.save(folder, plan)
        return result


KIND = OneRanking()
