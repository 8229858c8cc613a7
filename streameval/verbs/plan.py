"""Plan: choose the ranks to label."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from streameval.copies import LIST_COPY
from streameval.copies.write import told_of_source
from streameval.judges.options import JudgeColumn
from streameval.kinds import kind_for, options_of_any
from streameval.options import takes
from streameval.progress import Progress, silent
from streameval.queries.options import RankingsDraw
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions, described
from streameval.study.reuse import Reuse
from streameval.types import Plan


@takes(RankingOptions, JudgeColumn, Reuse, RankingsDraw, Asking, Comparing, more=partial(options_of_any, "plan"))
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
    """Choose the ranks of a ranking to label, and write them to a study; with `per`, those of drawn rankings.

    With `questions`, those that answer them, round by round. With `against`, of what changed between two rankings.

    Args:
        ranking: A Parquet file, a folder of partitions, a glob, or a list of these; a table of Arrow, Polars or
            pandas. Or what is read once, into `STUDY/ranking` (`streameval.copies`): CSV, TSV, JSON or JSON lines,
            `duckdb:FILE#QUERY`, `sqlite:///FILE#QUERY`, `postgresql://…#QUERY`, `trec:RUN#QRELS`, a relation of
            DuckDB, a pyarrow dataset or reader, a lazy frame. Its stored order is the ranking, without `score`.
        study: Folder of the study; made if it is not there. The same plan again changes nothing. Another one takes its
            place only while nothing was made of it (`Study.is_begun`).
        method: Name of the method.
        seed: Seed of what is random: the draw, and the shuffle of the tasks. By default that of the plan that is there,
            else a fresh one of the system's entropy (`known_seed`, `fresh_seed`); plan.json keeps it. Draws by key have
            nothing in common unless all versions share a seed: there, it has to be given.
        options: The fields of `RankingOptions` at once; each may be given by itself, as `score` and `key`.
        by: Column whose values are slices: each gets ranks, a curve and metrics of its own (`draw_by_slices`).
        progress (callable(done, total)): Rows read, of a list in slices or drawn by key: nothing is read of any other.
        **parameters: Of the method (`streameval.methods`), and fields of `RankingOptions`, of `JudgeColumn` (`judge` is
            read once, here, so that it cannot depend on labels that come later; with the parameter `judge_sample` of
            loguniform there is no column: `select` hands out the items, `judge` takes the answers), and of
            `streameval.study.reuse.Reuse` (`on` and `reuse`). With `per`, columns that name the ranking of a row
            in a list that holds many, rankings are drawn uniformly, and the first items of each planned to be labelled:
            `rankings`: how many (by default 1,000); `at`: items of each, from its first on (10); `cutoffs`: ranks up to
            `at` whose means are bounded, all together (`at` alone; a longer list widens the bounds a little);
            `confidence`, and `judge`. Items of one score are ordered by a hash of their stored position. With
            `questions` (`streameval.questions.asking.Asking`), what is planned is the first round of labels that
            answer them: conditions such as "precision@1000000 >= 0.9", one width, or one cut; `zone`, `expect`,
            `round`, `budget`, `together` and `confidence` go with them. `select` hands out further rounds until the
            question is answered. With None for the ranking, it is asked of the study that is there, in a folder within,
            and its labels count as known. With `against` (`streameval.questions.comparing.Comparing`), another ranking
            of the same items by `key` (the same list, by `against_score` or in its stored order; or another list), what
            is planned are items that one of the two has above a cutoff of `at` and the other has not: they bound how
            many more positives this one has there. `within`, `look`, `confidence`, `min_precision` and `judge` go with
            it.

    Raises:
        InputError: Whatever is wrong with the ranking or a parameter.
        StudyError: The folder holds a different plan, of which something was made.
        OutsideError: Another command has planned this study otherwise meanwhile: it was told that its plan
            is there.
    """
    asked = described(options, parameters)
    choices = {"method": None if method == "loguniform" else method, "by": by, **parameters}
    given = {name: value for name, value in choices.items() if value is not None}
    with told_of_source(Path(os.path.abspath(study)) / LIST_COPY, ranking):
        return kind_for("plan", given).plan(ranking, study, given, seed, asked, progress)
