"""Results as files, whatever kind of study they are of: tables that carry one id, a report, a database, a summary."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.curve import Basis, Curve
from streameval.curve.stored import stored_curve
from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import Own, read_table
from streameval.slices.files import SLICES, SliceResult, slice_of, slices_from_tables
from streameval.stores import atomic
from streameval.study.formats import read_kind
from streameval.types import Claim, Labels, Plan

SUMMARY = "evaluation.json"
EVALUATE, EXACT = "run evaluate again", "run exact again"
_WEIGHTS = dict.fromkeys(("weight", "draw_weight"), pa.array([], pa.float64()))
NO_LABELS = pa.table({"rank": pa.array([], pa.int64()), "label": pa.array([], pa.int8()), **_WEIGHTS})
_VOTES, _NO_RANKS = ("votes", "positive_votes"), np.empty(0, np.int64)
FROM_VOTES = ("labels", "issues")
COUNTED = ("envelope", "curve", "metrics")  # tables that need no votes
SKETCH = "influence"
"""Table of a labelled list that is a sample, by which two are compared (`streameval.metrics.sampled_rows`)."""
CALIBRATION = "calibration"
"""Table of a labelled list whose scores all lie in [0, 1] (`streameval.kinds.curve.calibration`)."""
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
    SKETCH: {"items": pa.int64(), "positives": pa.int64()},
}
_WITH_CURVE = {"curve": (*FROM_VOTES, *COUNTED), "labelled_list": COUNTED}


@dataclass(frozen=True)
class Result(Tabular):
    """Results, as their files hold them.

    Attributes:
        evaluation_id: Hash of all that it was made from.
        summary: What evaluation.json and `--json` say.
        tables: By the names of their files.
        folder: That they lie in; None where they were not written.
        read_in: Current folder at that time.
    """

    evaluation_id: str
    summary: Mapping[str, Any] = field(repr=False)
    tables: Mapping[str, pa.Table] = field(repr=False)
    folder: Path | None = field(default=None, repr=False, compare=False)
    read_in: Path = field(default_factory=Path.cwd, repr=False, compare=False)

    @property
    def place(self) -> Path | None:
        """The folder as it was given; from another current folder than it was given in, the whole path."""
        moved = self.folder is not None and self.read_in != Path.cwd()
        return self.read_in / self.folder if moved and self.folder is not None else self.folder

    @property
    def metrics(self) -> pa.Table:
        """`metric`, `argument`, `lower`, `estimate`, `upper` and what else a kind of study says of each."""
        return self.tables["metrics"]

    @property
    def caution(self) -> str:
        """A sentence for after what is claimed, where that is not about the truth; else empty."""
        return self.claim.caution

    @property
    def claim(self) -> Claim:
        """Give what the bounds promise."""
        return Claim(**self.summary["claim"])

    @property
    def table(self) -> pa.Table:
        """The metrics."""
        return self.metrics

    @property
    def estimates(self) -> Basis:
        """Give what estimates are made of."""
        return "labels"

    @property
    def unproven(self) -> str:
        """Why its bounds prove nothing, though they promise something; else empty."""
        return ""


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Result of `evaluate`, as its files hold it.

    Attributes:
        evaluation_id: Hash of plan, labels, misses, label error rate and version.
        label_table: `rank`, `label`, `votes`, `positive_votes`, `weight`, `draw_weight` (see
            `streameval.study.weights`).
        summary: What `evaluation.json` and `--json` say.
        tables: By the names of their files; where every item had a label there is none of labels.
        issues: See `streameval.labelling.issues`.
        slices: The largest first; none where the plan has none.
        new (mapping of str to bool): By id of a source that this run was given: whether it was new to the study. The
            files do not say it, so that they are the same when a run is repeated.
    """

    curve: Curve = field(kw_only=True)
    slices: tuple[SliceResult, ...] = field(default=(), kw_only=True)
    new: Mapping[str, bool] = field(default_factory=dict, kw_only=True)

    @property
    def claim(self) -> Claim:
        """Give what the bounds promise."""
        return self.curve.claim

    @property
    def label_table(self) -> pa.Table:
        """Labels of the planned ranks; of no rank where every item has a label."""
        return self.tables.get("labels", NO_LABELS)

    @property
    def issues(self) -> pa.Table:
        """Rows that are not as they should be."""
        return self.tables.get("issues", pa.table({}))

    @property
    def curve_table(self) -> pa.Table:
        """The curve, as `curve.parquet` holds it."""
        return self.tables["curve"]

    @property
    def table(self) -> pa.Table:
        """The curve, as `curve.parquet` holds it."""
        return self.curve_table

    @property
    def estimates(self) -> Basis:
        """Give what estimates are made of."""
        return self.curve.basis

    @property
    def unproven(self) -> str:
        """Why its bounds prove nothing; empty where they do."""
        if self.curve.proves:
            return ""
        return next(iter(self.curve.findings), "The bounds contradict each other.")

    def slice(self, name: str) -> SliceResult:
        """Give the results of a slice; an `InputError` where there is none."""
        return slice_of(self.slices, name)

    @property
    def labels(self) -> Labels:
        """Give what is known of each planned rank; of no rank where every item has a label."""
        return _labels_of(self.label_table, self.summary, self.claim)


