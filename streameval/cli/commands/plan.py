"""`streameval plan`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.methods import MethodFlags, MethodName
from streameval.cli.options import Whole
from streameval.cli.output import Output, progress
from streameval.cli.plan_per import plan_per
from streameval.cli.planning import GrowthFlags, ReuseFlags, doubts, enlarge_study, next_stop, plan_with_key
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
    per: str | None = None,
    rankings: Whole | None = None,
    cutoffs: str | None = None,
    judge: str | None = None,
    judge_classes: str | None = None,
    growth: GrowthFlags = GrowthFlags(),
    reuse: ReuseFlags = ReuseFlags(),
    parameters: MethodFlags = MethodFlags(),
    flags: RankingFlags = RankingFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence
    Example: streameval plan ranking/ --study my-study --by country
    Example: streameval plan ranking/ --study my-study --judge llm_says --judge-accuracy 0.9
    Example: streameval plan runs/ --study my-study --score score --per query --rankings 2000 --at 10
    Example: streameval plan ranking/ --study my-study --judge-sample 200000 --judge-accuracy 0.9
    Example: streameval plan ranking/ --study my-study --batches 4
    Example: streameval plan --study my-study --labels-more 2000
    Example: streameval plan v2/ --study v2 --seed 7 --reuse v1.csv --on id --labels-unseen-by-model yes

    Args:
        ranking: Parquet files, folders of partitions or globs; their stored order is the ranking, best first, without
            --score.
        study: Folder of the study; made if it is not there. A plan that is there is replaced only if nothing was
            selected or labelled for it.
        seed: Seed of the draw and of the shuffle of tasks (default: a fresh one for every new study). It is printed and
            kept in plan.json. Draws by key (--draw-by, --reuse) need one: the same for every version.
        by: Column whose values are slices (country, language, source): each gets ranks, a curve and metrics of its own.
        per: Columns that name the ranking of a row, separated by commas (a query, a user): rankings are drawn, and the
            first --at items of each (default 10) labelled, to bound means over all rankings.
        rankings: How many to draw with --per (default 1,000).
        cutoffs: With --per: cutoffs up to --at, separated by commas, whose means are bounded together (default --at).
        judge: Column that says of every item whether it is positive: 0/1, yes/no or a probability. It may be wrong
            anywhere, and the bounds hold all the same: the better it is, the narrower they are. With --per too.
        judge_classes: Thresholds that put a judge's probabilities into classes, as in 0.05,0.5,0.95 (default 0.5).
            --judge-sample asks a judge about a random part instead of reading a column.
    """
    if per is not None or rankings is not None or cutoffs is not None:
        if per is None:
            raise InputError(f"--{'cutoffs' if rankings is None else 'rankings'} is for drawn rankings",
                             "name the columns that tell them apart with --per")  # fmt: skip
        if others := [*["dry_run"] * batch.dry_run, *growth.given(), *reuse.given()]:
            named = ", ".join(f"--{name.replace('_', '-')}" for name in others).replace("second-batch", "continue")
            raise InputError(f"--per does not go with {named}", "rankings are drawn once, by reading the list")
        given = {"by": by, "judge": judge, "judge_classes": judge_classes, "rankings": rankings, "cutoffs": cutoffs,
                 "method": None if method == "loguniform" else method, **parameters.given()}  # fmt: skip
        chosen = {name: value for name, value in given.items() if value is not None}
        plan_per(ranking, study, (per, seed), chosen, flags, output)
        return
    judged = {"judge": judge, "judge_classes": judge_classes}
    if judge is not None and (growth.given() or reuse.given()):
        raise InputError("a judge is read only when a list is planned anew",
                         "leave out --judge, or what enlarges or reuses")  # fmt: skip
    if by is not None and (growth.given() or reuse.given()):
        raise InputError("a plan by slices is neither enlarged nor made from earlier labels",
                         "leave out --by, or what enlarges or reuses")  # fmt: skip
    if batch.dry_run and (growth.given() or reuse.given()):
        raise InputError("--dry-run is for a plan that is made anew", "leave out --labels-more, --reuse and the like")
    if growth.given():
        if (seed, parameters, flags) != (None, MethodFlags(), RankingFlags()):
            raise InputError(
                "a study is enlarged with the options that it was planned with",
                "leave out all but --labels-more, --half-width or --continue",
            )
        enlarge_study(ranking, study, growth, output)
        return
    if reuse.given():
        plan_with_key(ranking, study, (reuse, flags), (method, seed), parameters, output)
        return
    from streameval.study import Study
    from streameval.study.plan_files import difference
    from streameval.verbs.plan import plan as verb

    if batch.dry_run:
        if judge is not None:
            raise InputError("--dry-run reads no column, and a judge is one", "leave out --judge")
        _rehearse(ranking, study, (method, seed, by), parameters, flags, output)
        return
    folder = Study(study)
    before = _planned_before(folder, seed)
    with stage("plan", output) as told:
        with progress("reading slices", output) as bar:
            made = verb(list(ranking), study, method=method, seed=seed, options=flags.options(), by=by, progress=bar,
                        **judged, **parameters.given())  # fmt: skip
        labels = made.table.num_rows
        files = _files(study, made)
        size = sum(path.stat().st_size for path in files)
        told |= {"rows": labels, "bytes": size, "labels": labels, "n_items": made.n_items}
    replaced = before is not None and made.plan_id not in before.study_ids
    result = {"study": str(study), "plan_id": made.plan_id, "labels": labels,
              "already_there": before is not None and not replaced, "replaced": replaced,
              "doubt": made.location.get("doubt"), **made.header()}  # fmt: skip
    read = {"source": made.location["source"], "n_items": made.n_items, **made.ranking}
    record(study, "plan", read, files, output)
    lines = [
        f"{method}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%})"
        + (", as planned before" if result["already_there"] else ""),
    ]
    if before is not None and replaced:
        differs = difference(before, made)
        lines.append(f"Replaces the earlier plan, of which nothing was selected or labelled: {differs}.")
    if by is not None:
        lines.append(f"{number_of(len(made.slices), 'slice')} by {by}: {_largest(made)}.")
    if unknown := made.unknown_tail:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); --tail closed labels a last window."
        )
    lines += _stages(made)
    if judge is not None:
        lines.append(f"Items by what '{judge}' says: {_classes(made)}. People should not see its answers.")
    same = f"--seed {made.seed}" + ("" if by is None else f" --by {shlex.quote(by)}")
    lines.append(f"Seed {made.seed}, kept in plan.json: {same} plans the same again.")
    output.say(result, [*lines, *doubts(made), next_stop(folder, made)])


