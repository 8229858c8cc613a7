"""Results of an evaluation, as its files hold them: those of a study, and those of `exact`, which have no labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.curve import Curve
from streameval.curve.stored import stored_curve
from streameval.errors import StudyError
from streameval.notebook import Tabular, facts
from streameval.parquet.own_tables import read_table
from streameval.slices.files import NAMES as SLICE_FILES
from streameval.slices.files import SliceResult, slice_tables, slices_from_tables
from streameval.stores import atomic, locks
from streameval.types import Labels, Plan

_WEIGHTS = dict.fromkeys(("weight", "draw_weight"), pa.array([], pa.float64()))
NO_LABELS = pa.table({"rank": pa.array([], pa.int64()), "label": pa.array([], pa.int8()), **_WEIGHTS})
EVALUATE = "run evaluate again"
_VOTES, _NO_RANKS = ("votes", "positive_votes"), np.empty(0, np.int64)
# what others need of what `exact` found, in the order in which it is best read
EXACT = ("envelope.parquet", "curve.parquet", "metrics.parquet", "report.html", "study.duckdb", "evaluation.json")
_FROM_VOTES = ("labels.parquet", "issues.parquet")
RESULTS = (*_FROM_VOTES, "envelope.parquet", "curve.parquet", "metrics.parquet")


# columns that are computed with; labels may be null
_BOUNDS = {"rank": pa.int64(), "yield_lower": pa.float64(), "yield_upper": pa.float64()}
_KINDS: Mapping[str, Mapping[str, pa.DataType]] = {
    "labels.parquet": {"rank": pa.int64(), "label": pa.int8(), "votes": pa.int64(), "positive_votes": pa.int64()},
    "envelope.parquet": _BOUNDS,
    "curve.parquet": {"rank": pa.int64()},
    "slice_envelope.parquet": {"slice": pa.string(), **_BOUNDS},
    "slice_curve.parquet": {"slice": pa.string(), "rank": pa.int64()},
    "slice_metrics.parquet": {"slice": pa.string()},
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
    def labels(self) -> Labels:
        """What is known of each planned rank; of no rank where every item has a label."""
        known = self.label_table
        label = known.column("label").fill_null(-1).to_numpy().astype(np.int8)
        votes, positive = (known.column(key).to_numpy() if label.size else _NO_RANKS for key in _VOTES)
        account, claim = self.summary.get("account", {}), self.curve.claim
        ranks = known.column("rank").to_numpy()
        return Labels(ranks, label, votes, positive, account, about=claim.about, why=claim.why)

    def _repr_html_(self) -> str:
        """Show in a notebook what was evaluated, the claim, a picture and a few cutoffs."""
        account = self.summary.get("account", {})
        said = {"items": f"{self.curve.n_items:,}", "method": self.summary.get("method")}
        said |= {name: f"{account[name]:,}" for name in ("planned", "labelled", "missing") if name in account}
        return facts("Evaluation", said) + self.curve._repr_html_()


def result_writers(
    folder: Path, evaluation: Evaluation, report: str, database: atomic.Writer
) -> dict[Path, atomic.Writer]:
    """Writers of all results, `evaluation.json` the last; where every item had a label there is no file of labels."""
    tables = {"envelope.parquet": evaluation.curve.envelope_table, "curve.parquet": evaluation.curve_table,
              "metrics.parquet": evaluation.metrics, **slice_tables(evaluation.slices)}  # fmt: skip
    if evaluation.label_table is not NO_LABELS:
        tables = {"labels.parquet": evaluation.label_table, "issues.parquet": evaluation.issues, **tables}
    facts = {"evaluation_id": evaluation.evaluation_id}
    return {
        **{folder / name: atomic.parquet(table, facts) for name, table in tables.items()},
        folder / "report.html": atomic.text(report),
        folder / "study.duckdb": database,
        folder / "evaluation.json": atomic.json_object(evaluation.summary),
    }


def evaluation_id(plan: Plan, labels: Labels, misses: int | str = 0, label_error: float = 0.0) -> str:
    """Sixteen hex digits: the hash of plan, labels, misses (or their bounds), label error rate and version."""
    digest = hashlib.sha256(f"{plan.plan_id}\0{__version__}\0{misses}\0{label_error!r}\0".encode())
    digest.update(f"{labels.about}\0{labels.why}\0".encode())
    for values in (labels.label, labels.votes, labels.positive_votes):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def read_results(folder: Path, summary: Mapping[str, Any]) -> Evaluation:
    """Read what belongs to an evaluation.json.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `streameval.parquet.own_tables.read_table`; also a file of
            another evaluation.
        streameval.stores.own_files.UNUSABLE: A summary that is not one of ours.
    """
    fully = summary["method"] == "exact"  # its labels stay where they are: there is one for every item
    names = [name for name in RESULTS if not (fully and name in _FROM_VOTES)]
    names += SLICE_FILES if summary.get("slices") else ()
    files = {name: read_table(folder / name, EVALUATE, **_KINDS.get(name, {})) for name in names}
    for name, file in files.items():
        if file.facts.get("evaluation_id") != str(summary["evaluation_id"]):
            raise StudyError(f"{folder / name}: is of another evaluation than the rest", EVALUATE)
    envelope, curve_table, metrics = (files[name].table for name in RESULTS[-3:])
    labels, issues = (files[name].table if name in files else None for name in _FROM_VOTES)
    return Evaluation(
        str(summary["evaluation_id"]),
        NO_LABELS if labels is None else labels,
        stored_curve(summary, envelope, curve_table),
        curve_table,
        metrics,
        summary,
        pa.table({}) if issues is None else issues,
        slices_from_tables([files[name] for name in SLICE_FILES if name in files], summary.get("slices", ())),
    )


def save_exact(folder: Path, evaluation: Evaluation, report: str, database: atomic.Writer) -> None:
    """Write the results of a fully labelled list, which need no plan; `evaluation.json` last.

    Raises `StudyError` where the folder holds a study, or files of these names that `exact` did not write.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    taken = [name for name in EXACT if (folder / name).exists()]
    if taken and not _is_ours(folder / EXACT[0]):
        raise StudyError(f"{folder / taken[0]}: was not written by exact", "give exact results a folder of their own")
    atomic.make_folder(folder)
    with locks.one_at_a_time(folder):
        atomic.write_all(result_writers(folder, evaluation, report, database))


def _is_ours(first: Path) -> bool:
    """Whether the file that is put in place first is one of results, whole or not."""
    try:
        return "evaluation_id" in read_table(first, EVALUATE).facts
    except (OSError, StudyError):
        return False