def file_names(tables: Iterable[str]) -> list[str]:
    """Names of the files of results, in the order in which they are best read and written."""
    return [*(f"{name}.parquet" for name in tables), "report.html", "study.duckdb", SUMMARY]


def writers(
    folder: Path, tables: Mapping[str, pa.Table], summary: Mapping[str, Any], report: str, database: atomic.Writer
) -> dict[Path, atomic.Writer]:
    """Writers of all files, evaluation.json the last."""
    tags = {"evaluation_id": summary["evaluation_id"]}
    result = [*(atomic.parquet(table, tags) for table in tables.values()), atomic.text(report), database]
    paths = [folder / name for name in file_names(tables)]
    return dict(zip(paths, [*result, atomic.json_object(summary)], strict=True))


def read_tables(
    folder: Path,
    summary: Mapping[str, Any],
    tables: Iterable[str],
    hint: str,
    columns: Mapping[str, Mapping[str, pa.DataType]],
) -> dict[str, Own]:
    """Read tables that belong to an evaluation.json.

    Args:
        hint: What to do where they cannot be used.
        columns: By the name of a table: columns that have to be there (`streameval.parquet.own_tables.read_table`).

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `read_table`; also a file of another evaluation.
    """
    files = {name: read_table(folder / f"{name}.parquet", hint, **columns.get(name, {})) for name in tables}
    for name, file in files.items():
        if file.facts.get("evaluation_id") != str(summary["evaluation_id"]):
            raise StudyError(f"{folder / name}.parquet: is of another evaluation than the rest", hint)
    return files


def refuse_others(folder: Path, tables: Iterable[str], kind: str, maker: str) -> None:
    """Refuse to write results that have no plan where a study is, or where files are not such results.

    Args:
        maker: Command that writes these.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    existing = [name for name in file_names(tables) if (folder / name).exists()]
    if existing and not _is_ours(folder, existing[0], kind):
        raise StudyError(
            f"{folder / existing[0]}: was not written by {maker}", "give exact results a folder of their own"
        )


def _is_ours(folder: Path, first: str, kind: str) -> bool:
    """Tell whether the summary, or else the file that is put in place first, is of such results, whole or not."""
    with suppress(OSError, StudyError):
        return read_kind(folder / SUMMARY)[0] == kind
    with suppress(OSError, StudyError):
        return first.endswith(".parquet") and "evaluation_id" in read_table(folder / first, "").facts
    return False


def evaluation_id(plan: Plan, labels: Labels, misses: int | str = 0, label_error: float = 0.0) -> str:
    """Sixteen hex digits: the hash of plan, labels, misses (or their bounds), label error rate and version."""
    digest = hashlib.sha256(f"{plan.plan_id}\0{__version__}\0{misses}\0{label_error!r}\0".encode())
    digest.update(f"{labels.about}\0{labels.why}\0".encode())
    for values in (labels.label, labels.votes, labels.positive_votes):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


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
        FileNotFoundError, StudyError, OutsideError: See `read_tables`; also results of a kind
            that has no curve.
        streameval.stores.own_files.UNUSABLE: A summary that is not one of ours.
    """
    if summary["kind"] not in _WITH_CURVE:
        raise StudyError(f"{folder}: holds results of {str(summary['kind']).replace('_', ' ')}, which have no curve",
                         "give a study of one ranking")  # fmt: skip
    names = [*_WITH_CURVE[summary["kind"]], *(SLICES if summary.get("slices") else ())]
    names += [SKETCH] if "seed" in summary.get("sample", {}) else []
    names += [CALIBRATION] if "infinite_log_losses" in summary.get("calibration", {}) else []
    hint = EXACT if summary["kind"] == "labelled_list" else EVALUATE
    files = read_tables(folder, summary, names, hint, _COLUMNS)
    slices = slices_from_tables([files[name] for name in SLICES if name in files], summary.get("slices", ()))
    curve = stored_curve(summary, files["envelope"].table, files["curve"].table)
    tables = {name: file.table for name, file in files.items()}
    return Evaluation(str(summary["evaluation_id"]), summary, tables, folder, curve=curve, slices=slices)
