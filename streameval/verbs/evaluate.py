"""Evaluate: join labels back, and write every result that the kind of study has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.kinds import kind_of
from streameval.labelling.options import Judging, KnownPositives, LabelColumns, Misses
from streameval.options import takes
from streameval.parquet.account import Forecast
from streameval.printed import Printed, Record
from streameval.rehearsal import Rehearsal
from streameval.reporting.text import next_line
from streameval.study import Study
from streameval.study.label_tables import forecast_labels
from streameval.study.take_in import sources_of

if TYPE_CHECKING:
    from streameval.kinds.results import StudyResult


@takes(LabelColumns, Judging, Misses, KnownPositives)
def evaluate(study: str | os.PathLike[str], *, labels: Sequence[Any] | Any = (), **options: Any) -> StudyResult:
    """Take labels in: the curve with bounds, the metrics and a report.

    Example: streameval evaluate my-study --labels tasks.csv

    Args:
        study: Folder of the study.
        labels: Label tables (Parquet, CSV, TSV, JSON, JSONL), exports of Label Studio and Prodigy, or duckdb:FILE#QUERY
            (sqlite:///, postgresql:// alike); each row is a vote, counted once. In Python also tables that speak the
            Arrow PyCapsule protocol. With none, the labels stored before are evaluated.
        options: In Python by name: `on`, `label`, `annotator`, `time`, `source`: columns, and `positive`, `negative`:
            words of a label (`streameval.labelling.options.LabelColumns`).
            `vote`, `prefer`, `label_error`, `assume`, `strict`: see `Judging` there.
            Of one ranking, `misses` (int): positives that it never returned: they count in recall, F, average
            precision and AUC; or in `misses` an evaluated study of the items that were never returned: misses are
            then bounded by its labels, and both studies share δ.
            Of drawn rankings (`plan` with `per`), `positives`: table, or Parquet file, a row for each known positive
            of a ranking: the columns that name the ranking, and of the item. Recall, average precision and nDCG at k
            are bounded from above then, and with `assume="complete"`, where it has every positive of the drawn rankings
            beyond the items to label, on both sides. Rows of grade 0 in the column of labels are passed over; any other
            column is refused. `key`: column that names the item: rows about items to label are left to their labels.
            Without it every row is a positive that is not among them.

    Returns:
        StudyResult: What the study's files hold: labels, metrics, issues, summary. Of one ranking it is an
            `Evaluation`, which has its curve too: `isinstance` says so to a type checker. Of drawn rankings it is a
            `RankingsSample`: bounds on the means of precision, success, reciprocal rank and DCG at k over all rankings.
            Average precision, recall and nDCG depend on items that were not labelled, and are not claimed without
            `positives`; rankings without a positive have 0 in all three.

    Raises:
        InputError: A source or one of its columns cannot be read, or an option is out of range or of another kind of
            study, or `strict` finds something; or labels are grades (more than a typing error) and the rule has no
            threshold, or `prefer` names no source; no label was stored.
        StudyError: Labels of another study.
    """
    folder = Study(Path(study))
    with folder.changing():
        result = kind_of(folder.folder).evaluate(folder, sources_of(labels), options)
        return replace(result, folder=folder.folder)


def rehearsal(study: Path, *, labels: Sequence[str] = (), **options: Any) -> Rehearsal:
    """Say which files would be read and written; options are checked."""
    folder = Study(study)
    kind, plan = kind_of(study), folder.plan()
    kind.parse_options("evaluate", options)
    head = f"Would evaluate {plan.table.num_rows:,} planned items, with the labels that the study has already."
    writes = [folder.folder / name for name in kind.result.files(plan)]
    return Rehearsal.of_plan([head], plan, Forecast(), writes, forecast_labels(labels))


def printed(evaluation: StudyResult, study: Path, labels: Sequence[str] = (), **_: Any) -> Printed:
    """Print results, where the report is, and what to run next."""
    folder, summary = Study(study), evaluation.summary
    sizes = forecast_labels(labels)
    sources = [{**source, "bytes": size.bytes} for source, size in zip(summary["sources"], sizes, strict=True)]
    counted = [size.bytes for size in sizes if size.bytes is not None]
    stage = {"rows": sum(source["rows"] for source in sources), "bytes": sum(counted) if counted else None}
    stage |= {"evaluation_id": evaluation.evaluation_id, **summary["account"]}
    stage |= {key: summary[key] for key in ("half_width", "claim") if key in summary}
    read = {"study": summary["study"], "evaluation_id": evaluation.evaluation_id, "labels": sources}
    read |= {"positives": summary["pool"]} if "pool" in summary else {}
    facts = {**evaluation.facts(study), "report": str(study / "report.html")}
    lines = [*evaluation.lines(study), f"Report: {facts['report']}"]
    if following := facts.get("next"):
        lines.append(next_line(following))
    return Printed(
        facts, lines, stage, record=Record(study, read, [study / name for name in evaluation.files(folder.plan())])
    )
