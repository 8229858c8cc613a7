"""Rankings drawn from a list that holds many, the first items of each labelled: bounds on means over all rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind, part
from streameval.labelling.options import Judging, KnownPositives, LabelColumns
from streameval.per_query.options import RankingsDraw

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.labelling.tally import Tallied
    from streameval.study import Study
    from streameval.types import Claim, Plan


class SampledRankings(Kind):
    """Bounds on means over all rankings, from those that were drawn."""

    name = "drawn_rankings"
    about = "a study of drawn rankings"
    asked_by: ClassVar = {"plan": "per"}
    no_rehearsal = "rankings are drawn by reading the list"
    options: ClassVar = {"plan": (RankingsDraw,), "evaluate": (LabelColumns, Judging, KnownPositives)}
    without = frozenset({"label_error"})
    instead_of: ClassVar = {"alpha": "precision@K within 0.03"}
    result = part("streameval.kinds.drawn_rankings.results:RankingsSample")
    planned = part("streameval.kinds.drawn_rankings.planned:PLANNED")
    tasks = part("streameval.kinds.drawn_rankings.tasks:TASKS")

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb, and refuse those that have no meaning without a table of positives."""
        from streameval.kinds.drawn_rankings.evaluate import refuse_unused

        made = super().asked(verb, given)
        if verb == "evaluate":
            refuse_unused(*made[1:])
        return made

    def draw(self, ranking: object, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw rankings, and plan the first items of each."""
        from streameval.kinds.drawn_rankings.plan import draw_tops

        return draw_tops(ranking, asked[0], request)

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, asked: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Bound the means."""
        from streameval.kinds.drawn_rankings.evaluate import measured

        return measured(folder, plan, tallied, asked)


KIND = SampledRankings()
