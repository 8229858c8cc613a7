"""Two rankings of the same items: bounds on the difference of their tops, from labels of what changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.kinds import Kind, Planned
from streameval.labelling.options import Judging, LabelColumns, ReuseOptions
from streameval.questions.comparing import Comparing

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.labelling.tally import Tallied
    from streameval.questions import Question
    from streameval.rankings.ranking import Ranking
    from streameval.reporting.text import Text
    from streameval.study import Study
    from streameval.study.progress import LabellingProgress
    from streameval.types import Claim, Plan


class PairedRankings(Kind):
    """How many more positives the top of one ranking holds than that of another."""

    name = "paired"
    about = "a study of two rankings"
    asked_by: ClassVar = {"plan": "against", "cost": "against"}
    no_rehearsal = "what changed is found by reading both lists"
    options: ClassVar = {"plan": (Comparing, ReuseOptions), "evaluate": (LabelColumns, Judging)}
    without = frozenset({"label_error", "assume"})
    watched_in = "streameval.kinds.paired.history_page"
    answers = (*Kind.answers, "monitor")
    instead: ClassVar = {
        "compare": "show says which of its two rankings is better, and at which cutoff",
        "grow": "its number of labels is fixed before the first of them; for closer bounds, plan into another folder "
        "with `plan --within X --reuse STUDY`",
    }
    tables: ClassVar = {
        "metrics": "Bounds on how many more positives B holds at each cutoff than A (gain_at), and on the difference "
        "in precision (precision_gain_at) where both hold as many items.",
        "differences": "One row per cutoff: what only B holds (gains) and only A (losses), what was drawn and labelled "
        "of it, the difference in positives with its bounds, and which ranking is better: b, a, neither (the bounds "
        "lie within the planned half-width around 0) or open.",
        "measures": "One row per measure that weighs items by rank, such as the DCG: B less A, with its bounds.",
        "labels": "One row per planned item; rank is its stored row, from 1; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def draw(self, ranking: Any, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Find what changed between two rankings, and draw from it."""
        from streameval.copies.write import told_of_source
        from streameval.kinds.paired.plan import draw_changed

        with told_of_source(Path(os.path.abspath(request.study.against_copy)), asked[0].against):
            return draw_changed(ranking, asked[0], request)

    def planned_says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned."""
        from streameval.kinds.paired.planned import planned_says

        return planned_says(planned)

    def costs(self, n_items: int, ranking: Ranking | None, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Say what a comparison takes by cutoff, from the share of both tops that is the same."""
        from streameval.kinds.paired.cost import costs_of
        from streameval.methods import check_items

        comparing, _ = self.asked("plan", given)
        return costs_of(comparing, check_items(n_items))

    def cost_notes(self, given: Mapping[str, Any]) -> Sequence[str]:
        """Say what is labelled, and for which bounds."""
        return [
            "Only what changed is labelled; bounds on the difference in precision lie within --within at every cutoff."
        ]

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, asked: Sequence[Any]
    ) -> tuple[dict[str, Any], Claim, dict[str, Any]]:
        """Bound the difference at every cutoff."""
        from streameval.kinds.first_rule import first_rule, rule_of, summary_before, tally_by
        from streameval.kinds.paired.evaluate import measured
        from streameval.kinds.paired.says import verdict

        tables, claim, more = measured(plan, tallied)
        first = first_rule(summary_before(folder, plan))
        more["first_rule"] = first
        if first not in (None, rule_of(vars(asked[1]))):
            then = tally_by(folder, plan, first)
            found = then and measured(plan, then)
            more["by_first_rule"] = found and verdict(self._result({"evaluation_id": "", **found[2]}, found[0]))
        return tables, claim, more

    def answer(self, found: Any, question: Question) -> Bounds:
        """Bounds on a difference, and its estimate."""
        from streameval.kinds.paired.results import bounds_of

        return bounds_of(found, question)

    def measures(self, found: Any) -> tuple[str, ...]:
        """The differences that there are."""
        from streameval.kinds.paired.results import measures

        return measures(found)

    def main_measures(self, found: Any) -> list[str]:
        """The differences in positives."""
        return [name for name in self.measures(found) if not name.startswith("precision_gain@")]

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come, from cutoff to cutoff."""
        from streameval.kinds.paired.evaluate import by_cutoff
        from streameval.study.progress import progress_of

        return progress_of(folder, folder.plan(), by_cutoff)

    def subject(self, plan: Plan) -> str:
        """Say what is compared."""
        from streameval.kinds.paired.says import subject

        return subject(plan)

    def text(self, found: Any, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say which ranking is better where, and how surely."""
        from streameval.kinds.paired.says import text

        return text(found, plan, study)

    def page(self, name: str, plan: Plan | None, found: Any, title: str | None = None) -> str:
        """Draw one figure with gains and losses at every cutoff, the sentence first."""
        from streameval.kinds.paired.page import page

        return page(name, found, self.text(found), title)


KIND = PairedRankings()
