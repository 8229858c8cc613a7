"""A question, answered by as few labels as it takes: they come in rounds, and may be looked at after every answer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InputError, StudyError
from streameval.judges.options import JudgeColumn
from streameval.kinds import EVALUATE, Decision, Kind, Planned
from streameval.labelling.options import Judging, LabelColumns
from streameval.questions.asking import Asking
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.curve.bounds import Bounds
    from streameval.kinds.planning import Drawn, PlanRequest
    from streameval.kinds.tasks import PlannedTasks
    from streameval.progress import Progress
    from streameval.questions import Question
    from streameval.questions.cutoffs import Cutoff
    from streameval.rankings.ranking import Ranking
    from streameval.reporting.standing import Standing
    from streameval.reporting.text import NextStep, Text
    from streameval.rows.options import RankingOptions
    from streameval.study import Study
    from streameval.study.cut_files import Cut
    from streameval.types import Plan


class QuestionStudy(Kind):
    """One question, or several conditions at once."""

    name = "question"
    about = "a study of a question"
    asked_by: ClassVar = {"plan": "questions", "cost": "questions"}
    no_rehearsal = "`streameval cost --for` says what a question costs"
    options: ClassVar = {"plan": (Asking, JudgeColumn), "evaluate": (LabelColumns, Judging)}
    without = frozenset({"label_error", "assume"})
    rounds = True
    answers = ("show", "check", "cut", "report", "sql", "publish")
    instead: ClassVar = {
        "monitor": "it watches curves, whose labels bound a mean over days; of a question `streameval check` says the "
        "answer of its day, and `streameval guide question` shows a table of all nights"
    }
    tables: ClassVar = {
        "metrics": "Proven bounds on what was asked about, and its estimate.",
        "answers": "One row per question (and cutoff): its outcome (pass, fail or open), and the labels that counted.",
        "evidence": "Logarithm of the evidence for each side of a condition after so many labels, and what decides.",
        "labels": "One row per item that was asked for; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    def plan(
        self, ranking: Any, study: str | os.PathLike[str], given: Mapping[str, Any], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Plan:  # fmt: skip
        """Fix how a question is answered, and draw the first round; without a ranking, of that of the study."""
        if ranking is not None:
            return super().plan(ranking, study, given, seed, options, progress)
        from streameval.judges.values import judge_in
        from streameval.kinds.question.adding import added

        asking, column = self.asked("plan", given)
        return added(study, (asking, judge_in(column)), seed)

    def draw(self, ranking: Any, asked: Sequence[Any], request: PlanRequest) -> Drawn:
        """Fix how a question is answered, and draw the first round."""
        from streameval.judges.values import judge_in
        from streameval.kinds.question.plan import draw_round

        return draw_round(ranking, asked[0], judge_in(asked[1]), request)

    def costs(self, n_items: int, ranking: Ranking | None, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Say what a question takes, case by case, and the whole curve beside it."""
        from streameval.kinds.question.cost import costs_of
        from streameval.methods import check_items

        asking, _ = self.asked("plan", given)
        return costs_of(asking, check_items(n_items), ranking)

    def cost_notes(self, given: Mapping[str, Any]) -> Sequence[str]:
        """Say how seldom an answer is wrong."""
        from streameval.reporting.sentences import seldom

        return [f"An answer is wrong {seldom(given.get('confidence', 0.95))}."]

    def planned_says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned."""
        from streameval.kinds.question.planned import planned_says

        return planned_says(planned)

    def read(self, folder: Study) -> Any:
        """Read results; a `StudyError` too where what was known to the question has other labels by now."""
        from streameval.kinds.question.tree import known_now, state_of

        found = super().read(folder)
        if folder.exists and (known := known_now(folder, folder.plan())).rank.size:
            as_planned = replace(known, label=known.at_plan)
            if found.summary.get("known_labels", state_of(as_planned)) != state_of(known):
                raise StudyError(f"{folder.folder}: labels that were known to it have changed since the results were "
                                 "written", EVALUATE)  # fmt: skip
        return found

    @property
    def tasks(self) -> PlannedTasks:
        """Give them in rounds."""
        from streameval.kinds.question.rounds import RoundTasks

        return RoundTasks()

    def estimate(self, folder: Study, plan: Plan, tallied: Any, asked: Any) -> Any:
        """Say what the labels prove."""
        from streameval.kinds.first_rule import rule_of, tally_by
        from streameval.kinds.question.before import beside_before, joint_confidence
        from streameval.kinds.question.evaluate import measured
        from streameval.kinds.question.says import answers_told
        from streameval.kinds.question.tree import counted_first, known_now, late_rules, whose_known

        known, rule = known_now(folder, plan), rule_of(vars(asked[1]))
        whose = whose_known(folder, plan)
        tables, claim, more = measured(plan, known, whose, tallied)
        more |= {"together": joint_confidence(folder, plan), **beside_before(folder, plan, rule, (tables, more))}
        if (first := more["first_rule"]) not in (None, rule):
            then = tally_by(folder, plan, first)
            answers = None if then is None else measured(plan, known, whose, then)[0]["answers"].to_pylist()
            more["by_first_rule"] = answers and answers_told(answers, plan.parameters["zone"])
        if late := late_rules(folder, plan):
            then = measured(plan, known_now(folder, plan, counted_first), whose, tallied)[0]["answers"].to_pylist()
            more["known_by_late_rules"] = {"of": late, "by_first": answers_told(then, plan.parameters["zone"])}
        return tables, claim, more

    def answer(self, found: Any, question: Question) -> Bounds:
        """Bounds on what was asked about; anything else needs labels of its own."""
        from streameval.kinds.question.results import bounds_of

        return bounds_of(found, question)

    def conditions(self, found: Any) -> tuple[Question, ...]:
        """The conditions that were planned."""
        from streameval.kinds.question.results import planned_conditions

        return planned_conditions(found)

    def main_measures(self, found: Any) -> list[str]:
        """Everything that was asked about."""
        return list(self.measures(found))

    def decided(self, found: Any, question: Question, bounds: Bounds) -> Decision:
        """Say what became of a condition that was planned; of any other, what its bounds say."""
        from streameval.kinds.question.results import decision_on

        return decision_on(found, question) or super().decided(found, question, bounds)

    def to_decide(self, folder: Study, found: Any, labels: int, why: str) -> NextStep:
        """Choose what hands out the next round."""
        from streameval.reporting.next_step import next_round
        from streameval.reporting.text import NOTHING

        return NOTHING if why else next_round(folder.plan(), found, str(folder.folder))

    def cut(self, folder: Study, target: Cutoff, ranking: Any, options: Mapping[str, Any]) -> Cut:
        """Give the items above the deepest rank that was proven."""
        from streameval.kinds.question.cut import front

        found = front(folder, self.read(folder), target, ranking)
        if options:
            raise InputError(f"{flag(next(iter(options)))} is for a study of a curve", "leave it out")
        return found

    def subject(self, plan: Plan) -> str:
        """Say what is asked."""
        from streameval.kinds.question.says import posed_as

        return " ".join(map(posed_as, plan.questions))

    def text(self, found: Any, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say the answer, the bounds that it gives, and what more labels would bring."""
        from streameval.kinds.question.says import text

        return text(found, plan, study)

    def promise(self, found: Any) -> str:
        """Say the answer, and with what probability it may be wrong."""
        return self.text(found).opening

    def standing(self, study: str, name: str, plan: Plan | None, found: Any) -> Standing:
        """Say the answer so far, draw the path to it, and what to do next; without its plan there is none."""
        from streameval.kinds.question.says import standing

        if plan is None:
            raise StudyError("the plan of this question is missing: plan.json is not there", "restore it")
        return standing(found, plan, study, name)

    def page(self, name: str, plan: Plan | None, found: Any, title: str | None = None) -> str:
        """Draw report.html."""
        from streameval.kinds.question.page import page

        return page(name, found, self.text(found), title)


KIND = QuestionStudy()
