"""What to run next: every command that leads on from where a study stands, each with what it does.

Kinds of study choose among these for their results; the terminal, `show`, `check`, pages and the label server show what
was chosen.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from streameval.judges.classes import awaits_judge
from streameval.questions import CUT, Condition, Question
from streameval.questions.comparing import questions_of
from streameval.questions.printed import measure_of
from streameval.reporting.text import NOTHING, NextStep
from streameval.rows.options import typed_score
from streameval.study import Study
from streameval.study.provenance import evaluate_commands, plan_command
from streameval.study.results import Result
from streameval.text import number_of
from streameval.text.options import flags
from streameval.types import Plan

if TYPE_CHECKING:
    from streameval.curve import Curve
    from streameval.curve.bounds import Bounds
    from streameval.methods import Sequential


def _step(does: str, *words: str) -> NextStep:
    """Make a command of ours from its words."""
    return NextStep(shlex.join(["streameval", *words]), does)


def first_step(study: Study, plan: Plan) -> NextStep:
    """Before there are results: bring labels, or take in those that there are."""
    folder, planned = str(study.folder), plan.table.num_rows
    if awaits_judge(plan):
        return _step("writes the questions for the judge", "select", folder, "--export", "judge.csv")
    labelled = study.labelled
    if labelled == planned:
        return make_results(folder)
    if study.selected(plan) is not None:
        return take_in(folder, "FILE")
    tasks = f"writes the {number_of(planned - labelled, 'task')}"
    return _step(tasks, "select", folder, *["--remaining"] * bool(labelled), "--export", "tasks.csv")


def make_results(study: str) -> NextStep:
    """Suggest to evaluate labels that are there."""
    return _step("makes the results", "evaluate", study)


def fetch_items(study: str) -> NextStep:
    """Suggest to fetch the items once all are found."""
    return _step("fetches the planned items", "select", study)


def export_tasks(study: str) -> NextStep:
    """Suggest to export tasks of items that are there."""
    return _step("writes the tasks", "select", study, "--export", "tasks.csv")


def take_in(study: str, file: str, verb: str = "evaluate") -> NextStep:
    """Suggest to take in what comes back of tasks: labels or, for `judge`, its answers.

    Args:
        file: What comes back, as it is typed.
    """
    words = ["evaluate", study, "--labels"] if verb == "evaluate" else [verb, study]
    does = "takes in labels" if verb == "evaluate" else "takes in the judge's answers"
    return NextStep(f"{_step(does, *words).command} {file}", does)


def look(study: str) -> NextStep:
    """Suggest to look how the study stands once people have labelled."""
    return _step("says where it stands", "show", study)


def results_again(study: Study, plan: Plan) -> NextStep:
    """Suggest new results where labels have changed, or more labels where none counts."""
    if plan.table.num_rows and not study.labelled:
        return first_step(study, plan)
    return _step("makes the results again", "evaluate", str(study.folder))


def remaining(study: str) -> NextStep:
    """Suggest to ask for missing labels."""
    does = "writes the tasks that have no label yet"
    return _step(does, "select", study, "--remaining", "--export", "remaining.csv")


def after_curve(plan: Plan, curve: Curve, summary: Mapping[str, Any], study: str) -> NextStep:
    """Bring what is missing of a curve, or use what it proves."""
    if summary["account"]["labelled"] < plan.table.num_rows:
        return remaining(study)
    share, rank = proven_share(curve) if curve.proves else ("", 0)
    if not rank:
        return NOTHING
    does = f"writes the first {number_of(rank, 'item')}: their precision is at least {float(share):.0%}"
    return _step(does, "cut", study, f"precision:{share}", "--out", "best")


def proven_share(curve: Curve) -> tuple[str, int]:
    """Choose the highest precision of a ladder that is proven for a hundredth of the list, else for any rank.

    Returns:
        tuple: The precision, and its deepest rank: 0 where none is proven.
    """
    ladder = ("0.99", "0.95", "0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1")
    deepest = {share: int(curve.rank_at_precision(share).lower) for share in ladder}
    enough = [share for share in ladder if deepest[share] >= curve.n_items / 100] or [s for s in ladder if deepest[s]]
    return (enough[0], deepest[enough[0]]) if enough else ("0.1", 0)


def way_out(plan: Plan, summary: Mapping[str, Any], study: str) -> NextStep:
    """Lead from a curve that promises nothing to bounds that do."""
    tested = summary["diagnostics"].get("slices", {"": summary["diagnostics"]}).values()
    read_so = summary["parameters"].get("assume", "a2") == "independent"
    if plan.method == "paula" and not read_so and not any(row.get("contradicts_independent") for row in tested):
        (again,) = evaluate_commands((), {**summary, "assume": "independent"}, study)
        return NextStep(again, "makes bounds that allow for label noise, from the same labels")
    if plan.parameters.get("adaptive"):
        if summary["account"].get("open", summary["account"]["missing"]):
            return remaining(study)
        return second_batch(study)
    new = f"{study.rstrip('/')}-loguniform"
    return NextStep(plan_command(plan, new, {"method": "loguniform"}), "plans labels whose bounds hold for any list")


def more_labels(plan: Plan, summary: Mapping[str, Any], study: str, labels: int) -> NextStep:
    """Lead to narrower bounds where a condition is open; nothing where no number of labels is known to decide it.

    Args:
        labels: How many in all are wanted; 0 where that cannot be said.
    """
    account = summary["account"]
    if account["labelled"] < account["planned"]:
        return remaining(study)
    if not labels:
        return NOTHING
    growing = plan.method == "adopted" or plan.parameters.get("growing")
    if growing and plan.look < plan.parameters.get("stages", 1):
        return grow_by(study, max(labels - account["labelled"], labels_of_next_stage(plan)))
    new = f"{study.rstrip('/')}-more"
    again = plan_command(plan, new, {"method": "loguniform", "budget": labels})
    return NextStep(again, "plans anew with so many labels")


def second_batch(study: str) -> NextStep:
    """Suggest to add the second batch of an adaptive plan."""
    return _step("adds the second batch", "grow", study)


def grow_by(study: str, labels: int) -> NextStep:
    """Suggest to add so many labels at most."""
    return _step("adds labels", "grow", study, "--budget", str(labels))


def labels_of_next_stage(plan: Plan) -> int:
    """Count the labels that the next stage takes: `grow` refuses fewer."""
    from streameval.methods import method_of

    method = cast("Sequential", method_of(plan))
    more: int = method.enlarged(plan, plan.look + 1).table.num_rows - plan.table.num_rows
    return more


def next_round(plan: Plan, result: Result, study: str) -> NextStep:
    """Hand out what a question asks next; nothing where it is answered, or has ended."""
    account, summary = result.summary["account"], result.summary
    if summary["outcome"] != "open":
        return NOTHING
    if account.get("open", 0):
        return _step("writes the tasks that are open", "select", study, "--export", "rest.csv")
    after = max(plan.table.column("batch").to_pylist()) + 1
    tasks = f"round{after}.csv"
    return NOTHING if summary["ended"] else _step("writes the next round", "select", study, "--export", tasks)


def after_answers(plan: Plan, result: Result, study: str) -> NextStep:
    """Hand out what a question asks next; where nothing is, say by an exit status what the labels say."""
    if (following := next_round(plan, result, study)).command:
        return following
    questions = [Question.of(text) for text in result.summary["questions"]]
    if any(isinstance(question.demand, Condition) for question in questions):
        return _step("gives the answer as an exit status, for scripts", "check", study)
    if any(question.metric == CUT for question in questions):
        return NOTHING
    condition = met_condition(result)
    return _gate(study, condition) if condition else NOTHING


def met_condition(result: Result) -> str:
    """Word a condition on what was asked about that its bounds meet, and not every list does; empty without one."""
    row = result.metrics.to_pylist()[-1]
    return _at_least(measure_of(row["metric"], row["argument"]), row["lower"] or 0)


def gate_of(study: str, bounds: Mapping[str, Bounds]) -> NextStep:
    """Check the first measure of which more than a hundredth is proven; nothing where there is none."""
    proven = {name: low for name, (low, _, _) in bounds.items() if isinstance(low, float) and low >= 0.01}
    return next((_gate(study, _at_least(name, low)) for name, low in proven.items()), NOTHING)


def _at_least(measure: str, lower: float) -> str:
    least = math.floor(100 * lower) / 100
    return f"{measure} >= {least:.12g}" if least else ""


def _gate(study: str, condition: str) -> NextStep:
    return _step("checks a condition (this one passes): put in your measure and number", "check", study, condition)


def ask_alone(study: str, conditions: Iterable[str], confidence: str) -> NextStep:
    """Plan a question of a curve's study for conditions that its bounds leave open."""
    questions, surer = [*conditions], None if confidence == "0.95" else confidence
    several = len(questions) > 1
    does = "asks these together, as questions of their own" if several else "asks this as a question of its own"
    return _step(does, "plan", *flags({"study": study, "questions": questions, "confidence": surer}))


def closer_bounds(plan: Plan, result: Result, study: str, places: Mapping[str, Sequence[str]]) -> NextStep:
    """Bring what is missing of a comparison; where something is open, plan it anew for bounds half as wide.

    Nothing of tables in memory.

    Args:
        places: What the two rankings, "b" and "a", were read from.
    """
    notes, account = plan.notes, result.summary["account"]
    if account["labelled"] < account["planned"]:
        return remaining(study)
    better = result.tables["differences"].column("better").to_pylist()
    if "open" not in better or any(len(place) != 1 for place in places.values()):
        return NOTHING
    order, how = notes["order"], plan.parameters
    closer = questions_of(notes["cutoffs"], f"{float(how['within']) / 2:.3g}", how["look"], how["min_precision"])
    scores = [typed_score(row.get("score"), bool(row.get("ascending"))) for row in (order, notes["against"])]
    options = {"questions": [*closer], "against": places["a"][0], "score": scores[0], "against_score": scores[1],
               "key": ",".join(notes["draw_by"]), "reuse": study, "study": f"{study}-closer"}  # fmt: skip
    return _step("plans bounds half as wide and reuses these labels", "plan", places["b"][0], *flags(options))
