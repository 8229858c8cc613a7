"""Results of many rankings, as their files hold them: a row for each ranking, and their means."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from streameval import __version__
from streameval.copies.trec import judgements_of
from streameval.copies.write import for_a_while
from streameval.engines import engine_of
from streameval.errors import InputError, NoRowsError
from streameval.kinds.exact import ExactRun, refuse_apart
from streameval.kinds.means import RankingMeans
from streameval.kinds.rankings.database import rankings_database
from streameval.kinds.rankings.page import render, text
from streameval.metrics.intervals import SampleInterval
from streameval.metrics.means import mean_interval
from streameval.metrics.sampled_rows import COLUMNS, OF_NONE
from streameval.order.item_keys import plain_values
from streameval.per_query.evaluate import Found, Sink, SinkOpener, evaluate_rankings
from streameval.per_query.measured import LOG_AP, geometric, metric_names
from streameval.per_query.options import PerRanking
from streameval.per_query.sums import BINS, Sums
from streameval.rankings import open_ranking
from streameval.reporting.text import Columns, Paragraph, Text
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.stores import atomic, checksum, locks
from streameval.study import Study
from streameval.study.database.writer import Database
from streameval.study.formats import format_mark
from streameval.study.results import file_names, read_tables
from streameval.types import Claim, Plan

MEANS = ("metrics", "by_size", "histograms")  # tables that are read as a whole
TIE_RULES = {
    "all": "every order of tied items",
    "trec_eval": "tied items by name as text, the largest first; scores as 32-bit floats",
    "scikit-learn": "average precision at thresholds; AUC and nDCG: the mean over all orders; others: every order",
}
_GROUP = 1 << 16  # rankings of a row group
_OF_ALL = ("roc_auc", "judged_at")  # means over all rankings where they are defined, with a positive or without


@dataclass(frozen=True, repr=False)
class RankingsEvaluation(RankingMeans):
    """Result of `exact` for many rankings, or of `evaluate` from the labels of some of them.

    Attributes:
        metrics: Means over rankings: `metric`, `argument`, `lower`, `estimate`, `upper`, `coverage`, `rankings` (how
            many the mean is over), `no_positives` ("zero" or "skip": what became of those without a positive). Lower
            and upper are the means with all tied items in the worst and in the best order.
        by_size: By the number of items, in powers of ten: rankings, those without a positive, and means.
        histograms: How many rankings with a positive have a metric in each twentieth of [0, 1].
        summary: What evaluation.json and `--json` say.
        rankings: A row for each ranking, in no particular order: its name, `items`, `positives`, `misses`, and each
            metric: worst, expected and best over all orders of tied items. Null where a metric is undefined.
    """

    comments: ClassVar = {
        "rankings": "One row per ranking: its name, items, positives, misses (positives that it never returned), and "
        "each metric: worst, expected and best over all orders of tied items; null where it is undefined.",
        "metrics": "Means over rankings: map is mean_average_precision, ndcg@10 is mean_ndcg_at with argument 10. "
        "Lower and upper: all tied items in the worst, in the best order. "
        "no_positives: whether rankings without a positive count as 0 or are left out; rankings: how many the mean is "
        "over.",
        "by_size": "Rankings by their number of items; means are over those with a positive.",
        "histograms": "How many rankings with a positive have a metric of at_least and below at_least + 0.05; the last "
        "has 1 too.",
    }

    @classmethod
    def read(cls, folder: Path, summary: Mapping[str, Any]) -> Self:
        """Read the means; the rows of rankings stay in their file."""
        files = read_tables(folder, summary, MEANS, "run the command that made it again", {})
        return cls(str(summary["evaluation_id"]), summary, {name: file.table for name, file in files.items()})

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say how many there are, what the means are, and the means."""
        return text(self)

    def lines(self, study: Path) -> list[Paragraph]:
        """Lay out for a terminal what they say."""
        text = self.text()
        return [text.headline, text.promise, "", Columns(text.table.head, text.table.cells(_cell))]

    def page(self, name: str, plan: Plan | None, title: str | None = None) -> str:
        """Draw the means, how they are distributed, and who does badly."""
        return render(name, self, title)

    def database(self, folder: Study, plan: Plan | None) -> Database:
        """Make tables of the means and of every ranking."""
        rows = folder.folder / "rankings.parquet"
        return Database(rankings_database(rows, self, self.comments), self.evaluation_id)

    @property
    def claim(self) -> Claim:
        """Give what the means are: exact."""
        return Claim("exact", None, "every item has a label")

    @property
    def by_size(self) -> pa.Table:
        """Means by the number of items."""
        return self.tables["by_size"]

    @property
    def histograms(self) -> pa.Table:
        """Rankings by the value of each metric."""
        return self.tables["histograms"]

    @property
    def rankings(self) -> pa.Table | None:
        """The rows of rankings; None where they are only in a file."""
        return self.tables.get("rankings")

    def with_rankings(self, rankings: pa.Table) -> RankingsEvaluation:
        """Return the same with the rows of rankings."""
        return replace(self, tables={**self.tables, "rankings": rankings})


