"""Plan for a question: its design is fixed, and the first round drawn."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.judges.values import Judge
from streameval.kinds.planning import Drawn, PlanRequest
from streameval.kinds.question.says import answer_sentence
from streameval.progress import Progress
from streameval.questions import CUT, Condition, Question, Width
from streameval.questions.asking import Asking
from streameval.questions.comparing import COMPARED
from streameval.questions.cutoffs import Cutoff
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import describe_place
from streameval.sequential import (
    LARGEST,
    LEAST,
    DrawnItems,
    JudgedItems,
    KnownItems,
    QuestionDesign,
    QuestionSetting,
    designs,
    read_design,
)
from streameval.study.planned_ranking import items_at
from streameval.text.options import flags
from streameval.types import Plan
from streameval.typing import Int8Array, Int64Array

_ASKED = (
    'ask "precision@1000000 >= 0.9", say, "recall@1e6 >= 0.8", "precision@1e4,1e5 within 0.03", '
    '"positives within 10%" or "cut precision 0.9"'
)


KEPT = 60_000
"""Items that are put in a random order: no more can be asked of a question with a judge."""


def draw_round(ranking: object, asking: Asking, judge: Judge | None, request: PlanRequest) -> Drawn:
    """Fix how a question is answered, and draw the first round.

    Raises:
        InputError: A question that no design answers, or not of this list; one that needs no label.
    """
    opened = request.open(ranking)
    plan = drawn_plan(opened, asking, judge, request)
    return Drawn(plan, opened, instead=_without_list(request.study.folder, asking))


def _without_list(study: str | os.PathLike[str], asking: Asking) -> str:
    """Say what to do where a study is: its own list is asked."""
    words = flags({"study": os.fspath(study), "questions": [*asking.asked]})
    ask = shlex.join(["streameval", "plan", *words])
    return f"to ask it of this study, leave out the list: {ask}"


def drawn_plan(
    opened: Ranking, asking: Asking, judge: Judge | None, request: PlanRequest, number: int = 1
) -> Plan:  # fmt: skip
    """Make the plan of a question of a ranking, with its first round: items that are known are never drawn.

    Args:
        number: Of the question, among those of a study that hold together.
    """
    known_items, seed = request.known_labels.items, request.drawing_seed
    typed, asking = asking.confidence, asking.of_several(number)
    setting = setting_of(asking, opened.n_items, opened, known_items, seed)
    if judge is not None:
        judged_list = ListOfJudge(opened, judge, known_items, seed, request.progress)
        setting = replace(setting, judge=judged_list)
    design = design_for(asking.asked, setting)
    size = None if asking.round is None else min(asking.round, opened.n_items)
    drawn = next_drawn(design, design.start(), np.empty(0, np.int8), (size, asking.budget, seed))
    if not drawn.table.num_rows and not known_items.rank.size:
        what = " and ".join(map(str, asking.asked))
        raise InputError(f"{what}: no label is needed: every list of {opened.n_items:,} items gives the same answer")
    if not drawn.table.num_rows:
        raise InputError(f"the labels that there are answer this already: {_known_answers(design, drawn, asking)}")
    parameters = {"confidence": asking.confidence, "zone": asking.zone, "expect": asking.expect,
                  "round": size, "budget": asking.budget,
                  **({"together": typed} if asking.together else {})}  # fmt: skip
    cutoffs = sorted({*setting.ranks.values()}) or [opened.n_items]
    notes = {"questions": [str(question) for question in asking.asked], "cutoffs": cutoffs, "design": design.facts()}
    plan = Plan(
        design.name, parameters, opened.n_items, seed, pa.table({"rank": pa.array([], pa.int64())}),
        opened.description(), notes, describe_place(opened),
        known=pa.table({"rank": known_items.rank, "label": known_items.label}),
        kind="question",
    )  # fmt: skip
    return with_drawn(plan if judge is None else judged_list.kept_by(plan), drawn)


def _known_answers(design: QuestionDesign, drawn: DrawnItems, asking: Asking) -> str:
    """Write the sentence for questions that known labels already answer."""
    answer = design.answer(drawn, np.empty(0, np.int8))
    if answer.outcome == "open":
        return "nothing is left to ask, and they do not decide it"
    zone = _text(asking.zone)
    return " ".join(answer_sentence(vars(line), zone) for line in answer.lines).removesuffix(".")


def setting_of(
    asking: Asking, n_items: int, ranking: Ranking | None, known_items: KnownItems | None = None, seed: int = 0
) -> QuestionSetting:
    """Give what a question is planned for; without a ranking, where it is cut by a score is not known."""
    ranks = {str(cutoff): _rank(ranking, n_items, cutoff) for question in asking.asked
             if question.metric != CUT for cutoff in question.cutoffs}  # fmt: skip
    known_items = known_items or KnownItems.nothing()
    return QuestionSetting(n_items, ranks, known_items, str(asking.confidence), _text(asking.zone),
                   _text(asking.expect), seed)  # fmt: skip


def design_for(questions: tuple[Question, ...], setting: QuestionSetting) -> QuestionDesign:
    """Give the design that answers all of the questions."""
    each = [design for design in designs().values() if design.uses_judge or setting.judge is None]
    for question in questions:
        if not any(design.takes(question) for design in designs().values()):
            raise InputError(f"{question}: no study can be planned for this", _supported_instead(question))
        if not any(design.takes(question) for design in each):
            raise InputError(f"{question}: a judge is of no use to this", "leave out --judge; it helps conditions")
    for design in each:
        if all(design.takes(question) for question in questions):
            return design.plan(questions, setting)
    raise InputError(f"{' and '.join(map(str, questions))} are answered by different draws",
                     "plan one of them, and the other into the same study afterwards")  # fmt: skip


def is_asked(question: Question) -> bool:
    """Tell whether a study can be planned for a question."""
    fixed = question.metric == CUT or all(one.kind in ("rank", "share", "score") for one in question.cutoffs)
    return fixed and any(one.takes(question) for one in designs().values())


def _supported_instead(question: Question) -> str:
    """Suggest the supported questions closest to an unsupported one."""
    if question.metric in COMPARED:
        return "it compares two rankings: name the other one with --against"
    condition = replace(question, demand=Condition(">=", Decimal("0.8")))
    if not isinstance(question.demand, Width) or not any(design.takes(condition) for design in designs().values()):
        return _ASKED
    return (
        f'widths are answered of precision ("precision@1e4 within 0.03") and of the number of positives '
        f'("positives within 10%"); of {question.metric} a condition: "{condition}"'
    )


def with_drawn(plan: Plan, drawn: DrawnItems) -> Plan:
    """Give a plan with what was drawn by now."""
    table = drawn.table.rename_columns(["batch" if name == "round" else name for name in drawn.table.column_names])
    strata = pa.array(np.zeros(table.num_rows, np.int32))
    ahead = drawn.ahead if plan.judge_sample is None else drawn.ahead.slice(0, 0)
    held = replace(plan, table=table.add_column(1, "stratum", strata), ahead=ahead)
    return held.with_notes(state=dict(drawn.state))


def load_design(plan: Plan, known_items: KnownItems) -> tuple[QuestionDesign, DrawnItems]:
    """Load the design and what was drawn so far from a plan.

    Args:
        known_items: What it was planned with; its labels count as they are given here.
    """
    table = plan.table.drop_columns(["stratum"])
    table = table.rename_columns(["round" if name == "batch" else name for name in table.column_names])
    design = read_design(plan.notes["design"], known_items)
    ahead = table.slice(0, 0).drop_columns(["round"]) if plan.ahead is None else plan.ahead
    if plan.judge_sample is not None:
        ahead = design.rest_of_reserve(plan.judge_sample, plan.ranks)
    return design, DrawnItems(table, ahead, plan.notes["state"])


def next_drawn(
    design: QuestionDesign, drawn: DrawnItems, labels: Int8Array, how: tuple[int | None, int | None, int]
) -> DrawnItems:
    """Draw one more round, of a size, within a budget, by a seed; `drawn` itself where nothing is left to ask."""
    size, budget, seed = how
    number = size_of_next(size, budget, drawn.table.num_rows)
    if number == 0:
        return drawn
    more = design.next(drawn, labels, number, seed)
    if budget is None or more.table.num_rows <= budget:
        return more
    return design.next(drawn, labels, budget - drawn.table.num_rows, seed)


def size_of_next(size: int | None, budget: int | None, planned: int) -> int | None:
    """Tell how many tasks the next round has: 0 where the budget is spent, None where the design decides.

    Args:
        size: Of a round, where it was given.
        planned: Tasks so far.
    """
    left = LARGEST if budget is None else max(0, budget - planned)
    if size is not None:
        return size if budget is None else min(size, left)
    return None if left >= LARGEST else min(left, LEAST)


def _rank(opened: Ranking | None, n_items: int, cutoff: Cutoff) -> int:
    """The rank of a cutoff, counted once and kept."""
    rank = cutoff.rank_in(n_items)
    if rank is not None:
        return int(rank)
    if cutoff.kind != "score":
        raise InputError(f"a question about @{cutoff} would depend on its own answer",
                         "ask at a number of items, a share of the list or a score")  # fmt: skip
    if opened is None:
        raise InputError(f"which rank {cutoff} is depends on the list", "name the list, or ask at a rank")
    count = items_at(opened.order, cutoff.value)
    if not count:
        raise InputError(
            f"no item has score {cutoff.value} or a better one", "ask at a score that items of the list have"
        )
    return count


def _text(value: str | float | None) -> str | None:
    return None if value is None else str(value)


@dataclass
class ListOfJudge:
    """Reads what a judge says when a design asks for it, and remembers it.

    Attributes:
        ends, items: Of what was read.
    """

    ranking: Ranking
    judge: Judge
    known: KnownItems
    seed: int
    progress: Progress
    ends: Int64Array | None = None
    items: JudgedItems | None = None

    def __call__(self, ends: Int64Array) -> JudgedItems:
        """Count the classes in ranges that end at these ranks, and put some of their items in order."""
        from streameval.slices.judge import class_order

        ordered = class_order(self.ranking, self.judge, ends, self.known.rank, (KEPT, self.seed), self.progress)
        self.ends = ends
        self.items = JudgedItems(ordered.items, self.judge.prior, ordered.of_ranks, ordered.first)
        return self.items

    def kept_by(self, plan: Plan) -> Plan:
        """Give a plan what was read: from here on `plan_id` covers it."""
        if self.ends is None or self.items is None or plan.known is None:
            raise ValueError("no design asked for the judge")
        classes = self.judge.classes
        counts = pa.table({"stratum_last": np.repeat(self.ends, classes),
                           "judge_class": np.tile(np.arange(classes, dtype=np.int8), self.ends.size),
                           "items": self.items.items.reshape(-1)})  # fmt: skip
        known_table = plan.known.append_column("judge_class", pa.array(self.items.known, pa.int8()))
        kept_plan = replace(plan, judge_counts=counts, judge_sample=self.items.reserve, known=known_table)
        return kept_plan.with_notes(judge={**self.judge.note(), "reserve": True})
