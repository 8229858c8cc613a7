"""Results of a study of drawn rankings, as its files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.own_files import read_json
from streameval.study.result_files import EVALUATE

_OWN = {"metrics": "metrics", "rankings": "rankings", "labels": "label_table", "issues": "issues"}
SAMPLE_FILES = (*(f"{name}.parquet" for name in _OWN), "report.html", "study.duckdb", "evaluation.json")


@dataclass(frozen=True)
class RankingsSample(Tabular):
    """What labels of the first items of some rankings say of all.

    Attributes:
        metrics: Means over all rankings: `metric`, `argument`, `lower`, `estimate` (null while labels are missing),
            `upper`, `coverage`, `rankings` (how many the mean is over), and `normal_lower`, `normal_upper`: the normal
            interval of that mean alone, which promises nothing where nearly all rankings are alike. Of a judge,
            `width_without_judge`: how far apart the bounds would be.
        rankings: Those that were drawn, in the order of the draw: the columns that name it, `items`, `labelled`, and
            each metric between `…_lower` and `…_upper`, which differ where labels are missing.
        label_table: `rank` (stored row, from 1), `label`, `votes`, `positive_votes`.
        issues: See `streameval.labelling.issues`.
        summary: What evaluation.json and `--json` say.
    """

    evaluation_id: str
    metrics: pa.Table = field(repr=False)
    rankings: pa.Table = field(repr=False)
    label_table: pa.Table = field(repr=False)
    issues: pa.Table = field(repr=False)
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def table(self) -> pa.Table:
        """The means."""
        return self.metrics

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Every table by name."""
        return {name: getattr(self, own) for name, own in _OWN.items()}


def save_sample(folder: Path, found: RankingsSample, report: str, database: atomic.Writer) -> None:
    """Write all results; evaluation.json last."""
    tags = {"evaluation_id": found.evaluation_id}
    files = {folder / f"{name}.parquet": atomic.parquet(table, tags) for name, table in found.tables.items()}
    files |= {folder / "report.html": atomic.text(report), folder / "study.duckdb": database}
    atomic.write_all({**files, folder / "evaluation.json": atomic.json_object(found.summary)})


def read_sample(folder: Path) -> RankingsSample:
    """Read results; a `StudyError` where they do not belong together."""
    summary = read_json(folder / "evaluation.json", EVALUATE)
    files = {own: read_table(folder / f"{name}.parquet", EVALUATE) for name, own in _OWN.items()}
    for file in files.values():
        if file.facts.get("evaluation_id") != str(summary["evaluation_id"]):
            raise StudyError(f"{folder}: its results are of several evaluations", EVALUATE)
    tables = {own: file.table for own, file in files.items()}
    return RankingsSample(str(summary["evaluation_id"]), **tables, summary=summary)


def is_sample(folder: Path) -> bool:
    """Whether a folder holds results of drawn rankings."""
    try:
        summary = read_json(folder / "evaluation.json", EVALUATE)
    except (FileNotFoundError, StudyError):
        return False
    return bool(summary.get("per")) and summary.get("method") == "top_items"
