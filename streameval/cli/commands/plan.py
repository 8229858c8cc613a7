"""`streameval plan`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.many import plan_per
from streameval.cli.methods import MethodFlags, MethodName
from streameval.cli.options import Whole
from streameval.cli.output import Output, progress
from streameval.cli.planning import DrawnFlags, JudgeFlags, ReuseFlags, doubts, next_stop
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
    Example: streameval plan ranking/ --study my-study --stages 4
    Example: streameval plan ranking/ --study my-study --by country
    Example: streameval plan ranking/ --study my-study --judge llm_says
    Example: streameval plan runs/ --study my-study --per query --at 10
    Example: streameval plan v2/ --study v2 --reuse my-study --on id --dry-run

    Args:
        ranking: Parquet files, folders of partitions or globs; without --score their stored order is the ranking.
        study: Folder of the study. A plan that is there is replaced only if nothing was selected or labelled for it.
        seed: Of the draw and the shuffle of tasks; kept in plan.json (default: a fresh one for every new study).
        by: Column whose values are slices (country, language, source): each gets ranks, a curve and metrics of its own.
    """
    given = {**judge.given(), **reuse.given(), **parameters.given()}
    if drawn := many.given():
        usual = {"by": by, "method": None if method == "loguniform" else method, "dry_run": batch.dry_run or None}
        if (per := drawn.pop("per", None)) is None:
            raise InputError(f"--{next(iter(drawn))} is for drawn rankings",
                             "name the columns that tell them apart with --per")  # fmt: skip
        others = {name: value for name, value in usual.items() if value is not None}
        plan_per(ranking, study, (per, seed), {**given, **drawn, **others}, flags, output)
        return
    if batch.dry_run:
        if judge.given():
            raise InputError("--dry-run reads no column, and a judge is one", "leave out --judge")
        _rehearse(ranking, study, (method, seed, by), given, flags, output)
        return
    from streameval.study import Study
    from streameval.verbs.plan import plan as verb

    folder = Study(study)
    before = _planned_before(folder, seed)
    with stage("plan", output) as told:
        with progress("rows", output) as bar:
            made = verb(list(ranking), study, method=method, seed=seed, by=by, options=flags.options(), progress=bar,
                        **given)  # fmt: skip
        labels, files = made.table.num_rows, _files(study, made)
        size = sum(path.stat().st_size for path in files)
        told |= {"rows": labels, "bytes": size, "labels": labels, "n_items": made.n_items}
    replaced = before is not None and made.plan_id not in before.study_ids
    labelled = _labelled(folder) if reuse.given() else 0
    result = {"study": str(study), "plan_id": made.plan_id, "labels": labels, **_reused(labels, labelled, reuse),
              "already_there": before is not None and not replaced, "replaced": replaced,
              "doubt": made.location.get("doubt"), **made.header()}  # fmt: skip
    read = {"source": made.location["source"], "n_items": made.n_items, **made.ranking}
    record(study, "plan", read, files, output)
    again = ", as planned before" if result["already_there"] else ""
    lines = [
        f"{method}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%})" + again,
        *(_replaced(before, made) if before is not None and replaced else []),
        *_told(made),
        *_left(labels, labelled, reuse),
        _seed(made),
        *doubts(made),
        next_stop(folder, made, labelled),
    ]
    output.say(result, lines)


def _rehearse(
    ranking: Sequence[str],
    study: Path,
    how: tuple[str, int | None, str | None],
    given: dict[str, Any],
    flags: RankingFlags,
    output: Output,
) -> None:
    """Say what `select` would read for a plan, and how many of its items have a label already."""
    from streameval.study import Study
    from streameval.verbs.plan import draw, drawing

    method, seed, by = how
    reuse = ReuseFlags(**{name: given[name] for name in vars(ReuseFlags()) if name in given})
    chosen = drawing(Study(study), method, seed, by, given)
    with progress("rows", output) as bar:
        drawn = draw(list(ranking), chosen, flags.options(), given, bar)
    made, opened = drawn.plan, drawn.ranking
    facts = rehearsed(of_plan(made), opened.forecast(made.ranks, opened.columns()), _files(study, made))
    labelled = 0 if drawn.votes is None else len(set(drawn.votes.table.column("rank").to_pylist()))
    head = f"{method}: {made.table.num_rows:,} of {made.n_items:,} items would be planned"
    head += "" if seed is not None else f" (--seed {chosen.seed} plans just these)"
    lines = [*_left(made.table.num_rows, labelled, reuse), f"{head}; to select them:", *lines_of(facts)]
    output.say({**facts, **_reused(made.table.num_rows, labelled, reuse)}, lines)


