"""A question, answered by as few labels as it takes: they come in rounds, and may be looked at after every answer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.judges.options import JudgeColumn
from streameval.kinds import CostRows, Kind, import_later
from streameval.labelling.options import Judging, LabelColumns
from streameval.questions.asking import Asking

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.labelling.tally import Tallied
    from streameval.progress import Progress
    from streameval.rankings.ranking import Ranking
    from streameval.rows.options import RankingOptions
    from streameval.study import Study
    from streameval.types import Claim, Plan


class QuestionStudy(Kind):
    """One question, or several conditions at once."""

    name = "question"
    about = "a study of a question"
    asked_by: ClassVar = {"plan": "questions", "cost": "questions"}
    no_rehearsal = "`streameval cost --for` says what a question costs"
    options: ClassVar = {"plan": (Asking, JudgeColumn), "evaluate": (LabelColumns, Judging)}
    without = frozenset({"label_error", "assume"})
    instead_of: ClassVar = {"min_precision": "precision@K >= 0.9 expect 0.95", "alpha": "precision@K within 0.03"}
    rounds = True
    answers = ("show", "check", "cut", "report", "sql", "publish")
    instead: ClassVar = {
        "monitor": "it watches curves, whose labels bound a mean over days; of a question `streameval check` says the "
        "answer of its day, and `streameval guide question` shows a table of all nights"
    }
    result = import_later("streameval.kinds.question.results:QuestionResult")
    planned = import_later("streameval.kinds.question.planned:PLANNED")
    tasks = import_later("streameval.kinds.question.rounds:TASKS")

    def plan(
        self, ranking: object, study: str | os.PathLike[str], raw_options: Mapping[str, Any], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Plan:  # fmt: skip
        """Fix how a question is answered, and draw the first round; without a ranking, of that of the study."""
        if ranking is not None:
            return super().plan(ranking, study, raw_options, seed, options, progress)
        from streameval.judges.values import judge_of_question
        from streameval.kinds.question.adding import add_question

        asking, column = self.parse_options("plan", raw_options)
        return add_question(study, (asking, judge_of_question(column.judge)), seed)

    def draw(self, ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
        """Fix how a question is answered, and draw the first round."""
        from streameval.judges.values import judge_of_question
        from streameval.kinds.question.plan import draw_round

        return draw_round(ranking, options[0], judge_of_question(options[1].judge), request)

    def costs(self, n_items: int, ranking: Ranking | None, raw_options: Mapping[str, Any]) -> CostRows:
        """Say what a question takes, case by case, and the whole curve beside it; and how seldom an answer is wrong."""
        from streameval.kinds.question.cost import costs_of
        from streameval.methods import check_items
        from streameval.reporting.sentences import seldom

        asking, _ = self.parse_options("plan", raw_options)
        wrong = f"An answer is wrong {seldom(raw_options.get('confidence', 0.95))}."
        return CostRows(costs_of(asking, check_items(n_items), ranking), [wrong])

    def estimate(
        self, folder: Study, plan: Plan, tallied: Tallied, options: Sequence[Any]
    ) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
        """Say what the labels prove."""
        from streameval.kinds.first_rule import rule_of, tally_by
        from streameval.kinds.question.before import beside_before, joint_confidence
        from streameval.kinds.question.evaluate import estimate_answers
        from streameval.kinds.question.says import answers_told
        from streameval.kinds.question.tree import counted_first, known_now, late_rules, whose_known

        known_items, rule = known_now(folder, plan), rule_of(vars(options[1]))
        whose = whose_known(folder, plan)
        tables, claim, more = estimate_answers(plan, known_items, whose, tallied)
        more |= {"together": joint_confidence(folder, plan), **beside_before(folder, plan, rule, (tables, more))}
        if (first := more["first_rule"]) not in (None, rule):
            then = tally_by(folder, plan, first)
            answers = (
                None if then is None else estimate_answers(plan, known_items, whose, then)[0]["answers"].to_pylist()
            )
            more["by_first_rule"] = answers and answers_told(answers, plan.parameters["zone"])
        if late := late_rules(folder, plan):
            then = estimate_answers(plan, known_now(folder, plan, counted_first), whose, tallied)[0][
                "answers"
            ].to_pylist()
            more["known_by_late_rules"] = {"of": late, "by_first": answers_told(then, plan.parameters["zone"])}
        return tables, claim, more


KIND = QuestionStudy()
