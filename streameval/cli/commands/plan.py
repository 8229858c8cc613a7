"""`streameval plan`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.methods import MethodFlags, MethodName
from streameval.cli.options import Whole
from streameval.cli.output import Output, progress
from streameval.cli.plan_against import plan_against
from streameval.cli.plan_for import plan_for
from streameval.cli.plan_per import plan_per
from streameval.cli.planning import (
    AgainstFlags,
    DrawnFlags,
    JudgeFlags,
    QuestionFlags,
    Questions,
    ReuseFlags,
    doubts,
    next_stop,
)
from streameval.cli.ranking import RankingFlags
from streameval.errors import InputError, StudyError
from streameval.text import number_of, printable, short

if TYPE_CHECKING:
    from streameval.study import Study
    from streameval.types import Plan

_SHOWN = 8  # slices that the terminal names


@job
def plan(
    *ranking: str,
    study: Path,
    method: MethodName = "loguniform",
    seed: Whole | None = None,
    by: str | None = None,
    questions: Questions = None,
    question: QuestionFlags = QuestionFlags(),
    against: AgainstFlags = AgainstFlags(),
    many: DrawnFlags = DrawnFlags(),
    judge: JudgeFlags = JudgeFlags(),
    reuse: ReuseFlags = ReuseFlags(),
    parameters: MethodFlags = MethodFlags(),
    flags: RankingFlags = RankingFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence
    Example: streameval plan ranking/ --study my-gate --for "precision@10000 >= 0.9"
    Example: streameval plan new/ --against old/ --key id --study release --at 1000
    Example: streameval plan runs/ --study my-study --per query --at 10

    Args:
        ranking: Files (Parquet, CSV, JSONL), folders, globs or a query; without --score their order is the ranking.
        study: Folder of the study. A plan that is there is replaced only if nothing was selected or labelled for it.
        seed: Of the draw and the shuffle of tasks; kept in plan.json.
        by: Column of slices, each with a curve of its own.
    """
    beside = {**judge.given(), **reuse.given(), **parameters.given()}
    everything = {**question.changed(), **against.changed(), **many.changed(), **beside,
                  "method": method, "by": by, "seed": seed}  # fmt: skip
    if questions is not None or question.changed():
        plan_for(ranking, study, {"questions": questions, **everything}, flags, batch, output)
        return
    if against.changed():
        plan_against(ranking, study, everything, flags, batch, output)
        return
    asked = _ToPlan(ranking, study, method, seed, by, beside, flags)
    if many.changed():
        _draw_rankings(asked, many, batch, output)
    elif batch.dry_run:
        _rehearse(asked, output)
    else:
        _plan(asked, output)


@dataclass(frozen=True)
class _ToPlan:
    """What is to be planned.

    Attributes:
        given: Parameters of the method, and what concerns a judge or labels that are reused.
    """

    ranking: Sequence[str]
    study: Path
    method: str
    seed: int | None
    by: str | None
    given: dict[str, Any]
    flags: RankingFlags

    @property
    def reuses(self) -> bool:
        """Whether items are drawn by their key."""
        return any(name in self.given for name in vars(ReuseFlags()))

    def reused(self, labels: int, labelled: int) -> tuple[dict[str, int], list[str]]:
        """How many labels are left to ask for, as facts and in words."""
        facts = {"reused": labelled, "to_label": labels - labelled} if self.reuses else {}
        said = [f"{labelled:,} have a label already: {labels - labelled:,} are left to ask for."]
        seen = ["The model has seen these labels: bounds will promise nothing."]
        return facts, [*said * ("reuse" in self.given), *seen * (self.given.get("labels_unseen_by_model") == "no")]


def _draw_rankings(asked: _ToPlan, many: DrawnFlags, batch: Batch, output: Output) -> None:
    """Plan rankings that are drawn of a list of many."""
    drawn = many.changed()
    if "per" not in drawn:
        raise InputError(f"--{next(iter(drawn))} is for drawn rankings",
                         "name the columns that tell them apart with --per")  # fmt: skip
    if batch.dry_run:
        raise InputError("--per does not go with --dry-run", "rankings are drawn by reading the list")
    given = {**asked.given, **drawn, "method": asked.method, "by": asked.by, "seed": asked.seed}
    plan_per(asked.ranking, asked.study, given, asked.flags, output)


def _plan(asked: _ToPlan, output: Output) -> None:
    """Plan one ranking, and say what came of it."""
    from streameval.study import Study
    from streameval.study.plan_files import file_names
    from streameval.verbs.plan import plan as verb

    study, method = asked.study, asked.method
    folder = Study(study)
    before = _planned_before(folder, asked.seed)
    with stage("plan", output) as told:
        with progress("rows", output) as bar:
            made = verb(list(asked.ranking), study, method=method, seed=asked.seed, by=asked.by,
                        options=asked.flags.options(), progress=bar, **asked.given)  # fmt: skip
        labels, files = made.table.num_rows, [study / name for name in file_names(made)]
        size = sum(path.stat().st_size for path in files)
        told |= {"rows": labels, "bytes": size, "labels": labels, "n_items": made.n_items}
    replaced = before if before is not None and made.plan_id not in before.study_ids else None
    there = before is not None and replaced is None
    labelled = folder.labelled if asked.reuses else 0
    facts, left = asked.reused(labels, labelled)
    result = {"study": str(study), "plan_id": made.plan_id, "labels": labels, **facts, "already_there": there,
              "replaced": replaced is not None, "doubt": made.location.get("doubt"), **made.header()}  # fmt: skip
    read = {"source": made.read_from, "n_items": made.n_items, **made.ranking}
    record(study, "plan", read, files, output)
    again = ", as planned before" if there else ""
    head = f"{method}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%}){again}"
    lines = [head, *_replaced(replaced, made), *_copied(folder, made), *_told(made), *left, _seed(made), *doubts(made)]
    output.say(result, [*lines, next_stop(folder, made)])


