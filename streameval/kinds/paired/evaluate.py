"""What the labels of changed items prove of two rankings, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kinds.paired.cutoff import AtCutoff, LabelledDraw, at_cutoffs
from streameval.kinds.paired.says import names_of, shown
from streameval.labelling.tally import Tallied
from streameval.questions.cutoffs import Cutoff
from streameval.types import Claim, Coverage, Plan
from streameval.typing import BoolArray, Int8Array

ASSUMED = "nothing of the lists: only that the planned items, drawn at random, are the ones that were labelled"
DIFFERENCES = pa.schema(
    {
        "cutoff": pa.string(),
        "items_a": pa.int64(),
        "items_b": pa.int64(),
        "gains": pa.int64(),
        "losses": pa.int64(),
        "gains_drawn": pa.int64(),
        "gains_positive": pa.int64(),
        "gains_missing": pa.int64(),
        "losses_drawn": pa.int64(),
        "losses_positive": pa.int64(),
        "losses_missing": pa.int64(),
        "lower": pa.int64(),
        "estimate": pa.float64(),
        "upper": pa.int64(),
        "better": pa.string(),  # "b", "a", "neither" (the bounds lie within what was asked for) or "open"
        "decided_after": pa.int64(),  # labels of this cutoff, in their order, until the sign was certain
    }
)


MEASURES = pa.schema(
    {
        "measure": pa.string(),
        "whole": pa.float64(),  # the measure of a list of positives
        "gains": pa.int64(),  # items that count more in B, and less; without those whose labels were known
        "losses": pa.int64(),
        "drawn": pa.int64(),
        "missing": pa.int64(),
        "lower": pa.float64(),
        "estimate": pa.float64(),
        "upper": pa.float64(),
        "better": pa.string(),
    }
)


def measured(plan: Plan, tallied: Tallied) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
    """Bound the difference at every cutoff; tables, what they claim, and what the summary says besides."""
    labels, confidence = tallied.labels, float(plan.parameters["confidence"])
    rows, weighted = bounded(plan, labels.label)
    certain = all(_is_certain(row, rate) for row, rate in zip(rows, plan.notes["probability"], strict=True))
    exact = certain and not weighted
    claim = Claim("simultaneous", 1.0 if exact else confidence, _assumed(plan), labels.about, labels.why)
    if plan.labels_seen_by_model and not exact:
        claim = replace(claim, coverage="none", confidence=None)
        rows = [{**row, "better": "open", "decided_after": None} for row in rows]
        weighted = [{**row, "better": "open"} for row in weighted]
    differences = pa.Table.from_pylist(rows, DIFFERENCES)
    tables = {"metrics": metrics_of(rows, weighted, claim.coverage), "differences": differences,
              "measures": pa.Table.from_pylist(weighted, MEASURES), "labels": labels.table,
              "issues": tallied.issues}  # fmt: skip
    every = {"every": True} if "bounded" in plan.notes else {}
    judge = plan.notes.get("predictions", {}).get("column")
    return tables, claim, {"names": names_of(plan), "judge": judge, **every}


def bounded(plan: Plan, label: Int8Array) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the tables of differences and of measures, with the confidence of the plan.

    Args:
        label (int8 array, shape of the plan's ranks): 1, 0, or -1 where there is none.
    """
    return [row_of(one) for one in at_cutoffs(plan, label)], list(LabelledDraw(plan, label).weighted())


def _is_certain(row: Mapping[str, Any], rate: float) -> bool:
    """Whether no bound at a cutoff is one of chance: nothing was drawn, or everything, which has its label."""
    return rate == 0 or (rate == 1 and row["lower"] == row["upper"])


def _assumed(plan: Plan) -> str:
    if "labels_seen_by_model" not in plan.notes:
        return ASSUMED
    return f"{ASSUMED}, and that this comparison was fixed without the labels that it reuses"


def row_of(one: AtCutoff) -> dict[str, Any]:
    """One row of the table of differences."""
    counts = {f"{side}_{name}": getattr(one, name)[i] for i, side in enumerate(("gains", "losses"))
              for name in ("drawn", "positive", "missing")}  # fmt: skip
    return {
        "cutoff": str(one.cutoff), "items_a": one.size_a, "items_b": one.size_b, "gains": one.gains,
        "losses": one.losses, **counts, **one.bounds._asdict(), "better": one.better,
    }  # fmt: skip


def metrics_of(
    rows: Sequence[Mapping[str, Any]], weighted: Sequence[Mapping[str, Any]], coverage: Coverage
) -> pa.Table:
    """The differences under the names by which they are asked for; of every rank, those that are shown."""
    rows = [rows[at] for at in shown([row["cutoff"] for row in rows])]
    kinds = [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
             ("upper", pa.float64()), ("coverage", pa.string())]  # fmt: skip
    each = [*(row for one in rows for row in _metrics(one)), *map(_weighted_metric, weighted)]
    found = [{**row, "coverage": coverage} for row in each]
    return pa.Table.from_pylist(found, pa.schema(kinds))


def _metrics(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cutoff = Cutoff.of(row["cutoff"])
    of_kind = "_score" if cutoff.kind == "score" else ""
    argument = str(cutoff.value) if cutoff.kind == "score" else str(row["items_b"])
    sides = ("lower", "estimate", "upper")
    yield {"metric": f"gain_at{of_kind}", "argument": argument, **{side: row[side] for side in sides}}
    if row["items_a"] == row["items_b"] and row["items_a"]:
        shares = {side: None if row[side] is None else row[side] / row["items_a"] for side in sides}
        yield {"metric": f"precision_gain_at{of_kind}", "argument": argument, **shares}


def _weighted_metric(row: Mapping[str, Any]) -> dict[str, Any]:
    name, _, cutoff = row["measure"].partition("@")
    sides = {side: row[side] for side in ("lower", "estimate", "upper")}
    return {"metric": f"{name}_gain{'_at' * bool(cutoff)}", "argument": cutoff, **sides}


def by_cutoff(plan: Plan, known: BoolArray) -> pa.Table:
    """Planned and labelled items, by the first cutoff at which one of the tops holds them."""
    at = shown(plan.notes["cutoffs"])
    first = np.searchsorted(at, plan.table.column("stratum").to_numpy())
    cutoffs = [*(plan.notes["cutoffs"][i] for i in at), *["beyond"] * ("measures" in plan.notes)]
    counts = [np.bincount(one, minlength=len(cutoffs)) for one in (first, first[known])]
    return pa.table({"cutoff": cutoffs, "planned": counts[0], "labelled": counts[1]})
