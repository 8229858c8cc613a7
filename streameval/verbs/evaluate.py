"""Evaluate: join labels back, and write every result that the kind of study has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.kinds import kind_of
from streameval.labelling.options import Judging, KnownPositives, LabelColumns, Misses
from streameval.options import takes
from streameval.study import Study
from streameval.study.take_in import sources_of


@takes(LabelColumns, Judging, Misses, KnownPositives)
def evaluate(study: str | os.PathLike[str], *, labels: Sequence[Any] | Any = (), **options: Any) -> Any:
    """Evaluate a study with all labels it has been given so far.

    Args:
        labels: Parquet, CSV, TSV, JSON or JSONL files, label tools' exports (these on object stores too),
            `duckdb:FILE#QUERY`, `sqlite:///FILE#QUERY`, `postgresql://…#QUERY`, or tables that speak the Arrow
            PyCapsule protocol. Each row is a vote. A source given before adds nothing; with none, the labels stored
            before are evaluated.
        options: `on`, `label`, `annotator`, `time`, `source`: columns, and `positive`, `negative`: words of a label
            (`streameval.labelling.options.LabelColumns`).
            `vote`, `prefer`, `label_error`, `assume`, `strict`: see `Judging` there.
            Of one ranking, `misses` (int): positives that it never returned: they count in recall, F, average
            precision and AUC; or `misses_from`: an evaluated study of the items that were never returned: misses are
            then bounded by its labels, and both studies share δ.
            Of drawn rankings (`plan` with `per`), `positives`: table, or Parquet file, a row for each known positive
            of a ranking: the columns that name the ranking, and of the item. Recall, average precision and nDCG at k
            are bounded from above then, and with `assume="complete"`, where it has every positive of the drawn rankings
            beyond the items to label, on both sides. Rows of grade 0 in the column of labels are passed over; any other
            column is refused. `key`: column that names the item: rows about items to label are left to their labels.
            Without it every row is a positive that is not among them.

    Returns:
        Evaluation: Of one ranking: the same that the study's files hold: labels, curve, metrics, issues, summary.
        RankingsSample: Of drawn rankings: bounds on the means of precision, success, reciprocal rank and DCG at k over
            all rankings. Average precision, recall and nDCG depend on items that were not labelled, and are not claimed
            without `positives`; rankings without a positive have 0 in all three.

    Raises:
        InputError: A source or one of its columns cannot be read, or an option is out of range or of another kind of
            study, or `strict` finds something; or labels are grades (more than a typing error) and the rule has no
            threshold, or `prefer` names no source; no label was stored.
        StudyError: Labels of another study.
    """
    folder = Study(Path(study))
    with folder.changing():
        return kind_of(folder.folder).evaluate(folder, sources_of(labels), options)
