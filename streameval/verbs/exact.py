"""Exact: a list whose every item has a label, evaluated in one stream and in fixed memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.counting import Summed
from streameval.counting.block_sums import UnorderedError
from streameval.counting.by_score import Limits, sum_by_score
from streameval.counting.in_stored_order import slide, sum_in_stored_order
from streameval.counting.labelled_rows import LabelledRows, labelled_rows
from streameval.counting.lookups import Places
from streameval.counting.scans import LabelledScans
from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.engines import Engine, engine_of
from streameval.errors import InputError, check_misses
from streameval.methods.checks.sliding import Sliding, WindowResult, smallest_window
from streameval.metrics import cutoffs
from streameval.metrics.exact import Counted, metrics
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.reporting.page import render
from streameval.rows.options import RankingOptions
from streameval.rows.units import readers
from streameval.stores.scratch import ScratchFile
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import copied
from streameval.study import Study
from streameval.study.result_files import NO_LABELS, Evaluation, save_exact
from streameval.types import Claim
from streameval.typing import Int64Array
from streameval.verbs.sql import writer as database_of

_EVERY_RANK = 10_000
_RATIO = 1.001
_BASE_MEMORY = 0.35  # of --memory: decoded units and what sums need beside the counters
_BYTES_PER_ROW = {False: 20, True: 60}  # of a unit at work and of those that wait, by whether it has scores


@dataclass(frozen=True)
class Truth:
    """A list as it is evaluated.

    Attributes:
        scans: Of its rows.
        memory: Bytes for counters or words, where its rows are to be ordered.
    """

    ranking: Ranking
    scans: LabelledScans
    memory: float

    @property
    def rows(self) -> LabelledRows:
        """The list with its labels."""
        return self.scans.rows


@dataclass(frozen=True)
class Windows:
    """Which windows to slide.

    Attributes:
        lengths: Values of Δ; none: nothing is looked into.
        epsilons: Values of ε; each Δ is paired with each.
    """

    lengths: tuple[int, ...] = ()
    epsilons: tuple[str, ...] = ("0.03",)


NO_WINDOWS = Windows()


def exact(
    ranking: Any,
    *,
    label: str,
    labels: Any = None,
    on: str | None = None,
    misses: int = 0,
    tolerance: float = 0.0,
    windows: Windows = NO_WINDOWS,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate a list whose every item has a label.

    Args:
        ranking: As for `plan`. With a score its rows may lie in any order: they are counted, not sorted.
        label: Column with every item's label: 0/1 or a boolean; of the ranking, or of `labels`.
        labels: Label table beside the ranking, as for `evaluate`; one label for every item.
        on: Columns, separated by commas, by which it is joined to the items; by default its rank, where the list is
            stored in the order of its ranks.
        misses: Positives that the list never returned.
        tolerance: Width that the brackets of average precision and AUC may have where memory does not hold the list.
            By default there are none: it is ordered range by range in a scratch file, and every figure is exact.
        windows: Window lengths Δ (and values of ε) for which the paper's assumptions A.1 and A.2 are looked into, in
            one more pass; the list has to be stored in its order.
        out: Folder that receives curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html and
            study.duckdb.
        engine (Engine or {"local", "spark"}): What reads the list; the same comes of it, byte for byte. Labels beside
            the list, and windows, are read on this machine only.

    Returns:
        Evaluation: Its curve has coverage "exact": at its cutoffs, lower and upper differ only where tied items leave
            the order open; between two cutoffs they are what the yields there allow. Where a tolerance was given, and
            scores were counted in bins that still hold several, it is "simultaneous" with probability 1: the truth
            lies between lower and upper.

    Raises:
        InputError: A label that is missing or not 0/1, a score that is missing, negative misses; names the place.
    """
    misses = check_misses(misses)
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance:g}, outside [0, 1)", "it is a width, such as 1e-6")
    sliding = Sliding(windows.lengths, windows.epsilons) if windows.lengths else None
    chosen = engine_of(engine)
    if chosen.placement == "on workers":
        _refuse_apart(labels, sliding)
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "words") as file:
        external = None if labels is None else (labels, on, folder)
        truth = _open(ranking, label, options or RankingOptions(), external, chosen)
        found = _evaluated(truth, Limits(truth.memory, tolerance, file), misses, sliding, progress)
    if out is not None:
        folder = Path(out)
        save_exact(folder, found, render(folder.resolve().name, None, found), database_of(Study(folder), None, found))
    return found