def _planned_before(study: Study, seed: int | None) -> Plan | None:
    """Plan that the study holds; None where there is none, or a damaged one that the same seed may restore."""
    try:
        return study.plan() if study.exists else None
    except StudyError:
        if seed is None:
            raise
        return None


def _labelled(study: Study) -> int:
    """How many planned items have a label."""
    return len({rank for one in study.labels.sources() for rank in one.table.column("rank").to_pylist()})


def _reused(labels: int, labelled: int, reuse: ReuseFlags) -> dict[str, int]:
    return {"reused": labelled, "to_label": labels - labelled} if reuse.given() else {}


def _left(labels: int, labelled: int, reuse: ReuseFlags) -> list[str]:
    """How many labels are left to ask for, where some are reused."""
    asked = reuse.given()
    lines = [f"{labelled:,} have a label already: {labels - labelled:,} are left to ask for."] * ("reuse" in asked)
    seen = asked.get("labels_unseen_by_model") == "no"
    return [*lines, *["The model has seen these labels: bounds will promise nothing."] * seen]


def _replaced(before: Plan, made: Plan) -> list[str]:
    from streameval.study.plan_files import difference

    differs = difference(before, made)
    return [f"Replaces the earlier plan, of which nothing was selected or labelled: {differs}."]


def _seed(made: Plan) -> str:
    """What plans the same again, or nearly the same items of another version."""
    if made.draw_by:
        key = shlex.quote(",".join(made.draw_by))
        again = f"another version draws nearly the same items with --seed {made.seed} --draw-by {key}"
        return f"Seed {made.seed}: {again}."
    by = "" if made.by is None else f" --by {shlex.quote(made.by)}"
    return f"Seed {made.seed}, kept in plan.json: --seed {made.seed}{by} plans the same again."


def _told(made: Plan) -> list[str]:
    """What is particular to a plan: slices, ranks that stay unknown, stages, a judge."""
    said = []
    if made.by is not None:
        said.append(f"{number_of(len(made.slices), 'slice')} by {made.by}: {_largest(made)}.")
    if unknown := made.unknown_tail:
        said.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); --tail closed labels a last window."
        )
    said += _stages(made)
    if made.judge_counts is not None and made.judge_sample is None:
        said.append(f"Items by what the judge says: {_classes(made)}. People should not see its answers.")
    return said


def _classes(made: Plan) -> str:
    """How many items of the list are in each class of its judge."""
    from streameval.methods.judge import counts_of

    return ", ".join(f"{name}: {items:,}" for name, items in counts_of(made).items() if items)


def _largest(made: Plan) -> str:
    """The largest slices, and what each of them is given."""
    counts = Counter(made.table.column("slice").to_pylist())
    names = [one.name for one in made.slices]
    said = [f"{printable(short(name))} {counts[name]:,}" for name in names[:_SHOWN]]
    return ", ".join([*said, *([f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else [])])


def _stages(made: Plan) -> list[str]:
    """In which stages the labelling goes, where it has any."""
    from streameval.methods import method_of

    method, said = method_of(made), []
    if method.batches > 1:
        said.append(f"The tasks come in {method.batches} batches: evaluate whenever one is answered.")
    if method.looks > 1:
        said.append(f"This is the first of {method.looks} stages: `streameval grow` adds labels for another.")
    if method.adaptive:
        said.append("This is the first batch; once it is answered and evaluated, `grow --rest` adds the second.")
    if made.judge_sample is not None and method.judge_sample is not None:
        said.append(f"Ask the judge about {made.judge_sample.num_rows:,} items first, and people afterwards.")
        if method.judge_sample > made.n_items:
            said.append(f"The list has no more, though --judge-sample asks for {method.judge_sample:,}.")
    return said


def _files(study: Path, made: Plan) -> list[Path]:
    return [*(study / f"{name}.parquet" for name in made.side_tables), study / "plan.parquet", study / "plan.json"]
