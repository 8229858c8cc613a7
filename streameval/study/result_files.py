"""Results of an evaluation, as its files hold them: those of a study, and those of `exact`, which have no labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.stored import stored_curve
from streameval.errors import StudyError
from streameval.notebook import Tabular, facts
from streameval.slices.files import SLICES, SliceResult, slice_tables, slices_from_tables
from streameval.study.results import EVALUATE, read_tables
from streameval.types import Claim, Labels

_WEIGHTS = dict.fromkeys(("weight", "draw_weight"), pa.array([], pa.float64()))
NO_LABELS = pa.table({"rank": pa.array([], pa.int64()), "label": pa.array([], pa.int8()), **_WEIGHTS})
_VOTES, _NO_RANKS = ("votes", "positive_votes"), np.empty(0, np.int64)
FROM_VOTES = ("labels", "issues")
COUNTED = ("envelope", "curve", "metrics")  # tables that need no votes
BOUNDS = ("labels", "envelope")  # tables that all others follow from


# columns that are computed with; labels may be null
_BOUNDS = {"rank": pa.int64(), "yield_lower": pa.float64(), "yield_upper": pa.float64()}
_COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "labels": {"rank": pa.int64(), "label": pa.int8(), "votes": pa.int64(), "positive_votes": pa.int64()},
    "envelope": _BOUNDS,
    "curve": {"rank": pa.int64()},
    "slice_envelope": {"slice": pa.string(), **_BOUNDS},
    "slice_curve": {"slice": pa.string(), "rank": pa.int64()},
    "slice_metrics": {"slice": pa.string()},
}


@dataclass(frozen=True)
class Evaluation(Tabular):
    """What `evaluate` finds, as its files hold it.

    Attributes:
        evaluation_id: Hash of plan, labels, misses, label error rate and version.
        label_table: `rank`, `label`, `votes`, `positive_votes`, `weight`, `draw_weight` (see
            `streameval.study.weights`).
        summary: What `evaluation.json` and `--json` say.
        issues: See `streameval.labelling.issues`.
        slices: The largest first; none where the plan has none.
        new (mapping of str to bool): By id of a source that this run was given: whether it was new to the study. The
            files do not say it, so that they are the same when a run is repeated.
    """

    evaluation_id: str
    label_table: pa.Table
    curve: Curve
    curve_table: pa.Table
    metrics: pa.Table
    summary: Mapping[str, Any]
    issues: pa.Table = field(default_factory=lambda: pa.table({}))
    slices: tuple[SliceResult, ...] = ()
    new: Mapping[str, bool] = field(default_factory=dict)

    def __repr__(self) -> str:
        account, claim = self.summary.get("account", {}), self.curve.claim
        labels = f"{account.get('labelled', 0):,} of {account.get('planned', 0):,} labels"
        what = f"{self.evaluation_id} of {self.curve.n_items:,} items by {self.summary.get('method')}"
        return f"<Evaluation {what}: {labels}, bounds {claim.coverage}, of {claim.about}>"

    @property
    def table(self) -> pa.Table:
        """The curve, as `curve.parquet` holds it."""
        return self.curve_table

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Tables by the names of their files; where every item had a label there is none of labels."""
        voted = {} if self.label_table is NO_LABELS else {"labels": self.label_table, "issues": self.issues}
        counted = {"envelope": self.curve.envelope_table, "curve": self.curve_table, "metrics": self.metrics}
        return {**slice_tables(self.slices), **voted, **counted}

    @property
    def labels(self) -> Labels:
        """What is known of each planned rank; of no rank where every item has a label."""
        return _labels_of(self.label_table, self.summary, self.curve.claim)

    def _repr_html_(self) -> str:
        """Show in a notebook what was evaluated, the claim, a picture and a few cutoffs."""
        account = self.summary.get("account", {})
        entries = {"items": f"{self.curve.n_items:,}", "method": self.summary.get("method")}
        entries |= {name: f"{account[name]:,}" for name in ("planned", "labelled", "missing") if name in account}
        return facts("Evaluation", entries) + self.curve._repr_html_()


def _labels_of(table: pa.Table, summary: Mapping[str, Any], claim: Claim) -> Labels:
    label = table.column("label").fill_null(-1).to_numpy().astype(np.int8)
    votes, positive = (table.column(key).to_numpy() if label.size else _NO_RANKS for key in _VOTES)
    ranks = table.column("rank").to_numpy()
    return Labels(ranks, label, votes, positive, summary.get("account", {}), about=claim.about, why=claim.why)


def read_bounds(folder: Path, summary: Mapping[str, Any], tables: Collection[str] = BOUNDS) -> tuple[Labels, Curve]:
    """Read the labels of an evaluation.json and their curve, but no table that follows from these.

    Args:
        tables: `BOUNDS`, and "curve" for scores and a grid; without it the curve has none.

    Raises:
        FileNotFoundError, StudyError, OutsideError, UNUSABLE: See `read_evaluation`.
    """
    files = read_tables(folder, summary, tables, EVALUATE, _COLUMNS)
    curve = stored_curve(summary, files["envelope"].table, files["curve"].table if "curve" in files else None)
    return _labels_of(files["labels"].table, summary, curve.claim), curve


def read_evaluation(folder: Path, summary: Mapping[str, Any]) -> Evaluation:
    """Read what belongs to an evaluation.json.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `streameval.study.results.read_tables`; also results of a kind
            that has no curve.
        streameval.stores.own_files.UNUSABLE: A summary that is not one of ours.
    """
    if summary["kind"] not in _WITH_CURVE:
        raise StudyError(f"{folder}: holds results of {str(summary['kind']).replace('_', ' ')}, which have no curve",
                         "give a study of one ranking")  # fmt: skip
    names = [*_WITH_CURVE[summary["kind"]], *(SLICES if summary.get("slices") else ())]
    files = read_tables(folder, summary, names, EVALUATE, _COLUMNS)
    envelope, curve_table, metrics = (files[name].table for name in COUNTED)
    labels, issues = (files[name].table if name in files else None for name in FROM_VOTES)
    return Evaluation(
        str(summary["evaluation_id"]),
        NO_LABELS if labels is None else labels,
        stored_curve(summary, envelope, curve_table),
        curve_table,
        metrics,
        summary,
        pa.table({}) if issues is None else issues,
        slices_from_tables([files[name] for name in SLICES if name in files], summary.get("slices", ())),
    )


_WITH_CURVE = {"curve": (*FROM_VOTES, *COUNTED), "labelled_list": COUNTED}
