"""Two rankings of the same items: bounds on the difference of their tops, from labels of what changed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import StudyError
from streameval.kinds import CostRows, Kind, import_later
from streameval.labelling.options import Judging, LabelColumns, ReuseOptions
from streameval.questions.comparing import Comparing

if TYPE_CHECKING:
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.labelling.tally import Tallied
    from streameval.rankings.ranking import Ranking
    from streameval.study import Study
    from streameval.types import Claim, Plan


class PairedRankings(Kind):
    """Comparison of two rankings: how many more positives the top of one holds than that of the other."""

    name = "paired"
    about = "a study of two rankings"
    asked_by: ClassVar = {"plan": "against", "cost": "against"}
    no_rehearsal = "what changed is found by reading both lists"
    options: ClassVar = {"plan": (Comparing, ReuseOptions), "evaluate": (LabelColumns, Judging)}
    without = frozenset({"label_error", "assume"})
    instead_of: ClassVar = {"min_precision": "gain@K within 2% expect 0.3", "alpha": "gain@K within 2%",
                            "budget": "gain@K within 2%"}  # fmt: skip
    answers = (*Kind.answers, "monitor")
    instead: ClassVar = {
        "compare": "show says which of its two rankings is better, and at which cutoff",
        "grow": "its number of labels is fixed before the first of them; for closer bounds, plan into another folder "
        'with `plan --for "gain@K within X%" --reuse STUDY`',
    }
    result = import_later("streameval.kinds.paired.results:PairedResult")
    planned = import_later("streameval.kinds.paired.planned:PLANNED")
    tasks = import_later("streameval.kinds.paired.tasks:TASKS")
    watched = import_later("streameval.kinds.paired.history_page")

    def refuse_retired(self, folder: Path, notes: Mapping[str, Any]) -> None:
        """Refuse a plan of every rank, or of measures that weigh items by rank."""
        if {"bounded", "measures"} & notes.keys():
            what = "at every rank" if "bounded" in notes else "by dcg, rbp or log_mean_precision"
            again = f"streameval plan B --against A --for gain@100,1000 --reuse {shlex.quote(str(folder))}"
            raise StudyError(f"{folder} compares two rankings {what}, as an earlier version did",
                             f"`{again} …` compares them at cutoffs, with these labels")  # fmt: skip

    def draw(self, ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
        """Find what changed between two rankings, and draw from it."""
        from streameval.copies.write import told_of_source
        from streameval.kinds.paired.plan import draw_changed

        with told_of_source(Path(os.path.abspath(request.study.against_copy)), options[0].against):
            return draw_changed(ranking, options[0], request)

    def costs(self, n_items: int, ranking: Ranking | None, raw_options: Mapping[str, Any]) -> CostRows:
        """Say what a comparison takes by cutoff, from the share of both tops that is the same."""
        from streameval.kinds.paired.cost import NOTE, costs_of
        from streameval.methods import check_items

        comparing, _ = self.parse_options("plan", raw_options)
        return CostRows(costs_of(comparing, check_items(n_items)), [NOTE])

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, options: Sequence[Any]
    ) -> tuple[dict[str, Any], Claim, dict[str, Any]]:
        """Bound the difference at every cutoff."""
        from streameval.kinds.first_rule import first_rule, rule_of, summary_before, tally_by
        from streameval.kinds.paired.evaluate import estimate_differences
        from streameval.kinds.paired.results import PairedResult
        from streameval.kinds.paired.says import verdict

        tables, claim, more = estimate_differences(plan, tallied)
        first = first_rule(summary_before(folder, plan))
        more["first_rule"] = first
        if first not in (None, rule_of(vars(options[1]))):
            then = tally_by(folder, plan, first)
            by_first_rule = then and estimate_differences(plan, then)
            more["by_first_rule"] = by_first_rule and verdict(PairedResult("", by_first_rule[2], by_first_rule[0]))
        return tables, claim, more


KIND = PairedRankings()
