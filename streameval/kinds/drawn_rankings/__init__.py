"""Rankings drawn from a list that holds many, the first items of each labelled: bounds on means over all rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind, Planned
from streameval.labelling.options import Judging, KnownPositives, LabelColumns
from streameval.per_query.options import RankingsDraw

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.drawn_rankings.results import RankingsSample
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.labelling.tally import Tallied
    from streameval.reporting.text import Text
    from streameval.study import Study
    from streameval.study.progress import LabellingProgress
    from streameval.types import Claim, Plan


class SampledRankings(Kind):
    """Bounds on means over all rankings, from those that were drawn."""

    name = "drawn_rankings"
    about = "a study of drawn rankings"
    asked_by: ClassVar = {"plan": "per"}
    no_rehearsal = "rankings are drawn by reading the list"
    options: ClassVar = {"plan": (RankingsDraw,), "evaluate": (LabelColumns, Judging, KnownPositives)}
    without = frozenset({"label_error"})
    tables: ClassVar = {
        "metrics": "Bounds on means over all rankings (ndcg@10 is mean_ndcg_at with argument 10); the "
        "normal interval beside them promises nothing.",
        "rankings": "One row per ranking that was drawn; lower and upper are apart where labels are missing.",
        "labels": "One row per planned item; rank is its stored row, from 1; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def asked(self, verb: str, given: Mapping[str, Any]) -> list[Any]:
        """Make the options of a verb, and refuse those that have no meaning without a table of positives."""
        from streameval.kinds.drawn_rankings.evaluate import refuse_unused

        made = super().asked(verb, given)
        if verb == "evaluate":
            refuse_unused(*made[1:])
        return made

    def draw(self, ranking: Any, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Draw rankings, and plan the first items of each."""
        from streameval.kinds.drawn_rankings.plan import draw_tops

        return draw_tops(ranking, asked[0], request)

    def planned_says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned."""
        from streameval.kinds.drawn_rankings.planned import planned_says

        return planned_says(planned)

    def _result(self, summary: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> RankingsSample:
        from streameval.kinds.drawn_rankings.results import RankingsSample

        return RankingsSample(str(summary["evaluation_id"]), summary, tables)

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, asked: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Bound the means."""
        from streameval.kinds.drawn_rankings.evaluate import measured

        return measured(folder, plan, tallied, asked)

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling of every ranking has come."""
        from streameval.kinds.drawn_rankings.evaluate import strata
        from streameval.study.progress import progress_of

        return progress_of(folder, folder.plan(), strata)

    def subject(self, plan: Plan) -> str:
        """Say what a study with a plan estimates."""
        from streameval.text import number_of

        return f"means over {number_of(int(plan.notes['rankings']), 'ranking')} by {', '.join(plan.notes['per'])}"

    def text(self, found: RankingsSample, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what the bounds claim, the means, and what to know of them."""
        from streameval.kinds.drawn_rankings.says import text

        return text(found)


KIND = SampledRankings()