def _rehearse(
    ranking: Sequence[str],
    study: Path,
    how: tuple[str, int | None, str | None],
    parameters: MethodFlags,
    flags: RankingFlags,
    output: Output,
) -> None:
    """Say what `select` would read for a plan of this method, seed and slices."""
    from streameval.kinds.curve.plan import Drawing, draw
    from streameval.study import Study
    from streameval.study.planning import fresh_seed, known_seed

    method, given, by = how
    known = known_seed(Study(study), given)
    drawing = Drawing(method, fresh_seed() if known is None else known, by)
    with progress("reading slices", output) as bar:
        drawn, opened = draw(list(ranking), drawing, flags.options(), parameters.given(), bar)
    facts = rehearsed(of_plan(drawn), opened.forecast(drawn.ranks, opened.columns()), _files(study, drawn))
    head = f"{method}: {drawn.table.num_rows:,} of {drawn.n_items:,} items would be planned"
    head += "" if given is not None else f" (--seed {drawing.seed} plans just these)"
    output.say(facts, [f"{head}; to select them:", *lines_of(facts)])


def _planned_before(study: Study, seed: int | None) -> Plan | None:
    """Plan that the study holds; None where there is none, or a damaged one that the same seed may restore."""
    try:
        return study.plan() if study.exists else None
    except StudyError:
        if seed is None:
            raise
        return None


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
    if method.adaptive:
        said.append("This is the first batch; once it is answered and evaluated, `plan --continue` adds the second.")
    if made.judge_sample is not None and method.judge_sample is not None:
        said.append(f"Ask the judge about {made.judge_sample.num_rows:,} items first, and people afterwards.")
        if method.judge_sample > made.n_items:
            said.append(f"The list has no more, though --judge-sample asks for {method.judge_sample:,}.")
    return said


def _files(study: Path, made: Plan) -> list[Path]:
    return [*(study / f"{name}.parquet" for name in made.side_tables), study / "plan.parquet", study / "plan.json"]