def identity_of(fingerprint: str, label: str, options: PerRanking, description: Mapping[str, Any]) -> str:
    """Sixteen hex digits: the hash of the rows, the options and the version."""
    settings = {name: value for name, value in vars(options).items() if name != "positives"}
    if options.positives is not None:
        plain = RankingOptions()
        with suppress(NoRowsError), for_a_while(options.positives, plain) as source:  # no rows: as if there were none
            settings["positives"] = open_rows(source, plain).fingerprint
    text = json.dumps([__version__, fingerprint, label, settings, dict(description)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def results(identity: str, evaluated: Found, description: Mapping[str, Any]) -> RankingsEvaluation:
    """Make tables of the sums."""
    sums, options = evaluated.sums, evaluated.rows.options
    shown = [*options.per, "items", "positives", "misses", "average_precision"]
    summary = {
        **format_mark("rankings"),
        "evaluation_id": identity,
        "study": None,
        "version": __version__,
        "method": "exact",
        "per": list(options.per),
        "rankings": sums.rankings,
        "without_positives": sums.without,
        "n_items": sums.items,
        "positives": sums.positives,
        "misses": sums.misses,
        "positives_left_out": evaluated.left.rows,
        "returned_nothing": int(sums.sizes[0, 0]),
        "unjudged": evaluated.left.rankings,
        "unjudged_items": evaluated.left.items,
        "parameters": {"label": evaluated.rows.rows.label, "at": list(options.cutoffs), "gain": options.gain,
                       **({"measures": options.optional.question_texts} if options.optional.names else {}),
                       "no_positives": options.no_positives, "unjudged": options.unjudged, "ties": options.ties,
                       "relevant": options.relevant, "item": options.key, **options.words.as_named()},
        "ranking": {**description, "tie_rule": TIE_RULES[options.ties]},
        "how": evaluated.how,
        "lowest": [dict(zip(shown, row, strict=True))
                   for row in zip(*map(plain_values, evaluated.worst.select(shown).columns), strict=True)],
    }  # fmt: skip
    names = metric_names(options.cutoffs, options.optional)
    policies = [options.no_positives, "skip" if options.no_positives == "zero" else "zero"]
    tables = (means(sums, names, policies), _by_size(sums, names), _histograms(sums, names))
    return RankingsEvaluation(identity, summary, dict(zip(MEANS, tables, strict=True)))


_METRICS = pa.schema(
    [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
     ("upper", pa.float64()), ("coverage", pa.string()), ("rankings", pa.int64()), ("no_positives", pa.string()),
     *COLUMNS.items()]
)  # fmt: skip


def means(sums: Sums, names: Sequence[tuple[str, str]], policies: Sequence[str]) -> pa.Table:
    """Means of all metrics, under the first policy and then under the other."""
    rows = []
    for policy in policies:
        for m, (name, argument) in enumerate(names):
            over = sums.rankings if policy == "zero" else sums.rankings - sums.without
            if policy == "skip" and name in ("ndcg", "ndcg_at"):  # an item below the level of a positive has a gain too
                over = sums.count(m)
            if _is_of_all(name):
                over = sums.count(m)
            low, middle, high = (sums.sum(m, side) / max(1, over) for side in range(3))
            middle = min(max(low, middle), high)  # they are rounded each
            row = {"lower": low, "estimate": middle, "upper": high}
            bounds = row if over else dict.fromkeys(row)
            interval = mean_interval(sums.sum(m, 1), sums.sum_of_squares(m), over)
            rows.append({"metric": f"mean_{name}", "argument": argument, **bounds, "coverage": "exact",
                         "rankings": over, "no_positives": policy, **interval.as_dict()})  # fmt: skip
            if name == LOG_AP:
                rows.append({**rows[-1], "metric": "gm_map", **{side: geometric(value) for side, value in row.items()
                                                                if over},
                             **SampleInterval(reason=OF_NONE).as_dict()})  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_METRICS)


def _by_size(sums: Sums, names: Sequence[tuple[str, str]]) -> pa.Table:
    rows = []
    for digits, (count, without) in enumerate(sums.sizes.tolist()):
        if count:
            first, last = (10 ** (digits - 1), 10**digits - 1) if digits else (0, 0)
            positive = count - without
            row = {f"mean_{_column(*name)}": sums.of_size(digits, m) / positive if positive else None
                   for m, name in enumerate(names) if not _is_of_all(name[0])}  # fmt: skip
            rows.append({"items_from": first, "items_to": last, "rankings": count, "without_positives": without, **row})
    return pa.Table.from_pylist(rows)


def _is_of_all(name: str) -> bool:
    return name in _OF_ALL or name.endswith("_residual")


def _column(name: str, argument: str) -> str:
    return f"{name}_{argument}" if argument else name


def _histograms(sums: Sums, names: Sequence[tuple[str, str]]) -> pa.Table:
    return pa.table(
        {
            "metric": [name for name, _ in names for _ in range(BINS)],
            "argument": [argument for _, argument in names for _ in range(BINS)],
            "at_least": [i / BINS for _ in names for i in range(BINS)],
            "rankings": sums.bins.ravel(),
        }
    )


def collect_rows(tables: list[pa.Table]) -> SinkOpener:
    """Keep the rows of rankings in memory."""

    def opened(schema: pa.Schema) -> Sink:
        tables[:] = [schema.empty_table()]
        return tables.append

    return opened


def with_names(ranking: object, raw_options: Mapping[str, Any], run: ExactRun) -> dict[str, Any]:
    """Add to options what names items: the key of the ranking, and of a TREC run its judgements."""
    key = run.options.key
    if len(key) > 1:
        raise InputError(f"--key names {len(key)} columns", "one column names the items of many rankings")
    named = {**raw_options, "key": key[0]} if key else dict(raw_options)
    judgements = judgements_of(ranking)
    return named if judgements is None else {"positives": judgements, "key": "document", **named}


def measure_rankings(
    ranking: object, options: PerRanking, run: ExactRun,
    save: Callable[[str, Callable[[SinkOpener | None], RankingsEvaluation]], RankingsEvaluation] | None,
) -> RankingsEvaluation:  # fmt: skip
    """Measure every ranking of a list.

    Args:
        save: Writes what is measured, under an id; None where no folder was named.
    """
    engine = engine_of(run.engine)
    if engine.placement == "on workers":
        refuse_apart(ranking)
    with for_a_while(ranking, run.options, run.progress) as readable:
        source = open_ranking(readable, replace(run.options, key=()))
        description = source.description()
        identity = identity_of(source.fingerprint, run.label, options, description)

        def measured(rows: SinkOpener | None) -> RankingsEvaluation:
            evaluated = evaluate_rankings(source, run.label, options, rows, run.progress, engine)
            return results(identity, evaluated, description)

        if save is not None:
            return save(identity, measured)
        return measured(None if run.collect is None else collect_rows(run.collect))


def save(folder: Path, identity: str, run: Callable[[SinkOpener | None], RankingsEvaluation]) -> RankingsEvaluation:
    """Evaluate, and write each ranking as it is measured; evaluation.json last.

    Args:
        run: Evaluates, with what takes the rows of rankings.
    """
    evaluations: list[RankingsEvaluation] = []
    place: list[Path] = []
    tags = {"evaluation_id": identity}

    def rankings(path: str) -> None:
        writer = _RankingsWriter(path, tags)
        evaluations.append(run(writer.begin))
        place.append(Path(path))
        writer.close()

    def later(make: Callable[[RankingsEvaluation], atomic.Writer]) -> atomic.Writer:
        return lambda path: make(evaluations[0])(path)

    def table(name: str) -> atomic.Writer:
        return later(lambda found: atomic.parquet(found.tables[name], tags))

    name = folder.resolve().name
    writers = [rankings, *map(table, MEANS), later(lambda found: atomic.text(found.page(name, None))),
            later(lambda found: rankings_database(place[0], found, found.comments)),
            later(lambda found: atomic.json_object(found.summary))]  # fmt: skip
    atomic.make_folder(folder)
    with locks.one_at_a_time(folder):
        paths = [folder / name for name in file_names(("rankings", *MEANS))]
        atomic.write_all(dict(zip(paths, writers, strict=True)))
    return evaluations[0]


class _RankingsWriter:
    """Writes rankings as they come."""

    def __init__(self, path: str, tags: Mapping[str, Any]) -> None:
        self._path, self._tags = path, tags
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.Table] = []

    def begin(self, schema: pa.Schema) -> Sink:
        """Begin, or begin again."""
        if self._writer is not None:
            self._writer.close()
        self._held = []
        tags = {b"streameval": json.dumps(dict(self._tags)), checksum.KEY.encode(): checksum.BLANK}
        self._writer = pq.ParquetWriter(self._path, schema.with_metadata(tags), compression="zstd", compression_level=1,
                                        use_dictionary=False, write_page_index=True,
                                        write_page_checksum=True)  # fmt: skip
        return self._take

    def _take(self, table: pa.Table) -> None:
        self._held.append(table)
        if sum(held.num_rows for held in self._held) >= _GROUP:
            self._flush(_GROUP)

    def _flush(self, least: int) -> None:
        """Write row groups of one size, however rankings come, as long as so many are held."""
        held = pa.concat_tables(self._held) if self._held else None
        while held is not None and held.num_rows >= least and held.num_rows and self._writer is not None:
            self._writer.write_table(held.slice(0, _GROUP).combine_chunks())
            held = held.slice(_GROUP)
        self._held = [] if held is None else [held]

    def close(self) -> None:
        """Write what is held, and the checksum."""
        self._flush(1)
        if self._writer is not None:
            self._writer.close()
            checksum.write(self._path)


def _cell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"
