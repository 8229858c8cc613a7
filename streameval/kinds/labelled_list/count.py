"""A list whose every item has a label, counted in one stream and in fixed memory, and what that says of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.copies.write import for_a_while
from streameval.counting import Summed
from streameval.counting.block_sums import UnorderedError
from streameval.counting.by_score import Limits, sum_by_score
from streameval.counting.in_stored_order import slide, sum_in_stored_order
from streameval.counting.influence import ROW_BYTES, SEED, Clusters
from streameval.counting.labelled_rows import LabelledRows, labelled_rows, refuse_unreached_level
from streameval.counting.lookups import Places
from streameval.counting.scans import LabelledScans
from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.curve.estimated import YieldEstimate
from streameval.engines import engine_of
from streameval.errors import InputError, check_misses
from streameval.kernels.influence import BINS
from streameval.kernels.sorted_sets import unique
from streameval.kinds.curve.calibration import facts_of, table_of
from streameval.kinds.curve.results import CurveResult
from streameval.kinds.exact import ROWS, ExactRun, refuse_apart
from streameval.labelling.options import LabelColumns, LabelMeaning
from streameval.methods.checks.sliding import Sliding, WindowResult, smallest_window
from streameval.methods.epsilon import DEFAULT_EPSILON
from streameval.methods.paula import PaulaParameters
from streameval.methods.values import method_values
from streameval.metrics import cutoffs
from streameval.metrics.exact import Counted, metrics
from streameval.metrics.intervals import CONFIDENCE, claim_at
from streameval.metrics.sampled_rows import with_intervals
from streameval.options import listed
from streameval.order.count_at_score import as_score
from streameval.order.item_keys import check_key
from streameval.progress import Progress
from streameval.questions.cutoffs import Cutoff
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.jobs import Engine
from streameval.scans.units import readers
from streameval.spill.store import ScratchFile
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import local_copy
from streameval.study.formats import format_mark
from streameval.study.results import CALIBRATION, SKETCH, Evaluation
from streameval.types import Claim
from streameval.typing import Int64Array

_EVERY_RANK = 10_000
_RATIO = 1.001
_BASE_MEMORY = 0.35  # of --memory: decoded units and what sums need beside the counters
_BYTES_PER_ROW = {False: 20, True: 60}  # of a unit at work and of those that wait, by whether it has scores


@dataclass(frozen=True)
class Truth:
    """A list as it is evaluated.

    Attributes:
        unnamed: Items that are negative because a table of positives does not name them.
        of_no_item: Rows of the table of labels that are of no item.
        scans: Of its rows.
        memory: Bytes for counters or words, where its rows are to be ordered.
    """

    ranking: Ranking
    scans: LabelledScans
    memory: float
    unnamed: int = 0
    of_no_item: int = 0

    @property
    def rows(self) -> LabelledRows:
        """The list with its labels."""
        return self.scans.rows


def evaluate_list(ranking: object, alone: Any, meaning: LabelMeaning, run: ExactRun) -> Evaluation:
    """Evaluate a list; errors as of `streameval.exact`.

    Args:
        alone: `streameval.kinds.labelled_list.Alone`.
    """
    misses, sliding = check_misses(alone.misses), None if alone.method is None else _sliding(alone.method)
    chosen = engine_of(run.engine)
    if chosen.placement == "on workers":
        refuse_apart(ranking, alone.labels, sliding)
    with (
        for_a_while(ranking, run.options, run.progress) as source,
        temporary_folder("streameval-work") as folder,
        ScratchFile(folder / "words") as file,
    ):
        if alone.labels is None and alone.labels_are == "positives":
            raise InputError("--labels-are says what a table of labels is, and there is none", "name it with --labels")
        columns = LabelColumns(meaning.positive, meaning.negative, alone.on, run.label,
                               key=",".join(run.options.key) or None, labels_are=alone.labels_are)  # fmt: skip
        external = None if alone.labels is None else (alone.labels, columns, folder)
        drawn = _read_clusters(alone, run.options.score)
        truth = _open(source, (run.label, meaning, drawn), run.options, external, chosen)
        return _evaluate(truth, Limits(truth.memory, file), misses, sliding, run.progress)


def _sliding(methods: str | Sequence[str]) -> Sliding:
    """Make the windows of PAULA's values, of which nothing else is of use to a list without a plan."""
    values = method_values(methods)
    for value in values:
        if value.name != "paula" or value.parameters.keys() - {"window", "epsilon"}:
            raise InputError(f"{value}: exact tests what paula assumes of windows, by window and epsilon alone",
                             "such as --method 'paula(window=100, epsilon=0.03)'")  # fmt: skip
    made = [cast(PaulaParameters, value.create({})) for value in values]
    return Sliding([(paula.window, paula.epsilon or DEFAULT_EPSILON) for paula in made])


