"""A curve as a DuckDB file: its tables, and what its macros need to know."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.slices.files import slice_tables
from streameval.study import Study
from streameval.study.database.writer import Database, database, macro_statements
from streameval.study.provenance import commands
from streameval.study.results import CALIBRATION, Evaluation
from streameval.types import Plan


def database_of(folder: Study, plan: Plan | None, evaluation: Evaluation) -> Database:
    """Make study.duckdb; an evaluation without a plan has no tables plan and selection."""
    tables, caution = _contents(folder, plan, evaluation)
    items = tables["selection"].column_names if "selection" in tables else []
    return Database(
        database(tables, caution),
        json.dumps([evaluation.evaluation_id, items]),
        lambda name: macro_statements(tables, caution, name),
    )


def _contents(folder: Study, plan: Plan | None, evaluation: Evaluation) -> tuple[dict[str, pa.Table], str]:
    """Tables of the database, and what the comments of bounds say besides."""
    tables: dict[str, pa.Table] = {}
    if plan is not None:
        tables["plan"] = plan.table
        selection = folder.selection(plan)
        if selection is not None:
            tables["selection"] = selection.replace_schema_metadata(None)
    tables["labels"] = evaluation.label_table.replace_schema_metadata(None)
    tables["curve"] = evaluation.curve_table.replace_schema_metadata(None)
    tables["envelope"] = evaluation.curve.envelope_table
    tables["metrics"] = evaluation.metrics.replace_schema_metadata(None)
    if CALIBRATION in evaluation.tables:
        tables[CALIBRATION] = evaluation.tables[CALIBRATION].replace_schema_metadata(None)
    tables |= _slices(plan, evaluation)
    tables["provenance"] = _provenance(plan, evaluation)
    claim = evaluation.curve.claim
    weaker = claim.caution or claim.coverage in ("none", "conditional")
    return tables, f"Of the claim: {claim.meaning}. {claim.caution}".rstrip() if weaker else ""


def _slices(plan: Plan | None, evaluation: Evaluation) -> dict[str, pa.Table]:
    """Tables of what was evaluation of slices; none without."""
    if plan is None or plan.marks is None:
        return {}
    counted = ("n_items", "planned", "labelled", "positive")
    kinds = {"name": pa.string(), **dict.fromkeys(counted, pa.int64()), **_BOUNDED, "findings": pa.string()}
    rows = [
        {
            **part.facts(),
            **_list_facts(part.curve),
            "findings": json.dumps(list(part.curve.findings), ensure_ascii=False),
        }
        for part in evaluation.slices
    ]
    slices = pa.table({key: pa.array([row[key] for row in rows], kind) for key, kind in kinds.items()})
    return {
        "slices": slices.rename_columns({"name": "slice"}),
        **slice_tables(evaluation.slices),
        "slice_counts": plan.marks,
    }


_BOUNDED = {
    "misses": pa.int64(),
    "misses_upper": pa.int64(),
    "positives_lower": pa.float64(),
    "positives_upper": pa.float64(),
    "positives": pa.float64(),
    "misses_estimate": pa.float64(),
    "coverage": pa.string(),
    "confidence": pa.float64(),
    "assumes": pa.string(),
    "about": pa.string(),
    "why": pa.string(),
    "proves": pa.bool_(),
}


def _list_facts(curve: Curve) -> dict[str, Any]:
    """The facts of a list that macros need besides its envelope, and the claim of its bounds."""
    e = curve.envelope
    most = curve.misses if curve.misses_upper is None else curve.misses_upper
    estimates = (np.nan, np.nan) if curve.plug_in is None else (curve.plug_in.found, curve.plug_in.misses)
    positives, missed = (None if np.isnan(estimate) else estimate for estimate in estimates)
    ends = {"misses": curve.misses, "misses_upper": most, "misses_estimate": missed}
    ends |= {"positives_lower": e.lower[-1], "positives_upper": e.upper[-1], "positives": positives}
    return {**ends, **curve.claim.as_dict(), "proves": curve.proves}


def _provenance(plan: Plan | None, evaluation: Evaluation) -> pa.Table:
    curve, summary = evaluation.curve, evaluation.summary
    row: dict[str, tuple[Any, pa.DataType]] = {
        "evaluation_id": (evaluation.evaluation_id, pa.string()),
        "study": (summary.get("study"), pa.string()),
        "version": (summary["version"], pa.string()),
        "method": (summary.get("method"), pa.string()),
        "parameters": (json.dumps(summary.get("parameters", {})), pa.string()),
        "seed": (None if plan is None else str(plan.seed), pa.string()),
        "fingerprint": (None if plan is None else plan.ranking.get("fingerprint"), pa.string()),
        "n_items": (curve.n_items, pa.int64()),
        "estimates": (curve.basis, pa.string()),
        **{key: (value, _BOUNDED[key]) for key, value in _list_facts(curve).items()},
        "findings": (json.dumps(list(curve.findings), ensure_ascii=False), pa.string()),
        "command": (None if plan is None else "\n".join(commands(plan, summary)), pa.string()),
    }
    return pa.table({key: pa.array([value], kind) for key, (value, kind) in row.items()})
