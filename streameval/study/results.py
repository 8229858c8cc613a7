"""Results as files, whatever kind of study they are of: tables that carry one id, a report, a database, a summary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.errors import StudyError
from streameval.notebook import Tabular
from streameval.parquet.own_tables import Own, read_table
from streameval.stores import atomic
from streameval.study.formats import read_kind
from streameval.types import Claim, Labels, Plan

SUMMARY = "evaluation.json"
EVALUATE = "run evaluate again"


@dataclass(frozen=True)
class Result(Tabular):
    """What was found, as its files hold it.

    Attributes:
        evaluation_id: Hash of all that it was made from.
        summary: What evaluation.json and `--json` say.
        tables: By the names of their files.
        folder: That they were read from; None of those that were just made.
    """

    evaluation_id: str
    summary: Mapping[str, Any] = field(repr=False)
    tables: Mapping[str, pa.Table] = field(repr=False)
    folder: Path | None = field(default=None, repr=False, compare=False)

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
        """What the bounds promise."""
        return Claim(**self.summary["claim"])

    @property
    def table(self) -> pa.Table:
        """The metrics."""
        return self.metrics


def file_names(tables: Iterable[str]) -> list[str]:
    """Names of the files of results, in the order in which they are best read and written."""
    return [*(f"{name}.parquet" for name in tables), "report.html", "study.duckdb", SUMMARY]


def writers(
    folder: Path, tables: Mapping[str, pa.Table], summary: Mapping[str, Any], report: str, database: atomic.Writer
) -> dict[Path, atomic.Writer]:
    """Writers of all files, evaluation.json the last."""
    tags = {"evaluation_id": summary["evaluation_id"]}
    made = [*(atomic.parquet(table, tags) for table in tables.values()), atomic.text(report), database]
    paths = [folder / name for name in file_names(tables)]
    return dict(zip(paths, [*made, atomic.json_object(summary)], strict=True))


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
    taken = [name for name in file_names(tables) if (folder / name).exists()]
    if taken and not _is_ours(folder, taken[0], kind):
        raise StudyError(f"{folder / taken[0]}: was not written by {maker}", "give exact results a folder of their own")


def _is_ours(folder: Path, first: str, kind: str) -> bool:
    """Whether the summary, or else the file that is put in place first, is of such results, whole or not."""
    with suppress(OSError, StudyError):
        return read_kind(folder / SUMMARY) == kind
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
