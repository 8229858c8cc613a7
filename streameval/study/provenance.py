"""Commands that make an evaluation again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from streameval.judges.options import JudgeValue
from streameval.labelling.readers import IN_MEMORY
from streameval.methods.stage_text import stages_typed
from streameval.methods.values import MethodValue
from streameval.rows.options import RankingOptions
from streameval.text.options import flags
from streameval.types import Plan

_OF_THE_MACHINE = ("memory", "threads")  # they change no result


def commands(plan: Plan, summary: Mapping[str, Any], study: str = "STUDY") -> list[str]:
    r"""Give the commands that plan, select and evaluate the same again.

    Args:
        summary: Of an evaluation: its `label_tables` (`streameval.study.take_in.label_history`), `misses`, and how
            votes were judged.
        study: Folder to write to.

    >>> import pyarrow as pa
    >>> plan = Plan("uniform", {"alpha": 0.1}, 9, 0, pa.table({"rank": [1]}), location={"source": ["my list.parquet"]})
    >>> tables = [
    ...     {"place": "/a.csv", "flags": {}, "given": 1, "stages": [0], "forgotten": []},
    ...     {"place": "/b.csv", "flags": {"on": "id"}, "given": 2, "stages": [0], "forgotten": []},
    ... ]
    >>> print(*commands(plan, {"label_tables": tables, "misses": 2, "vote": "any"}), sep="\n")
    streameval plan 'my list.parquet' --study STUDY --method uniform --seed 0 --alpha 0.1
    streameval select STUDY
    streameval evaluate STUDY --labels /a.csv --vote any
    streameval evaluate STUDY --labels /b.csv --on id --misses 2 --vote any
    """
    tables = list(summary.get("label_tables", ()))
    first = tables[0] if tables and tables[0]["given"] == 1 and _began_with_labels(plan) else None
    rest = [table for table in tables if table is not first]
    lines = [_begun(plan, study, first), *(_judge_commands(plan, study) if plan.parameters.get("judge_sample") else [])]
    since = 0
    for stage, request in enumerate([*plan.grown_by, None]):
        if request is None or "budget" not in request:  # it goes by the labels that there are
            new = [table for table in rest if any(since <= at <= stage for at in table["stages"])]
            lines += [shlex.join(["streameval", "select", study]), *evaluate_commands(new, summary, study)]
            since = stage + 1
        if request is not None:
            lines.append(shlex.join(["streameval", "grow", study, *flags(request)]))
    return lines


def _began_with_labels(plan: Plan) -> bool:
    return plan.method == "adopted" or "labels_seen_by_model" in plan.notes


def _begun(plan: Plan, study: str, first: Mapping[str, Any] | None) -> str:
    """Command that plans, or adopts labels that were drawn elsewhere."""
    labels = {} if first is None else {"labels": first["place"] or IN_MEMORY, **first["flags"]}
    if plan.method == "adopted":
        from streameval.methods.adopted.designs import DrawValue

        how = plan.location.get("adopted", {})
        left_out = ("probability", "least_probability", "sample_size", "stages")
        rest = {name: word for name, word in how.items() if name not in left_out}
        drawn = {"drawn": str(DrawValue.of(how))} if "drawn" in how else {}
        staged = {"stages": stages_typed(plan.parameters), "seed": plan.seed}
        return plan_command(plan, study, {**rest, **drawn, **staged}, "adopt")

    chosen = {
        key: value for key, value in plan.parameters.items() if key != "alpha" or not plan.parameters.get("budget")
    }
    value = MethodValue.of(plan.method, chosen)
    keyed: dict[str, Any] = {"on": ",".join(plan.draw_by) or None, **_judge(plan)}
    if labels:
        unseen = "no" if plan.labels_seen_by_model else "yes"
        keyed |= {"reuse": labels["labels"], "on": keyed.pop("on"), "label": labels.get("label")}
        keyed |= {"labels_unseen_by_model": unseen}
    method = {"method": str(value.without_shared), "seed": plan.seed, **value.shared}
    return plan_command(plan, study, {**method, **keyed})


def _judge(plan: Plan) -> dict[str, Any]:
    """Options of `plan` that give it its judge."""
    judge = plan.notes.get("judge")
    if judge is None:
        return {}
    column = "" if plan.parameters.get("judge_sample") else judge["column"]
    expected = plan.parameters.get("judge_sample"), plan.parameters.get("judge_accuracy")
    return {"judge": str(JudgeValue(column, tuple(judge["thresholds"]), *expected)) or None}


def _judge_commands(plan: Plan, study: str) -> list[str]:
    """Commands that ask a judge about its sample."""
    answers = plan.location.get("judge_answers", {"places": ["judge.csv"], "flags": {}})
    files = [place or IN_MEMORY for place in answers["places"]]
    judged = shlex.join(["streameval", "judge", study, *files, *flags(answers["flags"])])
    return [shlex.join(["streameval", "select", study, "--export", "judge.csv"]), judged] if files else [judged]


def evaluate_commands(tables: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], study: str) -> list[str]:
    """Commands that give label tables as they were given, those alike at once; the last judges as the evaluation."""
    lines = []
    for (read_with, forgotten), group in groupby(tables, lambda table: (table["flags"], table["forgotten"])):
        files = [table["place"] or IN_MEMORY for table in group]
        lines.append(["evaluate", study, "--labels", *files, *flags(read_with)])
        lines += [["labels", study, "--forget", name] for name in forgotten]
    if not lines or lines[-1][0] == "labels":
        lines.append(["evaluate", study])
    judged = rules_of(summary)
    votes = flags({"vote": judged.get("vote")})  # grades are refused without
    lines = [[*line, *votes] if line[0] == "evaluate" else line for line in lines[:-1]] + lines[-1:]
    lines[-1] += flags(judged)
    return [shlex.join(["streameval", *line]) for line in lines]


def plan_command(plan: Plan, study: str, how: Mapping[str, Any], verb: str = "plan") -> str:
    """Command that plans the ranking of a plan, by its slices if it has any."""
    source = plan.read_from or [IN_MEMORY]
    ranking_options = RankingOptions.from_plan(plan)
    values = {
        option.name: getattr(ranking_options, option.name)
        for option in fields(ranking_options)
        if option.name not in _OF_THE_MACHINE
    }
    described = {key: value for key, value in values.items() if value != getattr(RankingOptions, key)}
    described.pop("ascending", None)
    described |= {"score": ranking_options.typed_score, "key": ",".join(ranking_options.key) or None}
    plan_flags = flags({**how, "by": plan.by, **described})
    return shlex.join(["streameval", verb, *map(str, source), "--study", study, *plan_flags])


def rules_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the `evaluate` that wrote a summary, as far as they are not as by default."""
    how = {key: summary.get(key) for key in ("misses", "vote", "prefer", "label_error", "assume")}
    if "misses_from" in summary:
        how = {**how, "misses": summary["misses_from"]["study"]}
    how["prefer"] = ",".join(how["prefer"] or [])
    return {key: value for key, value in how.items() if value and value != "majority"}
