"""Exact: a list whose every item has a label, evaluated in one stream and in fixed memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from streameval.copies import kind_of
from streameval.copies.trec import judgements_of
from streameval.copies.write import for_a_while
from streameval.counting import Summed
from streameval.counting.block_sums import UnorderedError
from streameval.counting.by_score import Limits, sum_by_score
from streameval.counting.in_stored_order import slide, sum_in_stored_order
from streameval.counting.labelled_rows import LabelledRows, labelled_rows, refuse_unreached_level
from streameval.counting.scans import LabelledScans
from streameval.engines import engine_facts, engine_of
from streameval.errors import InputError, check_misses
from streameval.kernels.sorted_sets import unique
from streameval.kinds.labelled_list import KIND as LABELLED_LIST
from streameval.kinds.labelled_list.results import ListLabels, curve_of, evaluation_of
from streameval.kinds.rankings import KIND as RANKINGS
from streameval.kinds.rankings.results import RankingsEvaluation, collected, identity_of, results
from streameval.labelling.options import LabelColumns, LabelMeaning, LabelsAre
from streameval.methods.checks.sliding import Sliding
from streameval.metrics import cutoffs
from streameval.options import listed, own, takes
from streameval.printed import Printed, Record
from streameval.progress import Progress, silent
from streameval.queries.evaluate import SinkOpener, evaluate_rankings
from streameval.queries.options import PerRanking
from streameval.rankings import open_ranking
from streameval.rankings.forecasts import forecast_exact
from streameval.rankings.ranking import Ranking
from streameval.rehearsal import Rehearsal
from streameval.rows.options import RankingOptions, described
from streameval.scans.jobs import Engine
from streameval.scans.units import readers
from streameval.spill.store import ScratchFile
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import copied
from streameval.study import Study
from streameval.study.label_tables import forecast_labels
from streameval.study.result_files import Evaluation
from streameval.text import number_of
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
_EPSILON = "0.03"
_TOLD = ("n_items", "rankings", "positives", "how")  # of the summary, in the log


@overload
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: LabelsAre = "answers",
    misses: int = 0,
    window: str | int | Sequence[int] | None = None,
    epsilon: str | float | Sequence[float] = _EPSILON,
    windows: Windows = NO_WINDOWS,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    per: None = None,
    **described: Any,
) -> Evaluation: ...
@overload
def exact(
    ranking: Any,
    *,
    label: str = "label",
    per: str | Sequence[str],
    rows: Literal["kept", "left out"] = "kept",
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **many: Any,
) -> RankingsEvaluation: ...
@takes(RankingOptions, LabelMeaning, PerRanking, in_python=("nan",))
def exact(
    ranking: Any,
    *,
    label: str = "label",
    labels: Any = None,
    on: str | tuple[str, ...] | None = None,
    labels_are: Literal["answers", "positives"] = "answers",
    misses: int = 0,
    window: str | int | Sequence[int] | None = None,
    epsilon: str | float | Sequence[float] = "0.03",
    windows: Windows = NO_WINDOWS,
    out: str | os.PathLike[str] | None = None,
    options: RankingOptions | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    per: str | Sequence[str] | None = None,
    rows: Literal["kept", "left out"] = "kept",
    **many: Any,
) -> Evaluation | RankingsEvaluation:
    """Evaluate a list whose every item has a label: exactly, in one stream, in fixed memory.

    Example: streameval exact ranking/ --label is_correct --score confidence --out results
    Example: streameval exact ranking/ --label is_correct --out results --engine spark:sc://spark:15002
    Example: streameval exact runs/ --per query --label grade --score score --key document --at 10,100 --out results

    Args:
        ranking: Files (Parquet, CSV, JSONL), folders, globs or a query, as for plan; their stored order is the ranking,
            best first, without --score. With it every item needs a score: a float, an integer or a date (decimals have
            to be cast). In Python too, its rows may lie in any order with a score; what memory does not hold is
            ordered in a scratch file.
        label: Column with every item's label: 0/1, true/false, yes/no, or a grade; of the ranking, or of --labels.
        labels: Label table beside the ranking (any source that evaluate takes): one label for every item.
        on: Columns by which it is joined to the items, separated by commas (default: its rank). In Python too, its
            rank only where the list is stored in the order of its ranks.
        labels_are: answers: --labels has one for every item. positives: it lists positives alone (without a column of
            labels, every row is one), and all other items are negative.
        misses: Positives that the list never returned.
        window: Window lengths, separated by commas: are the PAULA paper's assumptions true of this list with them? In
            Python Δ, for which A.1 and A.2 are looked into, in one more pass; the list has to be stored in its order.
        epsilon: Grid ratios minus one for these windows, separated by commas. In Python ε: each Δ is paired with each.
        windows: In Python: both in one object, for those who have one.
        out: Folder for curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html and study.duckdb.
        options: In Python: as for `plan`.
        key: Columns, separated by commas, whose hash breaks ties in score; with --per the one that names the item.
        engine (Engine or {"local", "spark"}): In Python: what reads the list; the same comes of it, byte for byte.
            Labels beside the list, and windows, are read on this machine only.
        per: In Python: columns that name the ranking of a row, such as a query's, where the list holds many rankings.
        rows: In Python: "kept" reads the row of each of many rankings into memory where there is no `out`.
        many: In Python by name: fields of `RankingOptions`, as `score`; of `LabelMeaning`: `positive` and `negative`
            (words), `relevant` (">=2": from which label on an item is positive); and of a list of many rankings: `at`,
            `gain`, `no_positives`, `ties`, `positives`, `unjudged` (`streameval.queries.options.PerRanking`). Of many
            rankings `key` names the item. Of `trec:RUN#QRELS` the judgements are `positives`, and `key` is `document`,
            where no other is given.

    Returns:
        RankingsEvaluation: With `per`: a row for each ranking, which is read into memory unless `out` is given (see
            `rows`), and their means; the folder receives rankings.parquet, metrics.parquet, by_size.parquet,
            histograms.parquet, evaluation.json, report.html and study.duckdb.
        Evaluation: Without. Its curve has coverage "exact": at its cutoffs, lower and upper differ only where tied
            items leave the order open; between two cutoffs they are what the yields there allow.

    Raises:
        InputError: A label that is missing or not 0/1, a score that is missing, negative misses; names the place.
    """
    options = described(options, many)
    meaning = own(LabelMeaning, many)
    if per is not None or many:
        many |= meaning.named()
        alone = {"labels": labels, "on": on, "misses": misses or None,
                 "labels_are": None if labels_are == "answers" else labels_are,
                 "window": window, "epsilon": None if epsilon == _EPSILON else epsilon,
                 "windows": None if windows == NO_WINDOWS else windows}  # fmt: skip
        given = {**{name: value for name, value in alone.items() if value is not None}, "per": per or (), **many}
        tables: list[pa.Table] = []
        means = exact_per(ranking, label=label, out=out, options=options, engine=engine, progress=progress,
                          opened=collected(tables) if rows == "kept" else None, **given)  # fmt: skip
        return means if out is not None or rows != "kept" else means.with_rankings(pa.concat_tables(tables))
    misses = check_misses(misses)
    if window is not None:
        windows = Windows(tuple(map(_whole, listed(window))), listed(epsilon))
    sliding = Sliding(windows.lengths, windows.epsilons) if windows.lengths else None
    chosen = engine_of(engine)
    if chosen.placement == "on workers":
        _refuse_apart(ranking, labels, sliding)
    with (
        for_a_while(ranking, options, progress) as source,
        temporary_folder("streameval-work") as folder,
        ScratchFile(folder / "words") as file,
    ):
        if labels is None and labels_are == "positives":
            raise InputError("--labels-are says what a table of labels is, and there is none", "name it with --labels")
        columns = LabelColumns(meaning.positive, meaning.negative, on, label, labels_are=labels_are)
        external = None if labels is None else (labels, columns, folder)
        truth = _open(source, (label, meaning), options, external, chosen)
        evaluation = _evaluated(truth, Limits(truth.memory, file), misses, sliding, progress)
    if out is not None:
        LABELLED_LIST.save(Study(Path(out)), None, evaluation)
    return evaluation


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--window: {text!r} is not a whole number", "such as --window 50,100,200") from None


def rehearsal(
    ranking: Sequence[str], *, label: str = "label", labels: str | None = None, out: Path | None = None, **given: Any
) -> Rehearsal:
    """Forecast what would be read, from footers."""
    options = described(None, given)
    _ = own(LabelMeaning, given)
    if any(one.name in given for one in fields(PerRanking)):
        raise InputError("--per does not go with --dry-run", "leave it out")
    with for_a_while(ranking, options) as source:
        n_items, read = forecast_exact(source, options, label if labels is None else None)
    writes = [out / name for name in LABELLED_LIST.files(None)] if out else []
    head = f"Would evaluate {number_of(n_items, 'item')}."
    beside = forecast_labels([] if labels is None else [labels])
    return Rehearsal([head], n_items, n_items, ranking, read, writes, beside)


def printed(
    found: Evaluation | RankingsEvaluation,
    ranking: Sequence[str],
    label: str,
    labels: str | None,
    out: Path | None,
    engine: str,
    **_: Any,
) -> Printed:
    """Print results, and where the report is."""
    kind: Any = RANKINGS if isinstance(found, RankingsEvaluation) else LABELLED_LIST
    summary, report, kept = found.summary, None, None
    facts, lines = kind.says(out or Path(), found)
    if out is not None:
        report = str(out / "report.html")
        lines = [*lines, f"Report: {report}"]
        beside = [asdict(one) for one in forecast_labels([labels] if labels else [])]
        read = {"source": list(ranking), "n_items": summary["n_items"], **summary["ranking"], "label": label,
                "labels": beside, **engine_facts(engine)}  # fmt: skip
        kept = Record(out, read, [out / name for name in kind.files(None)])
    stage = {"rows": summary["n_items"], **{name: summary[name] for name in _TOLD if name in summary}}
    return Printed({**facts, "report": report}, lines, stage, record=kept)


def exact_per(
    ranking: Any,
    *,
    label: str,
    out: str | os.PathLike[str] | None,
    options: RankingOptions | None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    opened: SinkOpener | None = None,
    **given: Any,
) -> RankingsEvaluation:
    """Evaluate many rankings as `exact` does; without `out`, `opened` receives the rows of each, if it is given."""
    stored = options or RankingOptions()
    if len(stored.key) > 1:
        raise InputError(f"--key names {len(stored.key)} columns", "one column names the items of many rankings")
    given |= {"key": stored.key[0]} if stored.key else {}
    if (judgements := judgements_of(ranking)) is not None:
        given = {"positives": judgements, "key": "document", **given}
    (asked,) = RANKINGS.asked("exact", given)
    chosen = engine_of(engine)
    if chosen.placement == "on workers":
        _refuse_apart(ranking)
    with for_a_while(ranking, stored, progress) as readable:
        source = open_ranking(readable, replace(stored, key=()))
        description = source.description()
        identity = identity_of(source.fingerprint, label, asked, description)

        def run(rows: SinkOpener | None) -> RankingsEvaluation:
            return results(identity, evaluate_rankings(source, label, asked, rows, progress, chosen), description)

        return run(opened) if out is None else RANKINGS.saved(Path(out), identity, run)


def _refuse_apart(ranking: Any, labels: Any = None, sliding: Sliding | None = None) -> None:
    """Refuse what only one machine has together."""
    if kind_of(ranking) is not None:
        raise InputError("workers read Parquet files, and this list is none yet",
                         "write it as Parquet where they see it, or leave --engine out")  # fmt: skip
    if labels is not None:
        raise InputError("labels in a table of their own are joined on one machine",
                         "leave --engine out, or write them into the list as a column")  # fmt: skip
    if sliding is not None:
        raise InputError("windows are computed on one machine", "leave --engine out for --window")


def _evaluated(truth: Truth, limits: Limits, misses: int, sliding: Sliding | None, progress: Progress) -> Evaluation:
    ranks = curve_cutoffs(truth.rows.n_items)
    summed = _sum(truth, ranks, limits, progress)
    if sliding is not None:
        if not summed.stored:
            raise InputError("windows slide over ranks, and this list is not stored in the order of its scores",
                             "store it sorted, or ask for no windows")  # fmt: skip
        slide(truth.rows, sliding, truth.scans.threads)
    truth.ranking.rows.check_unchanged()
    if truth.rows.meaning.relevant is not None and truth.rows.joined_labels is None and not summed.totals.positives:
        refuse_unreached_level(truth.rows)
    curve = curve_of(summed, ranks, misses)
    windows = sliding.result() if sliding else ()
    labels = ListLabels(truth.rows.label, truth.rows.meaning.named(), truth.unnamed, truth.of_no_item)
    return evaluation_of(truth.ranking.description(), labels, summed, curve, windows)


def curve_cutoffs(n_items: int) -> Int64Array:
    """Ranks 1..10,000, then a grid of ratio 1.001, powers of ten, and N."""
    steps = max(0, int(np.ceil(np.log(max(1, n_items / _EVERY_RANK)) / np.log(_RATIO))))
    grid = np.ceil(_EVERY_RANK * _RATIO ** np.arange(steps + 1)).astype(np.int64)
    ranks = unique(np.arange(1, _EVERY_RANK + 1), grid, cutoffs(n_items))
    return ranks[ranks <= n_items]


def _open(
    source: Any,
    labels: tuple[str, LabelMeaning],
    options: RankingOptions,
    external: tuple[Any, LabelColumns, Path] | None,
    engine: Engine,
) -> Truth:
    ranking, beside = open_ranking(source, options), (0, 0)
    rows = labelled_rows(ranking, labels[0], "column" if external is None else "joined", labels[1])
    if external is not None:
        from streameval.labelling.join_to_list import ItemKeys, join_labels

        keys = ItemKeys(ranking.rows.all_names(), rows.columns, "stored" if rows.order is None else "scored")
        with copied(external[0]) as place:
            found = join_labels(place, external[1], labels[1], rows.n_items, keys, external[2])
        rows, beside = replace(rows, joined_labels=found.values), (found.unnamed, found.of_no_item)
    threads, room = _readers(rows, options)
    return Truth(ranking, LabelledScans(rows, threads, engine), options.memory * 1e9 - room, *beside)


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
