"""Cut: the items above a cutoff that the labels prove, as Parquet."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from streameval.errors import InputError, misses_or_study
from streameval.kinds import answering, results_of
from streameval.options import takes
from streameval.parquet.account import Forecast
from streameval.printed import Printed, Record
from streameval.progress import Progress, silent
from streameval.questions.cutoffs import Cutoff
from streameval.rehearsal import Rehearsal
from streameval.reporting.cut import CutResult
from streameval.stores import PathOrURI
from streameval.study import Study
from streameval.study.cut_files import MANIFEST, Cut, forecast_cut


@takes()
def cut(
    study: str | os.PathLike[str],
    cutoff: str | int | Cutoff,
    *,
    out: PathOrURI | None = None,
    order: Literal["storage", "rank"] = "storage",
    misses: int | str | os.PathLike[str] | None = None,
    ranking: Any = None,
    progress: Progress = silent,
) -> Cut:
    """Find the cutoff that labels prove, and write the items above it.

    Example: streameval cut my-study precision:0.9 --out best/

    Args:
        study: Folder of an evaluated study.
        cutoff: precision:0.9 is the largest rank that is proven to have this precision; recall:0.5 the smallest that is
            proven to have this recall; 10000 (or 1%) so many items (or that share of them); score:0.7 every item of
            this score or better, counted by one scan of the scores; max_f1 the rank whose proven F1 is the largest. In
            Python too a decimal is compared exactly as typed. What is proven holds with what the curve claims, at
            whatever rank it is found, because that claim is about all ranks at once; of recall, for every list that the
            bounds allow. `max_f` and another β are the same of F_β.
        out: New folder for the items, here or on an object store (s3://bucket/best): part-00000.parquet and so on, and
            a manifest, which names them. Where this same cut is already, nothing is written; an earlier one of the same
            question is replaced by what the labels say now. In Python `Cut.write` does the same later.
        order: Order of the items there; in rank order each has its rank.
        misses: Positives that the ranking never returned (default: what evaluate was given): how many, or the evaluated
            study of the items that it did not return, which bounds them.
        ranking: In Python alone: the ranking that was planned, where it lies in memory.
        progress: In Python: is told of items written.

    Returns:
        Cut: What is proven at the cutoff; `written` says what `out` holds.

    Raises:
        InputError: No cutoff; one that no rank is proven to reach (says what is); errors as of
            `Cut.write`.
        StudyError: No results; bounds that prove nothing; a ranking that is not the planned one.
    """
    _refuse_file(out)
    result = _find_cut(study, cutoff, misses, ranking)
    return result if out is None else replace(result, written=result.write(out, order=order, progress=progress))


def _refuse_file(out: PathOrURI | None) -> None:
    """Refuse the name of a table of text for a folder of Parquet files."""
    if out is not None and str(out).lower().endswith((".csv", ".tsv", ".json", ".jsonl", ".xlsx")):
        folder = os.path.splitext(os.fspath(out))[0]
        raise InputError(f"{out}: cut writes a folder of Parquet files, and no such file", f"--out {folder}")


def rehearsal(
    study: Path,
    cutoff: str,
    *,
    out: PathOrURI | None = None,
    order: Literal["storage", "rank"] = "storage",
    progress: Progress = silent,
    **raw_options: Any,
) -> Rehearsal:
    """Find the cutoff, and forecast what writing its items would read; errors as in `cut`."""
    _refuse_file(out)
    result = cut(study, cutoff, **raw_options)
    read, writes = (Forecast(), []) if out is None else forecast_cut(result, out, order=order)
    plan, head = result.plan, f"The first {result.rank:,} of {result.plan.n_items:,} items."
    return Rehearsal([head], result.rank, plan.n_items, plan.location["source"], read, writes)


def printed(result: CutResult, **_: Any) -> Printed:
    """Print what is proven of the items above the cutoff, and where they were written."""
    facts, written, plan = result.as_dict(), result.written, result.plan
    if written is None:
        return Printed(facts, result.paragraphs, facts)
    facts |= {"out": str(written.folder), "rows": written.rows, "bytes": written.bytes, "files": list(written.files)}
    facts |= {"columns": list(written.columns), "already_there": written.already_there, "replaced": written.replaced}
    read = {"source": plan.location["source"], "n_items": plan.n_items, **plan.ranking, "rank": result.rank}
    read["evaluation_id"] = result.evaluation_id
    record = Record(result.study, read, [f"{written.folder}/{MANIFEST}"])
    return Printed(facts, result.paragraphs, facts, record=record)


def _find_cut(
    study: str | os.PathLike[str],
    cutoff: str | int | Cutoff,
    misses: int | str | os.PathLike[str] | None,
    ranking: Any,
) -> Cut:
    """Find the cutoff, and what holds there."""
    target = Cutoff.parse(cutoff)
    if target.kind == "recall" and not target.value:
        raise InputError(f"a cut at {cutoff} holds no item", "name a recall in (0, 1], such as recall:0.9")
    named = {} if misses is None else {"misses": misses_or_study(misses)}
    answering(study, "cut")
    folder = Study(Path(study))
    return results_of(folder).cut(folder, target, ranking, named)