def _evaluate(truth: Truth, limits: Limits, misses: int, sliding: Sliding | None, progress: Progress) -> Evaluation:
    ranks = curve_cutoffs(truth.rows.n_items)
    summed = _sum(truth, ranks, limits, progress)
    if sliding is not None:
        if not summed.stored:
            raise InputError("windows slide over ranks, and this list is not stored in the order of its scores",
                             "store it sorted, or leave out --method")  # fmt: skip
        slide(truth.rows, sliding, truth.scans.threads)
    truth.ranking.rows.check_unchanged()
    if truth.rows.meaning.relevant is not None and truth.rows.joined_labels is None and not summed.totals.positives:
        refuse_unreached_level(truth.rows)
    curve = curve_of(summed, ranks, misses)
    windows = sliding.result() if sliding else ()
    rows = truth.rows
    labels = ListLabels(rows.label, rows.meaning.as_named(), truth.unnamed, truth.of_no_item, rows.clusters)
    return evaluation_of(truth.ranking.description(), labels, summed, curve, windows)


def curve_cutoffs(n_items: int) -> Int64Array:
    """Ranks 1..10,000, then a grid of ratio 1.001, powers of ten, and N."""
    steps = max(0, int(np.ceil(np.log(max(1, n_items / _EVERY_RANK)) / np.log(_RATIO))))
    grid = np.ceil(_EVERY_RANK * _RATIO ** np.arange(steps + 1)).astype(np.int64)
    ranks = unique(np.arange(1, _EVERY_RANK + 1), grid, cutoffs(n_items))
    return ranks[ranks <= n_items]


def _open(
    source: Any,
    labels: tuple[str, LabelMeaning, Clusters | None],
    options: RankingOptions,
    external: tuple[Any, LabelColumns, Path] | None,
    engine: Engine,
) -> Truth:
    ranking, unmatched = open_ranking(source, options), (0, 0)
    rows = labelled_rows(ranking, labels[0], "column" if external is None else "joined", labels[1])
    if external is not None:
        from streameval.labelling.join_to_list import ItemKeys, join_labels

        keys = ItemKeys(ranking.rows.all_names(), rows.columns, "stored" if rows.order is None else "scored")
        with local_copy(external[0]) as place:
            joined = join_labels(place, external[1], labels[1], rows.n_items, keys, external[2])
        rows, unmatched = replace(rows, joined_labels=joined.values), (joined.unnamed, joined.of_no_item)
    if labels[2] is not None:
        rows = replace(rows, clusters=_found_in(ranking, labels[2]))
    threads, room = _readers(rows, options)
    return Truth(ranking, LabelledScans(rows, threads, engine), options.memory * 1e9 - room, *unmatched)


def _read_clusters(alone: Any, score: str | None) -> Clusters | None:
    """Read what was drawn, where the list is a sample; an `InputError` where scores are asked for that nothing has."""
    if alone.at is not None and (alone.sample_of is None or score is None):
        raise InputError("metrics at a score are those of a sample that is ranked by one",
                         "say with --score COL by which, and with --sample-of what was drawn")  # fmt: skip
    if alone.sample_of is None:
        return None
    cutoffs = [Cutoff.parse(text) for text in listed(alone.at or ())]
    if strange := [cutoff for cutoff in cutoffs if cutoff.kind != "score"]:
        raise InputError(f"--at is '{strange[0]}', and a sample has metrics at every rank",
                         "name scores: --at score:0.5")  # fmt: skip
    if not (columns := listed(alone.sample_of)):
        raise InputError("--sample-of names no column", f"say what was drawn, or {ROWS}, if each row was")
    return Clusters(columns, tuple(str(cutoff.value) for cutoff in cutoffs))


def _found_in(ranking: Ranking, drawn: Clusters) -> Clusters:
    """Find the columns and scores of what was drawn in a list.

    Raises:
        InputError: A column is not there, or cannot tell draws apart; a score that scores cannot be.
    """
    names = ranking.rows.all_names()
    clusters = replace(drawn, key=ranking.options.key, scores=tuple(_key_of(ranking, place) for place in drawn.at))
    if drawn.columns == (ROWS,) and ROWS not in names:
        return replace(clusters, columns=())
    for name in drawn.columns:
        if name not in names:
            raise InputError(f"the ranking has no column '{name}' to say what was drawn",
                             f"{ranking.rows.hint_for(name)}; or --sample-of {ROWS}, if each row was")  # fmt: skip
        check_key(ranking.rows.schema.field(name).type, name, ranking.rows.name)
    return clusters


def _key_of(ranking: Ranking, score: str) -> int:
    order = ranking.order
    if order is None:
        raise InputError("the list has no scores")
    value = as_score(score, order.kind, order.options.ascending)
    return int(order.order.keys(pa.array([value], order.kind)).key[0])


def _readers(rows: LabelledRows, options: RankingOptions) -> tuple[int, float]:
    """As many threads as the memory allows, and bytes for what they decode.

    Raises:
        InputError: The memory does not hold one unit and what is counted.
    """
    memory, each = options.memory * 1e9, _BYTES_PER_ROW[rows.order is not None]
    each += 0 if rows.clusters is None else ROW_BYTES
    largest = max(unit.rows for unit in rows.units)
    room = max(_BASE_MEMORY * memory, float(each * largest))
    if room > (1 - _BASE_MEMORY) * memory:
        least = np.ceil(each * largest / (1 - _BASE_MEMORY) / 1e6) / 1e3
        raise InputError(
            f"{options.memory:g} GB of memory cannot hold a row group of {largest:,} rows and the counters",
            f"the least that works is --memory {least:g}",
        )
    return min(options.threads or os.cpu_count() or 1, max(1, readers(rows.units, each, room))), room