def _refuse_apart(labels: Any, sliding: Sliding | None) -> None:
    """Refuse what only one machine has together."""
    if labels is not None:
        raise InputError("labels beside the list are joined to it on one machine",
                         "leave --engine out, or write them into the list as a column")  # fmt: skip
    if sliding is not None:
        raise InputError("windows slide over all ranks on one machine", "leave --engine out for --window")


def _evaluated(truth: Truth, limits: Limits, misses: int, sliding: Sliding | None, progress: Progress) -> Evaluation:
    ranks = curve_cutoffs(truth.rows.n_items)
    summed = _sum(truth, ranks, limits, progress)
    if sliding is not None:
        if not summed.stored:
            raise InputError("windows slide over ranks, and this list is not stored in the order of its scores",
                             "store it sorted, or ask for no windows")  # fmt: skip
        slide(truth.rows, sliding, truth.scans.threads)
    truth.ranking.rows.check_unchanged()
    curve = _curve(summed, ranks, misses)
    return _evaluation(truth, summed, curve, sliding.result() if sliding else ())


def curve_cutoffs(n_items: int) -> Int64Array:
    """Ranks 1..10,000, then a grid of ratio 1.001, powers of ten, and N."""
    steps = max(0, int(np.ceil(np.log(max(1, n_items / _EVERY_RANK)) / np.log(_RATIO))))
    grid = np.ceil(_EVERY_RANK * _RATIO ** np.arange(steps + 1)).astype(np.int64)
    ranks = np.unique(np.concatenate([np.arange(1, _EVERY_RANK + 1), grid, cutoffs(n_items)]))
    return ranks[ranks <= n_items]


def _open(
    source: Any, label: str, options: RankingOptions, external: tuple[Any, str | None, Path] | None, engine: Engine
) -> Truth:
    ranking = open_ranking(source, options)
    rows = labelled_rows(ranking, label, "column" if external is None else "joined")
    if external is not None:
        from streameval.labelling.join_to_list import ItemKeys, join_labels
        from streameval.labelling.options import LabelColumns

        keys = ItemKeys(ranking.columns(), rows.columns, "stored" if rows.order is None else "scored")
        columns = LabelColumns(on=external[1], label=label)
        with copied(external[0]) as place:
            rows = replace(rows, joined_labels=join_labels(place, columns, rows.n_items, keys, external[2]))
    threads, room = _readers(rows, options)
    return Truth(ranking, engine.labelled(rows, threads), options.memory * 1e9 - room)


def _readers(rows: LabelledRows, options: RankingOptions) -> tuple[int, float]:
    """As many threads as the memory allows, and bytes for what they decode.

    Raises:
        InputError: The memory does not hold one unit and what is counted.
    """
    memory, each = options.memory * 1e9, _BYTES_PER_ROW[rows.order is not None]
    largest = max(unit.rows for unit in rows.units)
    room = max(_BASE_MEMORY * memory, float(each * largest))
    if room > (1 - _BASE_MEMORY) * memory:
        least = np.ceil(each * largest / (1 - _BASE_MEMORY) / 1e6) / 1e3
        raise InputError(
            f"{options.memory:g} GB of memory cannot hold a row group of {largest:,} rows and what is counted",
            f"the least that works is --memory {least:g}",
        )
    return min(options.threads or os.cpu_count() or 1, max(1, readers(rows.units, each, room))), room


