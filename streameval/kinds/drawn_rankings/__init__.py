"""Rankings drawn from a list that holds many, the first items of each labelled: bounds on means over all rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind, import_later
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
    result = import_later("streameval.kinds.drawn_rankings.results:RankingsSample")
    planned = import_later("streameval.kinds.drawn_rankings.planned:PLANNED")
    tasks = import_later("streameval.kinds.drawn_rankings.tasks:TASKS")

    def parse_options(self, verb: str, raw_options: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb, and refuse those that have no meaning without a table of positives."""
        from streameval.kinds.drawn_rankings.evaluate import refuse_unused

        options = super().parse_options(verb, raw_options)
        if verb == "evaluate":
            refuse_unused(*options[1:])
        return options

    def draw(self, ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw rankings, and plan the first items of each."""
        from streameval.kinds.drawn_rankings.plan import draw_tops

        return draw_tops(ranking, options[0], request)

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, options: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Bound the means."""
        from streameval.kinds.drawn_rankings.evaluate import estimate_means

        return estimate_means(folder, plan, tallied, options)


KIND = SampledRankings()
