"""Plan: choose the ranks to label."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from streameval.copies import LIST_COPY
from streameval.copies.write import told_of_source
from streameval.errors import InputError, StudyError
from streameval.judges.options import JudgeColumn
from streameval.kinds import kind_for, kind_of, options_of_any
from streameval.kinds.planned import Planned
from streameval.labelling.options import ReuseOptions
from streameval.methods.options import MethodOptions
from streameval.options import takes
from streameval.per_query.options import RankingsDraw
from streameval.printed import Printed, Record
from streameval.progress import Progress, silent
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing
from streameval.rehearsal import Rehearsal
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.study import Study
from streameval.study.plan_files import file_names
from streameval.text.options import flag
from streameval.types import Plan

_USUAL = ("method", "loguniform")


@takes(RankingOptions, MethodOptions, JudgeColumn, ReuseOptions, RankingsDraw, Asking, Comparing,
       more=partial(options_of_any, "plan"))  # fmt: skip
def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = "loguniform",
    seed: int | None = None,
    options: RankingOptions | None = None,
    by: str | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Plan:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence
    Example: streameval plan ranking/ --study my-gate --for "precision@10000 >= 0.9"
    Example: streameval plan new/ --against old/ --key id --study v2 --for gain@1000
    Example: streameval plan runs/ --study my-study --per query --for precision@10

    Args:
        ranking: Files (Parquet, CSV, JSONL), folders, globs or a query; without --score their order is the ranking. In
            Python a path or a list of these; a table of Arrow, Polars or pandas. Or what is read once, into
            `STUDY/ranking` (`streameval.copies`): CSV, TSV, JSON or JSON lines, `duckdb:FILE#QUERY`,
            `sqlite:///FILE#QUERY`, `postgresql://…#QUERY`, `trec:RUN#QRELS`, a relation of DuckDB, a pyarrow dataset or
            reader, a lazy frame.
        study: Folder of the study; a plan of which nothing was selected or labelled is replaced. In
            Python too, the same plan again changes nothing (`Study.is_begun`).
        method: METHODS; or with parameters: "paula(window=50)" (`streameval guide paula`).
        seed: Of the draw and the shuffle of tasks; kept in plan.json. In Python too, by default that of the plan
            that is there, else a fresh one of the system's entropy (`fresh_seed`). Draws by key have
            nothing in common unless all versions share a seed: there, it has to be given.
        by: Column of slices, each with a curve of its own. In Python: `draw_by_slices`.
        options: In Python: the fields of `RankingOptions` at once; each may be given by itself, as `score` and `key`.
        progress: In Python: callable(done, total): rows read, of a list in slices or drawn by key: nothing is read of
            any other.
        **parameters: In Python: fields of `RankingOptions`, of `MethodOptions` (`alpha`, `budget`, `confidence`,
            `stages`), of `JudgeColumn` (`judge` is read once, here, so that it cannot depend on labels that come later;
            with "sample=20000" there is no column: `select` hands out the items, `judge` takes the answers), and of
            `ReuseOptions` (`on` and `reuse`). With `per`, columns that name the ranking of a row
            in a list that holds many, rankings are drawn uniformly, and the first items of each planned to be labelled:
            `questions` such as "precision@5, 10" say which means are bounded, all together, and down to which item
            rankings are labelled (by default precision@10); "precision@10 within 0.02" says how many rankings are
            drawn (`streameval.per_query.widths.rankings_for`), or `budget` does, at most so many labels (by default
            1,000 rankings). `confidence` and `judge` go with it. Items of one score are ordered by a hash of their
            stored position. With `questions` alone (`streameval.questions.asking.Asking`), what is planned is the first
            round of labels that answer them: conditions such as "precision@1000000 >= 0.9 zone 0.02", one width, or one
            cut; `budget` and `confidence` go with them. `select` hands out further rounds until the question is
            answered. With None for the ranking, it is asked of the study that is there, in a folder within, and its
            labels count as known. With `against` (`streameval.questions.comparing.Comparing`), another ranking of the
            same items by `key` (the same list, by `against_score` or in its stored order; or another list), what is
            planned are items that one of the two has above a cutoff and the other has not: they bound how many
            more positives this one has there. `questions` such as "gain@1000, 10000 within 2%" say where, how near, and
            when bounds are looked at (by default at powers of 10, within 1% of each, at any time); `confidence` and
            `judge` go with it.

    Raises:
        InputError: Whatever is wrong with the ranking or a parameter.
        StudyError: The folder holds a different plan, of which something was made.
        OutsideError: Another command has planned this study otherwise meanwhile: it was told that its plan
            is there.
    """
    ranking_options = take_ranking_options(options, parameters)
    raw_options = _typed_options(method, by, parameters)
    ranking = None if isinstance(ranking, list | tuple) and not ranking and "questions" in raw_options else ranking
    with told_of_source(Path(os.path.abspath(study)) / LIST_COPY, ranking):
        return kind_for("plan", raw_options).plan(ranking, study, raw_options, seed, ranking_options, progress)


def _typed_options(method: str, by: str | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Collect what is not as by default."""
    choices = {"method": None if method == "loguniform" else method, "by": by, **parameters}
    return {name: value for name, value in choices.items() if value is not None}


def rehearsal(
    ranking: Sequence[str],
    study: Path,
    *,
    method: str = "loguniform",
    seed: int | None = None,
    by: str | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Rehearsal:
    """Say what `select` would read for a plan, and how many of its items have a label already."""
    options = take_ranking_options(None, parameters)
    raw_options = _typed_options(method, by, parameters)
    kind = kind_for("plan", raw_options)
    if kind.no_rehearsal:
        raise InputError(f"{flag(kind.asked_by['plan'])} does not go with --dry-run", kind.no_rehearsal)
    how = (raw_options, kind.parse_options("plan", raw_options))
    return kind.planned.rehearsal(ranking, Study(study), how, seed, options, progress)


def before(study: Path, seed: int | None = None, **_: Any) -> Plan | None:
    """Read the plan that the study holds; None where there is none, or a damaged one that the same seed may restore."""
    folder = Study(study)
    try:
        return folder.plan() if folder.exists else None
    except StudyError:
        if seed is None:
            raise
        return None


def printed(planned: Plan, study: Path, before: Plan | None, **options: Any) -> Printed:
    """Print what was planned, and what to run next."""
    question_folder = planned.location.get("beside")
    named = Study(study)
    place = named if question_folder is None else Study(Path(question_folder))
    options.pop("ranking", None)  # of a study that has a list none is typed
    typed = {name: value for name, value in options.items() if value is not None and (name, value) != _USUAL}
    facts, lines = kind_of(place.folder).planned.facts_and_lines(Planned(planned, named, place, before, typed))
    files = [place.folder / name for name in file_names(planned)]
    labels, size = planned.table.num_rows, sum(path.stat().st_size for path in files)
    stage = {"rows": labels, "bytes": size, "labels": labels, "n_items": planned.n_items}
    read = {"source": planned.read_from, "n_items": planned.n_items, **planned.ranking}
    return Printed(facts, lines, stage, record=Record(place.folder, read, files))