def _sum(truth: Truth, ranks: Int64Array, limits: Limits, progress: Progress) -> Summed:
    order = truth.ranking.order
    if order is None:
        return sum_in_stored_order(truth.scans, ranks, None, progress)
    if order.may_be_stored:
        try:
            return sum_in_stored_order(truth.scans, ranks, order.scores, progress)
        except UnorderedError:
            pass  # statistics allow for it, but it is not: count scores instead
    return sum_by_score(truth.scans, ranks, order.scores, replace(limits, span=order.span), progress)


def _curve(summed: Summed, ranks: Int64Array, misses: int) -> Curve:
    start, found, size, positives = (summed.totals.cut[:, i] for i in range(4))
    inside = ranks - start
    late = found + np.maximum(0, inside - (size - positives))
    early = found + np.minimum(positives, inside)
    points = Points(ranks, late.astype(np.float64), early.astype(np.float64))
    claim = Claim("exact", None, "every item has a label") if summed.unresolved is None else _BINNED
    return Curve(
        n_items=summed.totals.n_items,
        envelope=lift(summed.totals.n_items, points),
        grid=ranks,
        claim=claim,
        score=summed.scores,
        misses=misses,
    )


def _evaluation(truth: Truth, summed: Summed, curve: Curve, windows: Sequence[WindowResult]) -> Evaluation:
    margin = summed.unresolved.grouped if summed.unresolved else (0.0, 0.0)
    places = Places(summed.totals, summed.read_groups)
    order = "known" if summed.unresolved is None else "binned" if summed.unresolved.wide else "pure bins"
    rows = metrics(Counted(places, curve.envelope, curve.misses, summed.score_at, margin, order))
    table, totals = curve.table, summed.totals
    description = truth.ranking.description()
    identity = _identity(description, truth.rows.label, rows, curve)
    summary: dict[str, Any] = {
        "evaluation_id": identity,
        "study": None,
        "version": __version__,
        "n_items": curve.n_items,
        "positives": totals.positives,
        "misses": curve.misses,
        "method": "exact",
        "parameters": {"label": truth.rows.label},
        "ranking": description,
        "how": summed.how,
        "ties": _ties(summed),
        "brackets": {
            "average_precision": summed.unresolved.average_precision if summed.unresolved else 0.0,
            "roc_auc": summed.unresolved.roc_auc if summed.unresolved else 0.0,
        },
        "claim": curve.claim.as_dict(),
        "findings": [],
        "diagnostics": {
            "windows": [result.as_dict() for result in windows],
            "smallest_window": smallest_window(windows),
        },
        "half_width": {**_half_width(curve), "labels_for_half": None},
        "account": {"planned": curve.n_items, "labelled": curve.n_items},
        "sources": [],
    }
    return Evaluation(identity, NO_LABELS, curve, table, rows, summary)


_BINNED = Claim(
    "simultaneous", 1.0, "nothing: every item has a label, and items whose scores fall into one bin may be in any order"
)


def _ties(summed: Summed) -> str:
    """Whether items of one score leave the order open: bins of several scores do not tell."""
    if summed.unresolved is None:
        return "open" if summed.totals.mixed else "none that matter"
    return "open" if summed.unresolved.ties else "not told apart from bins"


def _half_width(curve: Curve) -> dict[str, Any]:
    return {"alpha": 0.0, "rank": curve.n_items} if curve.claim.coverage == "exact" else asdict(curve.half_width())


def _identity(description: dict[str, Any], label: str, rows: pa.Table, curve: Curve) -> str:
    digest = hashlib.sha256(f"exact\0{__version__}\0{description}\0{label}\0{curve.misses}\0".encode())
    for values in (curve.envelope.lower, curve.envelope.upper, rows.column("lower").to_numpy(zero_copy_only=False)):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]