def _rehearse(asked: _ToPlan, output: Output) -> None:
    """Say what `select` would read for a plan, and how many of its items have a label already."""
    from streameval.copies import LIST_COPY, kind_of
    from streameval.copies.write import for_a_while
    from streameval.kinds.curve.plan import draw, drawing
    from streameval.parquet.account import Forecast
    from streameval.study import Study
    from streameval.study.plan_files import file_names

    if "judge" in asked.given or "judge_classes" in asked.given:
        raise InputError("--dry-run reads no column, and a judge is one", "leave out --judge")
    study, options = Study(asked.study), asked.flags.options()
    chosen = drawing(study, asked.method, asked.seed, asked.by, dict(asked.given))
    with (
        progress("rows", output) as bar,
        for_a_while(list(asked.ranking), options, bar, study.list_copy) as source,
    ):
        drawn = draw(source, chosen, options, bar)
        made, opened = drawn.plan, drawn.ranking
        labels = made.table.num_rows
        copied = kind_of(list(asked.ranking)) is not None
        forecast = Forecast() if copied else opened.forecast(made.ranks, opened.columns())
    names = [*([LIST_COPY] if copied else []), *file_names(made), "manifests/plan.json"]
    facts = rehearsed(of_plan(made), forecast, [asked.study / name for name in names])
    labelled = 0 if drawn.votes is None else len(set(drawn.votes.table.column("rank").to_pylist()))
    more, left = asked.reused(labels, labelled)
    head = f"{asked.method}: {labels:,} of {made.n_items:,} items would be planned"
    head += "" if asked.seed is not None else f" (--seed {chosen.seed} plans just these)"
    facts |= {"source": list(asked.ranking)} if copied else {}
    head += f". The list would be read into {study.list_copy}." if copied else "; to select them:"
    output.say({**facts, **more}, [*left, head, *lines_of(facts)])


def _planned_before(study: Study, seed: int | None) -> Plan | None:
    """Plan that the study holds; None where there is none, or a damaged one that the same seed may restore."""
    try:
        return study.plan() if study.exists else None
    except StudyError:
        if seed is None:
            raise
        return None


def _replaced(before: Plan | None, made: Plan) -> list[str]:
    """What differs from the plan whose place was taken."""
    from streameval.study.plan_files import difference

    if before is None:
        return []
    differs = difference(before, made)
    return [f"Replaces the earlier plan, of which nothing was selected or labelled: {differs}."]


def _copied(study: Study, made: Plan) -> list[str]:
    """Where the list is, if it is no Parquet."""
    if "copied" not in made.location:
        return []
    return [f"The list was read into {study.list_copy}, and every later command reads it there."]


def _seed(made: Plan) -> str:
    """What plans the same again, or nearly the same items of another version."""
    if made.draw_by:
        key = shlex.quote(",".join(made.draw_by))
        again = f"another version draws nearly the same items with --seed {made.seed} --on {key}"
        return f"Seed {made.seed}: {again}."
    by = "" if made.by is None else f" --by {shlex.quote(made.by)}"
    return f"Seed {made.seed}, kept in plan.json: --seed {made.seed}{by} plans the same again."


def _told(made: Plan) -> list[str]:
    """What is particular to a plan: slices, ranks that stay unknown, stages, a judge."""
    lines = []
    if made.by is not None:
        lines.append(f"{number_of(len(made.slices), 'slice')} by {made.by}: {_largest(made)}.")
    if unknown := made.unknown_tail:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); --tail closed labels a last window."
        )
    lines += _stages(made)
    if made.judge_counts is not None and made.judge_sample is None:
        from streameval.judges.classes import classes_sentence

        lines.append(classes_sentence(made))
    return lines


def _largest(made: Plan) -> str:
    """The largest slices, and what each of them is given."""
    counts = Counter(made.table.column("slice").to_pylist())
    names = [one.name for one in made.slices]
    parts = [f"{printable(short(name))} {counts[name]:,}" for name in names[:_SHOWN]]
    return ", ".join([*parts, *([f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else [])])


def _stages(made: Plan) -> list[str]:
    """In which stages the labelling goes, where it has any."""
    from streameval.methods import method_of

    method, lines = method_of(made), []
    if method.batches > 1:
        lines.append(f"The tasks come in {method.batches} batches: evaluate whenever one is answered.")
    if method.looks > 1:
        lines.append(f"This is the first of {method.looks} stages: `streameval grow` adds labels for another.")
    if method.adaptive:
        lines.append("This is the first batch; once it is answered and evaluated, `grow --rest` adds the second.")
    if made.judge_sample is not None and method.judge_sample is not None:
        lines.append(f"Ask the judge about {made.judge_sample.num_rows:,} items first, and people afterwards.")
        if method.judge_sample > made.n_items:
            lines.append(f"The list has no more, though --judge-sample asks for {method.judge_sample:,}.")
    return lines
