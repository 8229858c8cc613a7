"""One ranking, some of whose ranks are labelled: a curve with bounds at every rank, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.judges.options import JudgeColumn
from streameval.kinds import CostRows, Kind, part
from streameval.labelling.options import Judging, LabelColumns, Misses, ReuseOptions
from streameval.methods.options import MethodOptions
from streameval.options import own

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
    result = part("streameval.kinds.curve.results:CurveResult")
    planned = part("streameval.kinds.curve.planned:PLANNED")
    tasks = part("streameval.kinds.curve.tasks:TASKS")
    compared = part("streameval.kinds.curve.comparison_page")
    watched = part("streameval.kinds.curve.history_page")

    def accepts(self, verb: str) -> set[str]:
        """Names of the options of a verb; a plan takes those of methods too, and may have a judge."""
        if verb != "plan" or verb not in self.asked_by:
            return super().accepts(verb)
        kinds = (MethodOptions, JudgeColumn, ReuseOptions)
        return {"method", "by", *(one.name for kind in kinds for one in fields(kind))}

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb; those of a plan are made with the method that has them."""
        if verb != "plan":
            return super().asked(verb, given)
        self._refuse_others(verb, given)
        parameters = dict(given)
        return [parameters, own(ReuseOptions, parameters)]

    def draw(self, ranking: object, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Choose the ranks to label."""
        from streameval.kinds.curve.plan import draw_ranks

        return draw_ranks(ranking, asked, request)

    def costs(self, n_items: int, ranking: Ranking | None, given: Mapping[str, Any]) -> CostRows:
        """Say what each method costs, and what half-widths and claims are."""
        from streameval.kinds.curve.cost import NOTES, costs

        self._refuse_others("plan", given)
        return CostRows(costs(n_items, given), NOTES)

    def evaluate(self, folder: Study, labels: Sequence[Any], given: Mapping[str, Any]) -> CurveResult:
        """Turn labels into the curve, and write every result."""
        from streameval.kinds.curve.evaluate import evaluated
        from streameval.kinds.curve.results import CurveResult

        plan, evaluation = evaluated(folder, labels, self.asked("evaluate", given))
        result = CurveResult.of(evaluation)
        result.save(folder, plan)
        return result


KIND = OneRanking()
