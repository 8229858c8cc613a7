"""What an evaluation was made from, and the commands that make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from streameval.rows.options import RankingOptions
from streameval.types import Plan

_OF_THE_MACHINE = ("memory", "threads")  # they change no result


def commands(plan: Plan, summary: Mapping[str, Any], study: str = "STUDY") -> list[str]:
    r"""Give the commands that plan, select and evaluate the same again.

    Args:
        summary: Of an evaluation: its `sources`, each with its `source`, `misses`, and how votes were judged.
        study: Folder to write to.

    >>> import pyarrow as pa
    >>> plan = Plan("uniform", {"alpha": 0.1}, 9, 0, pa.table({"rank": [1]}), location={"source": ["my list.parquet"]})
    >>> print(*commands(plan, {"sources": [{"source": "done.csv"}], "misses": 2, "vote": "any"}), sep="\n")
    streameval plan 'my list.parquet' --study STUDY --method uniform --seed 0 --alpha 0.1
    streameval select STUDY
    streameval evaluate STUDY --labels done.csv --misses 2 --vote any
    """
    chosen = {
        key: value for key, value in plan.parameters.items() if key != "alpha" or not plan.parameters.get("budget")
    }
    drawn = {"draw_by": ",".join(plan.draw_by) or None, **_judge(plan)}
    labels = [str(one["source"]) for one in summary.get("sources", [])]
    evaluate = ["streameval", "evaluate", study, *(["--labels", *labels] if labels else [])]
    return [
        _planned(plan, study, {"method": plan.method, "seed": plan.seed, **chosen, **drawn}),
        *(_asked(study) if plan.parameters.get("judge_sample") else []),
        *([_continued(study)] if plan.parameters.get("adaptive") else []),
        shlex.join(["streameval", "select", study]),
        shlex.join([*evaluate, *_options(_judged(summary))]),
    ]


def _judge(plan: Plan) -> dict[str, Any]:
    """Options of `plan` that give it its judge."""
    said = plan.notes.get("judge")
    if said is None:
        return {}
    classes = {"judge_classes": ",".join(f"{one:g}" for one in said["thresholds"])}
    return classes if plan.parameters.get("judge_sample") else {"judge": said["column"], **classes}


def _asked(study: str) -> list[str]:
    """Commands that ask a judge about its sample."""
    return [
        shlex.join(["streameval", "select", study, "--export-judge", "judge.csv"]),
        shlex.join(["streameval", "evaluate", study, "--judge-labels", "judge.csv"]),
    ]


def _continued(study: str) -> str:
    return shlex.join(["streameval", "plan", "--study", study, "--continue"])


def way_out(plan: Plan, summary: Mapping[str, Any], study: str) -> str:
    """Where an evaluation promises nothing: the command that leads to bounds that do, and what it does."""
    tested = summary["diagnostics"].get("slices", {"": summary["diagnostics"]}).values()
    read_so = summary["parameters"].get("assume", "a2") == "independent"
    if plan.method == "paula" and not read_so and not any(one.get("contradicts_independent") for one in tested):
        again = commands(plan, {**summary, "sources": [], "assume": "independent"}, study)[-1]
        return f"`{again}` reads bounds that allow for label noise from the same labels"
    if plan.parameters.get("adaptive"):
        if summary["account"].get("open", summary["account"]["missing"]):
            return _remaining(study)
        return f"`{_continued(study)}` adds the second batch"
    new = f"{study.rstrip('/')}-loguniform"
    return f"`{_planned(plan, new, {'method': 'loguniform'})}` plans labels whose bounds hold for any list"


def more_labels(plan: Plan, summary: Mapping[str, Any], study: str, labels: int) -> str:
    """Where bounds are too wide: the command that leads to narrower ones, and what it does.

    Args:
        labels: How many in all are wanted.
    """
    account = summary["account"]
    if account["labelled"] < account["planned"]:
        return _remaining(study)
    if plan.look < plan.parameters.get("looks", 1):
        further = str(labels - account["labelled"])
        return f"`{shlex.join(['streameval', 'plan', '--study', study, '--labels-more', further])}` adds labels"
    new = f"{study.rstrip('/')}-more"
    return f"`{_planned(plan, new, {'method': 'loguniform', 'budget': labels})}` plans anew with so many labels"


def _remaining(study: str) -> str:
    again = shlex.join(["streameval", "select", study, "--remaining", "--export", "remaining.csv"])
    return f"`{again}` writes the tasks that have no label yet"


def _planned(plan: Plan, study: str, how: Mapping[str, Any]) -> str:
    """Command that plans the ranking of a plan, by its slices if it has any."""
    source = plan.location.get("source") or ["(a table in memory)"]
    asked = RankingOptions.of(plan)
    values = {one.name: getattr(asked, one.name) for one in fields(asked) if one.name not in _OF_THE_MACHINE}
    described = {key: value for key, value in values.items() if value != getattr(RankingOptions, key)}
    options = ["--ascending"] * described.pop("ascending", False)
    described |= {"key": ",".join(asked.key)} if asked.key else {}
    given = _options({**how, "by": plan.by, **described})
    return shlex.join(["streameval", "plan", *map(str, source), "--study", study, *given, *options])


def _judged(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `evaluate` that are not as they are by default."""
    how = {key: summary.get(key) for key in ("misses", "vote", "prefer", "label_error", "assume")}
    if "misses_from" in summary:
        how = {**how, "misses": None, "misses_from": summary["misses_from"]["study"]}
    how["prefer"] = ",".join(how["prefer"] or [])
    return {key: value for key, value in how.items() if value and value != "majority"}


def _options(values: Mapping[str, Any]) -> list[str]:
    return [
        text
        for key, value in values.items()
        if value is not None
        for text in (f"--{key.replace('_', '-')}", *([] if value is True else [str(value)]))
    ]