def _sum(truth: Truth, ranks: Int64Array, limits: Limits, progress: Progress) -> Summed:
    order = truth.ranking.order
    if order is None:
        return sum_in_stored_order(truth.scans, ranks, None, limits.file, progress)
    if order.may_be_stored:
        try:
            return sum_in_stored_order(truth.scans, ranks, order.scores, limits.file, progress)
        except UnorderedError:
            pass  # statistics allow for it, but it is not: count scores instead
    return sum_by_score(truth.scans, ranks, order.scores, replace(limits, span=order.span), progress)


@dataclass(frozen=True)
class ListLabels:
    """Labels of a list: their column, meaning and source.

    Attributes:
        column: Their name.
        meaning: What was said of them (`streameval.labelling.options.LabelMeaning`).
        unnamed: Items that are negative because a table of positives does not name them.
        of_no_item: Rows of a table of labels that are of no item.
        clusters: What was drawn, where the list is a sample.
    """

    column: str
    meaning: Mapping[str, Any] = field(default_factory=dict)
    unnamed: int = 0
    of_no_item: int = 0
    clusters: Clusters | None = None

    @property
    def sample(self) -> dict[str, Any]:
        """Say what was drawn, and what intervals claim; empty where the list is no sample."""
        if self.clusters is None:
            return {}
        claim = f"{claim_at()}: {self.clusters.each}"
        return {"sample": {"of": list(self.clusters.columns) or ROWS, "confidence": CONFIDENCE, "claim": claim,
                           "bins": BINS, "seed": f"{SEED:x}"}}  # fmt: skip


def curve_of(summed: Summed, ranks: Int64Array, misses: int) -> Curve:
    """The yield at ranks, with tied items in the worst and the best order."""
    start, before, size, positives = (summed.totals.cut[:, i] for i in range(4))
    inside = ranks - start
    late = before + np.maximum(0, inside - (size - positives))
    early = before + np.minimum(positives, inside)
    points = Points(ranks, late.astype(np.float64), early.astype(np.float64))
    mean = YieldEstimate(np.append(0, ranks), np.append(0.0, before + positives * inside / size))
    return Curve(
        n_items=summed.totals.n_items,
        envelope=lift(summed.totals.n_items, points),
        grid=ranks,
        claim=Claim("exact", None, "every item has a label"),
        estimated=mean,
        score=summed.scores,
        misses=misses,
    )


def evaluation_of(
    description: dict[str, Any], labels: ListLabels, summed: Summed, curve: Curve, windows: Sequence[WindowResult]
) -> Evaluation:
    """Every result of a list; `description` says which it is."""
    places = Places(summed.totals, summed.read_groups, summed.kept)
    counted = Counted(places, curve.misses, summed.score_at, summed.threads, summed.score_losses)
    rows, sketch = with_intervals(metrics(counted), counted, labels.clusters)
    totals = summed.totals
    identity = _identity(description, labels, rows, curve)
    summary: dict[str, Any] = {
        **format_mark("labelled_list"),
        "evaluation_id": identity,
        "study": None,
        "version": __version__,
        "n_items": curve.n_items,
        "positives": totals.positives,
        "misses": curve.misses,
        "method": "exact",
        "parameters": {"label": labels.column, **labels.meaning},
        **labels.sample,
        "ranking": description,
        "calibration": facts_of(summed.score_losses, description),
        "how": summed.how,
        "ties": "open" if totals.mixed else "none that matter",
        "claim": curve.claim.as_dict(),
        "findings": [],
        "diagnostics": {
            "windows": [result.as_dict() for result in windows],
            "smallest_window": smallest_window(windows),
        },
        "half_width": {"alpha": 0.0, "rank": curve.n_items, "labels_for_half": None},
        "account": {
            "planned": curve.n_items,
            "labelled": curve.n_items,
            "unnamed": labels.unnamed,
            "of_no_item": labels.of_no_item,
        },
        "sources": [],
    }
    tables = {"envelope": curve.envelope_table, "curve": curve.table, "metrics": rows}
    if summed.score_losses is not None:
        tables[CALIBRATION] = table_of(summed.score_losses, labels.sample.get("sample", {}).get("of"))
    if sketch is not None:
        tables[SKETCH] = sketch
    return CurveResult(identity, summary, tables, curve=curve)


def _identity(description: dict[str, Any], labels: ListLabels, rows: pa.Table, curve: Curve) -> str:
    digest = hashlib.sha256(f"exact\0{__version__}\0{description}\0{labels.column}\0{curve.misses}\0".encode())
    if labels.clusters is not None:
        digest.update(repr(labels.clusters.columns).encode())
    for values in (curve.envelope.lower, curve.envelope.upper, rows.column("lower").to_numpy(zero_copy_only=False)):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]
