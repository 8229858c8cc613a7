"""What `exact` finds, as files: those of a study's results, without plan and labels."""

from __future__ import annotations

import json
from pathlib import Path

from streameval.errors import StudyError
from streameval.stores import atomic
from streameval.study import Evaluation


def save_exact(folder: Path, found: Evaluation, report: str, database: atomic.Writer) -> None:
    """Write the results of a fully labelled list, which need no plan; `evaluation.json` last.

    Raises
    ------
    StudyError
        The folder holds a study.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    facts = {"evaluation_id": found.evaluation_id}
    tables = {
        "envelope.parquet": found.curve.envelope.table,
        "curve.parquet": found.curve_table,
        "metrics.parquet": found.metrics,
    }
    files = {folder / name: atomic.parquet(table, facts) for name, table in tables.items()}
    files[folder / "report.html"] = atomic.text(report)
    files[folder / "study.duckdb"] = database
    summary = json.dumps(dict(found.summary), indent=2, ensure_ascii=False)
    files[folder / "evaluation.json"] = atomic.text(summary + "\n")
    atomic.write_all(files)
